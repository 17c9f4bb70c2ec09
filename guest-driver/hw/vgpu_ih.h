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
 * struct vgpu_iv_entry - a decoded interrupt vector
 * @timestamp: 48-bit GPU clock
 * @data: source data, whose layout depends on the source
 * @pasid: PASID of the process; 0 for work of the kernel
 * @client: IH_CLIENT_*
 * @source: IH_SRC_*
 * @ring: ring or queue within the client
 * @vmid: VMID; both hubs use the same numbers
 * @node: number of the die; always 0
 * @mm_hub: true if @vmid is of the MM hub, false if of the GFX hub
 */
struct vgpu_iv_entry {
	u64 timestamp;
	u32 data[4];
	u16 pasid;
	u8 client;
	u8 source;
	u8 ring;
	u8 vmid;
	u8 node;
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
