// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read a GPU's counters and memory usage in sysfs and debugfs, reset the GPU, take its devcoredump,
 * and count the bytes that the packets of user queues copy and fill.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "device.h"
#include "stats.h"
#include "timeout.h"

#define DEBUGFS "/sys/kernel/debug"

struct vg_tally *vg_tally(void)
{
	static struct vg_tally *tally;
	static struct vg_tally fallback;
	void *p;

	if (tally)
		return tally;
	p = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tally = p == MAP_FAILED ? &fallback : p;
	return tally;
}

static int read_u64(const struct vg_gpu *gpu, const char *name, uint64_t *value)
{
	char path[128];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device/%s",
		 gpu->minor, name);
	f = fopen(path, "re");
	if (!f)
		return vg_fail(-errno, "cannot open %s", path);
	n = fscanf(f, "%lu", value);
	fclose(f);
	return n == 1 ? 0 : vg_fail(-EIO, "%s has no number", path);
}

int vg_mem_info(const struct vg_gpu *gpu, struct vg_mem_info *info)
{
	int r = read_u64(gpu, "mem_info_vram_total", &info->vram_total);

	if (!r)
		r = read_u64(gpu, "mem_info_vram_used", &info->vram_used);
	if (!r)
		r = read_u64(gpu, "mem_info_gtt_total", &info->gtt_total);
	if (!r)
		r = read_u64(gpu, "mem_info_gtt_used", &info->gtt_used);
	return r;
}

int vg_mem_wait_freed(const struct vg_gpu *gpu, const struct vg_mem_info *base,
		      unsigned int timeout_ms)
{
	uint64_t deadline = vg_now() + timeout_ms * 1000000ull;
	struct vg_mem_info now;
	int r;

	for (;;) {
		r = vg_mem_info(gpu, &now);
		if (r)
			return r;
		if (now.vram_used <= base->vram_used &&
		    now.gtt_used <= base->gtt_used)
			return 0;
		if (vg_now() > deadline)
			return vg_fail(-ETIMEDOUT,
				       "memory is not back: VRAM %lu used, was %lu; GTT %lu, was %lu",
				       now.vram_used, base->vram_used,
				       now.gtt_used, base->gtt_used);
		vg_sleep_us(2000);
	}
}

/*
 * Open file @name of @gpu in debugfs. Store the file's path in @path, which has space for 128
 * bytes. Return 0 or -errno.
 */
static int open_debugfs(const struct vg_gpu *gpu, const char *name, char *path,
			FILE **f)
{
	snprintf(path, 128, DEBUGFS "/dri/%d/%s", gpu->minor, name);
	if (access(DEBUGFS "/dri", F_OK))
		mount("debugfs", DEBUGFS, "debugfs", 0, NULL);
	*f = fopen(path, "re");
	return *f ? 0 : vg_fail(-errno, "cannot open %s", path);
}

static int read_counters(const struct vg_gpu *gpu, const char *name,
			 struct vg_counters *c)
{
	char path[128];
	FILE *f;
	int ret = open_debugfs(gpu, name, path, &f);

	if (ret)
		return ret;
	c->n = 0;
	while (c->n < VG_MAX_COUNTERS &&
	       fscanf(f, "%31s %lu", c->c[c->n].name, &c->c[c->n].value) == 2)
		c->n++;
	fclose(f);
	return c->n ? 0 : vg_fail(-EIO, "%s is empty", path);
}

int vg_driver_counters(const struct vg_gpu *gpu, struct vg_counters *c)
{
	return read_counters(gpu, "vgpu_counters", c);
}

int vg_device_counters(const struct vg_gpu *gpu, struct vg_counters *c)
{
	return read_counters(gpu, "vgpu_device_counters", c);
}

int vg_faults_open(const struct vg_gpu *gpu, int64_t *open)
{
	bool has_taken, has_acks;
	struct vg_counters c;
	uint64_t taken, acks;
	int r;

	r = vg_driver_counters(gpu, &c);
	if (r)
		return r;
	taken = vg_counter(&c, "faults_retry", &has_taken);
	acks = vg_counter(&c, "cam_acks", &has_acks);
	if (!has_taken || !has_acks)
		return vg_fail(-ENOENT, "no counter faults_retry or cam_acks");
	*open = (int64_t)(taken - acks);
	return 0;
}

int vg_faults_wait_acked(const struct vg_gpu *gpu, int64_t most,
			 unsigned int timeout_ms)
{
	uint64_t deadline = vg_now() + timeout_ms * 1000000ull;
	int64_t open;
	int r;

	for (;;) {
		r = vg_faults_open(gpu, &open);
		if (r || open <= most)
			return r;
		if (vg_now() > deadline)
			return vg_fail(-ETIMEDOUT,
				       "%ld retry faults taken and not acknowledged, %ld expected",
				       open, most);
		vg_sleep_us(2000);
	}
}

int vg_in_use(const struct vg_gpu *gpu, struct vg_counters *c)
{
	return read_counters(gpu, "vgpu_in_use", c);
}

uint64_t vg_counter(const struct vg_counters *c, const char *name, bool *found)
{
	int i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(c->c[i].name, name))
			break;
	if (found)
		*found = i < c->n;
	return i < c->n ? c->c[i].value : 0;
}

int vg_gpu_reset(const struct vg_gpu *gpu)
{
	char path[128];
	FILE *f;
	int ret = open_debugfs(gpu, "amdgpu_gpu_recover", path, &f);

	if (ret)
		return ret;
	if (fscanf(f, "%d", &ret) != 1)
		ret = vg_fail(-EIO, "nothing in %s", path);
	fclose(f);
	return ret;
}

int vg_dump_take(char *text, size_t size, unsigned int timeout_ms)
{
	uint64_t until = vg_now() + timeout_ms * 1000000ull;
	glob_t found = { 0 };
	char *path = NULL;
	size_t n = 0;
	int ret = 0;
	FILE *f;

	while (glob("/sys/class/devcoredump/devcd*/data", 0, NULL, &found) &&
	       vg_now() < until)
		vg_sleep_us(1000);
	/*
	 * The link in /sys/class/devcoredump disappears before the kernel has removed the dump: use
	 * the path that the link leads to.
	 */
	if (found.gl_pathc)
		path = realpath(found.gl_pathv[0], NULL);
	globfree(&found);
	f = path ? fopen(path, "r+e") : NULL;
	if (f) {
		n = fread(text, 1, size - 1, f);
		fseek(f, 0, SEEK_SET);
		fputs("1", f);
		fclose(f);
		until = vg_deadline();
		/* Until the kernel has removed this dump, it drops new dumps. */
		while (!ret && !access(path, F_OK)) {
			if (vg_now() > until)
				ret = vg_fail(-ETIMEDOUT, "%s is not removed",
					      path);
			vg_sleep_us(1000);
		}
	}
	free(path);
	text[n] = 0;
	return ret;
}
