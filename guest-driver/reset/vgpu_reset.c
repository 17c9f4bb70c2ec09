// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of a device: one work item, one state machine (docs/driver.md,
 * "Recovery"). hw/ says what is wrong by vgpu_reset_request(); what is done about
 * it is decided here.
 *
 *	GART		the table is written again
 *	rings		soft recovery: the kernel's rings start again at the first
 *			job that is not done; failing that, the engine is reset
 *	engine		that engine is reset; failing that, the device
 *	device		mode-1 reset; failing that, the engines are given up
 *
 * The worker is on the way to fences: it does not allocate, and takes no
 * reservation.
 */
#include <linux/ktime.h>
#include <drm/drm_managed.h>

#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "device/vgpu_device.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_gart.h"
#include "hw/vgpu_gmc.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_ih.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "hw/vgpu_recover.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_res_mgr.h"
#include "vgpu_reset.h"
#include "vgpu_reset_trace.h"

/* In vgpu_reset.notify: VRAM was lost. */
#define RESET_NOTIFY_LOST	BIT(30)
static_assert(RESET_NOTIFY_LOST > VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP));

/* Device resets after which no engine did better. */
#define RESET_DEVICE_TRIES	2u

/* How long a reset of the device waits until user space has lost its mappings of BARs. */
#define RESET_ZAP_TIMEOUT	(2 * HZ)

/**
 * struct vgpu_reset - recovery of a device
 * @vdev: the device
 * @client: see vgpu_reset_set_client(), or NULL; set once
 * @wq: runs @work, one at a time
 * @work: does what is in @pending
 * @pending: VGPU_RECOVER_*
 * @notify_work: does what is in @notify
 * @notify: VGPU_RECOVER_ENGINE(): @client is notified of it; RESET_NOTIFY_LOST: BOs are
 *          marked
 * @zap_work: takes mappings of BARs from user space
 * @zap_wait: woken when @zap_done has changed
 * @zap_wanted: how often that was requested; @work only
 * @zap_done: the last of these requests that @zap_work has served
 * @since: when the first of @pending was asked for, ns; 0: nothing is
 * @device_tries: device resets since an engine reset was enough
 * @enabled: requests are taken
 */
struct vgpu_reset {
	struct vgpu_device *vdev;
	const struct vgpu_reset_client *client;
	struct workqueue_struct *wq;
	struct work_struct work;
	atomic_t pending;
	struct work_struct notify_work;
	atomic_t notify;
	struct work_struct zap_work;
	wait_queue_head_t zap_wait;
	unsigned int zap_wanted;
	unsigned int zap_done;
	atomic64_t since;
	unsigned int device_tries;
	bool enabled;
};

/**
 * vgpu_reset_request() - request a recovery
 * @vdev: device
 * @what: VGPU_RECOVER_*
 *
 * The recovery runs in a worker. Context: any.
 *
 * Return: false if requests are not taken, before vgpu_reset_start() and after
 * vgpu_reset_stop().
 */
bool vgpu_reset_request(struct vgpu_device *vdev, unsigned long what)
{
	struct vgpu_reset *reset = vdev->reset;
	bool enabled;

	rcu_read_lock();
	enabled = READ_ONCE(reset->enabled);
	if (enabled) {
		atomic64_cmpxchg(&reset->since, 0, ktime_get_ns());
		atomic_or(what, &reset->pending);
		queue_work(reset->wq, &reset->work);
	}
	rcu_read_unlock();
	return enabled;
}

/* Returns whether it has helped; if not, the device has to be reset. */
static bool reset_gart(struct vgpu_device *vdev)
{
	unsigned long cams = vgpu_sdma_take_gart_cam(vdev);
	unsigned int i;
	int ret;

	vgpu_gart_restore(vdev);
	ret = vgpu_gtt_mgr_recover(vdev);
	vgpu_stat_add(vdev, VGPU_STAT_GART_RECOVERIES, 1);
	for_each_set_bit(i, &cams, VGPU_RETRY_CAM_SLOTS)
		vgpu_ih_cam_ack(vdev, i);
	return !ret;
}

