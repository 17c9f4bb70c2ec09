/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of memory and recovery. A BO is named by its (hashed) address, an
 * address space by its PASID, VMID 0 if the hardware does not know it. @serial
 * of a reset is that of the last fault that the device raised before.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(VGPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_TRACE_H

#include <linux/tracepoint.h>

#include "vgpu_device.h"
#include "vgpu_mm.h"
#include "vgpu_vm.h"

#define vgpu_trace_place(type)						\
	__print_symbolic(type, { TTM_PL_SYSTEM, "system" },		\
			 { TTM_PL_TT, "gtt" }, { TTM_PL_VRAM, "vram" },	\
			 { VGPU_PL_DOORBELL, "doorbell" },		\
			 { VGPU_PL_MMIO_REMAP, "mmio-remap" })

/* A BO has its first memory. */
TRACE_EVENT(vgpu_bo_create,
	TP_PROTO(const struct vgpu_bo *bo),
	TP_ARGS(bo),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(u64, size)
		__field(u32, place)
		__field(u32, domains)
		__field(u32, flags)
		__field(bool, kernel)
	),
	TP_fast_assign(
		__entry->bo = bo;
		__entry->size = bo->tbo.base.size;
		__entry->place = bo->tbo.resource ?
				 bo->tbo.resource->mem_type : TTM_PL_SYSTEM;
		__entry->domains = bo->domains;
		__entry->flags = bo->flags;
		__entry->kernel = bo->tbo.type == ttm_bo_type_kernel;
	),
	TP_printk("bo=%p size=%llu in %s domains=0x%x flags=0x%x%s",
		  __entry->bo, __entry->size,
		  vgpu_trace_place(__entry->place), __entry->domains,
		  __entry->flags, __entry->kernel ? " kernel" : "")
);

/* Its memory is about to change. */
TRACE_EVENT(vgpu_bo_move,
	TP_PROTO(const struct vgpu_bo *bo, u32 from, u32 to, bool evict),
	TP_ARGS(bo, from, to, evict),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(u64, size)
		__field(u32, from)
		__field(u32, to)
		__field(bool, evict)
	),
	TP_fast_assign(
		__entry->bo = bo;
		__entry->size = bo->tbo.base.size;
		__entry->from = from;
		__entry->to = to;
		__entry->evict = evict;
	),
	TP_printk("bo=%p size=%llu from %s to %s%s", __entry->bo,
		  __entry->size, vgpu_trace_place(__entry->from),
		  vgpu_trace_place(__entry->to),
		  __entry->evict ? " evicted" : "")
);

DECLARE_EVENT_CLASS(vgpu_bo_class,
	TP_PROTO(const struct vgpu_bo *bo),
	TP_ARGS(bo),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(u64, size)
		__field(u32, place)
	),
	TP_fast_assign(
		__entry->bo = bo;
		__entry->size = bo->tbo.base.size;
		__entry->place = bo->tbo.resource ?
				 bo->tbo.resource->mem_type : TTM_PL_SYSTEM;
	),
	TP_printk("bo=%p size=%llu in %s", __entry->bo, __entry->size,
		  vgpu_trace_place(__entry->place))
);

/* Others need its memory: TTM asks where it may go. */
DEFINE_EVENT(vgpu_bo_class, vgpu_bo_evict,
	TP_PROTO(const struct vgpu_bo *bo),
	TP_ARGS(bo)
);

/* It is freed; what it held is already gone. */
TRACE_EVENT(vgpu_bo_destroy,
	TP_PROTO(const struct vgpu_bo *bo),
	TP_ARGS(bo),
	TP_STRUCT__entry(
		__field(const void *, bo)
		__field(u64, size)
	),
	TP_fast_assign(
		__entry->bo = bo;
		__entry->size = bo->tbo.base.size;
	),
	TP_printk("bo=%p size=%llu", __entry->bo, __entry->size)
);

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
		__entry->pasid = vbo->vm->pasid;
	),
	TP_printk("pasid=%u [0x%lx 0x%lx] bo=%p offset=%llu flags=0x%llx",
		  __entry->pasid, __entry->first, __entry->last, __entry->bo,
		  __entry->offset, __entry->flags)
);

