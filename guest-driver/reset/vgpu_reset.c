// SPDX-License-Identifier: GPL-2.0
/*
 * Recovers a device after a failure, or on request of an operator. One work item, reset_work(),
 * runs all recoveries (docs/driver.md, "Recovery"). Fences depend on this work item, so it neither
 * allocates memory nor takes a reservation.
 */
#include <linux/ktime.h>
#include <drm/drm_managed.h>
#include <kunit/visibility.h>

#include "vgpu/device_info.h"
#include "vgpu/ih.h"
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
#include "vgpu_reset_priv.h"
#include "vgpu_reset_trace.h"

/* Bit in vgpu_reset.notify that is set if VRAM was lost. */
#define RESET_NOTIFY_LOST	BIT(30)
static_assert(RESET_NOTIFY_LOST > VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP));

/* Time limit for the removal of user-space mappings of BARs before a device reset, in jiffies. */
#define RESET_ZAP_TIMEOUT	(2 * HZ)

/**
 * vgpu_reset_request() - request a recovery
 * @vdev: device
 * @what: VGPU_RECOVER_*
 *
 * A worker runs the recovery.
 *
 * Context: any.
 *
 * Return: true if the request was accepted; false before vgpu_reset_start() and after
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

/*
 * Write the GART's table again. Returns true if the GART works again; if not, the caller resets the
 * device.
 */
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

/*
 * Stop the kernel's rings. Returns a mask with VGPU_RECOVER_ENGINE() of each engine that has to be
 * reset, because its ring did not stop or the engine has failed (vgpu_sdma_ring_park()).
 */
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
 * Mark lost BOs and notify vgpu_reset.client, outside reset_work(): holders of the needed locks may
 * wait for reset_work().
 */
static void reset_notify_work(struct work_struct *work)
{
	struct vgpu_reset *reset = container_of(work, struct vgpu_reset,
						notify_work);
	unsigned long what = atomic_xchg(&reset->notify, 0);
	unsigned int i;

	/*
	 * vgpu_vram_mgr_mark_lost() waits for vgpu_vram_mgr.lock. A holder of this lock may enter
	 * reclaim, which waits for engines and TLB flushes. So reset_work() must not make this
	 * call.
	 */
	if (what & RESET_NOTIFY_LOST)
		drm_err(&reset->vdev->drm, "VRAM was lost with %u BOs\n",
			vgpu_vram_mgr_mark_lost(reset->vdev));
	if (!reset->client)
		return;
	/*
	 * engine_recovered() waits for locks of the client. A holder of these locks may wait for
	 * reset_work() to recover an engine. So reset_work() must not make this call.
	 */
	for (i = 0; i <= VGPU_ENGINE_CP; i++)
		if (what & VGPU_RECOVER_ENGINE(i))
			reset->client->engine_recovered(reset->vdev, i);
}

static void reset_notify(struct vgpu_device *vdev, unsigned long what)
{
	atomic_or(what, &vdev->reset->notify);
	queue_work(system_wq, &vdev->reset->notify_work);
}

/*
 * Notify after a reset of the device. If VRAM was lost, the caller has ended the jobs that were
 * pending at the loss.
 */
static void reset_notify_all(struct vgpu_device *vdev, bool vram_lost)
{
	if (vram_lost)
		vgpu_vram_mgr_loss_over(vdev);
	reset_notify(vdev, VGPU_RECOVER_ENGINES | VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP) |
			   (vram_lost ? RESET_NOTIFY_LOST : 0));
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
 * Forbid new user-space mappings of the BARs until vgpu_io_map_open(). Wait for at most
 * RESET_ZAP_TIMEOUT until zap_work has removed the existing mappings. If mappings remain, the reset
 * starts anyway, and writes through these mappings are lost.
 */
