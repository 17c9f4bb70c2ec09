// SPDX-License-Identifier: GPL-2.0
/*
 * Lets GPUs access pages in the VRAM of other GPUs of their hive.
 *
 * DOC: pages of a hive
 *
 * HMM returns a device-private page to a caller that passes the page's owner
 * (hmm_range.dev_private_owner), and migrates the page to system memory for other callers. So
 * all GPUs of a hive have the same owner: a range in VRAM of one GPU is mapped for the other
 * GPUs through the hive, without a migration. This is not possible over PCIe: a device-private
 * page has no bus address, and the pages that Linux makes of a BAR (MEMORY_DEVICE_PCI_P2PDMA)
 * cannot be migrated to and from system memory.
 *
 * The owner is set when the pagemap is created, and does not change, since a device's hive
 * does not change. The state of the link is read at each mapping.
 *
 * A peer may be removed while a task reads struct page of a page in the peer's VRAM. By itself, the
 * removal does not wait for this task: HMM returns pages without a reference, and the task's
 * process need not use the peer. (A forked child, for example, shares the pages of a parent that
 * uses the peer.) So, before the task accesses struct page or struct kfd_node of the peer, it takes
 * two steps:
 *
 * - It calls svm_peer_enter(), which makes the removal wait until svm_peer_leave().
 * - Then it tests the sequence number of the range's MMU notifier. If the number has changed, the
 *   task accesses no page, because the removal may have started before the call.
 *
 * This is enough, because the removal of a peer takes these steps in this order:
 *
 * - The removal migrates all VRAM of the peer to system memory. This calls the MMU notifiers of all
 *   pages and so changes the sequence numbers. A task that got pages from HMM before this step and
 *   calls svm_peer_enter() after this step finds the sequence number changed.
 * - The removal waits until all earlier tasks have called svm_peer_leave() (svm_peer_wait()).
 * - struct page and struct kfd_node are freed.
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
 * @link: link in svm_hives
 * @id: id of the hive
 * @segment: size in bytes of the part that each GPU has in the hive's address space; @id and
 *           @segment together identify the hive
 * @members: number of pagemaps with this owner
 */
struct svm_hive {
	struct list_head link;
	u64 id;
	u64 segment;
	unsigned int members;
};

static LIST_HEAD(svm_hives);
static DEFINE_MUTEX(svm_hives_mutex);	/* protects svm_hives and svm_hive.members */
DEFINE_STATIC_SRCU(svm_peer_srcu);

void *svm_owner_get(struct vgpu_device *vdev)
{
	const struct vgpu_xgmi *xgmi = &vdev->hw->xgmi;
	struct svm_hive *hive;

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

void svm_peer_enter(int *token)
	__acquires(svm_peers)
{
	*token = srcu_read_lock(&svm_peer_srcu);
}

void svm_peer_leave(int token)
	__releases(svm_peers)
{
	srcu_read_unlock(&svm_peer_srcu, token);
}

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
	return is_device_private_page(page) &&
	       svm_page_is_lost(svm_page_node(page), page);
}
