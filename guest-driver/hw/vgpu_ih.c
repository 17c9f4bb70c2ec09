// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt handler block: ring 0, its MSI, and the retry CAM. Specification:
 * docs/hardware.md and include/vgpu/ih.h.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/doorbell.h"
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"
#include "vgpu_hw_trace.h"

#define IH_SPACE_BUS	2u	/* value of IH_RB_CNTL__MC_SPACE: the ring is at a bus address */

#define IH_CNTL_RUN \
	(VGPU_PREP(IH_RB_CNTL__RB_SIZE, (u32)ilog2(IH_RING_BYTES / 4)) | \
	 VGPU_PREP(IH_RB_CNTL__MC_SPACE, IH_SPACE_BUS) | \
	 IH_RB_CNTL__MC_SNOOP | \
	 IH_RB_CNTL__RB_GPU_TS_ENABLE | \
	 IH_RB_CNTL__WPTR_WRITEBACK_ENABLE | \
	 IH_RB_CNTL__WPTR_OVERFLOW_ENABLE | \
	 IH_RB_CNTL__RPTR_REARM | \
	 IH_RB_CNTL__ENABLE_INTR | \
	 IH_RB_CNTL__RB_ENABLE)

/**
 * vgpu_ih_register() - register a handler for interrupts of one source
 * @vdev: device
 * @client: IH_CLIENT_*
 * @source: IH_SRC_*
 * @fn: called in hard interrupt context for every entry of @client and @source
 * @arg: passed to @fn
 *
 * A source may have several handlers. All of them are called, and each selects its entries
 * by VMID or PASID.
 *
 * Return: 0, or -ENOSPC if all slots are in use.
 */
int vgpu_ih_register(struct vgpu_device *vdev, u8 client, u8 source,
		     vgpu_iv_handler fn, void *arg)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	int ret = -ENOSPC;
	unsigned int i;

	spin_lock_irq(&ih->lock);
	for (i = 0; i < ARRAY_SIZE(ih->slots); i++) {
		struct vgpu_iv_slot *slot = &ih->slots[i];

		if (slot->fn)
			continue;
		WRITE_ONCE(slot->client, client);
		WRITE_ONCE(slot->source, source);
		slot->arg = arg;
		slot->fn = fn;
		ret = 0;
		break;
	}
	spin_unlock_irq(&ih->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_register);

/**
 * vgpu_ih_sync() - wait for running handlers
 * @vdev: device
 *
 * Waits for the interrupt handler. Also waits for vgpu_ih_poll(), because synchronize_irq()
 * does not wait for that function.
 *
 * Context: sleeps; not in a handler.
 */
void vgpu_ih_sync(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	if (ih->irq)
		synchronize_irq(ih->irq);
	mutex_lock(&ih->poll_lock);
	mutex_unlock(&ih->poll_lock);
}

/**
 * vgpu_ih_unregister() - undo vgpu_ih_register()
 * @vdev: device
 * @client: as registered
 * @source: as registered
 * @fn: as registered
 *
 * On return @fn neither runs nor will be called.
 *
 * Context: may sleep.
 */
void vgpu_ih_unregister(struct vgpu_device *vdev, u8 client, u8 source,
			vgpu_iv_handler fn)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	unsigned int i;

	spin_lock_irq(&ih->lock);
	for (i = 0; i < ARRAY_SIZE(ih->slots); i++) {
		struct vgpu_iv_slot *slot = &ih->slots[i];

		if (slot->fn == fn && slot->client == client &&
		    slot->source == source)
			slot->fn = NULL;
	}
	spin_unlock_irq(&ih->lock);

	vgpu_ih_sync(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_unregister);

/**
 * vgpu_ih_cam_ack() - free a slot of the retry CAM
 * @vdev: device
 * @cam_index: index from the fault's interrupt entry
 *
 * The device retries the accesses that wait for the slot. The caller has flushed
 * page-table writes that these accesses must see.
 *
 * Context: any.
 */
void vgpu_ih_cam_ack(struct vgpu_device *vdev, u32 cam_index)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_ih_cam_ack, vdev, cam_index);
	trace_vgpu_cam_ack(cam_index);
	vgpu_wdoorbell32(vdev, DOORBELL_IH_RETRY_CAM_DW,
			 VGPU_PREP(IH_RETRY_CAM_ACK__INDEX, cam_index));
	vgpu_stat_add(vdev, VGPU_STAT_CAM_ACKS, 1);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_cam_ack);