/* Returns the engines that do not let go of the kernel's ring. */
static unsigned long reset_park_rings(struct vgpu_device *vdev)
{
	unsigned long bad = 0;
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		if (!vgpu_sdma_ring_park(vdev, i))
			bad |= VGPU_RECOVER_ENGINE(i);
	return bad;
}

static void reset_unpark(struct vgpu_device *vdev, unsigned int engine,
			 unsigned long *dead, bool vram_lost)
{
	*dead = vgpu_sdma_unpark(vdev, engine, *dead, vram_lost);
	vgpu_stat_add(vdev, VGPU_STAT_QUEUES_STOPPED, hweight_long(*dead));
}

/*
 * The client takes locks whose holders may wait for engines, to clear memory or to
 * write page tables; under the lock that protects lost BOs memory is allocated, and
 * reclaim waits for engines and TLB flushes. So this is done when all run again, and
 * not by the worker, which is needed if one fails again.
 */
static void reset_notify_work(struct work_struct *work)
{
	struct vgpu_reset *reset = container_of(work, struct vgpu_reset,
						notify_work);
	unsigned long what = atomic_xchg(&reset->notify, 0);
	unsigned int i;

	if (what & RESET_NOTIFY_LOST)
		drm_err(&reset->vdev->drm, "VRAM was lost with %u BOs\n",
			vgpu_vram_mgr_mark_lost(reset->vdev));
	if (!reset->client)
		return;
	for (i = 0; i <= VGPU_ENGINE_CP; i++)
		if (what & VGPU_RECOVER_ENGINE(i))
			reset->client->engine_recovered(reset->vdev, i);
}

static void reset_notify(struct vgpu_device *vdev, unsigned long what)
{
	atomic_or(what, &vdev->reset->notify);
	queue_work(system_wq, &vdev->reset->notify_work);
}

static void reset_zap_work(struct work_struct *work)
{
	struct vgpu_reset *reset = container_of(work, struct vgpu_reset, zap_work);
	unsigned int wanted = READ_ONCE(reset->zap_wanted);

	vgpu_io_map_sync();
	vgpu_mm_zap_mappings(reset->vdev);
	if (reset->client)
		reset->client->zap_mappings(reset->vdev);
	WRITE_ONCE(reset->zap_done, wanted);
	wake_up_all(&reset->zap_wait);
}

/*
 * Take the BARs from user space until vgpu_io_map_open(). Who unmaps a page calls the MMU
 * notifiers of its address, and a process may have laid ranges and user pointers there
 * whose notifiers wait for fences, and so for this reset; a fault handler that allocates a
 * page table may wait for reclaim, and that likewise. So another thread does it, and a
 * process that keeps its mapping costs RESET_ZAP_TIMEOUT and what it writes meanwhile.
 */
static void reset_close_mappings(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset = vdev->reset;
	unsigned int wanted = reset->zap_wanted + 1;

	vgpu_io_map_close(vdev);
	WRITE_ONCE(reset->zap_wanted, wanted);
	queue_work(system_unbound_wq, &reset->zap_work);
	if (!wait_event_timeout(reset->zap_wait, READ_ONCE(reset->zap_done) == wanted,
				RESET_ZAP_TIMEOUT))
		drm_warn(&vdev->drm,
			 "reset under mappings of BARs that cannot be taken away\n");
}

static int reset_mode1(struct vgpu_device *vdev, bool *vram_lost)
{
	int ret;

	if (vdev->reset->device_tries++ >= RESET_DEVICE_TRIES)
		return -ENODEV;
	reset_close_mappings(vdev);
	ret = vgpu_hw_reset(vdev, vram_lost);
	if (*vram_lost)
		vgpu_vram_mgr_distrust(vdev);
	vgpu_io_map_open(vdev);
	return ret;
}

