/* SPDX-License-Identifier: GPL-2.0 */
/* PASIDs: a number for each process and each file of a render node, the same on all devices. */
#ifndef KFD_PASID_H
#define KFD_PASID_H

#include <linux/types.h>

int kfd_pasid_alloc(void);
void kfd_pasid_free(u16 pasid);
unsigned int kfd_pasids_in_use(void);

#endif /* KFD_PASID_H */
