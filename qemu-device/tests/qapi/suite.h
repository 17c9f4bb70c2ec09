/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of qapi/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_QAPI_SUITE_H
#define VGPU_TEST_QAPI_SUITE_H

void qvgpu_add_query_tests(void);

#endif /* VGPU_TEST_QAPI_SUITE_H */
