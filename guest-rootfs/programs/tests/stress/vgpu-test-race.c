// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads use one render-node file, and one frees what the other uses. Catches: use after free
 * (KASAN); wrong lock order (lockdep); leaks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "race.h"
#include "render.h"
#include "tap.h"

#define VA	0x200000000ull
#define VA_USER	0x210000000ull
#define VA_IB	0x8000000ull
#define PAGES	4
#define ROUNDS	600

static struct vg vg;
static struct vg_gpu *gpu;

/* Resources of a round. Either thread may free some of them. */
static struct {
	int fd, other;
	struct vr_ib ib;
	struct vr_bo bo;
	uint32_t ctx, list, syncobj, signaled, user;
	void *mem;
	uint64_t seq;
} o;

static int close_bo(void)
{
	return vr_gem_close(o.fd, o.bo.handle);
}

static int va(uint32_t op)
{
	return vr_gem_va(o.fd, o.bo.handle, op, VR_MAP_RW, VA, 0, VG_PAGE);
}

static int va_map(void)
{
	return va(AMDGPU_VA_OP_MAP);
}

/*
 * One thread maps a BO while the other closes the BO's last handle. No mapping may
 * remain, in whichever order the two calls run.
 */
static void map_close(void)
{
	int i, r, theirs, mapped = 0;
	uint32_t other;

	OK(vg_open_bare(&vg));
	o.fd = vg.gpu[0].fd;
	race_begin();
	ERRNO(0, vr_gem_create(o.fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, &other));
	for (i = 0; tap_goes_on(i, ROUNDS); i++) {
		ERRNO(0, vr_gem_create(o.fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0,
				       &o.bo.handle));
		r = race(va_map, close_bo, &theirs);
		ERRNO(0, theirs);
		CHECK(!r || r == -ENOENT, "GEM_VA: %d", r);
		mapped += !r;
		/* No mapping may remain, so a MAP of another BO at the address must succeed. */
		ERRNO(0, vr_gem_va(o.fd, other, AMDGPU_VA_OP_MAP, VR_MAP_RW, VA,
				   0, VG_PAGE));
		ERRNO(0, vr_gem_va(o.fd, other, AMDGPU_VA_OP_UNMAP, 0, VA, 0,
				   VG_PAGE));
	}
	race_end();
	tap_diag("mapped in %d of %d rounds", mapped, i);
}

static int va_unmap(void)
{
	return va(AMDGPU_VA_OP_UNMAP);
}

static int va_replace(void)
{
	return vr_gem_va(o.fd, o.bo.handle, AMDGPU_VA_OP_REPLACE, VR_MAP_RW,
			 VA + race_below(PAGES) * VG_PAGE, 0, VG_PAGE);
}

static int va_clear(void)
{
	return vr_gem_va(o.fd, 0, AMDGPU_VA_OP_CLEAR, 0,
			 VA + race_below(PAGES) * VG_PAGE, 0, VG_PAGE);
}

static int va_prt(void)
{
	return vr_gem_va(o.fd, 0, AMDGPU_VA_OP_REPLACE, AMDGPU_VM_PAGE_PRT, VA,
			 0, 2 * VG_PAGE);
}

static int close_ib(void)
{
	return vr_gem_close(o.fd, o.ib.bo.handle);
}

static int close_user(void)
{
	return vr_gem_close(o.fd, o.user);
}

static int create_bo(void)
{
	static const uint64_t flags[] = {
		0, AMDGPU_GEM_CREATE_VM_ALWAYS_VALID,
		AMDGPU_GEM_CREATE_EXPLICIT_SYNC, AMDGPU_GEM_CREATE_NO_CPU_ACCESS,
	};
	uint32_t handle;

	return vr_gem_create(o.fd, (1 + race_below(PAGES)) * VG_PAGE,
			     1 + race_below(6), flags[race_below(4)], &handle);
}

static int ctx_free(void)
{
	return vr_ctx_free(o.fd, o.ctx);
}

static int ctx_alloc(void)
{
	uint32_t id;

	return vr_ctx_alloc(o.fd, 0, &id);
}

static int ctx_query(void)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = AMDGPU_CTX_OP_QUERY_STATE2, .ctx_id = o.ctx },
	};

	return vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_CTX, &args);
}