static void ih_decode(const __le32 *dw, struct vgpu_iv_entry *iv)
{
	u32 dw0 = le32_to_cpu(dw[0]);
	u32 dw3 = le32_to_cpu(dw[3]);
	unsigned int i;

	iv->client = VGPU_GET(dw0, IH_DW0__CLIENT);
	iv->source = VGPU_GET(dw0, IH_DW0__SOURCE);
	iv->ring = VGPU_GET(dw0, IH_DW0__RING);
	iv->vmid = VGPU_GET(dw0, IH_DW0__VMID);
	iv->mm_hub = dw0 & IH_DW0__VMID_SRC;
	iv->timestamp = le32_to_cpu(dw[1]) |
			(u64)VGPU_GET(le32_to_cpu(dw[2]),
				      IH_DW2__TIMESTAMP_HI) << 32;
	iv->pasid = VGPU_GET(dw3, IH_DW3__PASID);
	iv->node = VGPU_GET(dw3, IH_DW3__NODE);
	for (i = 0; i < ARRAY_SIZE(iv->data); i++)
		iv->data[i] = le32_to_cpu(dw[4 + i]);
}

static void ih_dispatch(struct vgpu_device *vdev,
			const struct vgpu_iv_entry *iv)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	bool handled = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ih->slots); i++) {
		struct vgpu_iv_slot slot;

		/*
		 * Test without the lock first: most slots are of other sources, and an engine may
		 * wait for this entry. A handler that is being registered may miss the entry.
		 */
		if (READ_ONCE(ih->slots[i].client) != iv->client ||
		    READ_ONCE(ih->slots[i].source) != iv->source)
			continue;
		/*
		 * Copy the slot, so that the handler is called after the lock is dropped: handlers
		 * take other locks.
		 */
		spin_lock(&ih->lock);
		slot = ih->slots[i];
		spin_unlock(&ih->lock);

		if (!slot.fn || slot.client != iv->client ||
		    slot.source != iv->source)
			continue;
		slot.fn(vdev, iv, slot.arg);
		handled = true;
	}

	if (!handled)
		drm_dbg_driver(&vdev->drm,
			       "interrupt of client %#x source %u has no handler\n",
			       iv->client, iv->source);
}

/* Returns the write pointer. *@overflow is set to whether entries were lost. */
static u32 ih_read_wptr(struct vgpu_device *vdev, bool *overflow)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	u32 wptr = le32_to_cpu(READ_ONCE(*ih->wptr_wb));

	*overflow = wptr & IH_RB_WPTR__RB_OVERFLOW;
	if (unlikely(*overflow)) {
		/*
		 * The ring overflowed, so its oldest entries are lost. Continue one entry
		 * after the write pointer, because equal pointers would mean an empty ring.
		 */
		vgpu_wreg(vdev, IH_RB_CNTL,
			  IH_CNTL_RUN | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
		vgpu_wreg(vdev, IH_RB_CNTL, IH_CNTL_RUN);
		wptr = vgpu_rreg(vdev, IH_RB_WPTR);
		ih->rptr = ((wptr & IH_RB_WPTR__OFFSET) + IH_ENTRY_BYTES) &
			   IH_RING_MASK;
	}
	/* Read the pointer before the entries that it covers. */
	dma_rmb();
	return wptr & IH_RB_WPTR__OFFSET & IH_RING_MASK;
}

/*
 * Called if entries were lost. Completes finished jobs, and lets the device raise retry faults
 * again.
 */
static void ih_recover_overflow(struct vgpu_device *vdev)
{
	unsigned int i;

	vgpu_stat_add(vdev, VGPU_STAT_IH_OVERFLOWS, 1);
	dev_warn_ratelimited(&vdev->pdev->dev, "interrupt ring overflow\n");

	vgpu_sdma_fault_overflow(vdev);
	vgpu_sdma_poll_fences(vdev);
	/*
	 * Acknowledge all slots, because the entries of their faults may be lost. If an access
	 * still faults, the device raises the fault again after the acknowledge.
	 */
	for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++)
		vgpu_ih_cam_ack(vdev, i);
}

/*
 * Returns true if no interrupt entry waits for an IOMMU. Then the ring has the entries of all
 * earlier faults, and a later read of the write pointer covers these entries.
 */
static bool ih_is_idle(struct vgpu_device *vdev)
{
	return vgpu_rreg(vdev, IH_STATUS) & IH_STATUS__IDLE;
}

