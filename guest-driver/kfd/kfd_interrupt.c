// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that concern user queues. Page faults are svm/'s; a bad packet or
 * ring is reported here: its queue has stopped and stays so until it is loaded
 * anew (include/vgpu/sdma.h, CONTEXT_STATUS.EXCEPTION). Nothing else is
 * affected.
 */
#include "vgpu/ih.h"
#include "kfd_room.h"

static const u8 kfd_sdma_clients[VGPU_NUM_SDMA] = {
	IH_CLIENT_SDMA0, IH_CLIENT_SDMA1,
};

/* Hard interrupt context. */
static void kfd_sdma_illegal(struct vgpu_device *vdev,
			     const struct vgpu_iv_entry *iv, void *arg)
{
	struct kfd_process *p;

	if (!iv->vmid)
		return;		/* the kernel's own queue: hw/ reports it */
	p = kfd_lookup_process_by_pasid(iv->pasid);
	if (!p)
		return;
	dev_err_ratelimited(vdev->drm.dev,
			    "SDMA%u: bad %s (header %#x) from pid %d, pasid %u; its queue has stopped\n",
			    iv->client == IH_CLIENT_SDMA1,
			    iv->data[1] == VGPU_SDMA_EXC_RING ?
				    "ring or write pointer" : "packet",
			    iv->data[0], p->lead_thread->pid, iv->pasid);
	kfd_unref_process(p);
}

int kfd_interrupt_init(struct kfd_node *node)
{
	unsigned int i;
	int ret;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		ret = vgpu_ih_register(node->vdev, kfd_sdma_clients[i],
				       IH_SRC_SDMA_ILLEGAL, kfd_sdma_illegal,
				       node);
		if (ret)
			goto err;
	}
	return 0;

err:
	while (i--)
		vgpu_ih_unregister(node->vdev, kfd_sdma_clients[i],
				   IH_SRC_SDMA_ILLEGAL, kfd_sdma_illegal);
	return ret;
}

void kfd_interrupt_fini(struct kfd_node *node)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		vgpu_ih_unregister(node->vdev, kfd_sdma_clients[i],
				   IH_SRC_SDMA_ILLEGAL, kfd_sdma_illegal);
}
