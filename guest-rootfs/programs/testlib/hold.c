// SPDX-License-Identifier: GPL-2.0-or-later
/* Occupy the kernel's SDMA rings with jobs: implementation of hold.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hold.h"

#define LOCKUP_TIMEOUT	"/sys/module/vgpu_kfd/parameters/lockup_timeout"
#define NO_LOCKUP_MS	"60000"
#define VA_IB		0x8000000ull
#define VA_FLAG		0x9000000ull
#define VA_USER		0x200000000ull

static uint32_t user_pages(const struct hold *h, void *user, uint64_t bytes)
{
	struct drm_amdgpu_gem_userptr args = {
		.addr = (uintptr_t)user, .size = bytes,
		.flags = AMDGPU_GEM_USERPTR_REGISTER |
			 AMDGPU_GEM_USERPTR_VALIDATE,
	};

	ERRNO(0, vr_ioctl(h->fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args));
	ERRNO(0, vr_gem_va(h->fd, args.handle, AMDGPU_VA_OP_MAP, VR_MAP_RW,
			   VA_USER, 0, bytes));
	return args.handle;
}

/*
 * Each job has its own context, so that each job runs on another engine: the DRM scheduler gives a
 * new context the engine with the least work.
 */
void hold_add_job(struct hold *h)
{
	unsigned int first = h->ib.ndw, mark = ++h->jobs;
	struct vr_ib part = h->ib;
	uint32_t ctx;
	uint64_t seq;
	int r;

	ERRNO(0, vr_ctx_alloc(h->fd, 0, &ctx));
	vr_ib_write(&h->ib, VA_FLAG + 4 * mark, 1);
	vr_ib_poll(&h->ib, VA_FLAG, 1);
	while (h->ib.ndw % 16)
		vr_ib_emit(&h->ib, &(uint32_t){ 0 }, 1);
	part.bo.va += 4 * first;
	part.ndw = h->ib.ndw - first;
	/*
	 * Retry, as libdrm does: the driver returns -EAGAIN if user pages changed after the
	 * driver looked them up.
	 */
	do
		r = vr_submit(h->fd, ctx, 0, &part, h->handles, h->n_handles,
			      &seq);
	while (r == -EAGAIN);
	ERRNO(0, r);
}

void hold_open(struct hold *h, const struct vg_gpu *gpu, void *user,
	       uint64_t bytes)
{
	h->fd = vr_open(gpu);
	ERRNO(0, h->fd < 0 ? h->fd : 0);
	ERRNO(0, vr_ib_create(h->fd, VG_PAGE, VA_IB, &h->ib));
	ERRNO(0, vr_bo_create(h->fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, VA_FLAG,
			      &h->flag));
	memset(h->flag.cpu, 0, VG_PAGE);
	h->n_handles = 0;
	h->handles[h->n_handles++] = h->ib.bo.handle;
	h->handles[h->n_handles++] = h->flag.handle;
	if (user)
		h->handles[h->n_handles++] = user_pages(h, user, bytes);
}

void hold_engines(struct hold *h, const struct vg_gpu *gpu, void *user,
		  uint64_t bytes)
{
	unsigned int i;

	hold_open(h, gpu, user, bytes);
	for (i = 0; i < HOLD_ENGINES; i++) {
		hold_add_job(h);
		OK(vg_wait_word((uint32_t *)h->flag.cpu + h->jobs, 1,
				VG_TIMEOUT_MS));
	}
	for (i = 0; i < HOLD_ENGINES; i++)
		CHECK(hold_pending(gpu, i), "no job on engine %u", i);
}

void hold_let_go(struct hold *h)
{
	*(volatile uint32_t *)h->flag.cpu = 1;
}

unsigned long hold_pending(const struct vg_gpu *gpu, uint32_t engine)
{
	char path[64], text[1024], *at = text;
	uint32_t i;

	snprintf(path, sizeof(path),
		 "/sys/kernel/debug/dri/%d/amdgpu_fence_info", gpu->minor);
	tap_read(path, text, sizeof(text));
	for (i = 0; i <= engine; i++) {
		at = strstr(at, "Pending");
		CHECK(at, "no \"Pending\" of engine %u in %s", i, path);
		at += strlen("Pending");
	}
	return strtoul(at, NULL, 10);
}

char hold_thread_state(int tid)
{
	char path[64], text[1024], *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	tap_read(path, text, sizeof(text));
	state = strrchr(text, ')');
	return state && state[1] == ' ' ? state[2] : '?';
}

bool hold_thread_in_ioctl(int tid, unsigned long request)
{
	unsigned long fd, in_request;
	char path[64], text[1024];
	long number;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	tap_read(path, text, sizeof(text));
	return sscanf(text, "%ld %lx %lx", &number, &fd, &in_request) == 3 &&
	       number == SYS_ioctl && in_request == request;
}

void hold_await_sleep(int tid)
{
	uint64_t end = vg_deadline();

	while (hold_thread_state(tid) != 'D') {
		CHECK(vg_now() < end, "thread %d does not sleep", tid);
		vg_sleep_us(1000);
	}
}

int hold_main(const struct tap_case *cases, int n, int argc, char **argv)
{
	char before[32];
	int r;

	tap_read(LOCKUP_TIMEOUT, before, sizeof(before));
	if (vg_put(LOCKUP_TIMEOUT, NO_LOCKUP_MS)) {
		fprintf(stderr, "%s\n", vg_error());
		return 1;
	}
	r = tap_main(cases, n, argc, argv);
	if (vg_put(LOCKUP_TIMEOUT, before)) {
		fprintf(stderr, "%s\n", vg_error());
		return 1;
	}
	return r;
}
