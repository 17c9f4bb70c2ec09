/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints vgpu:vgpu_process_*, which report the creation, the end, the evictions and the
 * restores of processes.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(KFD_PROCESS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KFD_PROCESS_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(vgpu_process_class,
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

/* The structure of a new process was allocated. */
DEFINE_EVENT(vgpu_process_class, vgpu_process_alloc,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid)
);

/* A process is complete, and lookups find it. */
DEFINE_EVENT(vgpu_process_class, vgpu_process_hash,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid)
);

/* No lookup finds the process any more. */
DEFINE_EVENT(vgpu_process_class, vgpu_process_unhash,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid)
);

/*
 * All parts of a process were freed. The structure itself is freed after an RCU grace period.
 */
DEFINE_EVENT(vgpu_process_class, vgpu_process_free,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid)
);

/*
 * The queues of a process were taken off the hardware, because its memory is being evicted or has
 * changed.
 */
DEFINE_EVENT(vgpu_process_class, vgpu_process_evict,
	TP_PROTO(pid_t pid),
	TP_ARGS(pid)
);

/*
 * An attempt to restore a process has ended:
 *
 *	result		0 or a negative errno
 *	took_ms		duration, without the look-up of user pointers' pages
 *	off_ms		time since the eviction
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

#endif /* KFD_PROCESS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH process
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kfd_process_trace
#include <trace/define_trace.h>
