// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program checks the driver's counters in fdinfo, mem_info_* and debugfs after
 * actions with known effects. Catches: memory is counted twice, not at all, or for
 * another client; a counter is wrong after a move.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "tap.h"

#define TEXT	(256 * VG_KIB)

static struct vg vg;
static struct vg_gpu *gpu;
static char text[TEXT];

static void slurp_debugfs(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", gpu->minor,
		 name);
	tap_read(path, text, TEXT);
}

/* Return the value of @key in the fdinfo of @file. Convert KiB and MiB to bytes. */
static uint64_t fdinfo(int file, const char *key)
{
	unsigned long value = 0;
	char path[64], unit[8] = "";
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
	tap_read(path, text, TEXT);
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) ||
		    line[strlen(key)] != ':')
			continue;
		CHECK(sscanf(line + strlen(key) + 1, "%lu %7s", &value, unit) >=
		      1, "%s has no number", key);
		if (!strcmp(unit, "KiB"))
			value *= VG_KIB;
		if (!strcmp(unit, "MiB"))
			value *= VG_MIB;
		return value;
	}
	tap_fail(__FILE__, __LINE__, "no %s in fdinfo", key);
}

static void fdinfo_names(void)
{
	static const char * const keys[] = {
		"drm-client-id", "drm-memory-vram", "drm-memory-gtt",
		"drm-memory-cpu", "drm-total-vram", "drm-shared-vram",
		"drm-active-vram", "drm-resident-vram", "drm-purgeable-vram",
		"drm-total-gtt", "drm-total-cpu", "drm-total-doorbell",
		"amd-memory-visible-vram", "amd-evicted-vram",
		"amd-evicted-visible-vram", "amd-requested-vram",
		"amd-requested-visible-vram", "amd-requested-gtt",
	};
	char driver[32] = "", slot[32] = "", want[256], link[64];
	const char *line;
	ssize_t n;
	unsigned int i;
	int a, b;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	a = tap_open_render(gpu);
	b = tap_open_render(gpu);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fdinfo(a, keys[i]);
	CHECK(fdinfo(a, "drm-client-id") != fdinfo(b, "drm-client-id"),
	      "two files, one client");
	CHECK(!strstr(text, "drm-engine-") || strstr(text, " ns"),
	      "engine times without unit");

	line = strstr(text, "drm-driver:");
	CHECK(line && sscanf(line, "drm-driver: %31s", driver) == 1 &&
	      !strcmp(driver, "amdgpu"), "drm-driver is '%s'", driver);
	line = strstr(text, "drm-pdev:");
	CHECK(line && sscanf(line, "drm-pdev: %31s", slot) == 1, "no drm-pdev");
	snprintf(link, sizeof(link), "/sys/class/drm/renderD%d/device",
		 gpu->minor);
	n = readlink(link, want, sizeof(want) - 1);
	CHECK(n > 0, "%s: %s", link, strerror(errno));
	want[n] = 0;
	CHECK(strlen(want) > strlen(slot) &&
	      !strcmp(want + strlen(want) - strlen(slot), slot),
	      "drm-pdev is %s, the device is %s", slot, want);
}

/*
 * Until a BO's handle is closed, the fdinfo of the DRM file must count the BO in the BO's
 * domain.
 */