/* Engines that are parked already have their bit in @parked. */
static void reset_device(struct vgpu_device *vdev, unsigned long parked,
			 unsigned long *dead, const char *reason)
{
	const struct vgpu_reset_client *client = vdev->reset->client;
	bool lost = false;
	unsigned int i;

	vgpu_gmc_reset_begin(vdev);
	if (client)
		client->pre_reset(vdev, reason);
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		if (!(parked & VGPU_RECOVER_ENGINE(i)))
			vgpu_sdma_park(vdev, i, &dead[i]);
	vgpu_cp_park(vdev);

	if (reset_mode1(vdev, &lost)) {
		drm_err(&vdev->drm,
			"device cannot be recovered: SDMA engines are given up\n");
		/* First: a job that the CPU completes wakes readers of this. */
		vgpu_stat_add(vdev, VGPU_STAT_RECOVERY_FAILURES, 1);
		vgpu_sdma_give_up(vdev);
		vgpu_cp_give_up(vdev);
		vgpu_gmc_reset_end(vdev, false);
		return;
	}
	vgpu_gtt_mgr_recover(vdev);
	vgpu_sdma_faults_over(vdev);
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		reset_unpark(vdev, i, &dead[i], lost);
	vgpu_cp_unpark(vdev, lost);
	reset_notify(vdev, VGPU_RECOVER_ENGINES | VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP) |
			   (lost ? RESET_NOTIFY_LOST : 0));
	if (client)
		client->post_reset(vdev, reason);
	drm_info(&vdev->drm, "device was reset, VRAM %s\n",
		 lost ? "lost" : "kept");
}

static const char *reset_reason(unsigned long what)
{
	static const char * const failed[SDMA_NUM_ENGINES] = {
		"sdma0 failed", "sdma1 failed", "sdma2 failed", "sdma3 failed",
		"sdma4 failed",
	};

	if (what & VGPU_RECOVER_DEVICE)
		return "reset of the device asked for";
	if (what & VGPU_RECOVER_RINGS)
		return "fault of VMID 0";
	/* Asked for an engine: of several the first. */
	return failed[__ffs(what & VGPU_RECOVER_ENGINES)];
}

static void reset_work(struct work_struct *work)
{
	struct vgpu_reset *reset = container_of(work, struct vgpu_reset, work);
	struct vgpu_device *vdev = reset->vdev;
	unsigned long dead[SDMA_NUM_ENGINES] = { };
	unsigned long what = atomic_xchg(&reset->pending, 0);
	unsigned long parked = 0;
	u64 since;
	unsigned int i;

	/* Where the device is gone, an engine's reset would seem to help. */
	if (!vgpu_hw_present(vdev))
		what |= VGPU_RECOVER_DEVICE;
	trace_vgpu_reset_begin(what, vgpu_rreg(vdev, VGPU_FAULT_SERIAL));
	if (what & (VGPU_RECOVER_RINGS | VGPU_RECOVER_ENGINES |
		    VGPU_RECOVER_DEVICE))
		vgpu_dump_take(vdev, reset_reason(what));
	if (what & VGPU_RECOVER_GART && !reset_gart(vdev))
		what |= VGPU_RECOVER_DEVICE;
	if (what & VGPU_RECOVER_RINGS)
		what |= reset_park_rings(vdev);
	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		if (!(what & VGPU_RECOVER_ENGINE(i)))
			continue;
		vgpu_sdma_park(vdev, i, &dead[i]);
		parked |= VGPU_RECOVER_ENGINE(i);
		if (vgpu_sdma_engine_reset(vdev, i))
			what |= VGPU_RECOVER_DEVICE;
		else
			reset->device_tries = 0;
	}
	if (what & VGPU_RECOVER_DEVICE) {
		reset_device(vdev, parked, dead, reset_reason(what));
	} else {
		if (what & VGPU_RECOVER_RINGS ||
		    (parked & VGPU_RECOVER_KERNELS) == VGPU_RECOVER_KERNELS)
			vgpu_sdma_faults_over(vdev);
		for (i = 0; i < SDMA_NUM_ENGINES; i++) {
			if (parked & VGPU_RECOVER_ENGINE(i))
				reset_unpark(vdev, i, &dead[i], false);
			else if (what & VGPU_RECOVER_RINGS &&
				 vgpu_sdma_ring_ready(vdev, i))
				vgpu_sdma_ring_unpark(vdev, i, false);
		}
		if (parked)
			reset_notify(vdev, parked);
	}

	since = atomic64_xchg(&reset->since, 0);
	if (since)
		atomic64_set(&vdev->stats[VGPU_STAT_RECOVERY_US],
			     div_u64(ktime_get_ns() - since, NSEC_PER_USEC));
	trace_vgpu_reset_end(what, since ? div_u64(ktime_get_ns() - since,
						   NSEC_PER_USEC) : 0);
}

