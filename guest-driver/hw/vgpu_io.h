/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to the BARs while the device may be reset: accesses of the kernel wait for the
 * reset, mappings of user space are removed. Functions are documented in vgpu_io.c.
 */
#ifndef VGPU_HW_IO_H
#define VGPU_HW_IO_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpu_device;
struct vm_fault;

void vgpu_io_begin(struct vgpu_device *vdev);
void vgpu_io_end(struct vgpu_device *vdev);
u32 vgpu_rreg_sync(struct vgpu_device *vdev, u32 reg);

void vgpu_io_map_begin(int *token) __acquires(vgpu_io_map);
bool vgpu_io_map_is_closed(const struct vgpu_device *vdev);
void vgpu_io_map_end(int token) __releases(vgpu_io_map);
vm_fault_t vgpu_io_map_wait(struct vgpu_device *vdev, struct vm_fault *vmf);
void vgpu_io_map_close(struct vgpu_device *vdev);
void vgpu_io_map_sync(void);
void vgpu_io_map_open(struct vgpu_device *vdev);

#endif /* VGPU_HW_IO_H */
