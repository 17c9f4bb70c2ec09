// SPDX-License-Identifier: GPL-2.0
/*
 * Command processor, compute side: start, submission of run lists, reset. A run list names all
 * compute queues that may run.
 *
 * Specification: docs/hardware.md "CP", include/vgpu/cp.h and pm4.h.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>

#include <kunit/visibility.h>

#include "vgpu/cp.h"
#include "vgpu/doorbell.h"
#include "vgpu/pm4.h"
#include "hw/vgpu_hw_priv.h"
#include "hw/vgpu_vmid.h"
#include "vgpu_cp.h"
#include "vgpu_cp_priv.h"
#include "vgpu_mqd.h"

#define CP_POLL_US		20
#define CP_PARK_US		(500 * USEC_PER_MSEC)

/*
 * ME and pipe of the kernel's queues. User queues are in ME 1.
 * HIQ: queue of the hardware scheduler; gets the run lists.
 * KIQ: kernel's interface queue; maps the HIQ.
 */
#define CP_KIQ_ME		2
#define CP_KIQ_PIPE		1
#define CP_HIQ_ME		2
#define CP_HIQ_PIPE		0

/*
 * Bitmap of ME 1's queues for run lists: 2 to 7 of each pipe. On an MI210, amdgpu keeps queues 0
 * and 1 for the kernel.
 */
#define CP_USER_HQDS		0xfcfcfcfcu
static_assert(HWEIGHT32(CP_USER_HQDS) == VGPU_CP_NUM_USER_QUEUES);

/*
 * Layout of vgpu_cp.control. Page 0: the KIQ's ring. Page 1: the HIQ's ring. Page 2: the
 * HIQ's MQD, the pointers of both rings, and the fence.
 */
#define CP_RING_BYTES		PAGE_SIZE
#define CP_RING_DWORDS		(CP_RING_BYTES / 4)
#define CP_MQD_AT		(2 * PAGE_SIZE)
#define CP_POINTERS_AT		(CP_MQD_AT + CP_MQD_DWORDS * 4)
#define CP_POINTER_STRIDE	64
#define CP_FENCE_AT		(CP_POINTERS_AT + 4 * CP_POINTER_STRIDE)
#define CP_CONTROL_BYTES	(3 * PAGE_SIZE)
static_assert(VGPU_CP_MQD_BYTES == CP_MQD_DWORDS * 4);
static_assert(2 * CP_RING_BYTES <= CP_MQD_AT);
static_assert(CP_FENCE_AT + sizeof(u64) <= CP_CONTROL_BYTES);

#define CP_PIPE_INTERRUPTS	(CP_INT_CNTL__PRIV_REG | \
				 CP_INT_CNTL__OPCODE_ERROR | \
				 CP_INT_CNTL__TIME_STAMP)

static void cp_hqd_write(struct vgpu_device *vdev, u32 reg, u32 value)
{
	vgpu_wreg(vdev, CP_HQD + reg, value);
}

static void cp_hqd_write64(struct vgpu_device *vdev, u32 lo, u64 value)
{
	cp_hqd_write(vdev, lo, lower_32_bits(value));
	cp_hqd_write(vdev, lo + 1, upper_32_bits(value));
}

static void cp_ring_init(struct vgpu_cp *cp, struct vgpu_cp_ring *ring,
			 unsigned int index, u32 doorbell)
{
	size_t ptr = CP_POINTERS_AT + 2 * index * CP_POINTER_STRIDE;

	ring->dw = cp->control + index * CP_RING_BYTES;
	ring->mc = cp->control_mc + index * CP_RING_BYTES;
	ring->wptr_wb = cp->control + ptr;
	ring->wptr_mc = cp->control_mc + ptr;
	ring->rptr_mc = ring->wptr_mc + CP_POINTER_STRIDE;
	ring->doorbell = doorbell * sizeof(u64);
}

static u32 cp_ring_control(void)
{
	return VGPU_PREP(CP_HQD_PQ_CONTROL__QUEUE_SIZE,
			 (u32)ilog2(CP_RING_DWORDS) - 1) |
	       CP_HQD_PQ_CONTROL__PRIV_STATE | CP_HQD_PQ_CONTROL__KMD_QUEUE;
}

static void cp_ring_reset(struct vgpu_cp_ring *ring)
{
	ring->wptr = 0;
	WRITE_ONCE(*ring->wptr_wb, 0);
}

/* The ring always has space, because the caller has waited for all earlier submissions. */
static void cp_ring_add(struct vgpu_cp_ring *ring, const u32 *dw,
			unsigned int n)
{
	while (n--)
		ring->dw[ring->wptr++ % CP_RING_DWORDS] = cpu_to_le32(*dw++);
}

