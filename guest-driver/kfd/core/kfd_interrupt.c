// SPDX-License-Identifier: GPL-2.0
/*
 * Handles the interrupts of user queues, except page faults, which svm/ handles. A bad packet stops
 * one queue. A read of poison stops all queues of the process on the GPU.
 */
#include <linux/kfifo.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "vgpu/bits.h"
#include "vgpu/cp.h"
#include "vgpu/ih.h"
#include "vgpu/sdma.h"
#include "vgpu/sdma_packets.h"
#include "hw/vgpu_ih.h"
#include "kfd/events/kfd_events.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_core_priv.h"

/**
 * struct kfd_cp_error - a bad packet of a compute queue, from its interrupt entry
 * @at: GPU clock of the interrupt, 48 bits
 * @pasid: PASID of the process
 * @doorbell: byte offset of the queue's doorbell in the process's slice
 * @code: KFD_EC_QUEUE_PACKET_*
 */
struct kfd_cp_error {
	u64 at;
	u16 pasid;
	u16 doorbell;
	u16 code;
};

/**
 * struct kfd_interrupts - work items for the interrupt handlers of a GPU
 * @node: the GPU
 * @cp_errors: FIFO from kfd_cp_bad_packet() to @cp_error_work
 * @cp_error_work: stops the queues of @cp_errors
 * @poison_work: stops the queues of processes with KFD_PDD_POISONED
 */
struct kfd_interrupts {
	struct kfd_node *node;
	DECLARE_KFIFO(cp_errors, struct kfd_cp_error, 64);
	struct work_struct cp_error_work;
	struct work_struct poison_work;
};

static unsigned int kfd_sdma_engine(u8 client)
{
	unsigned int i;

	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		if (IH_CLIENT_SDMA(i) == client)
			break;
	return i;
}

/*
 * Called in hard interrupt context. The hardware has stopped the queue until the queue is loaded
 * again (docs/hardware.md, CONTEXT_STATUS.EXCEPTION of SDMA).
 */
static void kfd_sdma_illegal(struct vgpu_device *vdev,
			     const struct vgpu_iv_entry *iv, void *arg)
{
	struct kfd_process *p;

	/* VMID 0 is the kernel's own queue: sdma_illegal() handles errors of that queue. */
	if (!iv->vmid)
		return;
	p = kfd_lookup_process_by_pasid(iv->pasid);
	if (!p)
		return;
	dev_err_ratelimited(vdev->drm.dev,
			    "SDMA%u: bad %s (header %#x) from pid %d, pasid %u; its queue has stopped\n",
			    kfd_sdma_engine(iv->client),
			    iv->data[1] == VGPU_SDMA_EXC_RING ?
				    "ring or write pointer" : "packet",
			    iv->data[0], p->lead_thread->pid, iv->pasid);
	kfd_unref_process(p);
}

/* Called in hard interrupt context. */
static void kfd_sdma_trap(struct vgpu_device *vdev,
			  const struct vgpu_iv_entry *iv, void *arg)
{
	/* VMID 0 is the kernel's own queue, which has no events. */
	if (iv->vmid)
		kfd_events_interrupt(vdev, iv->pasid,
				     iv->data[0] & SDMA_TRAP_DW1__CONTEXT);
}

/*
 * Called in hard interrupt context when a queue has read memory with an uncorrectable error. Unlike
 * amdkfd, do not reset the GPU: this hardware needs no reset.
 */
static void kfd_poison(struct vgpu_device *vdev,
		       const struct vgpu_iv_entry *iv, void *arg)
{
	struct kfd_process_device *pdd;
	struct kfd_node *node = arg;
	struct kfd_process *p;

	if (!iv->vmid) {
		dev_err_ratelimited(vdev->drm.dev,
				    "poison read by the kernel's own queue\n");
		return;
	}
	p = kfd_lookup_process_by_pasid(iv->pasid);
	if (!p)
		return;
	pdd = kfd_process_device_of(p, vdev);
	if (pdd) {
		set_bit(KFD_PDD_POISONED, &pdd->flags);
		schedule_work(&node->irq->poison_work);
	}
	kfd_unref_process(p);
}

/* For each process with KFD_PDD_POISONED, stop all queues of the process on this GPU. */
static void kfd_poison_work(struct work_struct *work)
{
	struct kfd_interrupts *irq = container_of(work, struct kfd_interrupts,
						  poison_work);
	struct kfd_process_device *pdd;
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		pdd = kfd_process_device_of(p, irq->node->vdev);
		if (pdd && test_and_clear_bit(KFD_PDD_POISONED, &pdd->flags))
			kfd_process_poisoned(pdd);
		kfd_unref_process(p);
	}
}

/* Called in hard interrupt context, for RELEASE_MEM packets and AQL completion signals. */
static void kfd_cp_end_of_pipe(struct vgpu_device *vdev,
			       const struct vgpu_iv_entry *iv, void *arg)
{
	/* The kernel's own packets run in VMID 0, and the driver polls for their completion. */
	if (iv->vmid)
		kfd_events_interrupt(vdev, iv->pasid, iv->data[0]);
}

