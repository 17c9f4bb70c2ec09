// SPDX-License-Identifier: GPL-2.0
/* Implements RESTORE, which creates the objects of a checkpoint in a new process. */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/events/kfd_events_criu.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_criu.h"
#include "kfd_criu_image.h"
#include "kfd_criu_priv.h"

/* Return true if the process has none of the objects that RESTORE creates. */
static bool criu_is_empty(struct kfd_process *p)
{
	struct kfd_process_device *pdd;
	u32 i;

	if (p->criu_state != KFD_CRIU_NONE || p->pqm.n_queues ||
	    kfd_events_has_page(p) || kfd_events_criu_count(p) || svm_criu_count(p) ||
	    kfd_runtime_enabled(p) || READ_ONCE(p->debug_trap_enabled))
		return false;
	for (i = 0; i < p->n_pdds; i++) {
		pdd = p->pdds[i];
		if (pdd->drm_file || pdd->doorbells ||
		    !idr_is_empty(&pdd->alloc_idr))
			return false;
	}
	return true;
}

/* Return true if the fields of the head are valid, and consistent with the ioctl's arguments. */
static bool criu_head_ok(const struct kfd_criu_head *h,
			 const struct kfd_ioctl_criu_args *args)
{
	return args->priv_data_size >= sizeof(*h) &&
	       h->magic == KFD_CRIU_MAGIC && h->version == KFD_CRIU_VERSION &&
	       h->bytes == args->priv_data_size && kfd_criu_bytes(h) == h->bytes &&
	       h->n_devices == args->num_devices &&
	       h->n_bos == args->num_bos &&
	       kfd_criu_objects(h) == args->num_objects &&
	       !(h->flags & ~KFD_CRIU_HEAD_FLAGS) &&
	       h->has_page <= 1 && h->ttmp_setup <= 1 && !h->pad &&
	       !(h->has_page && h->flags & KFD_CRIU_EVENT_PAGE) &&
	       (h->runtime_state == DEBUG_RUNTIME_STATE_DISABLED ||
		h->runtime_state == DEBUG_RUNTIME_STATE_ENABLED);
}

static bool criu_devices_ok(struct kfd_process *p,
			    const struct kfd_criu_device_bucket *buckets,
			    const struct kfd_criu_device *devices, u32 n)
{
	u32 i, k;

	for (i = 0; i < n; i++) {
		if (!buckets[i].user_gpu_id || devices[i].pad ||
		    devices[i].flags & ~KFD_CRIU_DEVICE_FLAGS ||
		    !kfd_process_device_by_node_id(p,
						   buckets[i].actual_gpu_id))
			return false;
		for (k = 0; k < i; k++)
			if (buckets[k].user_gpu_id == buckets[i].user_gpu_id ||
			    buckets[k].actual_gpu_id ==
			    buckets[i].actual_gpu_id)
				return false;
	}
	return true;
}

static int criu_restore_device(struct kfd_process_device *pdd,
			       const struct kfd_criu_device_bucket *bucket,
			       const struct kfd_criu_device *s)
{
	struct file *file;
	int ret = 0;

	WRITE_ONCE(pdd->gpu_id, bucket->user_gpu_id);
	if (s->flags & KFD_CRIU_HAS_VM) {
		file = fget(bucket->drm_fd);
		if (!file)
			return -EINVAL;
		ret = kfd_process_device_init_vm(pdd, file);
		if (ret) {
			fput(file);
			return ret;
		}
	}
	if (s->flags & KFD_CRIU_HAS_DOORBELLS)
		ret = kfd_doorbell_alloc(pdd);
	pdd->sh_hidden_private_base = s->scratch;
	pdd->tba_addr = s->tba;
	pdd->tma_addr = s->tma;
	return ret;
}

/* Set the signal page. This is the last step of RESTORE that can fail. */
static int criu_restore_page(struct kfd_process *p,
			     const struct kfd_criu_head *h)
{
	if (h->has_page)
		return kfd_events_take_page(p, h->event_page);
	return h->flags & KFD_CRIU_EVENT_PAGE ? kfd_events_make_page(p) : 0;
}

static void criu_restore_runtime(struct kfd_process *p,
				 const struct kfd_criu_head *h)
{
	const struct kfd_runtime_info info = {
		.runtime_state = h->runtime_state,
		.r_debug = h->r_debug,
		.ttmp_setup = h->ttmp_setup,
	};

	kfd_runtime_set(p, &info);
}

/*
 * Translate @bits, a mask of device indices in the checkpoint, to a mask of indices in
 * kfd_process.pdds.
 */
static u64 criu_gpus(struct kfd_process *p, u64 bits,
		     struct kfd_process_device *const *pdds, u32 n)
{
	u64 out = 0;
	u32 i;

	for (i = 0; i < n; i++)
		if (bits & BIT_ULL(i))
			out |= BIT_ULL(kfd_process_gpuidx(p,
							  pdds[i]->node->vdev));
	return out;
}

/*
 * Store the SVM ranges for RESUME, because CRIU has not mapped their memory yet. Translate the GPU
 * masks in @ranges to masks of indices in kfd_process.pdds.
 */
static int criu_keep_ranges(struct kfd_process *p,
			    struct svm_saved_range *ranges, u32 n,
			    struct kfd_process_device *const *pdds, u32 n_pdds)
{
	u64 none = n_pdds < 64 ? ~0ull << n_pdds : 0;
	struct svm_saved_range *s;
	u32 i;