static void fdinfo_gem(void)
{
	uint32_t vram, gtt, idle;
	int a, b;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	a = tap_open_render(gpu);
	b = tap_open_render(gpu);
	vram = tap_gem_create(a, 5 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM,
			      AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED);
	gtt = tap_gem_create(a, 3 * VG_MIB + VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0);
	/* The memory of this BO is never touched, so no pages are allocated. */
	idle = tap_gem_create(b, VG_MIB, AMDGPU_GEM_DOMAIN_CPU, 0);

	CHECK(fdinfo(a, "drm-total-vram") == 5 * VG_MIB, "total VRAM");
	CHECK(fdinfo(a, "drm-resident-vram") == 5 * VG_MIB, "resident VRAM");
	CHECK(fdinfo(a, "drm-memory-vram") == 5 * VG_MIB, "VRAM");
	CHECK(fdinfo(a, "amd-memory-visible-vram") == 5 * VG_MIB, "visible");
	CHECK(fdinfo(a, "amd-requested-vram") == 5 * VG_MIB, "requested");
	CHECK(fdinfo(a, "amd-requested-visible-vram") == 5 * VG_MIB,
	      "requested visible");
	CHECK(fdinfo(a, "amd-evicted-vram") == 0, "evicted");
	CHECK(fdinfo(a, "drm-total-gtt") == 3 * VG_MIB + VG_PAGE, "total GTT");
	CHECK(fdinfo(a, "drm-memory-gtt") == 3 * VG_MIB + VG_PAGE, "GTT");
	CHECK(fdinfo(a, "amd-requested-gtt") == 3 * VG_MIB + VG_PAGE,
	      "requested GTT");
	CHECK(fdinfo(a, "drm-shared-vram") == 0, "shared");
	CHECK(fdinfo(a, "drm-total-cpu") == 0, "another file's memory");
	CHECK(fdinfo(b, "drm-total-vram") == 0, "another file's memory");
	CHECK(fdinfo(b, "drm-total-cpu") == VG_MIB, "total system memory");
	CHECK(fdinfo(b, "drm-memory-cpu") == 0, "pages that are not there");

	tap_gem_close(a, vram);
	CHECK(fdinfo(a, "drm-total-vram") == 0, "a closed handle counts");
	tap_gem_close(a, gtt);
	CHECK(fdinfo(a, "drm-total-gtt") == 0, "a closed handle counts");
	tap_gem_close(b, idle);
}

/*
 * If two DRM files have a handle of the same BO, fdinfo of each file must include the BO in
 * drm-total-vram and in drm-shared-vram.
 */
