/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defines the tracepoints of SVM. The device numbers its faults; @serial is the number of a fault.
 * QEMU's trace prints the same number, so a fault can be followed through both traces.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu_svm

#if !defined(VGPU_SVM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_SVM_TRACE_H

#include <linux/tracepoint.h>

/*
 * A worker starts to serve a fault. @gpu_id: the GPU; @serial is unique on that GPU only.
 * @page: page number; @ts: GPU clock.
 */
TRACE_EVENT(svm_fault,
	TP_PROTO(u32 gpu_id, u16 pasid, u8 vmid, unsigned long page, bool write,
		 bool retry, u32 serial, u32 cam, u64 ts),
	TP_ARGS(gpu_id, pasid, vmid, page, write, retry, serial, cam, ts),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(u16, pasid)
		__field(u8, vmid)
		__field(bool, write)
		__field(bool, retry)
		__field(unsigned long, page)
		__field(u32, serial)
		__field(u32, cam)
		__field(u64, ts)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->pasid = pasid;
		__entry->vmid = vmid;
		__entry->write = write;
		__entry->retry = retry;
		__entry->page = page;
		__entry->serial = serial;
		__entry->cam = cam;
		__entry->ts = ts;
	),
	TP_printk("gpu=0x%x serial=%u pasid=%u vmid=%u page=0x%lx %s %s cam=%u ts=%llu",
		  __entry->gpu_id, __entry->serial, __entry->pasid,
		  __entry->vmid, __entry->page,
		  __entry->write ? "write" : "read",
		  __entry->retry ? "retry" : "no-retry",
		  __entry->cam, __entry->ts)
);

/*
 * A retry fault got a verdict (enum svm_verdict). If the verdict is "repaired", the pages @first to
 * @last are mapped; otherwise @first and @last have no meaning.
 */
TRACE_EVENT(svm_service,
	TP_PROTO(u16 pasid, u32 serial, unsigned long page, unsigned long first,
		 unsigned long last, int verdict),
	TP_ARGS(pasid, serial, page, first, last, verdict),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(u32, serial)
		__field(unsigned long, page)
		__field(unsigned long, first)
		__field(unsigned long, last)
		__field(int, verdict)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->serial = serial;
		__entry->page = page;
		__entry->first = first;
		__entry->last = last;
		__entry->verdict = verdict;
	),
	TP_printk("serial=%u pasid=%u page=0x%lx %s [0x%lx 0x%lx]",
		  __entry->serial, __entry->pasid, __entry->page,
		  __print_symbolic(__entry->verdict,
				   { 0, "repaired" }, { 1, "stale" },
				   { 2, "busy" }, { 3, "denied" },
				   { 4, "dying" }, { 5, "no-memory" }),
		  __entry->first, __entry->last)
);

/*
 * A migration begins. The same thread later traces svm_migrate, unless svm_migrate_to_system()
 * moves no page. CPU faults and evictions have @pasid 0.
 */
TRACE_EVENT(svm_migrate_begin,
	TP_PROTO(u16 pasid, u32 gpu_id, bool to_vram, unsigned long first,
		 unsigned long npages),
	TP_ARGS(pasid, gpu_id, to_vram, first, npages),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(bool, to_vram)
		__field(u32, gpu_id)
		__field(unsigned long, first)
		__field(unsigned long, npages)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->to_vram = to_vram;
		__entry->gpu_id = gpu_id;
		__entry->first = first;
		__entry->npages = npages;
	),
	TP_printk("pasid=%u gpu=0x%x to %s first=0x%lx pages=%lu",
		  __entry->pasid, __entry->gpu_id,
		  __entry->to_vram ? "vram" : "system",
		  __entry->first, __entry->npages)
);

/*
 * A migration has ended. @moved: number of pages that moved, or a negative errno. @pasid is 0
 * for a CPU fault or an eviction.
 */
