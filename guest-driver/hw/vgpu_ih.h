/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt ring: its entries, and handlers for entries of a client and source. Functions
 * are documented in vgpu_ih.c.
 */
#ifndef VGPU_HW_IH_H
#define VGPU_HW_IH_H

#include <linux/types.h>

struct vgpu_device;

/**
 * struct vgpu_iv_entry - a decoded entry of the interrupt ring
 */
struct vgpu_iv_entry {
	/** @timestamp: GPU clock, 48 bits */
	u64 timestamp;
	/** @data: details of the interrupt, with a layout that depends on @source */
	u32 data[4];
	/** @pasid: PASID of the process; 0 for work of the kernel */
	u16 pasid;
	/** @client: IH_CLIENT_* */
	u8 client;
	/** @source: IH_SRC_* */
	u8 source;
	/** @ring: ring or queue within @client */
	u8 ring;
	/** @vmid: VMID; a VMID has the same page tables on both hubs */
	u8 vmid;
	/** @node: number of the die; always 0 */
	u8 node;
	/** @mm_hub: true if @vmid is a VMID of the MM hub, false if of the GFX hub */
	bool mm_hub;
};

/*
 * Handler of interrupt entries, called in hard interrupt context. @arg comes from
 * vgpu_ih_register().
 */
typedef void (*vgpu_iv_handler)(struct vgpu_device *vdev,
				const struct vgpu_iv_entry *iv, void *arg);

int vgpu_ih_register(struct vgpu_device *vdev, u8 client, u8 source,
		     vgpu_iv_handler fn, void *arg);
void vgpu_ih_unregister(struct vgpu_device *vdev, u8 client, u8 source,
			vgpu_iv_handler fn);
void vgpu_ih_cam_ack(struct vgpu_device *vdev, u32 cam_index);

#endif /* VGPU_HW_IH_H */
