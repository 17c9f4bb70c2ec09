// SPDX-License-Identifier: GPL-2.0
/*
 * Implements AMDKFD_IOC_SVM, which sets and gets attributes of memory. svm_default_attrs() gives
 * the attributes of memory for which no attributes were set.
 */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <kunit/visibility.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/migrate/svm_migrate.h"
#include "svm.h"
#include "svm_attr.h"
#include "svm_fault.h"
#include "svm_map.h"
#include "svm_policy.h"
#include "svm_range.h"
#include "svm_tree.h"

#define SVM_DEFAULT_GRANULARITY		9	/* 2^9 pages: 2 MiB */
#define SVM_MAX_DEFAULT_GRANULARITY	0x1bu	/* 2^27 pages: 512 GiB, as in amdgpu */

static unsigned int svm_default_granularity = SVM_DEFAULT_GRANULARITY;
module_param(svm_default_granularity, uint, 0644);
MODULE_PARM_DESC(svm_default_granularity,
		 "granularity of unregistered memory, log2 of pages, for processes to come (9: 2 MiB)");

u8 svm_default_granularity_now(void)
{
	return min(READ_ONCE(svm_default_granularity), SVM_MAX_DEFAULT_GRANULARITY);
}

void svm_default_attrs(struct svm_range_list *svms, struct svm_attrs *attrs)
{
	memset(attrs, 0, sizeof(*attrs));
	attrs->preferred_loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	attrs->prefetch_loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	attrs->flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS |
		       KFD_IOCTL_SVM_FLAG_COHERENT;
	attrs->granularity = svms->default_granularity;
	/*
	 * With XNACK, every GPU that supports SVM may access memory for which SET_ATTR has not set
	 * the access.
	 */
	if (READ_ONCE(svm_process(svms)->xnack_enabled))
		bitmap_copy(attrs->bitmap_access, svms->bitmap_supported,
			    SVM_MAX_GPU);
}

int svm_gpu_index(struct kfd_process *p, u32 gpu_id)
{
	unsigned int i;

	for_each_set_bit(i, p->svms->bitmap_supported, p->svms->n_gpus)
		if (READ_ONCE(p->pdds[i]->gpu_id) == gpu_id)
			return i;
	return -EINVAL;
}

int svm_attr_check(struct kfd_process *p, u32 nattrs,
		   const struct kfd_ioctl_svm_attribute *attrs)
{
	u32 i;

	for (i = 0; i < nattrs; i++) {
		u32 value = attrs[i].value;
		bool is_gpu = true;

		switch (attrs[i].type) {
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
			is_gpu = value != KFD_IOCTL_SVM_LOCATION_SYSMEM &&
				 value != KFD_IOCTL_SVM_LOCATION_UNDEFINED;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
			is_gpu = value != KFD_IOCTL_SVM_LOCATION_SYSMEM;
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS:
		case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
		case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
			break;
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			is_gpu = false;
			break;
		default:
			return -EINVAL;
		}
		if (is_gpu && svm_gpu_index(p, value) < 0)
			return -EINVAL;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_attr_check);

void svm_attr_apply(struct kfd_process *p, struct svm_attrs *a, u32 nattrs,
		    const struct kfd_ioctl_svm_attribute *attrs)
{
	u32 i;

	for (i = 0; i < nattrs; i++) {
		u32 value = attrs[i].value;

		switch (attrs[i].type) {
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
			a->preferred_loc = value;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
			a->prefetch_loc = value;
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS:
			__set_bit(svm_gpu_index(p, value), a->bitmap_access);
			__clear_bit(svm_gpu_index(p, value), a->bitmap_aip);
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
			__clear_bit(svm_gpu_index(p, value), a->bitmap_access);
			__set_bit(svm_gpu_index(p, value), a->bitmap_aip);
			break;
		case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
			__clear_bit(svm_gpu_index(p, value), a->bitmap_access);
			__clear_bit(svm_gpu_index(p, value), a->bitmap_aip);
			break;
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
			a->flags |= value;
			break;
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
			a->flags &= ~value;
			break;
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			a->granularity = min(value, 0x3fu);
			break;
		}
	}
}
EXPORT_SYMBOL_IF_KUNIT(svm_attr_apply);

static bool svm_attr_same_mapping(const struct svm_attrs *a,
				  const struct svm_attrs *b)
{
	return a->flags == b->flags &&
	       bitmap_equal(a->bitmap_access, b->bitmap_access, SVM_MAX_GPU) &&
	       bitmap_equal(a->bitmap_aip, b->bitmap_aip, SVM_MAX_GPU);
}

static bool svm_attr_same(const struct svm_attrs *a, const struct svm_attrs *b)
{
	return svm_attr_same_mapping(a, b) &&
	       a->preferred_loc == b->preferred_loc &&
	       a->prefetch_loc == b->prefetch_loc &&
	       a->granularity == b->granularity;
}

/*
 * Returns 0 if all of @iv is memory that HMM can map; -EFAULT if not; -EADDRINUSE if a BO is
 * mapped in @iv.
 */
static int svm_attr_check_memory(struct svm_range_list *svms,
				 struct svm_interval iv)
{
	unsigned long addr = iv.first << PAGE_SHIFT;
	unsigned long last = (iv.last << PAGE_SHIFT) | ~PAGE_MASK;

	do {
		struct vm_area_struct *vma = vma_lookup(svms->mm, addr);

		if (!vma ||
		    vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP))
			return -EFAULT;
		addr = vma->vm_end;
	} while (addr && addr <= last);

	return svm_va_busy(svms, iv) ? -EADDRINUSE : 0;
}

