/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of cp/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_CP_SUITE_H
#define VGPU_TEST_CP_SUITE_H

void qvgpu_add_cp_hqd_tests(void);
void qvgpu_add_cp_pm4_tests(void);
void qvgpu_add_cp_aql_tests(void);
void qvgpu_add_cp_kiq_tests(void);
void qvgpu_add_cp_runlist_tests(void);
void qvgpu_add_cp_timeslice_tests(void);
void qvgpu_add_cp_gws_tests(void);
void qvgpu_add_cp_sdma_queues_tests(void);
void qvgpu_add_cp_reset_map_tests(void);

#endif /* VGPU_TEST_CP_SUITE_H */