/**
 * vgpu_reset_device() - reset the device, as an operator asks for it
 * @vdev: device
 *
 * Waits until that is done. Return: 0, or -ENODEV if the device goes.
 */
int vgpu_reset_device(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset = vdev->reset;

	reset->device_tries = 0;
	if (!vgpu_reset_request(vdev, VGPU_RECOVER_DEVICE))
		return -ENODEV;
	flush_work(&reset->work);
	flush_work(&reset->notify_work);
	return 0;
}

/**
 * vgpu_reset_in_progress() - whether a recovery is requested or under way
 * @vdev: device
 *
 * Context: any.
 *
 * Return: true from the request until the recovery has ended.
 */
bool vgpu_reset_in_progress(struct vgpu_device *vdev)
{
	return atomic64_read(&vdev->reset->since);
}

/**
 * vgpu_vram_lost_counter() - how often VRAM was lost
 * @vdev: device
 *
 * Any context.
 *
 * Return: number of resets that lost it: AMDGPU_INFO_VRAM_LOST_COUNTER.
 */
u32 vgpu_vram_lost_counter(struct vgpu_device *vdev)
{
	return atomic_read(&vdev->hw->vram_epoch);
}

/**
 * vgpu_reset_init() - be ready to recover
 * @vdev: device, before vgpu_hw_init()
 *
 * Requests are taken after vgpu_reset_start(). Return: 0 or -ENOMEM.
 */
int vgpu_reset_init(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset;

	reset = drmm_kzalloc(&vdev->drm, sizeof(*reset), GFP_KERNEL);
	if (!reset)
		return -ENOMEM;
	reset->vdev = vdev;
	INIT_WORK(&reset->work, reset_work);
	INIT_WORK(&reset->notify_work, reset_notify_work);
	INIT_WORK(&reset->zap_work, reset_zap_work);
	init_waitqueue_head(&reset->zap_wait);
	reset->wq = alloc_ordered_workqueue("vgpu-reset", WQ_MEM_RECLAIM);
	if (!reset->wq)
		return -ENOMEM;
	vdev->reset = reset;
	return 0;
}

/**
 * vgpu_reset_set_client() - set whom a recovery notifies
 * @vdev: device
 * @client: its functions; may be called from vgpu_reset_start() to vgpu_reset_stop()
 *
 * Context: bring-up, before vgpu_reset_start().
 */
void vgpu_reset_set_client(struct vgpu_device *vdev,
			   const struct vgpu_reset_client *client)
{
	vdev->reset->client = client;
}

/**
 * vgpu_reset_start() - take requests
 * @vdev: device, brought up completely
 */
void vgpu_reset_start(struct vgpu_device *vdev)
{
	WRITE_ONCE(vdev->reset->enabled, true);
}

/**
 * vgpu_reset_stop() - take no more requests
 * @vdev: device
 *
 * No recovery is under way any more when it returns. What fails afterwards is
 * done by the CPU.
 */
void vgpu_reset_stop(struct vgpu_device *vdev)
{
	WRITE_ONCE(vdev->reset->enabled, false);
	synchronize_rcu();
	flush_workqueue(vdev->reset->wq);
	flush_work(&vdev->reset->notify_work);
	flush_work(&vdev->reset->zap_work);
}

/**
 * vgpu_reset_fini() - undo vgpu_reset_init()
 * @vdev: device, vgpu_reset_stop() has been called if it was started
 */
void vgpu_reset_fini(struct vgpu_device *vdev)
{
	destroy_workqueue(vdev->reset->wq);
}
