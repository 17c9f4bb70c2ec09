// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open KFD: find the GPUs of the topology, open their render nodes, read the apertures and
 * acquire the VMs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

static __thread char last_error[512] = "no error";

const char *vg_error(void)
{
	return last_error;
}

int vg_fail(int err, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	n = strlen(last_error);
	if (err)
		snprintf(last_error + n, sizeof(last_error) - n, ": %s",
			 strerror(-err));
	return err;
}

int vg_ioctl(const struct vg *vg, unsigned long request, void *arg)
{
	int r;

	do {
		r = ioctl(vg->kfd, request, arg);
	} while (r < 0 && (errno == EINTR || errno == EAGAIN));
	return r < 0 ? -errno : 0;
}

int vg_topology_nodes(void)
{
	DIR *dir = opendir(TOPOLOGY);
	struct dirent *e;
	int n = 0;

	if (!dir)
		return vg_fail(-errno, "cannot list " TOPOLOGY);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

uint64_t vg_node_property(int node, const char *name, uint64_t fallback)
{
	char path[128], key[64];
	uint64_t value, found = fallback;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%d/properties", node);
	f = fopen(path, "re");
	if (!f)
		return fallback;
	while (fscanf(f, "%63s %lu", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	fclose(f);
	return found;
}

static uint32_t node_gpu_id(int node)
{
	char path[128];
	unsigned int id = 0;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%d/gpu_id", node);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%u", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

static int open_render_node(struct vg_gpu *gpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", gpu->minor);
	gpu->fd = open(path, O_RDWR | O_CLOEXEC);
	if (gpu->fd < 0)
		return vg_fail(-errno, "cannot open %s", path);
	return 0;
}

static int find_gpus(struct vg *vg)
{
	int i, r, nodes = vg_topology_nodes();

	if (nodes < 0)
		return nodes;
	for (i = 0; i < nodes && vg->n_gpus < VG_MAX_GPUS; i++) {
		struct vg_gpu *gpu = &vg->gpu[vg->n_gpus];

		gpu->gpu_id = node_gpu_id(i);
		if (!gpu->gpu_id)
			continue;
		gpu->node = i;
		gpu->minor = (int)vg_node_property(i, "drm_render_minor", 0);
		r = open_render_node(gpu);
		if (r)
			return r;
		vg->n_gpus++;
	}
	if (!vg->n_gpus)
		return vg_fail(-ENODEV, "the topology has no GPU node");
	return 0;
}

static int get_apertures(struct vg *vg)
{
	struct kfd_process_device_apertures pa[VG_MAX_GPUS] = { 0 };
	struct kfd_ioctl_get_process_apertures_new_args args = {
		.kfd_process_device_apertures_ptr = (uintptr_t)pa,
		.num_of_nodes = vg->n_gpus,
	};
	int i, r;
	unsigned int j;

	r = vg_ioctl(vg, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args);
	if (r)
		return vg_fail(r, "GET_PROCESS_APERTURES_NEW");
	for (i = 0; i < vg->n_gpus; i++) {
		for (j = 0; j < args.num_of_nodes && j < VG_MAX_GPUS; j++)
			if (pa[j].gpu_id == vg->gpu[i].gpu_id)
				vg->gpu[i].aperture = pa[j];
		if (!vg->gpu[i].aperture.gpu_id)
			return vg_fail(-ENODEV, "no apertures for GPU 0x%x",
				       vg->gpu[i].gpu_id);
	}
	return 0;
}

int vg_open_bare(struct vg *vg)
{
	struct kfd_ioctl_get_version_args version = { 0 };
	int r;

	memset(vg, 0, sizeof(*vg));
	vg->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (vg->kfd < 0) {
		r = -errno;
		return vg_fail(r, "cannot open /dev/kfd");
	}
	r = vg_ioctl(vg, AMDKFD_IOC_GET_VERSION, &version);
	if (r) {
		vg_fail(r, "GET_VERSION");
		goto fail;
	}
	vg->major = version.major_version;
	vg->minor = version.minor_version;
	r = find_gpus(vg);
	if (!r)
		r = get_apertures(vg);
	if (!r)
		return 0;
fail:
	vg_close(vg);
	return r;
}

int vg_acquire_vm(struct vg *vg, struct vg_gpu *gpu)
{
	struct kfd_ioctl_acquire_vm_args args = {
		.drm_fd = gpu->fd,
		.gpu_id = gpu->gpu_id,
	};
	int r = vg_ioctl(vg, AMDKFD_IOC_ACQUIRE_VM, &args);

	return r ? vg_fail(r, "ACQUIRE_VM of GPU 0x%x", gpu->gpu_id) : 0;
}

int vg_set_memory_policy(struct vg *vg, struct vg_gpu *gpu)
{
	struct kfd_ioctl_set_memory_policy_args args = {
		.gpu_id = gpu->gpu_id,
		.default_policy = KFD_IOC_CACHE_POLICY_COHERENT,
		.alternate_policy = KFD_IOC_CACHE_POLICY_COHERENT,
	};
	int r = vg_ioctl(vg, AMDKFD_IOC_SET_MEMORY_POLICY, &args);

	return r ? vg_fail(r, "SET_MEMORY_POLICY of GPU 0x%x", gpu->gpu_id) : 0;
}

int vg_open(struct vg *vg)
{
	int i, r = vg_open_bare(vg);

	if (r)
		return r;
	for (i = 0; i < vg->n_gpus && !r; i++) {
		r = vg_acquire_vm(vg, &vg->gpu[i]);
		if (!r)
			r = vg_set_memory_policy(vg, &vg->gpu[i]);
	}
	if (r)
		vg_close(vg);
	return r;
}

void vg_close(struct vg *vg)
{
	int i;

	for (i = 0; i < vg->n_gpus; i++)
		close(vg->gpu[i].fd);
	if (vg->kfd >= 0)
		close(vg->kfd);
	memset(vg, 0, sizeof(*vg));
	vg->kfd = -1;
}

int vg_set_xnack(struct vg *vg, int mode)
{
	struct kfd_ioctl_set_xnack_mode_args args = { .xnack_enabled = mode };
	int r = vg_ioctl(vg, AMDKFD_IOC_SET_XNACK_MODE, &args);

	if (r)
		return vg_fail(r, "SET_XNACK_MODE %d", mode);
	return args.xnack_enabled;
}

int vg_open_xnack(struct vg *vg)
{
	int ret = vg_open(vg);

	if (ret < 0)
		return ret;
	if (!vg->n_gpus)
		return vg_fail(-ENODEV, "no GPU");
	ret = vg_set_xnack(vg, 1);
	return ret < 0 ? ret : 0;
}

uint64_t vg_gpu_clock(struct vg *vg, struct vg_gpu *gpu)
{
	struct kfd_ioctl_get_clock_counters_args args = {
		.gpu_id = gpu->gpu_id,
	};

	if (vg_ioctl(vg, AMDKFD_IOC_GET_CLOCK_COUNTERS, &args))
		return 0;
	return args.gpu_clock_counter;
}