TRACE_EVENT(svm_migrate,
	TP_PROTO(u16 pasid, u32 gpu_id, bool to_vram, unsigned long first,
		 unsigned long npages, long moved, unsigned int trigger),
	TP_ARGS(pasid, gpu_id, to_vram, first, npages, moved, trigger),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(bool, to_vram)
		__field(u32, gpu_id)
		__field(unsigned long, first)
		__field(unsigned long, npages)
		__field(long, moved)
		__field(unsigned int, trigger)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->to_vram = to_vram;
		__entry->gpu_id = gpu_id;
		__entry->first = first;
		__entry->npages = npages;
		__entry->moved = moved;
		__entry->trigger = trigger;
	),
	TP_printk("pasid=%u gpu=0x%x to %s first=0x%lx pages=%lu moved=%ld by %s",
		  __entry->pasid, __entry->gpu_id,
		  __entry->to_vram ? "vram" : "system",
		  __entry->first, __entry->npages, __entry->moved,
		  __print_symbolic(__entry->trigger,
				   { 0, "prefetch" }, { 1, "gpu fault" },
				   { 2, "cpu touch" }, { 3, "eviction" }))
);

/* An MMU notifier cleared GPU entries. @event is an enum mmu_notifier_event. */
TRACE_EVENT(svm_unmap,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last, int event),
	TP_ARGS(pasid, first, last, event),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(int, event)
		__field(unsigned long, first)
		__field(unsigned long, last)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->event = event;
		__entry->first = first;
		__entry->last = last;
	),
	TP_printk("pasid=%u [0x%lx 0x%lx] event=%d",
		  __entry->pasid, __entry->first, __entry->last, __entry->event)
);

DECLARE_EVENT_CLASS(svm_range_class,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last),
	TP_ARGS(pasid, first, last),
	TP_STRUCT__entry(
		__field(u16, pasid)
		__field(unsigned long, first)
		__field(unsigned long, last)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->first = first;
		__entry->last = last;
	),
	TP_printk("pasid=%u [0x%lx 0x%lx]",
		  __entry->pasid, __entry->first, __entry->last)
);

/* A range was inserted into tree and list, and its MMU notifier was registered. */
DEFINE_EVENT(svm_range_class, svm_range_insert,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last),
	TP_ARGS(pasid, first, last)
);

/* A range and its MMU notifier were removed; the caller frees the range next. */
DEFINE_EVENT(svm_range_class, svm_range_unlink,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last),
	TP_ARGS(pasid, first, last)
);

/* Page tables and DMA slots are reserved, and hmm_range_fault() is about to be called. */
DEFINE_EVENT(svm_range_class, svm_hmm_begin,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last),
	TP_ARGS(pasid, first, last)
);

/* hmm_range_fault() has returned, with or without an error. */
DEFINE_EVENT(svm_range_class, svm_hmm_end,
	TP_PROTO(u16 pasid, unsigned long first, unsigned long last),
	TP_ARGS(pasid, first, last)
);

DECLARE_EVENT_CLASS(svm_list_class,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u16, pasid)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->pasid = pasid;
	),
	TP_printk("pid=%d pasid=%u", __entry->pid, __entry->pasid)
);

/* The range list of a process was created. */
DEFINE_EVENT(svm_list_class, svm_list_init,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

/* From here on, faults of the process are acknowledged and not repaired. */
DEFINE_EVENT(svm_list_class, svm_list_drain,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

/* The teardown of a range list begins. */
DEFINE_EVENT(svm_list_class, svm_list_fini,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

/* Step of the teardown: the work items of the range list have been cancelled or have ended. */
DEFINE_EVENT(svm_list_class, svm_list_idle,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

/* All ranges of the list were removed. */
DEFINE_EVENT(svm_list_class, svm_list_empty,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

/* Last event of a range list: its teardown has ended. */
DEFINE_EVENT(svm_list_class, svm_list_free,
	TP_PROTO(pid_t pid, u16 pasid),
	TP_ARGS(pid, pasid)
);

#endif /* VGPU_SVM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH svm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE svm_trace
#include <trace/define_trace.h>