static void reset_close_mappings(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset = vdev->reset;
	unsigned int wanted = reset->zap_wanted + 1;

	vgpu_io_map_close(vdev);
	WRITE_ONCE(reset->zap_wanted, wanted);
	/*
	 * Limit the wait: zap_work waits for MMU notifiers and fault handlers. These may wait for
	 * fences that signal only after this reset.
	 */
	queue_work(system_unbound_wq, &reset->zap_work);
	if (!wait_event_timeout(reset->zap_wait, READ_ONCE(reset->zap_done) == wanted,
				RESET_ZAP_TIMEOUT))
		drm_warn(&vdev->drm,
			 "device reset while user space still maps its BARs\n");
}

/**
 * vgpu_reset_tries_next() - whether the device may be reset once more
 * @tries: count of resets; restarts after VGPU_RESET_CALM without a reset
 * @now: time in jiffies
 *
 * Adds the new reset to @tries.
 *
 * Return: true if the new reset is allowed; false if there were too many, and the device must be
 * given up.
 */
bool vgpu_reset_tries_next(struct vgpu_reset_tries *tries, unsigned long now)
{
	if (tries->n <= VGPU_RESET_TRIES &&
	    time_after(now, tries->last + VGPU_RESET_CALM))
		tries->n = 0;
	tries->last = now;
	tries->n = min(tries->n + 1, VGPU_RESET_TRIES + 1);
	return tries->n <= VGPU_RESET_TRIES;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_reset_tries_next);

static int reset_mode1(struct vgpu_device *vdev, bool *vram_lost)
{
	int ret;

	if (!vgpu_reset_tries_next(&vdev->reset->tries, jiffies))
		return -ENODEV;
	reset_close_mappings(vdev);
	ret = vgpu_hw_reset(vdev, vram_lost);
	if (*vram_lost)
		vgpu_vram_mgr_distrust(vdev);
	vgpu_io_map_open(vdev);
	return ret;
}

/**
 * vgpu_reset_give_up() - stop using the engines, because the device cannot be reset
 * @vdev: device, its engines and its CP parked
 * @vram_lost: the failed reset has lost the content of VRAM; vgpu_vram_mgr_distrust() has been
 *             called
 *
 * If VRAM was lost, marks the lost BOs and notifies vgpu_reset.client, in a separate work item.
 *
 * Context: the recovery's worker, or a resume that has failed: then no recovery is accepted.
 */
void vgpu_reset_give_up(struct vgpu_device *vdev, bool vram_lost)
{
	drm_err(&vdev->drm,
		"device cannot be recovered: SDMA engines are given up\n");
	/*
	 * Increment the counter before the engines are given up, because giving up ends jobs, and
	 * so wakes threads that read the counter.
	 */
	vgpu_stat_add(vdev, VGPU_STAT_RECOVERY_FAILURES, 1);
	vgpu_sdma_give_up(vdev, vram_lost);
	vgpu_cp_give_up(vdev, vram_lost);
	vgpu_gmc_reset_end(vdev, false);
	/*
	 * If VRAM was kept, do not notify: the queues continue after a later reset that succeeds,
	 * for instance on an operator's request.
	 */
	if (vram_lost)
		reset_notify_all(vdev, true);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_reset_give_up);

/*
 * Reset the device and restart its engines, or give the engines up. @parked has
 * VGPU_RECOVER_ENGINE() of each engine that is parked already.
 */
