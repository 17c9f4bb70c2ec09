/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open KFD and the GPUs of the topology, call ioctls, read properties, and record the text of the
 * last error.
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

/* Length of a GPU clock tick in ns. The clock runs at 100 MHz (docs/hardware.md). */
#define VG_CLOCK_NS	10

/**
 * struct vg_gpu - one GPU node of the topology
 */
struct vg_gpu {
	/** @gpu_id: ID in KFD's ioctls */
	uint32_t gpu_id;
	/** @node: number of the node in the topology */
	int node;
	/** @minor: DRM render minor (128 or above) */
	int minor;
	/** @fd: open file of the render node; vg_acquire_vm() gives the VM of this file to KFD */
	int fd;
	/** @aperture: the GPU's apertures, as GET_PROCESS_APERTURES_NEW reports them */
	struct kfd_process_device_apertures aperture;
};

/**
 * struct vg - an open KFD with every GPU's VM acquired
 * @kfd: open file of /dev/kfd
 * @major: major version that GET_VERSION reports
 * @minor: minor version that GET_VERSION reports
 * @n_gpus: number of GPUs
 * @gpu: the GPUs of the topology
 */
struct vg {
	int kfd;
	uint32_t major, minor;
	int n_gpus;
	struct vg_gpu gpu[VG_MAX_GPUS];
};

/*
 * Open /dev/kfd and the render nodes of the GPUs in the topology, acquire their VMs and
 * set the default memory policy.
 */
int vg_open(struct vg *vg);
/*
 * As vg_open(), but without ACQUIRE_VM and SET_MEMORY_POLICY: for callers that call these ioctls
 * themselves or need no VM.
 */
int vg_open_bare(struct vg *vg);
/*
 * Close KFD and the render nodes of @vg, which vg_open() or vg_open_bare() has opened. Unlike
 * vg_queue_destroy() and vg_cq_destroy(), vg_close() does not accept a zeroed structure.
 */
void vg_close(struct vg *vg);
/* Call ACQUIRE_VM for @gpu with its render node. */
int vg_acquire_vm(struct vg *vg, struct vg_gpu *gpu);
/* Call SET_MEMORY_POLICY with COHERENT as the default and the alternate policy. */
int vg_set_memory_policy(struct vg *vg, struct vg_gpu *gpu);
/*
 * Set the XNACK mode to @mode (0 or 1); if @mode is -1, only read it. Return the mode after
 * the call, or -errno.
 */
int vg_set_xnack(struct vg *vg, int mode);
/*
 * As vg_open(), with XNACK on. Return 0, -ENODEV if there is no GPU, or another -errno.
 */
int vg_open_xnack(struct vg *vg);
/*
 * Call an ioctl of /dev/kfd, and repeat it while it fails with EINTR or EAGAIN. Return 0 or
 * -errno. The function records no text for vg_error().
 */
int vg_ioctl(const struct vg *vg, unsigned long request, void *arg);
/* Return the number of nodes in the topology, or -errno. */
int vg_topology_nodes(void);
/*
 * Return the value of line @name in a node's properties, or @fallback if there is no
 * such line.
 */
uint64_t vg_node_property(int node, const char *name, uint64_t fallback);
/* Return the value of the GPU clock, in ticks of VG_CLOCK_NS, or 0 on an error. */
uint64_t vg_gpu_clock(struct vg *vg, struct vg_gpu *gpu);

/* Return the text of the calling thread's last failure, never NULL. */
const char *vg_error(void);
/*
 * Record the text of a failure for vg_error(). @err is a negative errno, whose text is appended, or
 * 0. Return @err.
 */
int vg_fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* VG_DEVICE_H */