static int bo_list(uint32_t op, uint32_t id, uint32_t *out)
{
	struct drm_amdgpu_bo_list_entry entry[] = {
		{ .bo_handle = o.ib.bo.handle }, { .bo_handle = o.bo.handle },
		{ .bo_handle = o.user },
	};
	union drm_amdgpu_bo_list args = {
		.in = {
			.operation = op,
			.list_handle = id,
			.bo_number = 1 + (uint32_t)race_below(3),
			.bo_info_size = sizeof(entry[0]),
			.bo_info_ptr = (uintptr_t)entry,
		},
	};
	int r = vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_BO_LIST, &args);

	*out = r ? 0 : args.out.list_handle;
	return r;
}

static int list_update(void)
{
	uint32_t id;

	return bo_list(AMDGPU_BO_LIST_OP_UPDATE, o.list, &id);
}

static int list_destroy(void)
{
	uint32_t id;

	return bo_list(AMDGPU_BO_LIST_OP_DESTROY, o.list, &id);
}

static int submit_list(void)
{
	struct vr_cs cs = {
		.ctx = o.ctx, .ib = &o.ib, .bo_list = o.list,
		.ring = (uint32_t)race_below(2),
	};

	return vr_cs_submit(o.fd, &cs, NULL);
}

static int submit(void)
{
	const uint32_t handles[] = { o.ib.bo.handle, o.bo.handle, o.user };
	const struct drm_amdgpu_cs_chunk_sem in = { o.signaled };
	const struct drm_amdgpu_cs_chunk_sem out = { o.syncobj };
	const struct drm_amdgpu_cs_chunk_dep dep = {
		.ip_type = AMDGPU_HW_IP_DMA, .ctx_id = o.ctx, .handle = o.seq,
	};
	struct vr_cs cs = {
		.ctx = o.ctx, .ib = &o.ib, .handles = handles, .n_handles = 3,
		.ring = (uint32_t)race_below(2),
	};

	if (race_below(2))
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_IN, &in, sizeof(in));
	if (race_below(2))
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_OUT, &out,
			    sizeof(out));
	if (race_below(2))
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_DEPENDENCIES, &dep,
			    sizeof(dep));
	return vr_cs_submit(o.fd, &cs, NULL);
}

static int submit_timeline(void)
{
	const uint32_t handles[] = { o.ib.bo.handle, o.bo.handle };
	const struct drm_amdgpu_cs_chunk_syncobj out = {
		.handle = o.syncobj, .point = 1 + race_below(4),
	};
	struct vr_cs cs = {
		.ctx = o.ctx, .ib = &o.ib, .handles = handles, .n_handles = 2,
	};

	vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, &out,
		    sizeof(out));
	return vr_cs_submit(o.fd, &cs, NULL);
}

static int wait_cs(void)
{
	return vr_wait(o.fd, o.ctx, 0, o.seq, 1000000);
}

static int wait_fences(void)
{
	struct drm_amdgpu_fence fence[] = {
		{ .ctx_id = o.ctx, .ip_type = AMDGPU_HW_IP_DMA, .seq_no = 1 },
		{ .ctx_id = o.ctx, .ip_type = AMDGPU_HW_IP_DMA,
		  .seq_no = ~0ull },
	};
	union drm_amdgpu_wait_fences args = {
		.in = {
			.fences = (uintptr_t)fence,
			.fence_count = 2,
			.wait_all = (uint32_t)race_below(2),
			.timeout_ns = vr_deadline(1000000),
		},
	};

	return vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &args);
}

static int fence_to_handle(void)
{
	union drm_amdgpu_fence_to_handle args = {
		.in = {
			.fence = {
				.ctx_id = o.ctx,
				.ip_type = AMDGPU_HW_IP_DMA,
				.seq_no = ~0ull,
			},
			.what = (uint32_t)race_below(3),
		},
	};
	uint32_t what = args.in.what;
	int r = vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, &args);

	if (!r && what != AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ)
		close((int)args.out.handle);
	return r;
}

static int wait_idle(void)
{
	union drm_amdgpu_gem_wait_idle args = {
		.in = {
			.handle = o.bo.handle,
			.timeout = vr_deadline(1000000),
		},
	};

	return vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, &args);
}

static int set_placement(void)
{
	struct drm_amdgpu_gem_op args = {
		.handle = o.bo.handle,
		.op = AMDGPU_GEM_OP_SET_PLACEMENT,
		.value = 1 + race_below(7),
	};

	return vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_GEM_OP, &args);
}

