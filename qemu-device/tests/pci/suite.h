/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests of pci/. Each function registers the tests of one file. */
#ifndef VGPU_TEST_PCI_SUITE_H
#define VGPU_TEST_PCI_SUITE_H

void qvgpu_add_pci_tests(void);
void qvgpu_add_regs_tests(void);
void qvgpu_add_reset_tests(void);
void qvgpu_add_vram_bar_tests(void);
void qvgpu_add_migration_tests(void);
void qvgpu_add_migration_hostile_tests(void);

#endif /* VGPU_TEST_PCI_SUITE_H */