	for (i = 0; i < n; i++) {
		s = &ranges[i];
		if ((s->bitmap_access | s->bitmap_aip) & none)
			return -EINVAL;
		s->bitmap_access = criu_gpus(p, s->bitmap_access, pdds, n_pdds);
		s->bitmap_aip = criu_gpus(p, s->bitmap_aip, pdds, n_pdds);
	}
	return svm_criu_keep(p, ranges, n);
}

static int criu_restore_objects(struct kfd_process *p,
				const struct kfd_criu_image *img,
				const struct kfd_criu_buffers *b)
{
	const struct kfd_criu_head *h = img->head;
	struct kfd_process_device *pdds[KFD_MAX_GPU_INSTANCE];
	u32 i, id;
	int ret;

	ret = svm_set_xnack(p, h->flags & KFD_CRIU_XNACK);
	for (i = 0; !ret && i < h->n_devices; i++) {
		id = b->devices[i].actual_gpu_id;
		pdds[i] = kfd_process_device_by_node_id(p, id);
		ret = criu_restore_device(pdds[i], &b->devices[i],
					  &img->devices[i]);
	}
	if (!ret)
		ret = kfd_criu_restore_bos(p, pdds, h->n_devices, b->bos,
					   img->bos, h->n_bos, b->files);
	for (i = 0; !ret && i < h->n_queues; i++)
		ret = kfd_criu_restore_queue(pdds, h->n_devices,
					     &img->queues[i]);
	for (i = 0; !ret && i < h->n_events; i++)
		ret = kfd_events_criu_restore(p, &img->events[i]);
	if (!ret)
		ret = criu_keep_ranges(p, img->ranges, h->n_ranges, pdds,
				       h->n_devices);
	return ret;
}

/*
 * Remove the objects that a failed RESTORE has created. Address spaces and doorbell slices stay,
 * because other code reads the pointers to them without a lock.
 */
static void criu_undo(struct kfd_process *p, bool xnack)
{
	struct kfd_process_device *pdd;
	u32 i;

	kfd_queues_destroy(p);
	kfd_events_criu_drop(p);
	svm_criu_forget(p);
	kgd_mem_free_all(p);
	for (i = 0; i < p->n_pdds; i++) {
		pdd = p->pdds[i];
		atomic64_set(&pdd->vram_usage, 0);
		WRITE_ONCE(pdd->gpu_id, pdd->node->gpu_id);
		pdd->sh_hidden_private_base = 0;
		pdd->tba_addr = 0;
		pdd->tma_addr = 0;
	}
	svm_set_xnack(p, xnack);
	kfd_criu_unpause(p);
}

static int criu_do_restore(struct kfd_process *p, const struct kfd_criu_buffers *b,
			   const struct kfd_ioctl_criu_args *args)
{
	struct kfd_criu_image img = kfd_criu_image_of(b->data);
	struct kfd_criu_head *h = img.head;
	bool xnack = p->xnack_enabled;
	int ret;

	if (!criu_is_empty(p) || h->n_devices != p->n_pdds ||
	    !criu_devices_ok(p, b->devices, img.devices, h->n_devices))
		return -EINVAL;
	ret = kfd_criu_stop(p, KFD_CRIU_RESTORED,
			    KFD_QUEUE_EVICTION_CRIU_RESTORE);
	if (!ret)
		ret = criu_restore_objects(p, &img, b);
	if (!ret && copy_to_user(u64_to_user_ptr(args->bos), b->bos,
				 h->n_bos * sizeof(*b->bos)))
		ret = -EFAULT;
	if (!ret)
		ret = criu_restore_page(p, h);
	kfd_criu_commit_files(b->files, b->bos, h->n_bos, ret);
	if (ret)
		criu_undo(p, xnack);
	else
		criu_restore_runtime(p, h);
	return ret;
}

static int criu_copy_in(struct kfd_criu_buffers *b,
			const struct kfd_ioctl_criu_args *args)
{
	void *buf;

	buf = vmemdup_user(u64_to_user_ptr(args->priv_data),
			   args->priv_data_size);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b->data = buf;
	/*
	 * criu_head_ok() also limits the arrays below: it rejects counts that do not match the size
	 * of the private data, which is at most KFD_CRIU_MAX_BYTES.
	 */
	if (!criu_head_ok(b->data, args))
		return -EINVAL;
	buf = vmemdup_array_user(u64_to_user_ptr(args->devices),
				 args->num_devices, sizeof(*b->devices));
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b->devices = buf;
	if (!args->num_bos)
		return 0;
	buf = vmemdup_array_user(u64_to_user_ptr(args->bos), args->num_bos,
				 sizeof(*b->bos));
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b->bos = buf;
	b->files = kvcalloc(args->num_bos, sizeof(*b->files), GFP_KERNEL);
	return b->files ? 0 : -ENOMEM;
}

int kfd_criu_restore(struct kfd_process *p,
		     const struct kfd_ioctl_criu_args *args)
{
	struct kfd_criu_buffers b = { };
	int ret;

	if ((args->num_bos && !args->bos) || !args->devices ||
	    !args->priv_data || !args->num_devices ||
	    args->priv_data_size < sizeof(struct kfd_criu_head))
		return -EINVAL;
	/*
	 * A tracer of @p may call this ioctl with a file of @p. Reject the tracer: the descriptors
	 * and addresses in @args do not belong to @p.
	 */
	if (p->mm != current->mm)
		return -EINVAL;
	if (args->priv_data_size > KFD_CRIU_MAX_BYTES)
		return -ENOMEM;
	ret = criu_copy_in(&b, args);
	if (!ret) {
		mutex_lock(&p->mutex);
		ret = criu_do_restore(p, &b, args);
		mutex_unlock(&p->mutex);
	}
	kfd_criu_free(&b);
	return ret;
}
