/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of memory/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_MEMORY_SUITE_H
#define VGPU_TEST_MEMORY_SUITE_H

void qvgpu_add_page_walk_tests(void);
void qvgpu_add_page_walk_fault_tests(void);
void qvgpu_add_tlb_tests(void);
void qvgpu_add_invalidate_range_tests(void);
void qvgpu_add_gart_tests(void);
void qvgpu_add_hubs_tests(void);
void qvgpu_add_bus_remap_tests(void);
void qvgpu_add_hive_tests(void);
void qvgpu_add_xgmi_tests(void);
void qvgpu_add_iommu_tests(void);
void qvgpu_add_fault_class_tests(void);

#endif /* VGPU_TEST_MEMORY_SUITE_H */