static void reset_device(struct vgpu_device *vdev, unsigned long parked,
			 unsigned long *dead, const char *reason)
{
	const struct vgpu_reset_client *client = vdev->reset->client;
	bool lost = false;
	unsigned int i;

	vgpu_gmc_reset_begin(vdev);
	if (client)
		client->pre_reset(vdev, reason);
	/*
	 * @dead[i] is a bitmap of user queues that must not run again. For engines in @parked, the
	 * caller has set the bitmap.
	 */
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		if (!(parked & VGPU_RECOVER_ENGINE(i)))
			vgpu_sdma_park(vdev, i, &dead[i]);
	vgpu_cp_park(vdev);

	if (reset_mode1(vdev, &lost)) {
		vgpu_reset_give_up(vdev, lost);
		return;
	}
	vgpu_gtt_mgr_recover(vdev);
	vgpu_sdma_faults_over(vdev);
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		reset_unpark(vdev, i, &dead[i], lost);
	vgpu_cp_unpark(vdev, lost);
	reset_notify_all(vdev, lost);
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
	/*
	 * The callers pass VGPU_RECOVER_DEVICE, VGPU_RECOVER_RINGS or the bit of an engine. Neither
	 * of the first two is set here, so the bit of an engine is set.
	 */
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

	/*
	 * If the device does not answer, reset the whole device: all registers read as ones
	 * then, so the reset of an engine alone would seem to succeed.
	 */
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
			reset->tries.n = 0;
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
 * vgpu_reset_device() - reset the device on request of an operator
 * @vdev: device
 *
 * Context: process context; waits until the reset is done and vgpu_reset.client is notified.
 *
 * Return: 0, or -ENODEV if requests are not accepted (the device is being removed).
 */
int vgpu_reset_device(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset = vdev->reset;

	reset->tries.n = 0;
	if (!vgpu_reset_request(vdev, VGPU_RECOVER_DEVICE))
		return -ENODEV;
	flush_work(&reset->work);
	flush_work(&reset->notify_work);
	return 0;
}

/**
 * vgpu_reset_in_progress() - whether a recovery is requested or running
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
 * Context: any.
 *
 * Return: number of resets that lost VRAM, for AMDGPU_INFO_VRAM_LOST_COUNTER.
 */
u32 vgpu_vram_lost_counter(struct vgpu_device *vdev)
{
	return atomic_read(&vdev->hw->vram_epoch);
}

/**
 * vgpu_reset_setup() - initialise a struct vgpu_reset, and set vgpu_device.reset
 * @vdev: device
 * @reset: structure to initialise, all zero
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_reset_setup(struct vgpu_device *vdev, struct vgpu_reset *reset)
{
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
EXPORT_SYMBOL_IF_KUNIT(vgpu_reset_setup);

/**
 * vgpu_reset_init() - prepare for recoveries
 * @vdev: device; vgpu_hw_init() has not been called yet
 *
 * Requests for recoveries are not accepted before vgpu_reset_start().
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_reset_init(struct vgpu_device *vdev)
{
	struct vgpu_reset *reset;

	reset = drmm_kzalloc(&vdev->drm, sizeof(*reset), GFP_KERNEL);
	return reset ? vgpu_reset_setup(vdev, reset) : -ENOMEM;
}

/**
 * vgpu_reset_set_client() - set the functions that a recovery calls
 * @vdev: device
 * @client: functions, which recoveries may call after vgpu_reset_start() and before the end of
 *          vgpu_reset_stop()
 *
 * Context: bring-up, before vgpu_reset_start().
 */
void vgpu_reset_set_client(struct vgpu_device *vdev,
			   const struct vgpu_reset_client *client)
{
	vdev->reset->client = client;
}

/**
 * vgpu_reset_start() - accept requests for recoveries from now on
 * @vdev: device, initialised completely
 */
void vgpu_reset_start(struct vgpu_device *vdev)
{
	WRITE_ONCE(vdev->reset->enabled, true);
}

/**
 * vgpu_reset_stop() - accept no more requests
 * @vdev: device
 *
 * On return no recovery is in flight. Failures after that are not recovered; the CPU executes
 * the failed jobs instead.
 *
 * Context: process context; waits for a recovery in flight.
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
 * vgpu_reset_fini() - free the workqueue; struct vgpu_reset is freed with the DRM device
 * @vdev: device; vgpu_reset_stop() has been called if vgpu_reset_start() was
 */
void vgpu_reset_fini(struct vgpu_device *vdev)
{
	destroy_workqueue(vdev->reset->wq);
}
