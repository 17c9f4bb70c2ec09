// SPDX-License-Identifier: GPL-2.0
/*
 * Lets GPUs of a hive access each other's VRAM: they share one dev_pagemap.owner. HMM leaves pages
 * of that owner in VRAM instead of migrating them.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_xgmi.h"
#include "process/kfd_node.h"
#include "svm_migrate.h"
#include "svm_migrate_priv.h"

/**
 * struct svm_hive - value of dev_pagemap.owner of all GPUs of a hive
 *
 * @id and @segment together identify the hive.
 */
struct svm_hive {
	/** @link: link in svm_hives */
	struct list_head link;
	/** @id: vgpu_xgmi.hive of the GPUs; not 0 */
	u64 id;
	/** @segment: size of each GPU's part of the hive's address space, in bytes */
	u64 segment;
	/** @members: number of GPUs that use this struct as dev_pagemap.owner */
	unsigned int members;
};

static LIST_HEAD(svm_hives);
static DEFINE_MUTEX(svm_hives_mutex);	/* protects svm_hives and svm_hive.members */
DEFINE_STATIC_SRCU(svm_peer_srcu);

void *svm_owner_get(struct vgpu_device *vdev)
{
	const struct vgpu_xgmi *xgmi = &vdev->hw->xgmi;
	struct svm_hive *hive;

	/*
	 * A GPU without a hive is its own page owner. Other GPUs cannot access its device-private
	 * pages, which have no bus address.
	 */
	if (!xgmi->hive)
		return vdev;
	mutex_lock(&svm_hives_mutex);
	list_for_each_entry(hive, &svm_hives, link)
		if (hive->id == xgmi->hive && hive->segment == xgmi->segment)
			goto found;
	hive = kzalloc(sizeof(*hive), GFP_KERNEL);
	if (!hive)
		goto unlock;
	hive->id = xgmi->hive;
	hive->segment = xgmi->segment;
	list_add(&hive->link, &svm_hives);
found:
	hive->members++;
unlock:
	mutex_unlock(&svm_hives_mutex);
	return hive;
}
EXPORT_SYMBOL_IF_KUNIT(svm_owner_get);

void svm_owner_put(struct vgpu_device *vdev, void *owner)
{
	struct svm_hive *hive = owner;

	if (owner == vdev)
		return;
	mutex_lock(&svm_hives_mutex);
	if (!--hive->members) {
		list_del(&hive->link);
		kfree(hive);
	}
	mutex_unlock(&svm_hives_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(svm_owner_put);

/*
 * Make the removal of a GPU wait until svm_peer_leave(). HMM takes no page references, so nothing
 * else keeps the GPU's struct page valid.
 */
void svm_peer_enter(int *token)
	__acquires(svm_peers)
{
	/*
	 * One SRCU serves all processes. A lock for each process that uses the GPU would not
	 * suffice: a forked child may have the GPU's pages in its CPU page tables without using the
	 * GPU.
	 */
	*token = srcu_read_lock(&svm_peer_srcu);
}

void svm_peer_leave(int token)
	__releases(svm_peers)
{
	srcu_read_unlock(&svm_peer_srcu, token);
}

/*
 * The removed GPU's pages have been unmapped, which changed the sequence numbers of MMU notifiers.
 * Tasks that call svm_peer_enter() from now on see this change, and do not use the pages. So wait
 * only for tasks that have called svm_peer_enter() already.
 */
void svm_peer_wait(void)
{
	synchronize_srcu(&svm_peer_srcu);
}

enum svm_place svm_page_place(struct svm_view *view, struct page *page,
			      u64 *addr)
{
	struct kfd_node *home;

	if (!is_device_private_page(page))
		return SVM_IN_SYSTEM;
	home = svm_page_node(page);
	if (home != view->home) {
		view->home = home;
		/*
		 * vgpu_xgmi_linked() reads a register, so call it only once for each run of pages
		 * of a peer.
		 */
		view->place = home == view->node ? SVM_IN_VRAM :
			      vgpu_xgmi_linked(view->node->vdev, home->vdev) ?
			      SVM_IN_PEER : SVM_OUT_OF_REACH;
		view->offset = view->place == SVM_IN_PEER ?
			       vgpu_xgmi_offset(view->node->vdev, home->vdev) :
			       0;
		/*
		 * If a reset has ever lost the content of this VRAM, set view->lost, so that the
		 * caller tests each page with svm_page_in_use_lost().
		 */
		view->lost |= !!atomic_read(&home->vdev->hw->vram_epoch);
	}
	*addr = svm_page_vram_offset(home, page) + view->offset;
	return view->place;
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_place);

bool svm_page_in_use_lost(struct page *page)
{
	return is_device_private_page(page) && svm_page_is_lost(page);
}
