/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of ih/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_IH_SUITE_H
#define VGPU_TEST_IH_SUITE_H

void qvgpu_add_ih_ring_tests(void);
void qvgpu_add_ih_secondary_rings_tests(void);
void qvgpu_add_ih_fault_tests(void);
void qvgpu_add_ih_cam_crowd_tests(void);

#endif /* VGPU_TEST_IH_SUITE_H */
