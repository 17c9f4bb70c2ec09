/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints vgpu:vgpu_vm_*. The field bo is the hashed address of the BO, pasid is the PASID
 * of the address space, and vmid is 0 if the address space has no VMID.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(VGPU_VM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_VM_TRACE_H

#include <linux/tracepoint.h>

#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

DECLARE_EVENT_CLASS(vgpu_vm_class,
	TP_PROTO(const struct vgpu_vm_bo *vbo),
	TP_ARGS(vbo),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(u64, offset)
		__field(u64, flags)
		__field(unsigned long, first)
		__field(unsigned long, last)
		__field(u16, pasid)
	),
	TP_fast_assign(
		__entry->bo = vbo->bo;
		__entry->offset = vbo->offset;
		__entry->flags = vbo->pte_flags;
		__entry->first = vbo->pages.start;
		__entry->last = vbo->pages.last;
		__entry->pasid = to_vm_state(vbo->vm)->pasid;
	),
	TP_printk("pasid=%u [0x%lx 0x%lx] bo=%p offset=%llu flags=0x%llx",
		  __entry->pasid, __entry->first, __entry->last, __entry->bo,
		  __entry->offset, __entry->flags)
);

/* A mapping was created, and has no entries yet. The field bo is NULL for a PRT mapping. */
DEFINE_EVENT(vgpu_vm_class, vgpu_vm_map,
	TP_PROTO(const struct vgpu_vm_bo *vbo),
	TP_ARGS(vbo)
);

/* A mapping was removed. */
DEFINE_EVENT(vgpu_vm_class, vgpu_vm_unmap,
	TP_PROTO(const struct vgpu_vm_bo *vbo),
	TP_ARGS(vbo)
);

/* The page-table entries of some pages of a mapping are about to be written. */
TRACE_EVENT(vgpu_vm_update,
	TP_PROTO(const struct vgpu_vm_bo *vbo, unsigned long first,
		 unsigned long last),
	TP_ARGS(vbo, first, last),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(unsigned long, first)
		__field(unsigned long, last)
		__field(u32, place)
		__field(u16, pasid)
		__field(u8, vmid)
	),
	TP_fast_assign(
		__entry->bo = vbo->bo;
		__entry->first = first;
		__entry->last = last;
		__entry->place = vbo->bo->tbo.resource ?
				 vbo->bo->tbo.resource->mem_type :
				 TTM_PL_SYSTEM;
		__entry->pasid = to_vm_state(vbo->vm)->pasid;
		__entry->vmid = READ_ONCE(vbo->vm->vmid);
	),
	TP_printk("pasid=%u vmid=%u [0x%lx 0x%lx] bo=%p in %s",
		  __entry->pasid, __entry->vmid, __entry->first, __entry->last,
		  __entry->bo, vgpu_trace_place(__entry->place))
);

/*
 * Entries of some pages were written for SVM, which maps no BOs. The device may not see the entries
 * yet. If SDMA writes the entries, the packets were collected, but not submitted.
 */
TRACE_EVENT(vgpu_vm_write,
	TP_PROTO(const struct vgpu_vm *vm, u64 first, u64 last),
	TP_ARGS(vm, first, last),
	TP_STRUCT__entry(
		__field(u64, first)
		__field(u64, last)
		__field(u16, pasid)
	),
	TP_fast_assign(
		__entry->first = first;
		__entry->last = last;
		__entry->pasid = to_vm_state(vm)->pasid;
	),
	TP_printk("pasid=%u [0x%llx 0x%llx]", __entry->pasid, __entry->first,
		  __entry->last)
);

/* The translations of an address space are flushed from the TLB. */
TRACE_EVENT(vgpu_vm_flush,
	TP_PROTO(const struct vgpu_vm *vm, u8 vmid),
	TP_ARGS(vm, vmid),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(u8, vmid)
	),
	TP_fast_assign(
		__entry->pasid = to_vm_state(vm)->pasid;
		__entry->vmid = vmid;
	),
	TP_printk("pasid=%u vmid=%u", __entry->pasid, __entry->vmid)
);

#endif /* VGPU_VM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH vm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vgpu_vm_trace
#include <trace/define_trace.h>
