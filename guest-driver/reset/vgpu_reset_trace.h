/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints vgpu:vgpu_reset_*. The field serial is the serial number of the last fault that
 * the device raised before the recovery.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(VGPU_RESET_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_RESET_TRACE_H

#include <linux/tracepoint.h>

#include "hw/vgpu_recover.h"

static_assert(SDMA_NUM_ENGINES == 5);
#define vgpu_show_recover(what)						\
	__print_flags(what, "|",					\
		      { VGPU_RECOVER_ENGINE(0), "sdma0" },		\
		      { VGPU_RECOVER_ENGINE(1), "sdma1" },		\
		      { VGPU_RECOVER_ENGINE(2), "sdma2" },		\
		      { VGPU_RECOVER_ENGINE(3), "sdma3" },		\
		      { VGPU_RECOVER_ENGINE(4), "sdma4" },		\
		      { VGPU_RECOVER_GART, "gart" },			\
		      { VGPU_RECOVER_RINGS, "rings" },			\
		      { VGPU_RECOVER_DEVICE, "device" })

/* A recovery starts. @what has the bit VGPU_RECOVER_* of each step to take. */
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

/*
 * A recovery has ended. @what has the bit VGPU_RECOVER_* of each step taken, maybe more than
 * requested. @us: microseconds since the request.
 */
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

#endif /* VGPU_RESET_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH reset
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vgpu_reset_trace
#include <trace/define_trace.h>
