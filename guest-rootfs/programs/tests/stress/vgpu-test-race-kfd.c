// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads of a KFD process call ioctls at the same time. One call frees an object that a queue
 * or the other call uses. Catches: use after free (KASAN); wrong lock order (lockdep); leaked
 * memory; a queue that cannot be stopped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "race.h"
#include "render.h"
#include "tap.h"

#define PAGES		4
#define PROCESSES	6
#define ROUNDS		40	/* rounds of each process */

static struct vg vg;
static struct vg_gpu *gpu;

/* Resources of a round. Either thread may free some of them. */
static struct {
	struct vg_queue q;
	struct vg_bo bo;
	uint64_t user;		/* handle of the userptr BO on mem */
	char *mem, *svm;
} o;

static int kfd(unsigned long request, void *arg)
{
	return vr_ioctl(vg.kfd, request, arg);
}

static int map(uint64_t handle)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};

	return kfd(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
}

static int unmap(uint64_t handle)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = {
		.handle = handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};

	return kfd(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static int free_mem(uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = handle };

	return kfd(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static int alloc_mem(uint32_t flags, void *va, uint64_t pages, uint64_t *handle)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)va,
		.size = pages * VG_PAGE,
		.gpu_id = gpu->gpu_id,
		.flags = flags,
		.mmap_offset = (uintptr_t)va,
	};
	int r = kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);

	*handle = r ? ~0ull : args.handle;
	return r;
}

static int bo_map(void)
{
	return map(o.bo.handle);
}

static int bo_unmap(void)
{
	return unmap(o.bo.handle);
}

static int bo_free(void)
{
	unmap(o.bo.handle);
	return free_mem(o.bo.handle);
}

static int user_map(void)
{
	return map(o.user);
}

static int user_unmap(void)
{
	return unmap(o.user);
}

static int user_free(void)
{
	unmap(o.user);
	return free_mem(o.user);
}

static int user_alloc(void)
{
	uint64_t handle;
	int r = alloc_mem(KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS,
			  o.mem, PAGES, &handle);

	return r ?: free_mem(handle);
}

static int alloc(void)
{
	uint64_t handle;
	int r = alloc_mem(race_below(2) ? VG_VRAM : VG_GTT, NULL,
			  1 + race_below(PAGES), &handle);

	return r ?: free_mem(handle);
}

static int ring_free(void)
{
	unmap(o.q.ring.handle);
	return free_mem(o.q.ring.handle);
}

static int queue_destroy(void)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = o.q.id };

	return kfd(AMDKFD_IOC_DESTROY_QUEUE, &args);
}

static int queue_update(void)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = race_below(2) ? o.q.ring.va : 0,
		.queue_id = o.q.id,
		.ring_size = VG_PAGE,
		.queue_percentage = 100 * (uint32_t)race_below(2),
		.queue_priority = 7,
	};

	return kfd(AMDKFD_IOC_UPDATE_QUEUE, &args);
}

/*
 * Create and destroy a second queue on the first queue's ring. The second queue's pointers are at
 * other offsets of the first queue's pointer BO.
 */
static int queue_create(void)
{
	struct kfd_ioctl_create_queue_args args = {
		.ring_base_address = o.q.ring.va,
		.ring_size = VG_PAGE,
		.read_pointer_address = o.q.ptrs.va + 0xf00,
		.write_pointer_address = o.q.ptrs.va + 0xf40,
		.gpu_id = gpu->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_SDMA,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	int r = kfd(AMDKFD_IOC_CREATE_QUEUE, &args);
	struct kfd_ioctl_destroy_queue_args destroy = {
		.queue_id = args.queue_id,
	};

	return r ?: kfd(AMDKFD_IOC_DESTROY_QUEUE, &destroy);
}

/* Submit fills of the SVM memory, the userptr memory and the BO to the queue. */
static int kick(void)
{
	uint32_t *dw;
	int i;

	const uint64_t at[] = {
		(uintptr_t)o.svm, (uintptr_t)o.mem, o.bo.va,
		(uintptr_t)o.svm + PAGES / 2 * VG_PAGE,
	};

	/*
	 * o.q.wptr counts the bytes of all packets so far. Stop at half of the ring, so that no
	 * call waits for space.
	 */
	if (o.q.wptr > VG_PAGE / 2)
		return 0;
	for (i = 0; i < 4; i++) {
		dw = vg_queue_reserve(&o.q, SDMA_CONST_FILL_DWORDS);
		if (!dw)
			return -ENOSPC;
		dw[0] = SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
			VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u);
		dw[1] = (uint32_t)at[i];
		dw[2] = (uint32_t)(at[i] >> 32);
		dw[3] = 0x5eed;
		dw[4] = VGPU_PREP(SDMA_CONST_FILL_DW4__COUNT,
				  (uint32_t)(PAGES / 2 * VG_PAGE) - 1);
	}
	vg_queue_submit(&o.q);
	return 0;
}

