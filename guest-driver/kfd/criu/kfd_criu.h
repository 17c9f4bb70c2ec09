/* SPDX-License-Identifier: GPL-2.0 */
/* Checkpoints of processes: AMDKFD_IOC_CRIU_OP. Functions are documented in kfd_criu.c. */
#ifndef KFD_CRIU_H
#define KFD_CRIU_H

#include <linux/fs.h>

struct kfd_process;
struct mm_struct;

void kfd_criu_owner_ends(const struct mm_struct *mm, fl_owner_t owner);
int kfd_ioctl_criu(struct kfd_process *p, void *data);

#endif /* KFD_CRIU_H */