/**
 * vgpu_ih_service() - handle all entries in the ring
 * @vdev: device
 *
 * Opens a gate that is closed because of a user's fault, unless an entry of an earlier fault may
 * not be in the ring yet. Waits about a second for such an entry ("DOC: the gate" in
 * vgpu_sdma_fault.c).
 *
 * Context: hard interrupt, or vgpu_ih_poll(); one caller at a time.
 */
void vgpu_ih_service(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	bool again, idle, overflow;
	u32 entries = 0;
	u32 wptr;

	do {
		/*
		 * Read IH_STATUS before the write pointer: an entry that the device writes between
		 * the two reads is handled in this pass.
		 */
		idle = vgpu_sdma_user_gate_closed(vdev) && ih_is_idle(vdev);
		wptr = ih_read_wptr(vdev, &overflow);
		again = ih->rptr != wptr || overflow;
		while (ih->rptr != wptr) {
			struct vgpu_iv_entry iv;

			ih_decode(&ih->ring[ih->rptr / 4], &iv);
			ih->rptr = (ih->rptr + IH_ENTRY_BYTES) & IH_RING_MASK;
			trace_vgpu_ih_entry(&iv);
			ih_dispatch(vdev, &iv);
			entries++;
		}
		/*
		 * Write the read pointer. If more entries have arrived since the write pointer was
		 * read, the device then raises the MSI again.
		 */
		vgpu_wdoorbell32(vdev, DOORBELL_IH << 1, ih->rptr);
		if (unlikely(overflow))
			ih_recover_overflow(vdev);
	} while (again && vgpu_sdma_user_gate_closed(vdev));
	if (vgpu_sdma_user_gate_closed(vdev)) {
		if (idle)
			vgpu_sdma_user_gate_open(vdev);
		else
			vgpu_sdma_user_gate_recheck(vdev);
	}
	vgpu_stat_add(vdev, VGPU_STAT_IH_ENTRIES, entries);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_service);

/**
 * vgpu_ih_hold() - keep the interrupt handler from running until vgpu_ih_release()
 * @vdev: device
 *
 * Interrupts that arrive before vgpu_ih_release() are handled after it.
 *
 * Context: sleeps; takes poll_lock, which vgpu_ih_release() drops.
 */
void vgpu_ih_hold(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	mutex_lock(&ih->poll_lock);
	disable_irq(ih->irq);
}

/**
 * vgpu_ih_release() - undo vgpu_ih_hold()
 * @vdev: device
 */
void vgpu_ih_release(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	enable_irq(ih->irq);
	mutex_unlock(&ih->poll_lock);
}

static irqreturn_t ih_interrupt(int irq, void *arg)
{
	vgpu_ih_service(arg);
	return IRQ_HANDLED;
}

/**
 * vgpu_ih_poll() - handle the interrupt entries that have arrived so far
 * @vdev: device
 * @fault_lost: true if the interrupt entry of the latched fault was lost
 *
 * On return handlers have been called for every entry that was written before the
 * call.
 *
 * Context: sleeps.
 */
void vgpu_ih_poll(struct vgpu_device *vdev, bool fault_lost)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	vgpu_ih_hold(vdev);
	local_irq_disable();
	if (fault_lost)
		vgpu_sdma_fault_lost(vdev);
	ih_interrupt(ih->irq, vdev);
	local_irq_enable();
	vgpu_ih_release(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_poll);

/**
 * vgpu_ih_start() - write the registers of the block, with an empty ring
 * @vdev: device; the interrupt handler does not run
 *
 * Called at bring-up and after a reset.
 */
