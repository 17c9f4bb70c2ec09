// SPDX-License-Identifier: GPL-2.0
/* Implements the CRIU operation CHECKPOINT, which saves the state of a paused process. */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/events/kfd_events_criu.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm_criu.h"
#include "kfd_criu_image.h"
#include "kfd_criu_priv.h"

static void criu_save_process(struct kfd_process *p, struct kfd_criu_head *h)
{
	struct kfd_runtime_info runtime;

	h->flags = p->xnack_enabled ? KFD_CRIU_XNACK : 0;
	if (kfd_events_user_page(p, &h->event_page))
		h->has_page = 1;
	else if (kfd_events_has_page(p))
		h->flags |= KFD_CRIU_EVENT_PAGE;
	kfd_runtime_get(p, &runtime);
	h->runtime_state = runtime.runtime_state;
	h->r_debug = runtime.r_debug;
	h->ttmp_setup = runtime.ttmp_setup;
}

static void criu_save_devices(struct kfd_process *p,
			      struct kfd_criu_device_bucket *buckets,
			      struct kfd_criu_device *devices)
{
	struct kfd_process_device *pdd;
	u32 i;

	for (i = 0; i < p->n_pdds; i++) {
		pdd = p->pdds[i];
		buckets[i].user_gpu_id = pdd->gpu_id;
		buckets[i].actual_gpu_id = pdd->node->gpu_id;
		devices[i].scratch = pdd->sh_hidden_private_base;
		devices[i].tba = pdd->tba_addr;
		devices[i].tma = pdd->tma_addr;
		devices[i].flags = (pdd->vm ? KFD_CRIU_HAS_VM : 0) |
			(pdd->doorbells ? KFD_CRIU_HAS_DOORBELLS : 0);
	}
}

static int criu_copy_out(const struct kfd_criu_buffers *b,
			 const struct kfd_criu_head *h,
			 const struct kfd_ioctl_criu_args *args)
{
	if (copy_to_user(u64_to_user_ptr(args->priv_data), b->data, h->bytes) ||
	    copy_to_user(u64_to_user_ptr(args->devices), b->devices,
			 h->n_devices * sizeof(*b->devices)) ||
	    copy_to_user(u64_to_user_ptr(args->bos), b->bos,
			 h->n_bos * sizeof(*b->bos)))
		return -EFAULT;
	return 0;
}

static int criu_save(struct kfd_process *p, const struct kfd_criu_buffers *b,
		     const struct kfd_ioctl_criu_args *args)
{
	struct kfd_criu_image img = kfd_criu_image_of(b->data);
	int ret;

	criu_save_process(p, img.head);
	criu_save_devices(p, b->devices, img.devices);
	ret = kfd_criu_save_queues(p, img.queues);
	if (!ret)
		ret = kfd_events_criu_save(p, img.events, img.head->n_events);
	if (!ret)
		ret = svm_criu_save(p, img.ranges, img.head->n_ranges);
	if (!ret)
		ret = kfd_criu_save_bos(p, b->bos, img.bos, b->files);
	if (!ret)
		ret = criu_copy_out(b, img.head, args);
	kfd_criu_commit_files(b->files, b->bos, img.head->n_bos, ret);
	return ret;
}

int kfd_criu_checkpoint(struct kfd_process *p,
			const struct kfd_ioctl_criu_args *args)
{
	struct kfd_criu_buffers b = { };
	struct kfd_criu_head h;
	int ret;

	if (!args->devices || !args->bos || !args->priv_data)
		return -EINVAL;
	if (!p->n_pdds)
		return -ENODEV;
	if (p->criu_state != KFD_CRIU_PAUSED)
		return -EINVAL;
	ret = kfd_criu_count(p, &h);
	if (ret)
		return ret;
	if (args->num_devices != h.n_devices || args->num_bos != h.n_bos ||
	    args->num_objects != kfd_criu_objects(&h) ||
	    args->priv_data_size != h.bytes)
		return -EINVAL;

	b.data = kvzalloc(h.bytes, GFP_KERNEL);
	b.devices = kvcalloc(h.n_devices, sizeof(*b.devices), GFP_KERNEL);
	b.bos = kvcalloc(h.n_bos, sizeof(*b.bos), GFP_KERNEL);
	b.files = kvcalloc(h.n_bos, sizeof(*b.files), GFP_KERNEL);
	if (b.data && b.devices && b.bos && b.files) {
		*(struct kfd_criu_head *)b.data = h;
		ret = criu_save(p, &b, args);
	} else {
		ret = -ENOMEM;
	}
	kfd_criu_free(&b);
	return ret;
}