/* Pages are a BO's from now on (no BO: PRT), without entries yet. */
DEFINE_EVENT(vgpu_vm_class, vgpu_vm_map,
	TP_PROTO(const struct vgpu_vm_bo *vbo),
	TP_ARGS(vbo)
);

/* They are nobody's any more. */
DEFINE_EVENT(vgpu_vm_class, vgpu_vm_unmap,
	TP_PROTO(const struct vgpu_vm_bo *vbo),
	TP_ARGS(vbo)
);

/* Entries of some pages of a BO are written. */
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
		__entry->pasid = vbo->vm->pasid;
		__entry->vmid = vbo->vm->vmid;
	),
	TP_printk("pasid=%u vmid=%u [0x%lx 0x%lx] bo=%p in %s",
		  __entry->pasid, __entry->vmid, __entry->first, __entry->last,
		  __entry->bo, vgpu_trace_place(__entry->place))
);

/* The hardware forgets what it knew of an address space. */
TRACE_EVENT(vgpu_vm_flush,
	TP_PROTO(const struct vgpu_vm *vm, u8 vmid),
	TP_ARGS(vm, vmid),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(u8, vmid)
	),
	TP_fast_assign(
		__entry->pasid = vm->pasid;
		__entry->vmid = vmid;
	),
	TP_printk("pasid=%u vmid=%u", __entry->pasid, __entry->vmid)
);

#define vgpu_show_recover(what)						\
	__print_flags(what, "|",					\
		      { VGPU_RECOVER_ENGINE(0), "sdma0" },		\
		      { VGPU_RECOVER_ENGINE(1), "sdma1" },		\
		      { VGPU_RECOVER_GART, "gart" },			\
		      { VGPU_RECOVER_RINGS, "rings" },			\
		      { VGPU_RECOVER_DEVICE, "device" })

/* A recovery begins; @what: VGPU_RECOVER_*. */
TRACE_EVENT(vgpu_reset_begin,
	TP_PROTO(unsigned long what, u32 serial),
	TP_ARGS(what, serial),
	TP_STRUCT__entry(
		__field(unsigned long, what)
		__field(u32, serial)
	),
	TP_fast_assign(
		__entry->what = what;
		__entry->serial = serial;
	),
	TP_printk("%s serial=%u", vgpu_show_recover(__entry->what),
		  __entry->serial)
);

/* It is over; @what was done in the end may be more than was asked for. */
TRACE_EVENT(vgpu_reset_end,
	TP_PROTO(unsigned long what, u64 us),
	TP_ARGS(what, us),
	TP_STRUCT__entry(
		__field(unsigned long, what)
		__field(u64, us)
	),
	TP_fast_assign(
		__entry->what = what;
		__entry->us = us;
	),
	TP_printk("%s us=%llu", vgpu_show_recover(__entry->what),
		  __entry->us)
);

/* The queues of a process went off the hardware, for others to have memory. */
TRACE_EVENT(vgpu_process_evict,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid),
	TP_STRUCT__entry(
		__field(pid_t, pid)
	),
	TP_fast_assign(
		__entry->pid = pid;
	),
	TP_printk("pid=%d", __entry->pid)
);

/*
 * An attempt to bring them back: its result, how long it took and since when
 * they are off, in jiffies.
 */
TRACE_EVENT(vgpu_process_restore,
	TP_PROTO(pid_t pid, int result, unsigned long took, unsigned long off),
	TP_ARGS(pid, result, took, off),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(int, result)
		__field(u32, took_ms)
		__field(u32, off_ms)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->result = result;
		__entry->took_ms = jiffies_to_msecs(took);
		__entry->off_ms = jiffies_to_msecs(off);
	),
	TP_printk("pid=%d result=%d took_ms=%u off_ms=%u", __entry->pid,
		  __entry->result, __entry->took_ms, __entry->off_ms)
);

#endif /* VGPU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vgpu_trace
#include <trace/define_trace.h>
