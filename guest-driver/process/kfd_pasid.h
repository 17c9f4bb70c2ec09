/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the allocator of PASIDs for processes and for open render-node files (struct vgpu_file).
 * Functions are documented in kfd_pasid.c.
 */
#ifndef KFD_PASID_H
#define KFD_PASID_H

#include <linux/types.h>

int kfd_pasid_alloc(void);
void kfd_pasid_free(u16 pasid);
unsigned int kfd_pasids_in_use(void);

#endif /* KFD_PASID_H */
