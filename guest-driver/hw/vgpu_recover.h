/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the code in folder reset/ calls to recover an engine, the GART or the device.
 * They are documented where they are defined.
 */
#ifndef VGPU_HW_RECOVER_H
#define VGPU_HW_RECOVER_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#include "vgpu/sdma.h"

struct vgpu_device;

/* Bits of a request for a recovery. Each bit stands for a part of the device to recover. */
#define VGPU_RECOVER_ENGINE(n)	BIT(n)
#define VGPU_RECOVER_ENGINES	GENMASK(SDMA_NUM_ENGINES - 1, 0)
/* Engines that have a ring of the kernel. */
#define VGPU_RECOVER_KERNELS	GENMASK(VGPU_NUM_SDMA - 1, 0)
/* Engine number of the command processor in calls of vgpu_reset_client.engine_recovered. */
#define VGPU_ENGINE_CP		SDMA_NUM_ENGINES
#define VGPU_RECOVER_GART	BIT(8)
#define VGPU_RECOVER_DEVICE	BIT(9)
/* The kernel's rings stopped, but their engines work: restart the rings. */
#define VGPU_RECOVER_RINGS	BIT(10)
static_assert(VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP) < VGPU_RECOVER_GART);

/*
 * Request a recovery of the parts in @what (bits VGPU_RECOVER_*). Any context. Returns
 * false if requests are not accepted and so nothing will be recovered.
 */
typedef bool (*vgpu_recover_fn)(struct vgpu_device *vdev, unsigned long what);

/* vgpu_hw_reset.c */
int vgpu_hw_reset(struct vgpu_device *vdev, bool *vram_lost);

/* vgpu_sdma_recover.c */
bool vgpu_sdma_ring_park(struct vgpu_device *vdev, unsigned int engine);
void vgpu_sdma_ring_unpark(struct vgpu_device *vdev, unsigned int engine,
			   bool vram_lost);
void vgpu_sdma_park(struct vgpu_device *vdev, unsigned int engine,
		    unsigned long *dead);
unsigned long vgpu_sdma_unpark(struct vgpu_device *vdev, unsigned int engine,
			       unsigned long dead, bool vram_lost);
int vgpu_sdma_engine_reset(struct vgpu_device *vdev, unsigned int engine);
void vgpu_sdma_give_up(struct vgpu_device *vdev, bool vram_lost);

/* vgpu_sdma_fault.c */
unsigned long vgpu_sdma_take_gart_cam(struct vgpu_device *vdev);
void vgpu_sdma_faults_over(struct vgpu_device *vdev);

/* vgpu_cp.c */
void vgpu_cp_park(struct vgpu_device *vdev);
void vgpu_cp_unpark(struct vgpu_device *vdev, bool vram_lost);
void vgpu_cp_give_up(struct vgpu_device *vdev, bool vram_lost);

/* vgpu_devcoredump.c */
void vgpu_dump_take(struct vgpu_device *vdev, const char *why);

#endif /* VGPU_HW_RECOVER_H */
