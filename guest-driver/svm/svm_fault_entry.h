/* SPDX-License-Identifier: GPL-2.0 */
/* Decode the IH entry of a page fault (docs/hardware.md). */
#ifndef SVM_FAULT_ENTRY_H
#define SVM_FAULT_ENTRY_H

#include <linux/list.h>

#include "vgpu/ih.h"
#include "hw/vgpu_ih.h"

/**
 * struct svm_fault - a decoded fault entry
 */
struct svm_fault {
	/** @link: link in a list of struct svm_fault_queue; not set by svm_fault_decode() */
	struct list_head link;
	/** @page: page number of the address */
	unsigned long page;
	/** @ts: GPU clock at the fault, 48 bits */
	u64 ts;
	/** @serial: number of the fault, the same in QEMU's trace */
	u32 serial;
	/** @cam: slot of the retry CAM to acknowledge; retry faults only */
	u32 cam;
	/** @pasid: PASID of the process; 0 for the kernel */
	u16 pasid;
	/** @vmid: used in messages and to compare entries; the process is found by @pasid */
	u8 vmid;
	/**
	 * @not_present: true if the report to user space says "page not present". A copy of the
	 * bit IH_RING_FAULT_VALID. Despite the bit's name, amdkfd, too, reads it as "not present"
	 */
	bool not_present;
	/** @write: the access needs a writable page, not only a readable one */
	bool write;
	/** @retry: the engine stalls until the fault is acknowledged, then replays the access */
	bool retry;
	/**
	 * @acked: svm_cam_work() has acknowledged the CAM slot while the fault was being served;
	 * protected by svm_node.fault_lock
	 */
	bool acked;
};

static inline void svm_fault_decode(struct svm_fault *f,
				    const struct vgpu_iv_entry *iv)
{
	f->page = iv->data[0] |
		  (unsigned long)(iv->data[1] & IH_FAULT_D1__VA_HI) << 32;
	f->ts = iv->timestamp;
	f->serial = iv->data[3];
	f->cam = iv->data[2] & IH_FAULT_D2__CAM_INDEX;
	f->pasid = iv->pasid;
	f->vmid = iv->vmid;
	f->not_present = iv->ring & IH_RING_FAULT_VALID;
	f->write = iv->data[1] & IH_FAULT_D1__WRITE;
	f->retry = iv->data[1] & IH_FAULT_D1__RETRY;
	f->acked = false;
}

#endif /* SVM_FAULT_ENTRY_H */
