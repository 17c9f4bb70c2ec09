/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints vgpu_hw:*, for jobs, flushes and CAM acknowledges that are sent to the device, and
 * for interrupts that the device raises.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu_hw

#if !defined(VGPU_HW_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_HW_TRACE_H

#include <linux/tracepoint.h>

#include "hw/sdma/vgpu_sdma.h"
#include "vgpu_ih.h"

/*
 * An entry was taken from the interrupt ring. If the entry reports a fault, data[3] is the fault's
 * serial number, the same as in QEMU's trace and in svm/'s tracepoints.
 */
TRACE_EVENT(vgpu_ih_entry,
	TP_PROTO(const struct vgpu_iv_entry *iv),
	TP_ARGS(iv),
	TP_STRUCT__entry(
		__field(u64, timestamp)
		__array(u32, data, 4)
		__field(u16, pasid)
		__field(u8, client)
		__field(u8, source)
		__field(u8, ring)
		__field(u8, vmid)
	),
	TP_fast_assign(
		__entry->timestamp = iv->timestamp;
		memcpy(__entry->data, iv->data, sizeof(__entry->data));
		__entry->pasid = iv->pasid;
		__entry->client = iv->client;
		__entry->source = iv->source;
		__entry->ring = iv->ring;
		__entry->vmid = iv->vmid;
	),
	TP_printk("client=0x%x source=%u ring=0x%x vmid=%u pasid=%u ts=%llu data=0x%x 0x%x 0x%x 0x%x",
		  __entry->client, __entry->source, __entry->ring,
		  __entry->vmid, __entry->pasid, __entry->timestamp,
		  __entry->data[0], __entry->data[1], __entry->data[2],
		  __entry->data[3])
);

/* A TLB flush has ended. @acked is true if both hubs acknowledged. */
TRACE_EVENT(vgpu_tlb_flush,
	TP_PROTO(u32 vmid_mask, bool acked),
	TP_ARGS(vmid_mask, acked),
	TP_STRUCT__entry(
		__field(u32, vmid_mask)
		__field(bool, acked)
	),
	TP_fast_assign(
		__entry->vmid_mask = vmid_mask;
		__entry->acked = acked;
	),
	TP_printk("vmids=0x%x%s", __entry->vmid_mask,
		  __entry->acked ? "" : " not acknowledged")
);

/* The driver frees slot @cam of the retry CAM. */
TRACE_EVENT(vgpu_cam_ack,
	TP_PROTO(u32 cam),
	TP_ARGS(cam),
	TP_STRUCT__entry(
		__field(u32, cam)
	),
	TP_fast_assign(
		__entry->cam = cam;
	),
	TP_printk("cam=%u", __entry->cam)
);

/*
 * A job was written to a ring of the kernel. @ndw is the length of the job in dwords, including
 * the packets of vgpu_sdma_emit_end().
 */
TRACE_EVENT(vgpu_sdma_submit,
	TP_PROTO(unsigned int engine, u64 seqno, unsigned int ndw),
	TP_ARGS(engine, seqno, ndw),
	TP_STRUCT__entry(
		__field(u64, seqno)
		__field(unsigned int, engine)
		__field(unsigned int, ndw)
	),
	TP_fast_assign(
		__entry->seqno = seqno;
		__entry->engine = engine;
		__entry->ndw = ndw;
	),
	TP_printk("engine=%u seqno=%llu dwords=%u", __entry->engine,
		  __entry->seqno, __entry->ndw)
);

/* A job has ended. @error is the error of its fence, or 0. */
TRACE_EVENT(vgpu_sdma_done,
	TP_PROTO(unsigned int engine, u64 seqno, int error),
	TP_ARGS(engine, seqno, error),
	TP_STRUCT__entry(
		__field(u64, seqno)
		__field(unsigned int, engine)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->seqno = seqno;
		__entry->engine = engine;
		__entry->error = error;
	),
	TP_printk("engine=%u seqno=%llu error=%d", __entry->engine,
		  __entry->seqno, __entry->error)
);

#endif /* VGPU_HW_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH hw
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vgpu_hw_trace
#include <trace/define_trace.h>