static int metadata(void)
{
	struct drm_amdgpu_gem_metadata args = {
		.handle = o.bo.handle,
		.op = 1 + (uint32_t)race_below(2),
		.data.data_size_bytes = 4 * (uint32_t)race_below(64),
	};

	return vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_GEM_METADATA, &args);
}

static int map_cpu(void)
{
	union drm_amdgpu_gem_mmap args = { .in.handle = o.bo.handle };
	int r = vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &args);
	void *p;

	if (r)
		return r;
	p = mmap(NULL, PAGES * VG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		 o.fd, (off_t)args.out.addr_ptr);
	if (p == MAP_FAILED)
		return -errno;
	r = race_touch(p, PAGES * VG_PAGE);
	munmap(p, PAGES * VG_PAGE);
	return r;
}

static int prime(int importer)
{
	struct drm_prime_handle args = {
		.handle = o.bo.handle, .flags = DRM_CLOEXEC | DRM_RDWR,
	};
	int r = vr_ioctl(o.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	if (r)
		return r;
	r = vr_ioctl(importer, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
	close(args.fd);
	if (!r && race_below(2))
		r = vr_gem_close(importer, args.handle);
	return r;
}

static int prime_self(void)
{
	return prime(o.fd);
}

static int prime_other(void)
{
	return prime(o.other);
}

static int syncobj(unsigned long request)
{
	struct drm_syncobj_array args = {
		.handles = (uintptr_t)&o.syncobj, .count_handles = 1,
	};

	return vr_ioctl(o.fd, request, &args);
}

static int syncobj_reset(void)
{
	return syncobj(DRM_IOCTL_SYNCOBJ_RESET);
}

static int syncobj_signal(void)
{
	return syncobj(DRM_IOCTL_SYNCOBJ_SIGNAL);
}

static int syncobj_destroy(void)
{
	struct drm_syncobj_destroy args = { .handle = o.syncobj };

	return vr_ioctl(o.fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

static int syncobj_wait(void)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&o.syncobj,
		.count_handles = 1,
		.timeout_nsec = (int64_t)vr_deadline(1000000),
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return vr_ioctl(o.fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

static int user_bo(uint32_t *handle)
{
	struct drm_amdgpu_gem_userptr args = {
		.addr = (uintptr_t)o.mem,
		.size = PAGES * VG_PAGE,
		.flags = AMDGPU_GEM_USERPTR_REGISTER |
			 AMDGPU_GEM_USERPTR_ANONONLY |
			 (race_below(2) ? AMDGPU_GEM_USERPTR_VALIDATE : 0),
	};
	int r = vr_ioctl(o.fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args);

	*handle = r ? 0 : args.handle;
	return r;
}

static int user_create(void)
{
	uint32_t handle;

	return user_bo(&handle);
}

static int mem_change(void)
{
	static const int advice[] = { MADV_DONTNEED, MADV_PAGEOUT, MADV_FREE };
	void *p = (char *)o.mem + race_below(PAGES) * VG_PAGE;

	switch (race_below(4)) {
	case 0:
		return munmap(p, VG_PAGE);
	case 1:
		return mprotect(p, VG_PAGE, PROT_READ);
	case 2:
		return madvise(p, VG_PAGE, advice[race_below(3)]);
	default:
		return mmap(p, VG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
	}
}

static int fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

static int fdinfo(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", o.fd);
	return race_read(path);
}

static int read_debugfs(void)
{
	return race_read_debugfs(gpu);
}

static int evict(void)
{
	return race_evict(gpu);
}

/* Close the DRM file. The kernel must keep it open for calls in progress; later calls must fail. */
static int close_file(void)
{
	return close(o.fd) ? -errno : 0;
}

#define CALL(name) { #name, name }

static const struct call {
	const char *name;
	int (*fn)(void);
} calls[] = {
	CALL(va_map), CALL(va_unmap), CALL(va_replace), CALL(va_clear),
	CALL(va_prt), CALL(close_bo), CALL(close_ib), CALL(close_user),
	CALL(create_bo), CALL(ctx_free), CALL(ctx_alloc), CALL(ctx_query),
	CALL(list_update), CALL(list_destroy), CALL(submit_list), CALL(submit),
	CALL(submit_timeline), CALL(wait_cs), CALL(wait_fences),
	CALL(fence_to_handle), CALL(wait_idle), CALL(set_placement),
	CALL(metadata), CALL(map_cpu), CALL(prime_self), CALL(prime_other),
	CALL(syncobj_reset), CALL(syncobj_wait), CALL(syncobj_signal),
	CALL(user_create), CALL(syncobj_destroy), CALL(mem_change),
	CALL(fork_child), CALL(fdinfo), CALL(read_debugfs), CALL(evict),
	CALL(close_file),
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static uint32_t new_syncobj(uint32_t flags)
{
	struct drm_syncobj_create args = { .flags = flags };

	ERRNO(0, vr_ioctl(o.fd, DRM_IOCTL_SYNCOBJ_CREATE, &args));
	return args.handle;
}

static void set_up(void)
{
	struct vr_cs cs = { .ib = &o.ib };
	uint32_t domain = race_below(2) ? AMDGPU_GEM_DOMAIN_VRAM :
					  AMDGPU_GEM_DOMAIN_GTT;

	o.fd = vr_open(gpu);
	o.other = vr_open(gpu);
	CHECK(o.fd >= 0 && o.other >= 0, "render node: %d %d", o.fd, o.other);
	o.mem = mmap(NULL, PAGES * VG_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(o.mem != MAP_FAILED, "mmap");
	ERRNO(0, vr_ctx_alloc(o.fd, 0, &o.ctx));
	ERRNO(0, vr_ib_create(o.fd, VG_PAGE, VA_IB, &o.ib));
	ERRNO(0, vr_bo_create(o.fd, PAGES * VG_PAGE, domain, 0,
			      race_below(4) ? VA : 0, &o.bo));
	ERRNO(0, user_bo(&o.user));
	ERRNO(0, vr_gem_va(o.fd, o.user, AMDGPU_VA_OP_MAP, VR_MAP_RW, VA_USER,
			   0, PAGES * VG_PAGE));
	ERRNO(0, bo_list(AMDGPU_BO_LIST_OP_CREATE, 0, &o.list));
	o.syncobj = new_syncobj(0);
	o.signaled = new_syncobj(DRM_SYNCOBJ_CREATE_SIGNALED);
	vr_ib_fill(&o.ib, VA, 0x5eed, PAGES * VG_PAGE);
	vr_ib_fill(&o.ib, VA_USER, 0x5eed, PAGES * VG_PAGE);
	cs.ctx = o.ctx;
	cs.bo_list = o.list;
	ERRNO(0, vr_cs_submit(o.fd, &cs, &o.seq));
}

static void tear_down(void)
{
	munmap(o.bo.cpu, o.bo.size);
	munmap(o.ib.bo.cpu, o.ib.bo.size);
	munmap(o.mem, PAGES * VG_PAGE);
	close(o.fd);
	close(o.other);
}

/*
 * Return the call named by @variable (VGPU_TEST_CALL or VGPU_TEST_AGAINST) if it is
 * set, or a random call.
 */
static int (*choose(const char *variable))(void)
{
	const char *name = getenv(variable);
	const struct call *c;

	do {
		c = &calls[race_below(CALLS)];
	} while (name && strcmp(name, c->name));
	return c->fn;
}

static void against(int round)
{
	race_apart(round / 16 % 4 == 3);
	race_storm(round / 4 % 4 == 3);
	race(choose("VGPU_TEST_CALL"), choose("VGPU_TEST_AGAINST"), NULL);
}

/* In each round, run two randomly chosen calls against each other. */
static void random_pairs(void)
{
	int i;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	race_begin();
	for (i = 0; tap_goes_on(i, ROUNDS / 4); i++) {
		set_up();
		against(i);
		tear_down();
	}
	race_end();
	tap_diag("%d rounds", i);
}

static void one_life(void)
{
	int i;

	race_begin();
	set_up();
	for (i = 0; i < 20; i++)
		against(i);
	race_end();
}

/* Kill a process at a random time. Catches: the driver does not free the process's memory. */
static void killed(void)
{
	race_seed();
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	race_kill(gpu, one_life, 20);
}

static void start(void)
{
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	race_begin();
	set_up();
}

static race_call *choose_call(void)
{
	return choose("VGPU_TEST_CALL");
}

static void unbound(void)
{
	static const struct race_calls any = {
		.start = start, .choose = choose_call,
	};

	race_unbind(&any, 4);
}

static const struct tap_case cases[] = {
	{ "a mapping does not outlive the last handle", map_close, 1 },
	{ "each call against each other one", random_pairs, 1 },
	{ "killed in any call", killed, 1 },
	{ "the GPU goes in any call", unbound, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
