// SPDX-License-Identifier: GPL-2.0
/*
 * Builds SDMA packets that write page-table entries: PTEPDE packets for runs of entries, and
 * WRITE_LINEAR packets with the values of single entries. Only vgpu_vm_job_new() allocates.
 * The functions take no locks and do not access the device.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include <kunit/visibility.h>

#include "vgpu/bits.h"
#include "vgpu/sdma_packets.h"
#include "hw/sdma/vgpu_sdma.h"
#include "vgpu_vm_job.h"

/*
 * Smallest number of entries for which a PTEPDE packet (10 dwords) is not longer than the
 * entries themselves (2 dwords each).
 */
#define RUN_MIN		5u

/**
 * vgpu_vm_job_new() - allocate an empty job
 * @ndw: capacity, dwords
 *
 * The caller frees the job by kvfree().
 *
 * Return: the job, or NULL.
 */
struct vgpu_vm_job *vgpu_vm_job_new(unsigned int ndw)
{
	struct vgpu_vm_job *job;

	job = kvmalloc(struct_size(job, dw, ndw), GFP_KERNEL);
	if (job) {
		job->size = ndw;
		vgpu_vm_job_reset(job);
	}
	return job;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_job_new);

/**
 * vgpu_vm_job_reset() - drop all packets
 * @job: job
 */
void vgpu_vm_job_reset(struct vgpu_vm_job *job)
{
	job->ndw = 0;
	job->open = job->size;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_job_reset);

/**
 * vgpu_vm_job_full() - whether a job lacks space for VGPU_PT_STEP_WRITES writes
 * @job: job
 *
 * Return: true if the space does not suffice, so that the caller must submit the job before
 * the next step.
 */
bool vgpu_vm_job_full(const struct vgpu_vm_job *job)
{
	return job->ndw + VGPU_PT_STEP_WRITES * VGPU_VM_WRITE_DWORDS >
	       job->size;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_job_full);

/*
 * Add entries as data of a WRITE_LINEAR packet: extend the last packet if that is a WRITE_LINEAR
 * packet whose entries end at @mc, else start a new packet.
 */
static void job_data(struct vgpu_vm_job *job, u64 mc, unsigned int n,
		     u64 value, u64 step)
{
	u32 *dw = job->dw;

	if (job->open >= job->ndw || job->next != mc) {
		job->open = job->ndw;
		dw[job->ndw++] = SDMA_PKT(SDMA_OP_WRITE,
					  SDMA_SUBOP_WRITE_LINEAR);
		dw[job->ndw++] = lower_32_bits(mc);
		dw[job->ndw++] = upper_32_bits(mc);
		job->ndw++;
	}
	job->next = mc + n * sizeof(u64);
	for (; n; n--, value += step) {
		dw[job->ndw++] = lower_32_bits(value);
		dw[job->ndw++] = upper_32_bits(value);
	}
	dw[job->open + 3] = VGPU_PREP(SDMA_WRITE_LINEAR_DW3__COUNT,
				      job->ndw - job->open -
				      SDMA_WRITE_LINEAR_DWORDS - 1);
}

/**
 * vgpu_vm_job_write() - add a write of consecutive entries
 * @job: job with space for at least VGPU_VM_WRITE_DWORDS
 * @mc: MC address of the first entry
 * @n: number of entries, 1 to VGPU_PT_ENTRIES
 * @value: value of the first entry
 * @step: difference between consecutive entries; a multiple of VGPU_PAGE_SIZE
 */
void vgpu_vm_job_write(struct vgpu_vm_job *job, u64 mc, unsigned int n,
		       u64 value, u64 step)
{
	if (WARN_ON_ONCE(job->ndw + VGPU_VM_WRITE_DWORDS > job->size))
		return;
	if (n < RUN_MIN) {
		job_data(job, mc, n, value, step);
		return;
	}
	job->open = job->size;
	job->ndw += vgpu_sdma_emit_ptepde(job->dw + job->ndw, mc,
					  value & ~VGPU_PTE_ADDR,
					  value & VGPU_PTE_ADDR, step, n);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_job_write);
