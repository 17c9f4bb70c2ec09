/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KFD and the GPUs of its topology: opening, ioctls, properties, and the last error.
 */
#ifndef VG_DEVICE_H
#define VG_DEVICE_H

#include <stdint.h>

#include <linux/kfd_ioctl.h>

#define VG_MAX_GPUS	8
#define VG_PAGE		4096ul
#define VG_KIB		1024ul
#define VG_MIB		(1024 * VG_KIB)
#define VG_GIB		(1024 * VG_MIB)

/* A tick of the GPU clock: 100 MHz (docs/hardware.md). */
#define VG_CLOCK_NS	10

/**
 * struct vg_gpu - one GPU node of the topology
 * @gpu_id: what KFD's ioctls call it
 * @node: index of its folder in the topology
 * @minor: DRM render minor (128...)
 * @fd: the render node; KFD holds the VM that came with it
 * @aperture: from GET_PROCESS_APERTURES_NEW
 */
struct vg_gpu {
	uint32_t gpu_id;
	int node;
	int minor;
	int fd;
	struct kfd_process_device_apertures aperture;
};

/**
 * struct vg - an open KFD with every GPU's VM acquired
 * @kfd: /dev/kfd
 * @major, @minor: what GET_VERSION said
 */
struct vg {
	int kfd;
	uint32_t major, minor;
	int n_gpus;
	struct vg_gpu gpu[VG_MAX_GPUS];
};

/*
 * Opens /dev/kfd, finds the GPUs in the topology, opens their render nodes,
 * acquires the VMs and sets the default memory policy.
 */
int vg_open(struct vg *vg);
/* The same without ACQUIRE_VM and SET_MEMORY_POLICY: for tests of these. */
int vg_open_bare(struct vg *vg);
void vg_close(struct vg *vg);
int vg_acquire_vm(struct vg *vg, struct vg_gpu *gpu);
int vg_set_memory_policy(struct vg *vg, struct vg_gpu *gpu);
/* @mode 0, 1, or -1 to ask. Returns the mode now in force, or -errno. */
int vg_set_xnack(struct vg *vg, int mode);
/* ioctl() on /dev/kfd that restarts after signals; 0 or -errno. */
int vg_ioctl(const struct vg *vg, unsigned long request, void *arg);
/* Folders in the topology, or -errno. */
int vg_topology_nodes(void);
/* Value of line @name in a node's properties; @fallback if there is none. */
uint64_t vg_node_property(int node, const char *name, uint64_t fallback);
/* GPU clock (ticks of VG_CLOCK_NS), 0 on error. */
uint64_t vg_gpu_clock(struct vg *vg, struct vg_gpu *gpu);

/* The last failure of this thread, as a sentence. Never NULL. */
const char *vg_error(void);
/* Records a failure, with errno's text unless @err is 0; returns @err. */
int vg_fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* VG_DEVICE_H */
