/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints vgpu:vgpu_bo_*. The field bo is the hashed address of the BO. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(VGPU_MM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_MM_TRACE_H

#include <linux/tracepoint.h>

#include "vgpu_bo.h"

/* A BO was created and has its first memory. */
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

/* A BO is about to move. A BO in GTT may move to GTT, to get a GART address. */
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

/* A BO is about to be evicted, and the place to which it moves is being selected. */
DEFINE_EVENT(vgpu_bo_class, vgpu_bo_evict,
	TP_PROTO(const struct vgpu_bo *bo),
	TP_ARGS(bo)
);

/* A struct vgpu_bo is about to be freed; the BO's memory has been freed already. */
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

#endif /* VGPU_MM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH mm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vgpu_mm_trace
#include <trace/define_trace.h>
