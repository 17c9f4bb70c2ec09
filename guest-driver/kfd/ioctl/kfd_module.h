/* SPDX-License-Identifier: GPL-2.0 */
/* KFD's part of the module's init and exit. Functions are documented in kfd_module.c. */
#ifndef KFD_MODULE_H
#define KFD_MODULE_H

int kfd_init(void);
void kfd_exit(void);

#endif /* KFD_MODULE_H */
