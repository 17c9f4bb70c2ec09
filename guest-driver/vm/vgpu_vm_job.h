/* SPDX-License-Identifier: GPL-2.0 */
/* Declares jobs of SDMA packets that write page-table entries. */
#ifndef VGPU_VM_JOB_H
#define VGPU_VM_JOB_H

#include "vgpu_pt.h"

/* Largest number of dwords that one vgpu_vm_job_write() adds. */
#define VGPU_VM_WRITE_DWORDS	12u

/**
 * struct vgpu_vm_job - buffer that collects SDMA packets, which write page-table entries
 */
struct vgpu_vm_job {
	/** @size: capacity of @dw, in dwords */
	unsigned int size;
	/** @ndw: number of dwords of @dw in use */
	unsigned int ndw;
	/**
	 * @open: index in @dw of the last packet if that is a WRITE_LINEAR packet, to which entries
	 * can be added; else a value of at least @ndw
	 */
	unsigned int open;
	/** @next: MC address after the last entry that the packet at @open writes */
	u64 next;
	/** @dw: packets */
	u32 dw[];
};

struct vgpu_vm_job *vgpu_vm_job_new(unsigned int ndw);
void vgpu_vm_job_reset(struct vgpu_vm_job *job);
bool vgpu_vm_job_full(const struct vgpu_vm_job *job);
void vgpu_vm_job_write(struct vgpu_vm_job *job, u64 mc, unsigned int n,
		       u64 value, u64 step);

#endif /* VGPU_VM_JOB_H */