static void fdinfo_shared(void)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int a, b;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	a = tap_open_render(gpu);
	b = tap_open_render(gpu);
	tap_gem_create(a, VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	prime.handle = tap_gem_create(a, 2 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	ERRNO(0, tap_ioctl(a, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ERRNO(0, tap_ioctl(b, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	CHECK(fdinfo(a, "drm-total-vram") == 3 * VG_MIB, "total of the first");
	CHECK(fdinfo(a, "drm-shared-vram") == 2 * VG_MIB,
	      "shared of the first");
	CHECK(fdinfo(b, "drm-total-vram") == 2 * VG_MIB,
	      "total of the second");
	CHECK(fdinfo(b, "drm-shared-vram") == 2 * VG_MIB,
	      "shared of the second");
}

/* Memory that KFD allocates must count for the DRM file that was passed to ACQUIRE_VM. */
static void fdinfo_kfd(void)
{
	struct vg_mem_info before, after;
	uint64_t tables, vram, gtt;
	struct vg_bo a = { 0 }, b = { 0 };

	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	tables = fdinfo(gpu->fd, "drm-memory-vram");
	gtt = fdinfo(gpu->fd, "drm-memory-gtt");
	CHECK(tables > 0, "page tables are not counted");
	CHECK(fdinfo(gpu->fd, "pasid") > 0, "no PASID");

	OK(vg_mem_info(gpu, &before));
	OK(vg_bo_alloc(&vg, gpu, 6 * VG_MIB, VG_VRAM, &a));
	OK(vg_bo_alloc(&vg, gpu, 2 * VG_MIB, VG_GTT, &b));
	OK(vg_mem_info(gpu, &after));
	vram = fdinfo(gpu->fd, "drm-memory-vram");
	CHECK(vram - tables == 6 * VG_MIB, "VRAM is %lu more", vram - tables);
	CHECK(after.vram_used - before.vram_used == 6 * VG_MIB,
	      "mem_info_vram_used is %lu more",
	      after.vram_used - before.vram_used);
	CHECK(fdinfo(gpu->fd, "drm-memory-gtt") - gtt == 2 * VG_MIB, "GTT");
	CHECK(after.gtt_used - before.gtt_used == 2 * VG_MIB,
	      "mem_info_gtt_used");
	CHECK(fdinfo(gpu->fd, "drm-total-vram") == vram, "total VRAM");

	OK(vg_bo_free(&a));
	OK(vg_bo_free(&b));
	CHECK(fdinfo(gpu->fd, "drm-memory-vram") == tables, "a freed BO counts");
}

/*
 * Create more BOs than VRAM holds. Evicted memory must be counted as evicted, and no
 * memory may be counted twice.
 */
static void fdinfo_evicted(void)
{
	struct vg_mem_info info;
	uint64_t total, resident, gtt, evicted;
	unsigned int i, n;
	int file;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	file = tap_open_render(gpu);
	OK(vg_mem_info(gpu, &info));
	if (info.vram_total > 128 * VG_MIB)
		tap_skip("VRAM is too large to fill: run with --vram 64M");
	n = (unsigned int)(info.vram_total / (4 * VG_MIB) + 4);
	for (i = 0; i < n; i++)
		tap_gem_create(file, 4 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	total = fdinfo(file, "drm-total-vram");
	resident = fdinfo(file, "drm-resident-vram");
	gtt = fdinfo(file, "drm-resident-gtt");
	evicted = fdinfo(file, "amd-evicted-vram");
	CHECK(total == n * 4 * VG_MIB, "total is %lu", total);
	CHECK(evicted >= 4 * VG_MIB, "only %lu bytes were evicted", evicted);
	CHECK(resident + gtt == total && evicted == gtt,
	      "of %lu bytes, %lu are in VRAM, %lu in GTT, %lu evicted", total,
	      resident, gtt, evicted);
	OK(vg_mem_info(gpu, &info));
	CHECK(info.vram_used >= resident && info.gtt_used >= gtt,
	      "mem_info has %lu and %lu", info.vram_used, info.gtt_used);
}

/*
 * Evict a BO by debugfs. The BO must count as resident in the domain that it moved to,
 * and must still count in the total of its preferred domain.
 */
static void debugfs_evict(void)
{
	uint64_t before;
	int file;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	file = tap_open_render(gpu);
	tap_gem_create(file, 5 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	CHECK(fdinfo(file, "drm-resident-vram") == 5 * VG_MIB, "not in VRAM");
	before = tap_driver_counter(gpu, "evictions");
	slurp_debugfs("amdgpu_evict_vram");
	CHECK(text[0] == '0', "amdgpu_evict_vram: %s", text);
	CHECK(tap_driver_counter(gpu, "evictions") > before, "no eviction");
	CHECK(fdinfo(file, "drm-resident-vram") == 0, "still in VRAM");
	CHECK(fdinfo(file, "drm-resident-gtt") == 5 * VG_MIB, "not in GTT");
	CHECK(fdinfo(file, "amd-evicted-vram") == 5 * VG_MIB, "not evicted");
	CHECK(fdinfo(file, "drm-total-vram") == 5 * VG_MIB, "its preferred domain changed");
	slurp_debugfs("amdgpu_evict_gtt");
	CHECK(text[0] == '0', "amdgpu_evict_gtt: %s", text);
	CHECK(fdinfo(file, "drm-resident-gtt") == 0, "still in GTT");
	CHECK(fdinfo(file, "drm-resident-cpu") == 5 * VG_MIB, "not in system memory");
}

/* debugfs must show the mappings of a KFD address space. */
static void debugfs_vm(void)
{
	char want[64];
	struct vg_bo a = { 0 };
	const char *line;

	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	OK(vg_bo_create(&vg, gpu, 2 * VG_MIB, VG_VRAM, &a));
	slurp_debugfs("amdgpu_vm_info");
	snprintf(want, sizeof(want), "kfd process %d ", getpid());
	line = strstr(text, want);
	CHECK(line, "no '%s' in %s", want, text);
	CHECK(strstr(line, "pasid="), "no PASID in %s", line);
	snprintf(want, sizeof(want), "[%#lx %#lx]", a.va / VG_PAGE,
		 (a.va + a.size) / VG_PAGE - 1);
	line = strstr(line, want);
	CHECK(line, "no mapping %s in %s", want, text);
	line = strstr(line, " in ");
	CHECK(line && !strncmp(line, " in vram, ", 10), "the BO is not in VRAM: %s",
	      line);
	OK(vg_bo_unmap_gpu(&a));
	slurp_debugfs("amdgpu_vm_info");
	CHECK(!strstr(text, want), "an unmapped BO is still shown");
	OK(vg_bo_free(&a));
}

/*
 * debugfs must show the address space of a render node's file, and fdinfo must count the page
 * tables of this address space.
 */
static void debugfs_vm_of_file(void)
{
	struct drm_amdgpu_gem_va va = {
		.operation = AMDGPU_VA_OP_MAP,
		.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
		.va_address = 64 * VG_MIB, .map_size = 2 * VG_MIB,
		.offset_in_bo = VG_MIB,
	};
	char want[96];
	const char *line;
	uint64_t id;
	int file;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	file = tap_open_render(gpu);
	va.handle = tap_gem_create(file, 3 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	CHECK(fdinfo(file, "drm-memory-vram") == 3 * VG_MIB, "too much VRAM");
	ERRNO(0, tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_VA, &va));
	CHECK(fdinfo(file, "drm-memory-vram") > 3 * VG_MIB,
	      "page tables are not counted");
	id = fdinfo(file, "drm-client-id");
	slurp_debugfs("amdgpu_vm_info");
	snprintf(want, sizeof(want), "client %lu, process %d ", id, getpid());
	line = strstr(text, want);
	CHECK(line, "no '%s' in %s", want, text);
	snprintf(want, sizeof(want), "[%#lx %#lx]", 64 * VG_MIB / VG_PAGE,
		 66 * VG_MIB / VG_PAGE - 1);
	line = strstr(line, want);
	CHECK(line, "no mapping %s in %s", want, text);
	CHECK(strstr(line, "offset=1048576 in vram"), "wrong mapping: %s",
	      line);
	va.operation = AMDGPU_VA_OP_UNMAP;
	ERRNO(0, tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_VA, &va));
	slurp_debugfs("amdgpu_vm_info");
	CHECK(!strstr(text, want), "an unmapped BO is still shown");
}

static void debugfs_rings(void)
{
	static const char * const files[] = {
		"gtt_mm", "vram_mm", "vgpu_counters", "vgpu_device_counters",
	};
	unsigned int signalled, emitted, i;
	const char *line;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		slurp_debugfs(files[i]);
		CHECK(text[0], "%s is empty", files[i]);
	}
	slurp_debugfs("amdgpu_fence_info");
	for (i = 0, line = text; (line = strstr(line, "--- ring")); i++) {
		line = strstr(line, "signaled fence");
		CHECK(line && sscanf(line, "signaled fence %x", &signalled) == 1,
		      "no last fence in %s", text);
		line = strstr(line, "Last emitted");
		CHECK(line && sscanf(line, "Last emitted %x", &emitted) == 1,
		      "no last job in %s", text);
		CHECK(emitted >= signalled && emitted,
		      "ring %u: %u submitted, %u done", i, emitted, signalled);
	}
	CHECK(i == 2, "%u rings in %s", i, text);
	slurp_debugfs("vgpu_rings");
	CHECK(strstr(text, "sdma0 ready") && strstr(text, "sdma1 ready"),
	      "an engine is not ready: %s", text);
}

static const struct tap_case cases[] = {
	{ "fdinfo has what tools look for", fdinfo_names, 1 },
	{ "fdinfo: BOs with handles", fdinfo_gem, 1 },
	{ "fdinfo: shared BOs", fdinfo_shared, 1 },
	{ "fdinfo: memory of KFD", fdinfo_kfd, 1 },
	{ "fdinfo: evicted memory", fdinfo_evicted, 1 },
	{ "debugfs: eviction by hand", debugfs_evict, 1 },
	{ "debugfs: address spaces", debugfs_vm, 1 },
	{ "debugfs: address spaces of the render node", debugfs_vm_of_file, 1 },
	{ "debugfs: managers, rings, fences", debugfs_rings, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
