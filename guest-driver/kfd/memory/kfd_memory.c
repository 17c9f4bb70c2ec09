// SPDX-License-Identifier: GPL-2.0
/* Memory of ALLOC_MEMORY_OF_GPU and SVM ranges: an address has one of the two. */
#include "mm/vgpu_bo.h"
#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "kfd_memory.h"

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