static void cp_ring_kick(struct vgpu_device *vdev, struct vgpu_cp_ring *ring)
{
	WRITE_ONCE(*ring->wptr_wb, cpu_to_le64(ring->wptr));
	/* Order the stores of packets and write pointer before the doorbell. */
	wmb();
	vgpu_wdoorbell64(vdev, ring->doorbell, ring->wptr);
}

/* Submit the packets in @ring, and wait until the CP has executed them. Returns 0 or -ETIME. */
static int cp_ring_finish(struct vgpu_device *vdev, struct vgpu_cp_ring *ring,
			  unsigned long timeout_us)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	u64 want = ++cp->fence_seq, seen;
	const u32 dw[] = {
		PM4_HEADER(PM4_QUERY_STATUS, 7),
		VGPU_PREP(PM4_QUERY_DW1__COMMAND, PM4_QUERY_FENCE),
		0,
		lower_32_bits(cp->fence_mc), upper_32_bits(cp->fence_mc),
		lower_32_bits(want), upper_32_bits(want),
	};
	int ret;

	cp_ring_add(ring, dw, ARRAY_SIZE(dw));
	cp_ring_kick(vdev, ring);
	ret = read_poll_timeout(le64_to_cpu, seen, seen == want, CP_POLL_US,
				timeout_us, false, READ_ONCE(*cp->fence));
	/* Read the fence before other memory that the CP wrote (MQDs). */
	rmb();
	return ret ? -ETIME : 0;
}

static void cp_start_kiq(struct vgpu_device *vdev)
{
	struct vgpu_cp_ring *kiq = &to_hw_state(vdev)->cp.kiq;

	cp_ring_reset(kiq);
	vgpu_cp_select(vdev, CP_KIQ_ME, CP_KIQ_PIPE, 0);
	cp_hqd_write(vdev, CP_HQD_VMID, 0);
	cp_hqd_write64(vdev, CP_HQD_PQ_BASE, kiq->mc >> 8);
	cp_hqd_write(vdev, CP_HQD_PQ_RPTR, 0);
	cp_hqd_write64(vdev, CP_HQD_PQ_RPTR_REPORT_ADDR, kiq->rptr_mc);
	cp_hqd_write64(vdev, CP_HQD_PQ_WPTR_POLL_ADDR, kiq->wptr_mc);
	cp_hqd_write(vdev, CP_HQD_PQ_CONTROL, cp_ring_control());
	cp_hqd_write(vdev, CP_HQD_IB_CONTROL, 0);
	cp_hqd_write(vdev, CP_HQD_HQ_STATUS1, 0);
	cp_hqd_write(vdev, CP_HQD_AQL_CONTROL, 0);
	cp_hqd_write64(vdev, CP_HQD_PQ_WPTR_LO, 0);
	cp_hqd_write(vdev, CP_HQD_PQ_DOORBELL_CONTROL,
		     kiq->doorbell | CP_HQD_PQ_DOORBELL_CONTROL__EN);
	cp_hqd_write(vdev, CP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE);
	vgpu_cp_select(vdev, 0, 0, 0);
	vgpu_wreg(vdev, RLC_CP_SCHEDULERS,
		  VGPU_PREP(RLC_CP_SCHEDULERS__ME, CP_KIQ_ME) |
		  VGPU_PREP(RLC_CP_SCHEDULERS__PIPE, CP_KIQ_PIPE) |
		  RLC_CP_SCHEDULERS__VALID);
}

/*
 * Assign hardware queues, VMIDs and all of GWS to the scheduler for run lists. Then map the
 * HIQ, to which the driver submits run lists.
 */