static int svm_set(void)
{
	const struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, gpu->gpu_id },
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id },
		{ KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, gpu->gpu_id },
		{ KFD_IOCTL_SVM_ATTR_NO_ACCESS, gpu->gpu_id },
		{ KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO },
		{ KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO },
		{ KFD_IOCTL_SVM_ATTR_SET_FLAGS,
		  KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, (uint32_t)race_below(4) },
	};
	uint64_t first = race_below(PAGES);

	return vg_svm_set(&vg, o.svm + first * VG_PAGE,
			  (1 + race_below(PAGES - first)) * VG_PAGE,
			  &attrs[race_below(9)], 1);
}

static int svm_get(void)
{
	struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id },
	};

	return vg_svm_get(&vg, o.svm, PAGES * VG_PAGE, attrs, 2);
}

static int svm_prefetch(void)
{
	return vg_svm_prefetch(&vg, o.svm, PAGES * VG_PAGE,
			       race_below(3) ? gpu->gpu_id : 0);
}

static int change(char *mem)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_PAGEOUT, MADV_FREE, MADV_COLD,
		MADV_DONTFORK, MADV_DOFORK,
	};
	void *p = mem + race_below(PAGES) * VG_PAGE, *to;

	switch (race_below(6)) {
	case 0:
		return munmap(p, VG_PAGE);
	case 1:
		return mprotect(p, VG_PAGE, PROT_READ);
	case 2:
		return madvise(p, VG_PAGE, advice[race_below(6)]);
	case 3:
		/* MREMAP_DONTUNMAP leaves the old mapping without pages. */
		to = mremap(p, VG_PAGE, VG_PAGE, MREMAP_MAYMOVE |
			    MREMAP_DONTUNMAP, NULL);
		return to == MAP_FAILED ? -errno : munmap(to, VG_PAGE);
	case 4:
		return mprotect(p, VG_PAGE, PROT_NONE);
	default:
		return mmap(p, VG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
	}
}

static int svm_change(void)
{
	return change(o.svm);
}

static int mem_change(void)
{
	return change(o.mem);
}

static int svm_touch(void)
{
	return race_touch(o.svm, PAGES * VG_PAGE);
}

static int bo_touch(void)
{
	return race_touch(o.bo.cpu, PAGES * VG_PAGE);
}

static int fork_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		race_touch(o.svm, PAGES * VG_PAGE);
		_exit(0);
	}
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

static int dmabuf(void)
{
	struct kfd_ioctl_export_dmabuf_args args = {
		.handle = o.bo.handle, .flags = O_CLOEXEC,
	};
	struct kfd_ioctl_get_dmabuf_info_args info = { 0 };
	struct kfd_ioctl_import_dmabuf_args import = {
		.gpu_id = gpu->gpu_id,
	};
	int r = kfd(AMDKFD_IOC_EXPORT_DMABUF, &args);

	if (r)
		return r;
	info.dmabuf_fd = args.dmabuf_fd;
	kfd(AMDKFD_IOC_GET_DMABUF_INFO, &info);
	import.dmabuf_fd = args.dmabuf_fd;
	r = kfd(AMDKFD_IOC_IMPORT_DMABUF, &import);
	close((int)args.dmabuf_fd);
	return r ?: free_mem(import.handle);
}

static int set_xnack(void)
{
	struct kfd_ioctl_set_xnack_mode_args args = {
		.xnack_enabled = (int)race_below(3) - 1,
	};

	return kfd(AMDKFD_IOC_SET_XNACK_MODE, &args);
}

static int ask(void)
{
	struct kfd_ioctl_get_available_memory_args memory = {
		.gpu_id = gpu->gpu_id,
	};
	struct kfd_ioctl_acquire_vm_args vm = {
		.drm_fd = (uint32_t)gpu->fd, .gpu_id = gpu->gpu_id,
	};

	kfd(AMDKFD_IOC_AVAILABLE_MEMORY, &memory);
	return kfd(AMDKFD_IOC_ACQUIRE_VM, &vm);
}

