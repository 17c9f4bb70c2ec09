/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of queue/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_QUEUE_SUITE_H
#define VGPU_TEST_QUEUE_SUITE_H

void qvgpu_add_clock_tests(void);
void qvgpu_add_inline_tests(void);
void qvgpu_add_replay_tests(void);
void qvgpu_add_replay_teardown_tests(void);

#endif /* VGPU_TEST_QUEUE_SUITE_H */