static int cp_map_hiq(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	struct vgpu_cp_ring *hiq = &cp->hiq;
	u64 mqd_mc = cp->control_mc + CP_MQD_AT;
	const u32 resources[] = {
		PM4_HEADER(PM4_SET_RESOURCES, 8),
		VGPU_PREP(PM4_RESOURCES_DW1__VMID_MASK, VGPU_HWS_VMIDS),
		CP_USER_HQDS, 0, ~0u, ~0u, 0, 0,
	};
	const u32 map[] = {
		PM4_HEADER(PM4_MAP_QUEUES, 7),
		VGPU_PREP(PM4_MAP_DW1__PIPE, CP_HIQ_PIPE) |
		VGPU_PREP(PM4_MAP_DW1__ME, CP_HIQ_ME - 1) |
		VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL, PM4_ENGINE_HIQ) |
		VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u),
		hiq->doorbell,
		lower_32_bits(mqd_mc), upper_32_bits(mqd_mc),
		lower_32_bits(hiq->wptr_mc), upper_32_bits(hiq->wptr_mc),
	};
	__le32 *mqd = cp->control + CP_MQD_AT;

	cp_ring_reset(hiq);
	memset(mqd, 0, CP_MQD_DWORDS * sizeof(*mqd));
	vgpu_mqd_write64(mqd, CP_HQD_PQ_BASE, hiq->mc >> 8);
	vgpu_mqd_write64(mqd, CP_HQD_PQ_RPTR_REPORT_ADDR, hiq->rptr_mc);
	vgpu_mqd_write(mqd, CP_HQD_PQ_CONTROL, cp_ring_control());
	cp_ring_add(&cp->kiq, resources, ARRAY_SIZE(resources));
	cp_ring_add(&cp->kiq, map, ARRAY_SIZE(map));
	return cp_ring_finish(vdev, &cp->kiq, VGPU_HW_TIMEOUT_US);
}

/* Start the CP from its reset state. The caller holds cp.lock. */
static int cp_start(struct vgpu_device *vdev)
{
	unsigned int me, pipe, vmid;
	int ret;

	/*
	 * Set the CP's doorbell range to the whole page. The CP still gets only the doorbells that
	 * neither the IH nor an SDMA engine takes.
	 */
	vgpu_wreg(vdev, CP_MEC_DOORBELL_RANGE_LOWER, 0);
	vgpu_wreg(vdev, CP_MEC_DOORBELL_RANGE_UPPER, PAGE_SIZE - sizeof(u64));
	for (me = 1; me <= CP_NUM_MECS; me++)
		for (pipe = 0; pipe < CP_NUM_PIPES; pipe++)
			vgpu_wreg(vdev, CP_PIPE_INT_CNTL(me, pipe),
				  CP_PIPE_INTERRUPTS);
	/*
	 * After a reset every VMID has all of GWS (global wave sync). Give GWS to no VMID
	 * here: the MAP_PROCESS packet of a process requests the GWS that the process needs.
	 */
	for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++)
		vgpu_wreg(vdev, GDS_GWS_VMID(vmid), 0);
	vgpu_wreg(vdev, CP_MEC_CNTL, 0);
	cp_start_kiq(vdev);
	ret = cp_map_hiq(vdev);
	if (ret)
		drm_err(&vdev->drm, "CP does not start\n");
	return ret;
}

static int cp_submit_list(struct vgpu_device *vdev, unsigned long timeout_us)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	u64 mc = cp->list_mc[cp->list];
	const u32 unmap[] = {
		PM4_HEADER(PM4_UNMAP_QUEUES, 6),
		VGPU_PREP(PM4_UNMAP_DW1__ACTION, PM4_UNMAP_PREEMPT) |
		VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, PM4_SEL_NON_STATIC),
		0, 0, 0, 0,
	};
	const u32 run[] = {
		PM4_HEADER(PM4_RUN_LIST, 4),
		lower_32_bits(mc), upper_32_bits(mc),
		VGPU_PREP(PM4_RUN_DW3__SIZE, cp->list_dwords) |
		PM4_RUN_DW3__VALID,
	};

	/* RUN_LIST first unmaps the queues of the last list, and saves them in their MQDs. */
	if (cp->list_dwords)
		cp_ring_add(&cp->hiq, run, ARRAY_SIZE(run));
	else
		cp_ring_add(&cp->hiq, unmap, ARRAY_SIZE(unmap));
	return cp_ring_finish(vdev, &cp->hiq, timeout_us);
}

/*
 * Append a packet that chains the list to its start. The repetition gives time slices to more
 * queues than the hardware has.
 */
static void cp_close_list(struct vgpu_cp *cp)
{
	__le32 *dw = cp->lists[cp->list] + cp->list_dwords;
	u64 mc = cp->list_mc[cp->list];

	cp->list_dwords += VGPU_CP_CHAIN_DWORDS;
	dw[0] = cpu_to_le32(PM4_HEADER(PM4_RUN_LIST, VGPU_CP_CHAIN_DWORDS));
	dw[1] = cpu_to_le32(lower_32_bits(mc));
	dw[2] = cpu_to_le32(upper_32_bits(mc));
	dw[3] = cpu_to_le32(VGPU_PREP(PM4_RUN_DW3__SIZE, cp->list_dwords) |
			    PM4_RUN_DW3__CHAIN | PM4_RUN_DW3__VALID);
}

/**
 * vgpu_cp_next_list() - get the buffer for the next run list
 * @vdev: device
 *
 * Context: any. The caller excludes other callers until it has called vgpu_cp_run().
 *
 * Return: buffer of VGPU_CP_LIST_DWORDS.
 */