/*
 * Split the ranges that contain the first or the last page of @iv at the bounds of @iv. Do not
 * split a range that already has the new attributes. Returns 0 or an error of svm_range_split().
 */
static int svm_attr_split(struct kfd_process *p, struct svm_interval iv,
			  u32 nattrs,
			  const struct kfd_ioctl_svm_attribute *attrs)
{
	const unsigned long pages[] = { iv.first, iv.last };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		struct svm_range *r = svm_range_find(p->svms, pages[i]);
		struct svm_attrs new;
		int ret;

		if (!r)
			continue;
		new = r->attrs;
		svm_attr_apply(p, &new, nattrs, attrs);
		if (svm_attr_same(&r->attrs, &new))
			continue;
		ret = svm_range_split(r, iv);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Create ranges with default attributes where @iv has no ranges. Returns 0 or an error of
 * svm_range_create().
 */
static int svm_attr_fill_gaps(struct svm_range_list *svms,
			      struct svm_interval iv)
{
	unsigned long page = iv.first;
	struct svm_attrs attrs;

	svm_default_attrs(svms, &attrs);
	while (page <= iv.last) {
		struct svm_range *next =
			svm_tree_first(svms, (struct svm_interval){ page, iv.last });
		unsigned long start = next ? next->iv.first : iv.last + 1;
		struct svm_range *r;

		if (start > page) {
			r = svm_range_create(svms, (struct svm_interval){
						page, start - 1 }, &attrs);
			if (IS_ERR(r))
				return PTR_ERR(r);
		}
		if (!next)
			break;
		page = next->iv.last + 1;
	}
	return 0;
}

/*
 * If @prefetch is true, migrate the range to the location that svm_policy_prefetch() returns. Then
 * map the range as its attributes require. The caller holds svm_lock().
 */
static int svm_attr_place(struct svm_range *r, bool prefetch)
{
	struct kfd_process *p = svm_process(r->svms);
	struct svm_interval iv = svm_range_interval(r);
	DECLARE_BITMAP(gpus, SVM_MAX_GPU);
	u32 loc = prefetch ? svm_policy_prefetch(r) :
			     KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	struct kfd_node *node = NULL;
	unsigned long moved = 0;
	u32 placed = 0;
	int ret;

	if (loc != KFD_IOCTL_SVM_LOCATION_UNDEFINED) {
		if (loc)
			node = p->pdds[svm_gpu_index(p, loc)]->node;
		ret = svm_migrate_to_system(r->svms, iv, node,
					    KFD_MIGRATE_TRIGGER_PREFETCH, &moved);
		if (ret && !node)
			return ret;
		/* Full VRAM is no error: pages that do not fit stay where they are. */
		if (node)
			svm_migrate_to_vram(node, r->svms, iv,
					    r->attrs.granularity,
					    KFD_MIGRATE_TRIGGER_PREFETCH, &moved);
		placed = loc;
	}

	svm_policy_map_now(r, placed, gpus);
	return svm_map_range(r, gpus, false);
}

int svm_attr_set(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
		 const struct kfd_ioctl_svm_attribute *attrs)
{
	struct svm_range_list *svms = p->svms;
	bool prefetch = false, lost = false;
	struct svm_range *r;
	bool has_vm = false;
	struct ma_state mas;
	int ret, err;
	u32 i;

	ret = svm_attr_check(p, nattrs, attrs);
	if (ret)
		return ret;
	for (i = 0; i < svms->n_gpus; i++)
		has_vm |= !!svm_gpu_vm(svms, i);
	if (!has_vm)
		return -EINVAL;
	for (i = 0; i < nattrs; i++)
		prefetch |= attrs[i].type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC;

	svm_lock_write(svms);
	ret = svm_attr_check_memory(svms, iv);
	/*
	 * Split the ranges at the ends of @iv and fill the gaps. These steps change no behaviour,
	 * so an error needs no undo.
	 */
	if (!ret)
		ret = svm_attr_split(p, iv, nattrs, attrs);
	if (!ret)
		ret = svm_attr_fill_gaps(svms, iv);
	if (ret) {
		svm_unlock_write(svms);
		return ret;
	}

	svm_for_each_range(r, &mas, svms, iv.first, iv.last) {
		struct svm_attrs new = r->attrs;

		svm_attr_apply(p, &new, nattrs, attrs);
		if (!svm_attr_same_mapping(&r->attrs, &new)) {
			svm_unmap_range(r);
			lost = true;
		}
		r->attrs = new;
	}
	if (lost)
		svm_fault_checkpoint(svms);
	svm_downgrade(svms);

	svm_for_each_range(r, &mas, svms, iv.first, iv.last) {
		err = svm_attr_place(r, prefetch);
		if (err)
			ret = err;
	}
	svm_unlock(svms);
	return ret;
}

/*
 * Called for each range, with the range's location @loc. At the end, *@folded is the common
 * location, or KFD_IOCTL_SVM_LOCATION_UNDEFINED if the locations differ.
 */
static void svm_attr_fold_loc(u32 *folded, u32 loc, bool first)
{
	if (first)
		*folded = loc;
	else if (*folded != loc)
		*folded = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
}

static int svm_attr_get(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
			struct kfd_ioctl_svm_attribute *attrs)
{
	struct svm_range_list *svms = p->svms;
	struct svm_attrs all;
	struct svm_range *r;
	struct ma_state mas;
	bool first = true;
	u32 flags_or;
	int gpu, ret;
	u32 i;

	for (i = 0; i < nattrs; i++) {
		switch (attrs[i].type) {
		case KFD_IOCTL_SVM_ATTR_ACCESS:
			if (svm_gpu_index(p, attrs[i].value) < 0)
				return -EINVAL;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			break;
		default:
			return -EINVAL;
		}
	}

	svm_lock(svms);
	ret = svm_attr_check_memory(svms, iv);
	if (ret) {
		svm_unlock(svms);
		return ret;
	}
	svm_default_attrs(svms, &all);
	flags_or = all.flags;
	svm_for_each_range(r, &mas, svms, iv.first, iv.last) {
		const struct svm_attrs *a = &r->attrs;

		svm_attr_fold_loc(&all.preferred_loc, a->preferred_loc, first);
		svm_attr_fold_loc(&all.prefetch_loc, a->prefetch_loc, first);
		all.granularity = first ? a->granularity :
				  min(all.granularity, a->granularity);
		flags_or = first ? a->flags : flags_or | a->flags;
		all.flags = first ? a->flags : all.flags & a->flags;
		if (first) {
			bitmap_copy(all.bitmap_access, a->bitmap_access,
				    SVM_MAX_GPU);
			bitmap_copy(all.bitmap_aip, a->bitmap_aip, SVM_MAX_GPU);
		} else {
			bitmap_and(all.bitmap_access, all.bitmap_access,
				   a->bitmap_access, SVM_MAX_GPU);
			bitmap_and(all.bitmap_aip, all.bitmap_aip,
				   a->bitmap_aip, SVM_MAX_GPU);
		}
		first = false;
	}
	svm_unlock(svms);

	for (i = 0; i < nattrs; i++) {
		switch (attrs[i].type) {
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
			attrs[i].value = all.preferred_loc;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
			attrs[i].value = all.prefetch_loc;
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS:
			gpu = svm_gpu_index(p, attrs[i].value);
			if (test_bit(gpu, all.bitmap_access))
				attrs[i].type = KFD_IOCTL_SVM_ATTR_ACCESS;
			else if (test_bit(gpu, all.bitmap_aip))
				attrs[i].type =
					KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
			else
				attrs[i].type = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
			break;
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
			attrs[i].value = all.flags;
			break;
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
			attrs[i].value = ~flags_or;
			break;
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			attrs[i].value = all.granularity;
			break;
		}
	}
	return 0;
}

/**
 * svm_ioctl() - AMDKFD_IOC_SVM of the current process
 * @p: process
 * @op: operation
 * @start: first byte; page aligned
 * @size: bytes; page aligned and not zero
 * @nattrs: number of @attrs
 * @attrs: attributes, in kernel memory; GET_ATTR writes the results to @attrs
 *
 * Context: a thread of @p; takes mmap_lock and the locks of svm/.
 *
 * Return:
 * * 0, -ENOMEM
 * * -EPERM: the kernel has no device-private memory
 * * -EINVAL: an operation, attribute or GPU is unknown
 * * -EINVAL: no GPU of @p has an address space
 * * -EINVAL: the caller is a forked child
 * * -EOVERFLOW: the end wraps around
 * * -EFAULT: part of the interval is not mapped, or is a mapping of a device
 * * -EADDRINUSE: a BO is mapped, or about to be mapped, in the interval
 * * -EINTR: a signal is pending, and the mm has no MMU interval notifier yet
 * * an error of svm_map_pages()
 * * an error of svm_migrate_to_system(), for a prefetch to system memory
 */
int svm_ioctl(struct kfd_process *p, enum kfd_ioctl_svm_op op, u64 start,
	      u64 size, u32 nattrs, struct kfd_ioctl_svm_attribute *attrs)
{
	struct svm_interval iv;
	u64 end;

	if (!IS_ENABLED(CONFIG_DEVICE_PRIVATE))
		return -EPERM;
	/* Ranges belong to p->mm. A forked child that inherited the file has another mm. */
	if (current->mm != p->svms->mm)
		return -EINVAL;
	if (check_add_overflow(start, size, &end))
		return -EOVERFLOW;
	if (end > TASK_SIZE)
		return -EFAULT;
	iv.first = start >> PAGE_SHIFT;
	iv.last = (end >> PAGE_SHIFT) - 1;

	switch (op) {
	case KFD_IOCTL_SVM_OP_SET_ATTR:
		return svm_attr_set(p, iv, nattrs, attrs);
	case KFD_IOCTL_SVM_OP_GET_ATTR:
		return svm_attr_get(p, iv, nattrs, attrs);
	default:
		return -EINVAL;
	}
}

/**
 * svm_always_mapped() - whether a GPU can access addresses without faults
 * @p: process
 * @vdev: device of the GPU
 * @start: first byte
 * @size: bytes
 *
 * Context: the process's mm is alive. Takes mmap_lock and svm_range_list.lock.
 *
 * Return: true if all the bytes are in ranges with KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED that
 * the GPU may access.
 */
bool svm_always_mapped(struct kfd_process *p, struct vgpu_device *vdev, u64 start,
		       u64 size)
{
	struct svm_range_list *svms = p->svms;
	int gpu = kfd_process_gpuidx(p, vdev);
	unsigned long page, end;
	struct svm_range *r;
	u64 last;

	if (gpu < 0 || !size || check_add_overflow(start, size - 1, &last))
		return false;
	page = start >> PAGE_SHIFT;
	end = last >> PAGE_SHIFT;
	svm_lock(svms);
	while (page <= end) {
		r = svm_range_find(svms, page);
		if (!r ||
		    !(r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED) ||
		    !(test_bit(gpu, r->attrs.bitmap_access) ||
		      test_bit(gpu, r->attrs.bitmap_aip)))
			break;
		page = r->iv.last + 1;
	}
	svm_unlock(svms);
	return page > end;
}
