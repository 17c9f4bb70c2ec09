/* SPDX-License-Identifier: GPL-2.0 */
/* KFD's part of the module. */
#ifndef KFD_MODULE_H
#define KFD_MODULE_H

/*
 * Before the first kfd_device_init() and after the last
 * kfd_device_fini(); kfd_exit() also ends processes that outlive their files.
 */
int kfd_init(void);
void kfd_exit(void);

#endif /* KFD_MODULE_H */