__le32 *vgpu_cp_next_list(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;

	return cp->lists[!cp->list];
}

/*
 * Wake the callers of vgpu_cp_run() that wait for the reset of a hung CP. The caller holds
 * cp.lock and has reset or stopped the CP.
 */
static void cp_clear_hang(struct vgpu_cp *cp)
{
	WRITE_ONCE(cp->hangs, false);
	wake_up_all(&cp->reset);
}

/*
 * Request a reset of the device. If no recovery is accepted (the device is being
 * removed), stop the CP here. The caller holds cp.lock.
 */
static void cp_report_hang(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;

	drm_err(&vdev->drm, "CP hangs\n");
	WRITE_ONCE(cp->hangs, true);
	if (vgpu_hw_recover(vdev, VGPU_RECOVER_DEVICE))
		return;
	vgpu_cp_stop(vdev);
	cp->off = true;
	cp_clear_hang(cp);
}

/**
 * vgpu_cp_lost() - get the number of times that the state of compute queues was lost
 * @vdev: device
 *
 * Context: any.
 *
 * Return: the number. If the number has changed, queues that ran before the change must not run
 * again.
 */
u32 vgpu_cp_lost(struct vgpu_device *vdev)
{
	return atomic_read(&to_hw_state(vdev)->cp.lost);
}

/**
 * vgpu_cp_run() - run exactly the queues of the list in vgpu_cp_next_list()
 * @vdev: device
 * @dwords: length of the list, 0 to VGPU_CP_LIST_DWORDS
 * @lost: value of vgpu_cp_lost() before the caller chose the queues
 *
 * On success, all other queues are unmapped and saved in their MQDs.
 *
 * Context: sleeps, does not allocate.
 *
 * Return:
 * * 0: the list runs, or is only stored (vgpu_cp.off)
 * * -EINVAL: invalid @dwords
 * * -EAGAIN: vgpu_cp_lost() has changed: build the list again
 * * -ETIME: the CP hung, and was reset or given up
 */
int vgpu_cp_run(struct vgpu_device *vdev, u32 dwords, u32 lost)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	bool hangs;

	if (WARN_ON_ONCE(dwords > VGPU_CP_LIST_DWORDS))
		return -EINVAL;

	mutex_lock(&cp->lock);
	if (lost != vgpu_cp_lost(vdev)) {
		mutex_unlock(&cp->lock);
		return -EAGAIN;
	}
	cp->list = !cp->list;
	cp->list_dwords = dwords;
	if (dwords)
		cp_close_list(cp);
	/*
	 * A hung CP may still run old queues. So wait_event() below waits for the recovery: after
	 * vgpu_cp_run(), callers in kfd/ free the memory of queues. This wait cannot deadlock,
	 * because the recovery takes no lock of kfd/.
	 */
	hangs = cp->hangs;
	if (!cp->off && !hangs && cp_submit_list(vdev, VGPU_HW_TIMEOUT_US)) {
		if (vgpu_hw_present(vdev)) {
			hangs = true;
			cp_report_hang(vdev);
		} else {
			cp->off = true;
		}
	}
	mutex_unlock(&cp->lock);
	if (!hangs)
		return 0;
	wait_event(cp->reset, !READ_ONCE(cp->hangs));
	return -ETIME;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_cp_run);

/**
 * vgpu_cp_park() - unmap all compute queues before a reset
 * @vdev: device
 *
 * Until vgpu_cp_unpark(), vgpu_cp_run() only stores run lists.
 *
 * Context: sleeps.
 */
void vgpu_cp_park(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	u32 dwords;

	mutex_lock(&cp->lock);
	if (!cp->off && cp->list_dwords) {
		dwords = cp->list_dwords;
		cp->list_dwords = 0;
		if (cp->hangs || cp_submit_list(vdev, CP_PARK_US)) {
			WRITE_ONCE(cp->hangs, true);
			atomic_inc(&cp->lost);
		} else {
			cp->list_dwords = dwords;
		}
	}
	cp->off = true;
	mutex_unlock(&cp->lock);
}

/* Drop the run list, because the state of its queues was lost. The caller holds cp.lock. */
static void cp_drop_list(struct vgpu_cp *cp)
{
	if (cp->list_dwords) {
		atomic_inc(&cp->lost);
		cp->list_dwords = 0;
	}
}

