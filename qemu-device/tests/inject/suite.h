/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of inject/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_INJECT_SUITE_H
#define VGPU_TEST_INJECT_SUITE_H

void qvgpu_add_inject_tests(void);
void qvgpu_add_inject_fault_irq_tests(void);
void qvgpu_add_inject_sdma_tests(void);
void qvgpu_add_inject_determinism_tests(void);
void qvgpu_add_inject_vram_tests(void);

#endif /* VGPU_TEST_INJECT_SUITE_H */
