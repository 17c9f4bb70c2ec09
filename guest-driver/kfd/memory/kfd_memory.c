// SPDX-License-Identifier: GPL-2.0
/*
 * Maps memory of struct kgd_mem in the address spaces of GPUs. The memory exists already: an ioctl
 * has allocated or imported it, or RESTORE of CRIU has created it. Mapped memory does not overlap
 * an SVM range.
 */
#include "mm/vgpu_bo.h"
#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "kfd_memory.h"

/**
 * kfd_memory_map() - map memory in the address spaces of GPUs
 * @mem: memory
 * @pdds: state of one process on each GPU, with an address space
 * @n: length of @pdds, at least one
 * @done: set to the number of leading @pdds that map @mem, also after an error
 *
 * Context: kfd_process.mutex is held, no reservation. Takes the locks of svm_claim().
 *
 * Return: 0, or an error of kgd_mem_map_check(), svm_claim() or kgd_mem_map().
 */
int kfd_memory_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		   u32 *done)
{
	struct kfd_process *p = pdds[0]->process;
	int ret;

	ret = kgd_mem_map_check(mem, pdds, n, done);
	if (ret || *done == n)
		return ret;
	ret = svm_claim(p, mem->va, mem->bo->tbo.base.size << mem->aql_queue);
	if (ret)
		return ret;
	ret = kgd_mem_map(mem, pdds, n, done);
	svm_unclaim(p);
	return ret;
}