/**
 * vgpu_cp_unpark() - restart the CP after a reset
 * @vdev: device in its reset state; the GART works
 * @vram_lost: the content of VRAM was lost, so that no queue is started
 *
 * If VRAM was kept, the queues continue at the point where vgpu_cp_park() unmapped them. If
 * the CP hung in vgpu_cp_park(), the state of the queues is lost (vgpu_cp_lost()).
 *
 * Context: sleeps.
 */
void vgpu_cp_unpark(struct vgpu_device *vdev, bool vram_lost)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;

	mutex_lock(&cp->lock);
	if (vram_lost)
		cp_drop_list(cp);
	cp_clear_hang(cp);
	if (!cp_start(vdev))
		cp->off = false;
	if (!cp->off && cp->list_dwords &&
	    cp_submit_list(vdev, VGPU_HW_TIMEOUT_US)) {
		drm_err(&vdev->drm, "CP hangs after a reset\n");
		atomic_inc(&cp->lost);
		cp->list_dwords = 0;
		vgpu_cp_stop(vdev);
		cp->off = true;
	}
	mutex_unlock(&cp->lock);
}

/**
 * vgpu_cp_give_up() - stop a CP that hangs, because the device cannot be reset
 * @vdev: device that does not answer, or device on which vgpu_cp_park() was called
 * @vram_lost: the content of VRAM was lost: the queues of the run list do not run again
 *             (vgpu_cp_lost())
 *
 * A CP that hangs may still run queues, even after vgpu_cp_park(). So the function stops the CP,
 * and then ends the wait in vgpu_cp_run(). A CP that does not hang is not touched.
 *
 * Context: sleeps.
 */
void vgpu_cp_give_up(struct vgpu_device *vdev, bool vram_lost)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;

	mutex_lock(&cp->lock);
	if (vram_lost)
		cp_drop_list(cp);
	if (cp->hangs) {
		vgpu_cp_stop(vdev);
		cp_clear_hang(cp);
	}
	mutex_unlock(&cp->lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_cp_give_up);

static int cp_alloc(struct vgpu_device *vdev, size_t bytes, void **cpu,
		    dma_addr_t *dma, u64 *mc)
{
	*cpu = dma_alloc_coherent(&vdev->pdev->dev, bytes, dma, GFP_KERNEL);
	if (!*cpu)
		return -ENOMEM;
	*mc = vgpu_gart_bind_reserved(vdev, *dma, bytes);
	return 0;
}

static void cp_free(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	struct device *dev = &vdev->pdev->dev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cp->lists); i++)
		if (cp->lists[i])
			dma_free_coherent(dev, VGPU_CP_LIST_BYTES, cp->lists[i],
					  cp->list_dma[i]);
	if (cp->control)
		dma_free_coherent(dev, CP_CONTROL_BYTES, cp->control,
				  cp->control_dma);
}

/**
 * vgpu_cp_init() - initialise the CP
 * @vdev: device; VMID 0 and interrupts work, mm/ has not been initialised
 *
 * Return: 0, -ENOMEM, or -ETIME if the CP does not answer.
 */
int vgpu_cp_init(struct vgpu_device *vdev)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	unsigned int i;
	void *cpu;
	int ret;

	mutex_init(&cp->lock);
	init_waitqueue_head(&cp->reset);
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&cp->lock);
	fs_reclaim_release(GFP_KERNEL);

	ret = cp_alloc(vdev, CP_CONTROL_BYTES, &cp->control, &cp->control_dma,
		       &cp->control_mc);
	for (i = 0; !ret && i < ARRAY_SIZE(cp->lists); i++) {
		ret = cp_alloc(vdev, VGPU_CP_LIST_BYTES, &cpu,
			       &cp->list_dma[i], &cp->list_mc[i]);
		cp->lists[i] = cpu;
	}
	if (ret)
		goto err;
	cp_ring_init(cp, &cp->kiq, 0, DOORBELL_KIQ);
	cp_ring_init(cp, &cp->hiq, 1, DOORBELL_HIQ);
	cp->fence = cp->control + CP_FENCE_AT;
	cp->fence_mc = cp->control_mc + CP_FENCE_AT;

	mutex_lock(&cp->lock);
	ret = cp_start(vdev);
	mutex_unlock(&cp->lock);
	if (!ret)
		return 0;
	vgpu_cp_stop(vdev);
err:
	cp_free(vdev);
	mutex_destroy(&cp->lock);
	return ret;
}

/**
 * vgpu_cp_fini() - undo vgpu_cp_init()
 * @vdev: device; nothing uses the CP any more
 */
void vgpu_cp_fini(struct vgpu_device *vdev)
{
	vgpu_cp_stop(vdev);
	cp_free(vdev);
	mutex_destroy(&to_hw_state(vdev)->cp.lock);
}
