/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of sdma/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_SDMA_SUITE_H
#define VGPU_TEST_SDMA_SUITE_H

void qvgpu_add_packet_tests(void);
void qvgpu_add_packet_copy_tests(void);
void qvgpu_add_packet_atomic_tests(void);
void qvgpu_add_packet_control_tests(void);
void qvgpu_add_fairness_tests(void);
void qvgpu_add_queue_teardown_tests(void);
void qvgpu_add_queue_tests(void);
void qvgpu_add_queue_error_tests(void);

#endif /* VGPU_TEST_SDMA_SUITE_H */