static int read_debugfs(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", gpu->fd);
	race_read(path);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/vram_%u",
		 getpid(), gpu->gpu_id);
	race_read(path);
	return race_read_debugfs(gpu);
}

static int evict(void)
{
	return race_evict(gpu);
}

static int (*const calls[])(void) = {
	bo_map, bo_unmap, bo_free, user_map, user_unmap, user_free, user_alloc,
	alloc, ring_free, queue_destroy, queue_update, queue_create, kick,
	svm_set, svm_get, svm_prefetch, svm_change, mem_change, svm_touch,
	bo_touch, fork_child, dmabuf, set_xnack, ask, read_debugfs, evict,
	svm_change, mem_change, kick,
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static char *anonymous(void)
{
	char *p = mmap(NULL, PAGES * VG_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap");
	memset(p, 1, PAGES * VG_PAGE);
	return p;
}

/* Create the userptr BO on o.mem and map it. -EADDRINUSE if an SVM range is at the address. */
static int user_create(void)
{
	int r = alloc_mem(KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS, o.mem,
			  PAGES, &o.user);

	if (r)
		return r;
	r = map(o.user);
	if (r)
		free_mem(o.user);
	return r;
}

static void set_up(void)
{
	char *late;
	int r;

	OK(vg_queue_create(&vg, gpu, VG_PAGE, &o.q));
	OK(vg_bo_create(&vg, gpu, PAGES * VG_PAGE,
			race_below(2) ? VG_VRAM : VG_GTT, &o.bo));
	o.mem = anonymous();
	o.svm = anonymous();
	r = user_create();
	if (r == -EADDRINUSE) {
		/*
		 * A late fault of the previous round has created an SVM range at o.mem (as in
		 * amdkfd). A BO cannot be mapped there.
		 */
		late = o.mem;
		o.mem = anonymous();
		munmap(late, PAGES * VG_PAGE);
		r = user_create();
	}
	ERRNO(0, r);
	OK(vg_svm_set1(&vg, o.svm, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	if (race_below(2))
		OK(vg_svm_prefetch(&vg, o.svm, PAGES * VG_PAGE, gpu->gpu_id));
	if (race_below(2))
		OK(kick());
}

/* Ignore errors: a random call may have freed a resource already. */
static void tear_down(void)
{
	vg_queue_destroy(&o.q);
	vg_bo_free(&o.bo);
	user_free();
	munmap(o.mem, PAGES * VG_PAGE);
	munmap(o.svm, PAGES * VG_PAGE);
}

static int (*choose(void))(void)
{
	return calls[race_below(CALLS)];
}

static void against(int round)
{
	race_apart(round / 8 % 4 == 3);
	race_storm(round / 2 % 4 == 3);
	race(choose(), choose(), NULL);
}

static void process(void *number)
{
	uint64_t n = *(int *)number;
	int i;

	race_salt(n);
	tap_open(&vg, n % 2);
	gpu = &vg.gpu[0];
	race_begin();
	for (i = 0; i < ROUNDS; i++) {
		set_up();
		against(i);
		tear_down();
	}
	race_end();
}

static void all_pairs(void)
{
	int i;

	/*
	 * Two threads draw from one sequence of random numbers, so runs with the same
	 * VGPU_TEST_SEED may still differ.
	 */
	race_seed();
	for (i = 0; tap_goes_on(i, PROCESSES); i++)
		tap_in_child(process, &i);
	tap_diag("%d processes of %d rounds", i, ROUNDS);
}

static void start(void)
{
	tap_open(&vg, (int)race_below(2));
	gpu = &vg.gpu[0];
	race_begin();
	set_up();
}

static void one_life(void)
{
	int i;

	start();
	for (i = 0; i < 20; i++)
		against(i);
	race_end();
}

/* Kill the process at a random time. Catches: resources are not freed. */
static void killed(void)
{
	static struct vg bare;

	race_seed();
	OK(vg_open_bare(&bare));
	race_kill(&bare.gpu[0], one_life, 20);
}

static void unbound(void)
{
	/*
	 * kick() writes to a doorbell. After the removal of the GPU, this write raises SIGBUS,
	 * so call kick() only while the GPU is bound.
	 */
	static const struct race_calls any = {
		.start = start, .choose = choose, .bound_only = kick,
	};

	race_unbind(&any, 4);
}

static const struct tap_case cases[] = {
	{ "each call against each other one", all_pairs, 1 },
	{ "killed in any call", killed, 1 },
	{ "the GPU goes in any call", unbound, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