/* Called in hard interrupt context; the only producer of cp_errors. */
static void kfd_cp_bad_packet(struct vgpu_device *vdev,
			      const struct vgpu_iv_entry *iv, void *arg)
{
	struct kfd_interrupts *irq = ((struct kfd_node *)arg)->irq;
	const struct kfd_cp_error error = {
		.at = iv->timestamp,
		.pasid = iv->pasid,
		.doorbell = VGPU_GET(iv->data[0], IH_CP_ERROR__DOORBELL) *
			    sizeof(u64),
		.code = VGPU_GET(iv->data[0], IH_CP_ERROR__CODE),
	};

	if (!iv->vmid) {
		dev_err_ratelimited(vdev->drm.dev,
				    "CP: bad packet of the kernel, code %u\n",
				    error.code);
		return;
	}
	/*
	 * If the FIFO is full, drop the error: the queue raises the error again in its next time
	 * slice.
	 */
	if (kfifo_put(&irq->cp_errors, error))
		schedule_work(&irq->cp_error_work);
}

static const char *kfd_cp_error_text(unsigned int code)
{
	switch (code) {
	case CP_ERROR_PACKET_RESERVED:
		return "bad packet header";
	case CP_ERROR_PACKET_UNSUPPORTED:
		return "packet that the CP does not support";
	case CP_ERROR_REGISTER_INVALID:
		return "packet that writes a privileged register";
	case CP_ERROR_VENDOR_UNSUPPORTED:
		return "vendor packet that the CP does not support";
	default:
		return "bad packet";
	}
}

static void kfd_cp_error_work(struct work_struct *work)
{
	struct kfd_interrupts *irq = container_of(work, struct kfd_interrupts,
						  cp_error_work);
	struct kfd_process_device *pdd;
	struct kfd_cp_error error;
	struct kfd_process *p;

	while (kfifo_get(&irq->cp_errors, &error)) {
		p = kfd_lookup_process_by_pasid(error.pasid);
		if (!p)
			continue;
		pdd = kfd_process_device_of(p, irq->node->vdev);
		if (pdd)
			kfd_queue_bad_packet(pdd, error.doorbell, error.at,
					     error.code,
					     kfd_cp_error_text(error.code));
		kfd_unref_process(p);
	}
}

struct kfd_iv_handler {
	u8 source;
	vgpu_iv_handler fn;
};

static const struct kfd_iv_handler kfd_sdma_handlers[] = {
	{ IH_SRC_SDMA_ILLEGAL, kfd_sdma_illegal },
	{ IH_SRC_SDMA_TRAP, kfd_sdma_trap },
	{ IH_SRC_SDMA_ECC, kfd_poison },
};

static const struct kfd_iv_handler kfd_cp_handlers[] = {
	{ IH_SRC_CP_END_OF_PIPE, kfd_cp_end_of_pipe },
	{ IH_SRC_CP_BAD_OPCODE, kfd_cp_bad_packet },
	{ IH_SRC_CP_PRIV_REG, kfd_cp_bad_packet },
	{ IH_SRC_CP_ECC, kfd_poison },
};

static void kfd_unregister(struct kfd_node *node, u8 client,
			   const struct kfd_iv_handler *handlers,
			   unsigned int n)
{
	while (n--)
		vgpu_ih_unregister(node->vdev, client, handlers[n].source,
				   handlers[n].fn);
}

/* Register all of @handlers. After an error, none of them is registered. */
static int kfd_register(struct kfd_node *node, u8 client,
			const struct kfd_iv_handler *handlers, unsigned int n)
{
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = vgpu_ih_register(node->vdev, client, handlers[i].source,
				       handlers[i].fn, node);
		if (ret) {
			kfd_unregister(node, client, handlers, i);
			return ret;
		}
	}
	return 0;
}

/* The caller has unregistered all handlers, so no handler queues the work items again. */
static void kfd_interrupt_free(struct kfd_node *node)
{
	cancel_work_sync(&node->irq->cp_error_work);
	cancel_work_sync(&node->irq->poison_work);
	kfree(node->irq);
	node->irq = NULL;
}

int kfd_interrupt_init(struct kfd_node *node)
{
	struct kfd_interrupts *irq = kzalloc(sizeof(*irq), GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!irq)
		return -ENOMEM;
	irq->node = node;
	INIT_KFIFO(irq->cp_errors);
	INIT_WORK(&irq->cp_error_work, kfd_cp_error_work);
	INIT_WORK(&irq->poison_work, kfd_poison_work);
	node->irq = irq;
	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		ret = kfd_register(node, IH_CLIENT_SDMA(i), kfd_sdma_handlers,
				   ARRAY_SIZE(kfd_sdma_handlers));
		if (ret)
			goto err;
	}
	ret = kfd_register(node, IH_CLIENT_CP, kfd_cp_handlers,
			   ARRAY_SIZE(kfd_cp_handlers));
	if (ret)
		goto err;
	return 0;

err:
	while (i--)
		kfd_unregister(node, IH_CLIENT_SDMA(i), kfd_sdma_handlers,
			       ARRAY_SIZE(kfd_sdma_handlers));
	kfd_interrupt_free(node);
	return ret;
}

void kfd_interrupt_fini(struct kfd_node *node)
{
	unsigned int i;

	kfd_unregister(node, IH_CLIENT_CP, kfd_cp_handlers,
		       ARRAY_SIZE(kfd_cp_handlers));
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		kfd_unregister(node, IH_CLIENT_SDMA(i), kfd_sdma_handlers,
			       ARRAY_SIZE(kfd_sdma_handlers));
	kfd_interrupt_free(node);
}