void vgpu_ih_start(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	ih->rptr = 0;
	WRITE_ONCE(*ih->wptr_wb, 0);

	vgpu_wreg(vdev, IH_RB_BASE, lower_32_bits(ih->ring_dma >> 8));
	vgpu_wreg(vdev, IH_RB_BASE_HI, upper_32_bits(ih->ring_dma >> 8));
	vgpu_wreg(vdev, IH_RB_WPTR_ADDR_LO, lower_32_bits(ih->wb_dma));
	vgpu_wreg(vdev, IH_RB_WPTR_ADDR_HI, upper_32_bits(ih->wb_dma));
	vgpu_wreg(vdev, IH_RB_RPTR, 0);
	vgpu_wreg(vdev, IH_RB_WPTR, 0);
	vgpu_wreg(vdev, IH_DOORBELL_RPTR,
		  VGPU_PREP(IH_DOORBELL_RPTR__OFFSET, DOORBELL_IH << 1) |
		  IH_DOORBELL_RPTR__ENABLE);

	vgpu_wreg(vdev, IH_DOORBELL_RETRY_CAM,
		  VGPU_PREP(IH_DOORBELL_RPTR__OFFSET,
			    DOORBELL_IH_RETRY_CAM_DW) |
		  IH_DOORBELL_RPTR__ENABLE);
	vgpu_wreg(vdev, IH_RETRY_INT_CAM_CNTL,
		  vgpu_rreg(vdev, IH_RETRY_INT_CAM_CNTL) |
		  IH_RETRY_INT_CAM_CNTL__ENABLE);

	/* Clear an overflow that an earlier driver left, before interrupts are enabled. */
	vgpu_wreg(vdev, IH_RB_CNTL, IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
	vgpu_wreg(vdev, IH_RB_CNTL, IH_CNTL_RUN);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ih_start);

/**
 * vgpu_ih_stop() - disable interrupts of the device
 * @vdev: device, registers mapped
 */
void vgpu_ih_stop(struct vgpu_device *vdev)
{
	vgpu_wreg(vdev, IH_RB_CNTL, 0);
	vgpu_wreg(vdev, IH_DOORBELL_RPTR, 0);
	vgpu_wreg(vdev, IH_DOORBELL_RETRY_CAM, 0);
	vgpu_wreg(vdev, IH_RETRY_INT_CAM_CNTL,
		  vgpu_rreg(vdev, IH_RETRY_INT_CAM_CNTL) &
		  ~IH_RETRY_INT_CAM_CNTL__ENABLE);
}

/**
 * vgpu_ih_init() - allocate interrupt ring 0, request the MSI, and start the IH block
 * @vdev: device
 *
 * Return: 0, -ENOMEM, or the error of pci_alloc_irq_vectors(), pci_irq_vector() or request_irq().
 */
int vgpu_ih_init(struct vgpu_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	int ret;

	spin_lock_init(&ih->lock);
	mutex_init(&ih->poll_lock);

	ih->ring = dma_alloc_coherent(dev, IH_RING_BYTES, &ih->ring_dma,
				      GFP_KERNEL);
	if (!ih->ring)
		return -ENOMEM;
	ih->wptr_wb = dma_alloc_coherent(dev, PAGE_SIZE, &ih->wb_dma,
					 GFP_KERNEL);
	if (!ih->wptr_wb) {
		ret = -ENOMEM;
		goto err_ring;
	}

	ret = pci_alloc_irq_vectors(vdev->pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		goto err_wb;
	ret = pci_irq_vector(vdev->pdev, 0);
	if (ret < 0)
		goto err_vectors;
	ih->irq = ret;
	ret = request_irq(ih->irq, ih_interrupt, 0, "vgpu_kfd", vdev);
	if (ret)
		goto err_irq;

	vgpu_ih_start(vdev);
	return 0;

err_irq:
	ih->irq = 0;
err_vectors:
	pci_free_irq_vectors(vdev->pdev);
err_wb:
	dma_free_coherent(dev, PAGE_SIZE, ih->wptr_wb, ih->wb_dma);
err_ring:
	dma_free_coherent(dev, IH_RING_BYTES, ih->ring, ih->ring_dma);
	return ret;
}

/**
 * vgpu_ih_fini() - undo vgpu_ih_init()
 * @vdev: device; vgpu_sdma_init() has been called, successfully or not
 *
 * Cancels vgpu_hw_state.fault_work, which vgpu_sdma_init() initialises.
 */
void vgpu_ih_fini(struct vgpu_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;

	vgpu_ih_stop(vdev);
	/*
	 * fault_work may be pending, although vgpu_sdma_fini() cancelled it: the interrupt handler,
	 * or a watchdog that calls vgpu_ih_poll(), may have queued it again.
	 */
	disable_irq(ih->irq);
	cancel_delayed_work_sync(&to_hw_state(vdev)->fault_work);
	free_irq(ih->irq, vdev);
	ih->irq = 0;
	pci_free_irq_vectors(vdev->pdev);
	dma_free_coherent(dev, PAGE_SIZE, ih->wptr_wb, ih->wb_dma);
	dma_free_coherent(dev, IH_RING_BYTES, ih->ring, ih->ring_dma);
}
