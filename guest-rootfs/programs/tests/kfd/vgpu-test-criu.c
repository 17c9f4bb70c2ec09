// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dump a process by CRIU_OP, kill it, and restore it. Catches: a lost or changed BO, queue or
 * event; a process that stays paused after its checkpointer was killed; unchecked private data; a
 * leak after a failed restore; a wrong errno.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/aql.h>
#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "race.h"
#include "render.h"
#include "tap.h"

#define RING		4096
#define DATA_BYTES	(256 * VG_KIB)
#define USER_BYTES	(64 * VG_KIB)
#define SVM_BYTES	(512 * VG_KIB)	/* size of work.svm; half of it is prefetched to VRAM */
#define STOPPED_MS	300	/* time in ms in which a paused queue must make no progress */
#define PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * 8ul)
#define MAX_BOS		64
#define NO_FD		0xffffffffu
#define R_DEBUG		0x123456789abcull
#define OTHER_ID	0x77aa55u	/* not the ID of any GPU */

/* Dword indices in the BO work.words. The queues use the words at these indices. */
enum {
	GO = 0,			/* the SDMA and the PM4 queue wait until this word is 1 */
	SDMA_SUM = 16,		/* 64-bit counter that the SDMA queue increments */
	PM4_BEFORE = 32,
	PM4_AFTER = 33,
	SIGNALS = 64,		/* two AQL signals of 16 words each, which the AQL queue uses */
};

/**
 * struct work - the resources of a process
 */
struct work {
	/**
	 * @vg: KFD and GPUs. In a restored process, open_files() replaces the file descriptors of
	 * KFD and of the GPUs.
	 */
	struct vg vg;
	/** @vram: BO in VRAM with a pattern */
	/** @gtt: BO in GTT with a pattern */
	/** @words: BO of dwords that the queues read and write; indices: GO, SDMA_SUM, ... */
	/** @page: signal page */
	/** @save: save area of @pm4; @aql uses it, too, if @big is false */
	struct vg_bo vram, gtt, words, page, save;
	/** @user: handle of the userptr BO */
	/** @slice: handle of the doorbell BO */
	/** @gap: handle of a BO that is freed before the dump */
	uint64_t user, slice, gap;
	/** @user_mem: memory of the userptr BO */
	/** @svm: memory with SVM ranges */
	char *user_mem, *svm;
	/**
	 * @svm_save: save area of @aql. If @big is true, svm_save.va is in an SVM range.
	 * Otherwise, @svm_save is equal to @save.
	 */
	struct vg_bo svm_save;
	/** @queue: SDMA queue */
	struct vg_queue queue;
	/** @pm4: compute queue with PM4 packets */
	/** @aql: compute queue with AQL packets */
	struct vg_cq pm4, aql;
	/**
	 * @ev: events. [0] to [2] are signal events; [1] is set and has no auto-reset. [3] is a
	 * memory event, [4] a hardware exception event.
	 */
	uint32_t ev[5];
	/** @xnack: XNACK mode */
	int xnack;
	/** @late: whether a restored process maps @svm only after a first, failing RESUME */
	/** @big: whether the save area of @aql is an SVM range. This range is no part of @svm. */
	bool late, big;
};

/**
 * struct target - a child that runs a C function (its script), in step with its parent
 * @pid: process
 * @up: pipe from the child
 * @down: pipe to the child
 * @kfd: the parent's descriptor of the child's open file of /dev/kfd
 */
struct target {
	pid_t pid;
	int up[2], down[2];
	int kfd;
};

/**
 * struct dump - the results of CHECKPOINT, and the contents of the memory at that time
 */
struct dump {
	struct kfd_ioctl_criu_args args;
	struct kfd_criu_device_bucket devices[VG_MAX_GPUS];
	struct kfd_criu_bo_bucket bos[MAX_BOS];
	/** @priv: private data of the driver */
	char *priv;
	/** @contents: bytes of each BO of @bos, or NULL if they were not saved */
	char *contents[MAX_BOS];
	/** @user: bytes of the userptr BO's memory */
	/** @svm: bytes of the SVM memory */
	char *user, *svm;
};

static struct work *w;		/* shared by all processes of a case */
static struct dump d;

/*
 * Memory for the dump. This memory is allocated before the fork, so that no restored
 * mapping overlaps it.
 */
#define POOL_BYTES	(4 * VG_MIB)
static char *pool;
static size_t pool_used;

static void *take(size_t bytes)
{
	char *p = pool + pool_used;

	pool_used += (bytes + 63) & ~63ul;
	CHECK(pool_used <= POOL_BYTES, "the dump has more than 4 MiB");
	return p;
}

static int criu(int kfd, uint32_t op, struct kfd_ioctl_criu_args *args)
{
	args->op = op;
	return tap_ioctl(kfd, AMDKFD_IOC_CRIU_OP, args);
}

static int simple(int kfd, uint32_t op)
{
	struct kfd_ioctl_criu_args args = { .pid = (uint32_t)getpid() };

	return criu(kfd, op, &args);
}

static void share_work(void)
{
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(w != MAP_FAILED && pool != MAP_FAILED, "mmap");
}

/* Start a child that executes @script, and wait until the script has created its resources. */
static void start_target(struct target *t, void (*script)(struct target *))
{
	CHECK(!pipe2(t->up, O_CLOEXEC) && !pipe2(t->down, O_CLOEXEC), "pipe");
	fflush(stdout);
	t->pid = fork();
	CHECK(t->pid >= 0, "fork");
	if (!t->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(t->up[0]);
		close(t->down[1]);
		script(t);
		_exit(0);
	}
	close(t->up[1]);
	close(t->down[0]);
	tap_await(t->up);
}

static void wait_stop(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status),
	      "it does not stop: 0x%x", status);
}

static void stop(const struct target *t)
{
	CHECK(!ptrace(PTRACE_SEIZE, t->pid, NULL, NULL), "ptrace: %s",
	      strerror(errno));
	CHECK(!ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL), "ptrace: %s",
	      strerror(errno));
	wait_stop(t->pid);
}

/* Stop the child and duplicate its descriptor of /dev/kfd, as CRIU does. */
static void seize(struct target *t)
{
	int pidfd;

	stop(t);
	pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	CHECK(pidfd >= 0, "pidfd_open: %s", strerror(errno));
	t->kfd = (int)syscall(SYS_pidfd_getfd, pidfd, w->vg.kfd, 0);
	CHECK(t->kfd >= 0, "pidfd_getfd: %s", strerror(errno));
	close(pidfd);
}

static void let_go(struct target *t)
{
	CHECK(!ptrace(PTRACE_DETACH, t->pid, NULL, NULL), "ptrace: %s",
	      strerror(errno));
}

static void kill_target(struct target *t)
{
	int status;

	kill(t->pid, SIGKILL);
	do
		CHECK(waitpid(t->pid, &status, 0) == t->pid, "waitpid");
	while (WIFSTOPPED(status));
	close(t->up[0]);
	close(t->down[1]);
}

/* Wait until the child ends. Its exit status must be 0. */
static void end_target(struct target *t)
{
	int status;

	CHECK(waitpid(t->pid, &status, 0) == t->pid && !status,
	      "the process ended with 0x%x", status);
	close(t->up[0]);
	close(t->down[1]);
}

/* Functions of the process that is dumped */

static volatile uint32_t *word(unsigned int i)
{
	return (volatile uint32_t *)w->words.cpu + i;
}

static uint64_t word_va(unsigned int i)
{
	return w->words.va + 4 * i;
}

static uint32_t make_event(uint32_t type, bool auto_reset, uint64_t page)
{
	struct kfd_ioctl_create_event_args args = {
		.event_page_offset = page,
		.event_type = type,
		.auto_reset = auto_reset,
	};

	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_CREATE_EVENT, &args));
	return args.event_id;
}

static void set_event(uint32_t id)
{
	struct kfd_ioctl_set_event_args args = { .event_id = id };

	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_SET_EVENT, &args));
}

static bool happens(uint32_t id, uint32_t ms, uint64_t *age)
{
	struct kfd_event_data data = { .event_id = id };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.wait_for_all = 1,
		.timeout = ms,
	};

	if (age)
		data.signal_event_data.last_event_age = *age;
	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_WAIT_EVENTS, &args));
	if (age)
		*age = data.signal_event_data.last_event_age;
	return args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

static void emit_poll(struct vg_queue *q, uint64_t va, uint32_t value)
{
	uint32_t *p = vg_queue_reserve(q, SDMA_POLL_REGMEM_DWORDS);

	CHECK(p, "%s", vg_error());
	p[0] = SDMA_OP_POLL_REGMEM | SDMA_POLL_REGMEM__MEM |
	       VGPU_PREP(SDMA_POLL_REGMEM__FUNC, 3u);
	p[1] = (uint32_t)va;
	p[2] = va >> 32;
	p[3] = value;
	p[4] = ~0u;
	p[5] = SDMA_POLL_REGMEM_DW5__RETRY | 10;
}

/* Emit a write to the slot of event @id in the signal page, and a TRAP with @id. */
static void emit_signal(struct vg_queue *q, uint32_t id)
{
	const uint32_t value[2] = { 1, 0 };
	uint32_t *p;

	OK(vg_emit_write(q, w->page.va + 8ul * id, value, 2));
	p = vg_queue_reserve(q, SDMA_TRAP_DWORDS);
	CHECK(p, "%s", vg_error());
	p[0] = SDMA_OP_TRAP;
	p[1] = id;
}

static uint64_t alloc(uint64_t va, uint64_t size, uint32_t flags,
		      uint64_t offset, bool map)
{
	struct vg_gpu *gpu = &w->vg.gpu[0];
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = va, .size = size, .gpu_id = gpu->gpu_id,
		.flags = flags, .mmap_offset = offset,
	};
	struct kfd_ioctl_map_memory_to_gpu_args map_args = {
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};

	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	map_args.handle = args.handle;
	if (map)
		ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU,
				   &map_args));
	return args.handle;
}

static void signal_init(int i, int64_t value)
{
	*(volatile int64_t *)((char *)word(SIGNALS + 16 * i) +
			      AMD_SIGNAL_VALUE) = value;
}

static int64_t signal_value(int i)
{
	return *(volatile int64_t *)((char *)word(SIGNALS + 16 * i) +
				     AMD_SIGNAL_VALUE);
}

/*
 * Emit a barrier packet that decrements signal @done. Unless @wait is -1, the packet first
 * waits until signal @wait is 0.
 */
static void aql_barrier(struct vg_cq *q, int wait, int done)
{
	uint32_t *p = vg_cq_reserve(q, AQL_PACKET_DWORDS);
	uint64_t va;

	CHECK(p, "%s", vg_error());
	if (wait >= 0) {
		va = word_va(SIGNALS + 16 * wait);
		p[AQL_BARRIER_SIGNAL(0)] = (uint32_t)va;
		p[AQL_BARRIER_SIGNAL(0) + 1] = va >> 32;
	}
	va = word_va(SIGNALS + 16 * done);
	p[AQL_COMPLETION_SIGNAL] = (uint32_t)va;
	p[AQL_COMPLETION_SIGNAL + 1] = va >> 32;
	__atomic_store_n(p, AQL_BARRIER_AND | AQL_DW0__BARRIER,
			 __ATOMIC_RELEASE);
}

static bool signal_becomes(int i, int64_t value)
{
	uint64_t deadline = vg_deadline();

	while (signal_value(i) != value) {
		if (vg_now() > deadline)
			return false;
		vg_sleep_us(100);
	}
	return true;
}

static void free_handle(uint64_t handle)
{
	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU,
			   &(struct kfd_ioctl_free_memory_of_gpu_args){
				.handle = handle }));
}

static void make_memory(void)
{
	struct vg_gpu *gpu = &w->vg.gpu[0];

	OK(vg_bo_create(&w->vg, gpu, DATA_BYTES, VG_VRAM, &w->vram));
	OK(vg_bo_create(&w->vg, gpu, DATA_BYTES, VG_GTT, &w->gtt));
	OK(vg_bo_create(&w->vg, gpu, VG_PAGE, VG_GTT, &w->words));
	memset(w->words.cpu, 0, VG_PAGE);
	OK(vg_bo_create(&w->vg, gpu, PAGE_BYTES, VG_GTT, &w->page));
	OK(vg_save_area(&w->vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &w->save));
	vg_pattern_fill(w->vram.cpu, DATA_BYTES, 1, 0);
	vg_pattern_fill(w->gtt.cpu, DATA_BYTES, 2, 0);
	/*
	 * Make handles that are not in the order of creation: reserve the low handle w->slice for
	 * the doorbell BO, which is created after the userptr BO. Also reserve w->gap. work_all()
	 * frees w->gap, so that the dump has a gap in the handles.
	 */
	w->slice = alloc(0, VG_PAGE, VG_GTT, 0, false);
	w->gap = alloc(0, VG_PAGE, VG_GTT, 0, false);
	w->user_mem = tap_anon(USER_BYTES);
	vg_pattern_fill(w->user_mem, USER_BYTES, 3, 0);
	w->user = alloc((uintptr_t)w->user_mem, USER_BYTES,
			KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS,
			(uintptr_t)w->user_mem, true);
	free_handle(w->slice);
	/* The driver gives a new BO the lowest free handle, which is the one freed above. */
	w->slice = alloc((uintptr_t)tap_anon(VG_DOORBELL_SLICE),
			 VG_DOORBELL_SLICE, VG_DOORBELL, 0, true);
}

static const struct kfd_ioctl_svm_attribute always = {
	KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED
};

static void make_ranges(void)
{
	uint32_t gpu_id = w->vg.gpu[0].gpu_id;
	struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, gpu_id },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, 5 },
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, gpu_id },
	}, save[] = { { KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id }, always };

	w->svm = tap_anon(SVM_BYTES);
	vg_pattern_fill(w->svm, SVM_BYTES, 4, 0);
	OK(vg_svm_set(&w->vg, w->svm, SVM_BYTES, attrs, 1));
	OK(vg_svm_set(&w->vg, w->svm, SVM_BYTES / 2, attrs + 1, 2));
	OK(vg_svm_prefetch(&w->vg, w->svm, SVM_BYTES / 2, gpu_id));
	w->svm_save = w->save;
	if (!w->big)
		return;
	w->svm_save.va = (uintptr_t)tap_anon(w->save.size);
	OK(vg_svm_set(&w->vg, (void *)w->svm_save.va, w->save.size, save, 2));
}

static void check_ranges(void)
{
	struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, 0 },
		{ KFD_IOCTL_SVM_ATTR_SET_FLAGS, 0 },
		{ KFD_IOCTL_SVM_ATTR_ACCESS, w->vg.gpu[0].gpu_id },
	};
	uint32_t gpu_id = w->vg.gpu[0].gpu_id;

	CHECK(vg_pages_in_vram(w->svm, SVM_BYTES) ==
	      (long)(SVM_BYTES / 2 / VG_PAGE), "%ld pages are in VRAM",
	      vg_pages_in_vram(w->svm, SVM_BYTES));
	OK(vg_svm_get(&w->vg, w->svm, SVM_BYTES / 2, attrs, 5));
	CHECK(attrs[0].value == gpu_id && attrs[1].value == gpu_id &&
	      attrs[2].value == 5 &&
	      attrs[4].type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	      "preferred 0x%x, prefetch 0x%x, granularity %u, access %u",
	      attrs[0].value, attrs[1].value, attrs[2].value, attrs[4].type);
	attrs[4].type = KFD_IOCTL_SVM_ATTR_ACCESS;
	OK(vg_svm_get(&w->vg, w->svm + SVM_BYTES / 2, SVM_BYTES / 2, attrs, 5));
	CHECK(attrs[0].value != gpu_id && attrs[1].value != gpu_id &&
	      attrs[2].value != 5 && !(attrs[3].value & always.value) &&
	      attrs[4].type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	      "preferred 0x%x, prefetch 0x%x, granularity %u, flags 0x%x, access %u",
	      attrs[0].value, attrs[1].value, attrs[2].value, attrs[3].value,
	      attrs[4].type);
	if (!w->big)
		return;
	attrs[4].type = KFD_IOCTL_SVM_ATTR_ACCESS;
	OK(vg_svm_get(&w->vg, (void *)w->svm_save.va, w->save.size, attrs, 5));
	CHECK(attrs[3].value & always.value &&
	      attrs[4].type == KFD_IOCTL_SVM_ATTR_ACCESS, "flags 0x%x, %u",
	      attrs[3].value, attrs[4].type);
}

static void make_events(void)
{
	w->ev[0] = make_event(KFD_IOC_EVENT_SIGNAL, true, w->page.handle);
	w->ev[1] = make_event(KFD_IOC_EVENT_SIGNAL, false, 0);
	w->ev[2] = make_event(KFD_IOC_EVENT_SIGNAL, true, 0);
	w->ev[3] = make_event(KFD_IOC_EVENT_MEMORY, true, 0);
	w->ev[4] = make_event(KFD_IOC_EVENT_HW_EXCEPTION, false, 0);
	set_event(w->ev[1]);
	set_event(w->ev[1]);
}

static int gws(uint32_t id, uint32_t num)
{
	struct kfd_ioctl_alloc_queue_gws_args args = {
		.queue_id = id, .num_gws = num,
	};

	return vg_ioctl(&w->vg, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args);
}

/*
 * Create three queues. When the function returns, each queue has executed its first packets and
 * waits at a later packet: a poll or, in the AQL queue, a barrier.
 */
static void make_queues(void)
{
	struct vg_gpu *gpu = &w->vg.gpu[0];
	struct vg_queue *q = &w->queue, spare = { 0 };
	const uint32_t one = 1;
	uint32_t seq;

	OK(vg_queue_create(&w->vg, gpu, RING, &spare));
	OK(vg_queue_create(&w->vg, gpu, RING, q));
	/* Free queue ID 0, so that w->pm4 gets this ID below. q keeps ID 1, on engine 1. */
	OK(vg_queue_destroy(&spare));
	OK(vg_emit_atomic_add(q, word_va(SDMA_SUM), 1));
	OK(vg_emit_fence(q, &seq));
	emit_poll(q, word_va(GO), 1);
	OK(vg_emit_fill(q, w->vram.va, 0xd00d, 4096));
	OK(vg_emit_copy(q, (uintptr_t)w->user_mem, w->gtt.va, 4096));
	OK(vg_emit_copy(q, (uintptr_t)w->svm + SVM_BYTES - 4096, w->gtt.va,
			4096));
	OK(vg_emit_atomic_add(q, word_va(SDMA_SUM), 1));
	OK(vg_emit_fence(q, &q->seq));
	vg_queue_submit(q);
	OK(vg_wait(q, seq, VG_TIMEOUT_MS));

	OK(vg_cq_create(&w->vg, gpu, &w->save, RING, false, &w->pm4));
	OK(vg_pm4_write(&w->pm4, word_va(PM4_BEFORE), &one, 1));
	OK(vg_pm4_wait(&w->pm4, word_va(GO), 1));
	OK(vg_pm4_write(&w->pm4, word_va(PM4_AFTER), &one, 1));
	vg_cq_submit(&w->pm4);
	OK(vg_wait_word(word(PM4_BEFORE), 1, VG_TIMEOUT_MS));
	*word(PM4_BEFORE) = 77;		/* 77 is lost if the restored queue repeats its write */

	signal_init(0, 1);
	signal_init(1, 1);
	OK(vg_cq_create(&w->vg, gpu, &w->svm_save, RING, true, &w->aql));
	aql_barrier(&w->aql, -1, 1);
	aql_barrier(&w->aql, 0, 1);
	vg_cq_submit(&w->aql);
	CHECK(signal_becomes(1, 0), "AQL: signal is %ld", signal_value(1));
	signal_init(1, 5);
	ERRNO(0, gws(w->aql.id, 1));
}

static void runtime_on(void)
{
	struct kfd_ioctl_runtime_enable_args args = {
		.r_debug = R_DEBUG,
		.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK,
	};

	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_RUNTIME_ENABLE, &args));
}

static void work_all(struct target *t)
{
	tap_open(&w->vg, w->xnack);
	make_memory();
	make_ranges();
	make_events();
	runtime_on();
	make_queues();
	/* No BO is allocated after this one is freed, so that the dump has a gap in the handles. */
	free_handle(w->gap);
	tap_step(t->up);
	tap_await(t->down);
}

/* Dump. */

static int process_info(int kfd)
{
	memset(&d.args, 0, sizeof(d.args));
	return criu(kfd, KFD_CRIU_OP_PROCESS_INFO, &d.args);
}

static int checkpoint(int kfd)
{
	CHECK(d.args.num_bos <= MAX_BOS && d.args.num_devices <= VG_MAX_GPUS,
	      "%u BOs, %u devices", d.args.num_bos, d.args.num_devices);
	pool_used = 0;
	d.priv = take(d.args.priv_data_size);
	d.args.devices = (uintptr_t)d.devices;
	d.args.bos = (uintptr_t)d.bos;
	d.args.priv_data = (uintptr_t)d.priv;
	return criu(kfd, KFD_CRIU_OP_CHECKPOINT, &d.args);
}

static char *map_dmabuf(const struct kfd_criu_bo_bucket *b, int prot)
{
	char *p = mmap(NULL, b->size, prot, MAP_SHARED, (int)b->dmabuf_fd, 0);

	CHECK(p != MAP_FAILED, "mmap of a dma-buf: %s", strerror(errno));
	return p;
}

static char *copy_user(pid_t pid, char *at, size_t bytes)
{
	struct iovec here = { take(bytes), bytes }, there = { at, bytes };

	CHECK(process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes,
	      "process_vm_readv: %s", strerror(errno));
	return here.iov_base;
}

static void copy_out(pid_t pid)
{
	uint32_t i;
	char *p;

	for (i = 0; i < d.args.num_bos; i++) {
		struct kfd_criu_bo_bucket *b = &d.bos[i];

		d.contents[i] = NULL;
		if (b->dmabuf_fd == NO_FD)
			continue;
		/*
		 * Do not copy the save area: no queue writes to it, so it has only the zeros of a
		 * new BO.
		 */
		if (b->addr != w->save.va) {
			p = map_dmabuf(b, PROT_READ);
			d.contents[i] = take(b->size);
			memcpy(d.contents[i], p, b->size);
			munmap(p, b->size);
		}
		close((int)b->dmabuf_fd);
	}
	if (!w->user_mem)
		return;
	d.user = copy_user(pid, w->user_mem, USER_BYTES);
	d.svm = copy_user(pid, w->svm, SVM_BYTES);
}

static const struct kfd_criu_bo_bucket *bucket_at(uint64_t va)
{
	uint32_t i;

	for (i = 0; i < d.args.num_bos; i++)
		if (d.bos[i].addr == va)
			return &d.bos[i];
	CHECK(0, "no BO at 0x%lx", va);
	return NULL;
}

static void check_buckets(void)
{
	const struct kfd_criu_bo_bucket *b;

	CHECK(d.args.num_devices == (uint32_t)w->vg.n_gpus, "%u devices",
	      d.args.num_devices);
	CHECK(d.devices[0].user_gpu_id == w->vg.gpu[0].gpu_id &&
	      d.devices[0].actual_gpu_id == w->vg.gpu[0].gpu_id,
	      "user 0x%x, actual 0x%x", d.devices[0].user_gpu_id,
	      d.devices[0].actual_gpu_id);
	/*
	 * Expect the 5 BOs of struct work, the userptr BO and the doorbell BO, and the BOs of
	 * the queues: 3 rings, 3 pointer pages and 2 EOP buffers.
	 */
	CHECK(d.args.num_bos == 5 + 2 + 8, "%u BOs", d.args.num_bos);
	CHECK(d.args.num_objects == (w->big ? 11 : 10), "%u objects", d.args.num_objects);
	b = bucket_at(w->vram.va);
	CHECK(b->size == DATA_BYTES && b->gpu_id == w->vg.gpu[0].gpu_id &&
	      b->offset == w->vram.mmap_offset && b->alloc_flags == VG_VRAM,
	      "the bucket of VRAM: size 0x%llx, GPU 0x%x, offset 0x%llx, flags 0x%x",
	      b->size, b->gpu_id, b->offset, b->alloc_flags);
	b = bucket_at((uintptr_t)w->user_mem);
	CHECK(b->size == USER_BYTES && b->dmabuf_fd == NO_FD,
	      "the bucket of the user pointer: size 0x%llx, fd 0x%x", b->size,
	      b->dmabuf_fd);
}

/*
 * Stop a process, dump it, kill it, and wait until its memory is free. @base is the memory usage
 * before the start of the process.
 */
static void dump_and_kill(struct target *t, const struct vg_mem_info *base)
{
	const struct vg_gpu gpu = { .minor = w->vg.gpu[0].minor };

	seize(t);
	ERRNO(0, process_info(t->kfd));
	CHECK(d.args.pid == (uint32_t)t->pid, "pid %u, should be %d",
	      d.args.pid, t->pid);
	ERRNO(0, checkpoint(t->kfd));
	copy_out(t->pid);
	kill_target(t);
	close(t->kfd);
	/*
	 * When the memory is free, the driver has also released the hardware resources of the
	 * process. The restored process needs these resources.
	 */
	OK(vg_mem_wait_freed(&gpu, base, VG_TIMEOUT_MS));
}

/* Restore */

static void map_at(uint64_t va, uint64_t size, int fd, uint64_t offset)
{
	void *p = mmap((void *)va, size, PROT_READ | PROT_WRITE,
		       (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) |
		       MAP_FIXED_NOREPLACE, fd, (off_t)offset);

	CHECK(p == (void *)va, "mmap at 0x%lx: %s", va, strerror(errno));
}

static int restore(int kfd)
{
	struct kfd_ioctl_criu_args args = d.args;

	return criu(kfd, KFD_CRIU_OP_RESTORE, &args);
}

/*
 * Open /dev/kfd and the render nodes for this process, and store the descriptors of the render
 * nodes in the device buckets.
 */
static void open_files(void)
{
	uint32_t i;
	char path[40];

	w->vg.kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(w->vg.kfd >= 0, "/dev/kfd: %s", strerror(errno));
	for (i = 0; i < d.args.num_devices; i++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d",
			 w->vg.gpu[i].minor);
		w->vg.gpu[i].fd = open(path, O_RDWR | O_CLOEXEC);
		CHECK(w->vg.gpu[i].fd >= 0, "%s", path);
		d.devices[i].drm_fd = (uint32_t)w->vg.gpu[i].fd;
	}
}

/* Write the dumped contents to the restored memory that the CPU can access. */
static void copy_in(void)
{
	uint32_t i;
	char *p;

	for (i = 0; i < d.args.num_bos; i++) {
		struct kfd_criu_bo_bucket *b = &d.bos[i];

		if (b->dmabuf_fd == NO_FD)
			continue;
		if (d.contents[i]) {
			p = map_dmabuf(b, PROT_READ | PROT_WRITE);
			memcpy(p, d.contents[i], b->size);
			munmap(p, b->size);
			map_at(b->addr, b->size, w->vg.gpu[0].fd,
			       b->restored_offset);
		}
		close((int)b->dmabuf_fd);
	}
	map_at((uintptr_t)w->user_mem, USER_BYTES, -1, 0);
	memcpy(w->user_mem, d.user, USER_BYTES);
}

static void map_svm(void)
{
	map_at((uintptr_t)w->svm, SVM_BYTES, -1, 0);
	if (w->big)
		map_at(w->svm_save.va, w->save.size, -1, 0);
	memcpy(w->svm, d.svm, SVM_BYTES);
}

static void map_doorbells(void)
{
	const uint64_t offset = 3ull << 62 |
		(uint64_t)d.devices[0].actual_gpu_id << 46;

	map_at((uintptr_t)w->queue.doorbell_page, VG_DOORBELL_SLICE, w->vg.kfd,
	       offset);
	map_at((uintptr_t)w->pm4.doorbell_page, VG_DOORBELL_SLICE, w->vg.kfd,
	       offset);
	map_at((uintptr_t)w->aql.doorbell_page, VG_DOORBELL_SLICE, w->vg.kfd,
	       offset);
}

static void become(struct target *t)
{
	open_files();
	ERRNO(0, restore(w->vg.kfd));
	copy_in();
	map_doorbells();
	if (!w->late) {
		map_svm();
		tap_step(t->up);
	} else {
		tap_step(t->up);
		tap_await(t->down);	/* wait until the first RESUME has failed */
		map_svm();
		tap_step(t->up);
	}
	tap_await(t->down);		/* wait until RESUME has succeeded */
}

static void check_events(void)
{
	uint64_t age = 1;

	CHECK(!happens(w->ev[0], 0, NULL), "an event that was not set is");
	CHECK(happens(w->ev[1], 0, &age), "an event that was set is not");
	CHECK(age == 3, "its age is %lu", age);
	CHECK(!happens(w->ev[3], 0, NULL) && !happens(w->ev[4], 0, NULL),
	      "there was no exception");
	/* New ids continue after the restored ids. */
	CHECK(make_event(KFD_IOC_EVENT_SIGNAL, true, 0) == w->ev[2] + 1,
	      "a new event has another id");
	emit_signal(&w->queue, w->ev[2]);
	vg_queue_submit(&w->queue);
	CHECK(happens(w->ev[2], VG_TIMEOUT_MS, NULL),
	      "the queue does not signal an event");
}

static void check_queues(void)
{
	struct vg_queue *q = &w->queue;

	CHECK(vg_queue_fence_value(q) == q->seq - 1 && !*word(PM4_AFTER) &&
	      signal_value(1) == 5, "a queue did not wait");
	signal_init(0, 0);
	*word(GO) = 1;
	OK(vg_wait(q, q->seq, VG_TIMEOUT_MS));
	CHECK(*(volatile uint64_t *)word(SDMA_SUM) == 2,
	      "SDMA: a packet ran twice, or never: %u", *word(SDMA_SUM));
	OK(vg_wait_word(word(PM4_AFTER), 1, VG_TIMEOUT_MS));
	CHECK(*word(PM4_BEFORE) == 77, "PM4: a packet ran twice");
	CHECK(signal_becomes(1, 4), "AQL: signal is %ld", signal_value(1));

	/* Check the bytes that the queues wrote, and the bytes that no queue wrote. */
	OK(vg_fill_check(w->vram.cpu, 4096, 0xd00d));
	OK(vg_pattern_check((char *)w->vram.cpu + 4096, DATA_BYTES - 4096, 1,
			    4096));
	OK(vg_pattern_check(w->gtt.cpu, DATA_BYTES, 2, 0));
	OK(vg_pattern_check(w->user_mem, 4096, 2, 0));
	OK(vg_pattern_check(w->user_mem + 4096, USER_BYTES - 4096, 3, 4096));

	OK(vg_pattern_check(w->svm, SVM_BYTES - 4096, 4, 0));
	OK(vg_pattern_check(w->svm + SVM_BYTES - 4096, 4096, 2, 0));

	/* The doorbells must reach the restored queues. */
	OK(vg_copy(q, w->vram.cpu, w->gtt.cpu, DATA_BYTES));
	OK(vg_pattern_check(w->vram.cpu, DATA_BYTES, 2, 0));
	OK(vg_cq_finish(&w->pm4, VG_TIMEOUT_MS));
	aql_barrier(&w->aql, 0, 1);
	vg_cq_submit(&w->aql);
	CHECK(signal_becomes(1, 3), "AQL: signal is %ld", signal_value(1));

	/* The AQL queue must still own global wave sync. */
	ERRNO(EBUSY, gws(w->pm4.id, 1));
	ERRNO(EINVAL, gws(w->pm4.id, 0));
	ERRNO(0, gws(w->aql.id, 0));
	ERRNO(0, gws(w->aql.id, 1));
}

/* Free all resources by their handles and ids, which must be the same as before the dump. */
static void undo_all(void)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.device_ids_array_ptr = (uintptr_t)&w->vg.gpu[0].gpu_id,
		.n_devices = 1,
	};
	struct kfd_ioctl_free_memory_of_gpu_args gone = { 0 };
	const uint64_t handles[] = { w->user, w->slice };
	unsigned int i;

	OK(vg_queue_destroy(&w->queue));
	OK(vg_cq_destroy(&w->pm4));
	OK(vg_cq_destroy(&w->aql));
	OK(vg_bo_free(&w->vram));
	OK(vg_bo_free(&w->gtt));
	OK(vg_bo_free(&w->save));
	OK(vg_bo_free(&w->words));
	for (i = 0; i < 2; i++) {
		unmap.handle = handles[i];
		unmap.n_success = 0;
		ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU,
				   &unmap));
		free_handle(handles[i]);
	}
	unmap.handle = gone.handle = w->page.handle;
	unmap.n_success = 0;
	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU,
			   &unmap));
	/* The signal page cannot be freed: the kernel uses it until the process ends. */
	ERRNO(EPERM, tap_ioctl(w->vg.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU,
			       &gone));
}

static void go_on(struct target *t)
{
	become(t);
	CHECK(vg_set_xnack(&w->vg, -1) == w->xnack, "XNACK is not %d",
	      w->xnack);
	ERRNO(EBUSY, tap_ioctl(w->vg.kfd, AMDKFD_IOC_RUNTIME_ENABLE,
			       &(struct kfd_ioctl_runtime_enable_args){
				.mode_mask = 1 }));
	check_ranges();
	check_queues();
	check_events();
	undo_all();
}

static int resume(pid_t pid)
{
	struct kfd_ioctl_criu_args args = { .pid = (uint32_t)pid };
	int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC), r;

	CHECK(kfd >= 0, "/dev/kfd: %s", strerror(errno));
	r = criu(kfd, KFD_CRIU_OP_RESUME, &args);
	close(kfd);
	return r;
}

static struct vg_mem_info find_base(void)
{
	struct vg_gpu gpu = { 0 };
	struct vg_mem_info base;
	int i, nodes = vg_topology_nodes();

	for (i = 0; i < nodes && !gpu.minor; i++)
		gpu.minor = (int)vg_node_property(i, "drm_render_minor", 0);
	OK(vg_mem_info(&gpu, &base));
	return base;
}

static void round_trip(int xnack, int generations, bool big)
{
	struct vg_mem_info base = find_base();
	struct target t;
	int i;

	share_work();
	w->xnack = xnack;
	w->big = big;
	start_target(&t, work_all);
	for (i = 0; i < generations; i++) {
		dump_and_kill(&t, &base);
		check_buckets();
		start_target(&t, i == generations - 1 ? go_on : become);
		ERRNO(0, resume(t.pid));
		ERRNO(EINVAL, resume(t.pid));
	}
	tap_step(t.down);
	end_target(&t);
}

static void dump_restore(void)
{
	round_trip(0, 1, false);
}

static void svm_save_area(void)
{
	round_trip(0, 1, true);
}

static void dump_restore_xnack(void)
{
	round_trip(1, 1, false);
}

/*
 * RESUME must fail while no memory is mapped at the addresses of the SVM ranges. After memory was
 * mapped there, a second RESUME must succeed.
 */
static void no_memory_yet(void)
{
	struct vg_mem_info base = find_base();
	struct target t;

	share_work();
	start_target(&t, work_all);
	dump_and_kill(&t, &base);
	w->late = true;
	start_target(&t, go_on);
	ERRNO(EFAULT, resume(t.pid));
	tap_step(t.down);
	tap_await(t.up);
	ERRNO(0, resume(t.pid));
	tap_step(t.down);
	end_target(&t);
}

/*
 * Dump and restore a process four times. After the first time, the dumped process is itself a
 * restored process.
 */
static void generations(void)
{
	round_trip(0, 4, false);
}

/*
 * Dump a process twice and unpause it. After this, UNPAUSE and CHECKPOINT must fail, because the
 * process is not paused any more.
 */
static void pause_go_on(void)
{
	struct target t;
	int i;

	share_work();
	start_target(&t, work_all);
	seize(&t);
	/*
	 * Only the first PROCESS_INFO call pauses the process, so one UNPAUSE must end the pause.
	 */
	for (i = 0; i < 3; i++)
		ERRNO(0, process_info(t.kfd));
	ERRNO(0, checkpoint(t.kfd));
	copy_out(t.pid);
	ERRNO(0, checkpoint(t.kfd));
	copy_out(t.pid);
	ERRNO(0, simple(t.kfd, KFD_CRIU_OP_UNPAUSE));
	ERRNO(EINVAL, simple(t.kfd, KFD_CRIU_OP_UNPAUSE));
	ERRNO(EINVAL, checkpoint(t.kfd));
	kill_target(&t);
	close(t.kfd);
}

/*
 * Script for start_target(). The child has one queue. Check that the queue makes no progress while
 * the parent has paused the child.
 */
static void work_queue(struct target *t)
{
	uint32_t seq;

	tap_open(&w->vg, 0);
	OK(vg_bo_create(&w->vg, &w->vg.gpu[0], VG_PAGE, VG_GTT, &w->words));
	OK(vg_queue_create(&w->vg, &w->vg.gpu[0], RING, &w->queue));
	OK(vg_queue_finish(&w->queue, VG_TIMEOUT_MS));
	tap_step(t->up);
	tap_await(t->down);	/* wait until the parent has paused this process's queue */
	OK(vg_emit_atomic_add(&w->queue, w->words.va, 1));
	OK(vg_emit_fence(&w->queue, &seq));
	vg_queue_submit(&w->queue);
	ERRNO(ETIMEDOUT, vg_wait(&w->queue, seq, STOPPED_MS));
	tap_step(t->up);
	tap_await(t->down);		/* wait until the parent has unpaused the queue */
	OK(vg_wait(&w->queue, seq, VG_TIMEOUT_MS));
	CHECK(*(uint64_t *)w->words.cpu == 1, "not once");
}

static void paused(void)
{
	struct target t;

	share_work();
	start_target(&t, work_queue);
	seize(&t);
	ERRNO(0, process_info(t.kfd));
	let_go(&t);
	tap_step(t.down);
	tap_await(t.up);
	stop(&t);
	ERRNO(0, simple(t.kfd, KFD_CRIU_OP_UNPAUSE));
	let_go(&t);
	tap_step(t.down);
	end_target(&t);
}

/*
 * Kill the checkpointer, which has paused the target by PROCESS_INFO. The kernel must then
 * unpause the target.
 */
static void checkpointer_dies(void)
{
	struct target t;
	int ready[2], status;
	pid_t pid;

	share_work();
	start_target(&t, work_queue);
	CHECK(!pipe(ready), "pipe");
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		seize(&t);
		ERRNO(0, process_info(t.kfd));
		let_go(&t);
		tap_step(ready);
		pause();
		_exit(0);
	}
	close(ready[1]);
	tap_await(ready);
	tap_step(t.down);
	/* Wait until the target has checked that its queue makes no progress for STOPPED_MS. */
	tap_await(t.up);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "0x%x",
	      status);
	tap_step(t.down);
	end_target(&t);
}

/*
 * Dump a process, and kill it while the dump keeps it paused. Restore the process, and kill the
 * restored process before RESUME.
 */
static void paused_dies(void)
{
	struct vg_mem_info base = find_base();
	struct target t;

	share_work();
	start_target(&t, work_all);
	dump_and_kill(&t, &base);
	start_target(&t, become);
	kill_target(&t);
	ERRNO(ESRCH, resume(t.pid));
}

static unsigned int count_fds(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < 256; i++)
		n += fcntl((int)i, F_GETFD) >= 0;
	return n;
}

/* Call CHECKPOINT with arguments that differ from the results of PROCESS_INFO. */
static void bad_checkpoint(void)
{
	struct kfd_ioctl_criu_args good;
	struct target t;
	unsigned int i, fds;

	share_work();
	start_target(&t, work_all);
	seize(&t);
	memset(&d.args, 0, sizeof(d.args));
	/* CHECKPOINT must fail before PROCESS_INFO has paused the queues. */
	ERRNO(EINVAL, checkpoint(t.kfd));
	ERRNO(0, process_info(t.kfd));
	ERRNO(0, checkpoint(t.kfd));
	copy_out(t.pid);
	good = d.args;
	fds = count_fds();
	for (i = 0; i < 10; i++) {
		struct kfd_ioctl_criu_args args = good;
		const int want = i < 7 ? EINVAL : EFAULT;

		if (i == 0)
			args.num_devices++;
		else if (i == 1)
			args.num_bos--;
		else if (i == 2)
			args.num_objects++;
		else if (i == 3)
			args.priv_data_size -= 8;
		else if (i == 4 || i == 7)
			args.devices = i == 4 ? 0 : 64;
		else if (i == 5 || i == 8)
			args.bos = i == 5 ? 0 : 64;
		else
			args.priv_data = i == 6 ? 0 : 64;
		ERRNO(want, criu(t.kfd, KFD_CRIU_OP_CHECKPOINT, &args));
		CHECK(count_fds() == fds, "%u: descriptors are left", i);
	}
	ERRNO(EINVAL, simple(t.kfd, KFD_CRIU_OP_RESUME + 1));
	ERRNO(EINVAL, simple(t.kfd, ~0u));
	kill_target(&t);
	close(t.kfd);
}

static void no_capability(void *arg)
{
	uint32_t op;

	(void)arg;
	tap_open(&w->vg, 0);
	CHECK(!setresgid(65534, 65534, 65534) &&
	      !setresuid(65534, 65534, 65534), "setresuid");
	for (op = 0; op <= KFD_CRIU_OP_RESUME + 1; op++)
		ERRNO(EACCES, simple(w->vg.kfd, op));
}

/*
 * A process may use the /dev/kfd file of another process only if it traces that
 * process, and only for CRIU_OP.
 */
static void who_may(void)
{
	struct kfd_ioctl_get_version_args version;
	struct target t;
	int pidfd;

	share_work();
	tap_in_child(no_capability, NULL);
	start_target(&t, work_queue);
	pidfd = (int)syscall(SYS_pidfd_open, t.pid, 0);
	t.kfd = (int)syscall(SYS_pidfd_getfd, pidfd, w->vg.kfd, 0);
	CHECK(t.kfd >= 0, "pidfd_getfd: %s", strerror(errno));
	ERRNO(EBADF, process_info(t.kfd));
	close(t.kfd);
	seize(&t);
	ERRNO(EBADF, tap_ioctl(t.kfd, AMDKFD_IOC_GET_VERSION, &version));
	ERRNO(0, process_info(t.kfd));
	ERRNO(0, checkpoint(t.kfd));
	w->user_mem = NULL;
	copy_out(t.pid);
	ERRNO(0, simple(t.kfd, KFD_CRIU_OP_UNPAUSE));
	/*
	 * RESTORE on the /dev/kfd file of another process must fail, because the restored memory
	 * would belong to the caller and not to that process.
	 */
	ERRNO(EINVAL, restore(t.kfd));
	ERRNO(ESRCH, resume(1));
	ERRNO(ESRCH, resume(0));
	ERRNO(EINVAL, resume(t.pid));
	kill_target(&t);
	ERRNO(EBADF, process_info(t.kfd));
	close(t.kfd);
}

/*
 * PROCESS_INFO must fail if the process has state that cannot be saved, and must then not
 * leave the process paused.
 */
static void not_saved(void)
{
	struct kfd_ioctl_export_dmabuf_args out = { 0 };
	struct kfd_ioctl_import_dmabuf_args in = { 0 };
	struct vg_bo bo, page;
	struct vg_queue q;
	uint32_t h;
	int fd;

	share_work();
	tap_open(&w->vg, 0);
	fd = w->vg.gpu[0].fd;
	OK(vg_queue_create(&w->vg, &w->vg.gpu[0], RING, &q));
	OK(vg_bo_create(&w->vg, &w->vg.gpu[0], VG_PAGE, VG_GTT, &page));
	OK(vg_bo_create(&w->vg, &w->vg.gpu[0], VG_PAGE, VG_VRAM, &bo));
	out.handle = bo.handle;
	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_EXPORT_DMABUF, &out));
	in.dmabuf_fd = out.dmabuf_fd;
	in.gpu_id = w->vg.gpu[0].gpu_id;
	ERRNO(0, tap_ioctl(w->vg.kfd, AMDKFD_IOC_IMPORT_DMABUF, &in));
	ERRNO(EOPNOTSUPP, process_info(w->vg.kfd));
	OK(vg_fill(&q, page.cpu, 1, VG_PAGE));
	free_handle(in.handle);
	/*
	 * PROCESS_INFO must fail while the address space of the process's queues has mappings that
	 * GEM_VA has created, because such mappings cannot be saved.
	 */
	ERRNO(0, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	ERRNO(0, vr_gem_va(fd, h, AMDGPU_VA_OP_MAP, VR_MAP_RW, VG_GIB, 0,
			   VG_PAGE));
	ERRNO(EOPNOTSUPP, process_info(w->vg.kfd));
	OK(vg_fill(&q, page.cpu, 1, VG_PAGE));
	ERRNO(0, vr_gem_va(fd, h, AMDGPU_VA_OP_REPLACE, AMDGPU_VM_PAGE_PRT,
			   VG_GIB, 0, VG_PAGE));
	ERRNO(EOPNOTSUPP, process_info(w->vg.kfd));
	ERRNO(0, vr_gem_va(fd, 0, AMDGPU_VA_OP_CLEAR, 0, VG_GIB, 0, VG_PAGE));
	ERRNO(0, process_info(w->vg.kfd));
	ERRNO(0, simple(w->vg.kfd, KFD_CRIU_OP_UNPAUSE));
	OK(vg_fill(&q, page.cpu, 2, VG_PAGE));
	OK(vg_fill_check(page.cpu, VG_PAGE, 2));
}

/* Cases that call RESTORE with private data, buckets or counts that no CHECKPOINT has written */

static volatile int *resumed;	/* number of RESUME calls that succeeded; shared with children */

static void try_restore(void *arg)
{
	int *result = arg, again;
	struct kfd_ioctl_criu_args args = { 0 };

	open_files();
	*result = restore(w->vg.kfd);
	args.pid = (uint32_t)getpid();
	/* Map memory for the SVM ranges, unless the addresses are in use. */
	mmap(w->svm, SVM_BYTES, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	again = criu(w->vg.kfd, KFD_CRIU_OP_RESUME, &args);
	CHECK(again == -EINVAL || (!*result && (!again || again == -EFAULT ||
						again == -EADDRINUSE)),
	      "RESUME: %d after %d", again, *result);
	resumed[0] += !again;
	again = restore(w->vg.kfd);
	CHECK(again < 0, "a second RESTORE works");
	/* After a failed RESTORE the process must still be able to use KFD. */
	if (*result)
		make_event(KFD_IOC_EVENT_SIGNAL, true, 0);
}

/*
 * Call RESTORE in a child, and return the result of RESTORE. After the end of the child, its memory
 * must be free.
 */
static int restore_once(void)
{
	int *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0), r;
	struct vg_mem_info base = find_base();
	const struct vg_gpu gpu = { .minor = w->vg.gpu[0].minor };

	tap_in_child(try_restore, result);
	OK(vg_mem_wait_freed(&gpu, &base, VG_TIMEOUT_MS));
	r = *result;
	munmap(result, sizeof(*result));
	return r;
}

static void make_dump(void)
{
	struct vg_mem_info base = find_base();
	struct target t;

	share_work();
	resumed = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	start_target(&t, work_all);
	dump_and_kill(&t, &base);
	ERRNO(0, restore_once());
	CHECK(*resumed == 1, "the unchanged dump does not resume");
}

static void truncated(void)
{
	uint64_t size;

	make_dump();
	for (size = 0; size < d.args.priv_data_size; size += 8 * (1 + size / 64)) {
		const struct kfd_ioctl_criu_args args = d.args;

		d.args.priv_data_size = size;
		ERRNO(EINVAL, restore_once());
		d.args = args;
	}
	d.args.priv_data_size = ~0ull;
	ERRNO(ENOMEM, restore_once());
}

/* Call RESTORE with counts and pointers that do not match the dump. */
static void bad_restore(void)
{
	struct kfd_ioctl_criu_args good;
	struct kfd_criu_device_bucket device;
	unsigned int i;

	make_dump();
	good = d.args;
	device = d.devices[0];
	for (i = 0; i < 14; i++) {
		d.args = good;
		d.devices[0] = device;
		switch (i) {
		case 0: d.args.num_devices = 0; break;
		case 1: d.args.num_devices = ~0u; break;
		case 2: d.args.num_bos = ~0u; break;
		case 3: d.args.num_bos--; break;
		case 4: d.args.num_objects = ~0u; break;
		case 5: d.args.num_objects--; break;
		case 6: d.args.devices = 0; break;
		case 7: d.args.bos = 0; break;
		case 8: d.args.priv_data = 0; break;
		case 9: d.devices[0].user_gpu_id = 0; break;
		case 10: d.devices[0].actual_gpu_id ^= 1; break;
		case 11: d.args.devices = 64; break;
		case 12: d.args.bos = 64; break;
		case 13: d.args.priv_data = 64; break;
		}
		/*
		 * If num_devices is ~0u, call RESTORE directly: restore_once() would first try to
		 * open num_devices render nodes. (If num_bos is ~0u, restore_once() would work.)
		 */
		if (i == 1 || i == 2)
			ERRNO(EINVAL, criu(open("/dev/kfd", O_RDWR),
					   KFD_CRIU_OP_RESTORE, &d.args));
		else
			ERRNO(i < 11 ? EINVAL : EFAULT, restore_once());
	}
	d.args = good;
	d.devices[0] = device;
	ERRNO(0, restore_once());
}

/*
 * Change random bytes of the private data and the buckets. RESTORE may then succeed or fail,
 * but must leak no memory, and must accept the unchanged dump afterwards.
 */
static void flipped(void)
{
	int i, k, n, ok = 0, rounds = tap_rounds(60, 2000);
	struct kfd_criu_bo_bucket bos[MAX_BOS];
	struct kfd_ioctl_criu_args good;
	char *priv;

	race_seed();
	make_dump();
	good = d.args;
	memcpy(bos, d.bos, sizeof(bos));
	priv = malloc(good.priv_data_size);
	CHECK(priv, "malloc");
	memcpy(priv, d.priv, good.priv_data_size);
	for (i = 0; tap_goes_on_all(i, rounds); i++) {
		n = 1 + (int)race_below(3);
		for (k = 0; k < n; k++) {
			bool bucket = !race_below(4);
			char *at = bucket ? (char *)d.bos : d.priv;
			uint64_t size = bucket ? good.num_bos * sizeof(*bos) :
						 good.priv_data_size;
			uint64_t off = race_below(size / 8) * 8;
			uint64_t value = race_below(3) ?
				1ull << race_below(64) : race_below(~0ull);

			if (!race_below(4))
				memcpy(at + off, at + race_below(size / 8) * 8,
				       8);
			else if (race_below(2))
				at[off + race_below(8)] ^= (char)value ?: 1;
			else
				*(uint64_t *)(at + off) ^= value;
		}
		ok += !restore_once();
		memcpy(d.priv, priv, good.priv_data_size);
		memcpy(d.bos, bos, sizeof(bos));
	}
	tap_diag("%d rounds, %d restored something, %d went on with it", i, ok,
		 *resumed - 1);
	ERRNO(0, restore_once());
}

/*
 * RESTORE must fail if two buckets have the same address, or a bucket has a size that
 * no BO can have.
 */
static void overlapping(void)
{
	struct kfd_criu_bo_bucket bucket;
	unsigned int i;

	make_dump();
	for (i = 1; i < d.args.num_bos; i++) {
		bucket = d.bos[i];
		d.bos[i].addr = d.bos[0].addr;
		CHECK(restore_once() < 0, "two BOs have the same address");
		d.bos[i] = bucket;
	}
	bucket = d.bos[0];
	for (i = 0; i < 6; i++) {
		static const uint64_t sizes[] = {
			0, 1ull << 63, ~0ull, ~0ull - 4095, 1ull << 47,
			1ull << 40,
		};

		d.bos[0].size = sizes[i];
		CHECK(restore_once() < 0, "a BO of 0x%lx bytes", sizes[i]);
	}
	d.bos[0] = bucket;
	ERRNO(0, restore_once());
}

/* RESTORE must fail while another process uses the hardware queue of the dumped SDMA queue. */
static void slot_taken(void)
{
	static struct vg_queue q[17];
	struct vg vg;
	int i, n;

	make_dump();
	tap_open(&vg, 0);
	for (n = 0; n < 17; n++)
		if (vg_queue_create(&vg, &vg.gpu[0], RING, &q[n]))
			break;
	/*
	 * The queues above use all hardware queues for SDMA. A restored queue must keep its
	 * doorbell, which belongs to one of these hardware queues.
	 */
	ERRNO(EBUSY, restore_once());
	for (i = 0; i < n; i++)
		OK(vg_queue_destroy(&q[i]));
	ERRNO(0, restore_once());
}

/*
 * A process without BOs, queues and events dumps and restores itself. PROCESS_INFO pauses the
 * process, and RESTORE must fail until UNPAUSE. A second RESTORE before RESUME must fail.
 */
static void empty_process(void)
{
	struct vg vg;

	share_work();
	OK(vg_open_bare(&vg));
	w->vg = vg;
	CHECK(vg_set_xnack(&vg, 1) == 1, "XNACK");
	ERRNO(EINVAL, simple(vg.kfd, KFD_CRIU_OP_UNPAUSE));
	ERRNO(EINVAL, resume(getpid()));
	ERRNO(0, process_info(vg.kfd));
	CHECK(!d.args.num_bos && !d.args.num_objects, "%u BOs, %u objects",
	      d.args.num_bos, d.args.num_objects);
	ERRNO(0, checkpoint(vg.kfd));
	ERRNO(EINVAL, restore(vg.kfd));		/* the process is paused */
	ERRNO(0, simple(vg.kfd, KFD_CRIU_OP_UNPAUSE));
	/* RESTORE must set the XNACK mode of the checkpoint. */
	CHECK(vg_set_xnack(&vg, 0) == 0, "XNACK");
	ERRNO(0, restore(vg.kfd));
	CHECK(vg_set_xnack(&vg, -1) == 1, "XNACK is not restored");
	ERRNO(EINVAL, restore(vg.kfd));		/* already restored, not resumed yet */
	ERRNO(EINVAL, process_info(vg.kfd));
	ERRNO(0, resume(getpid()));
	vg_close(&vg);
}

/* Restore a dump from a machine on which the GPU had another ID. */
static void other_id(void)
{
	struct vg_queue q;
	struct vg_bo bo;
	struct vg vg;

	share_work();
	OK(vg_open_bare(&vg));
	w->vg = vg;
	ERRNO(0, process_info(vg.kfd));
	ERRNO(0, checkpoint(vg.kfd));
	ERRNO(0, simple(vg.kfd, KFD_CRIU_OP_UNPAUSE));
	d.devices[0].user_gpu_id = OTHER_ID;
	ERRNO(0, restore(vg.kfd));
	ERRNO(0, resume(getpid()));
	ERRNO(EINVAL, vg_acquire_vm(&vg, &vg.gpu[0]));
	vg.gpu[0].gpu_id = OTHER_ID;
	OK(vg_acquire_vm(&vg, &vg.gpu[0]));
	OK(vg_queue_create(&vg, &vg.gpu[0], RING, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_PAGE, VG_GTT, &bo));
	CHECK(bo.handle >> 32 == OTHER_ID, "handle 0x%lx", bo.handle);
	OK(vg_fill(&q, bo.cpu, 0x1234, VG_PAGE));
	OK(vg_fill_check(bo.cpu, VG_PAGE, 0x1234));
	ERRNO(0, process_info(vg.kfd));
	ERRNO(0, checkpoint(vg.kfd));
	CHECK(d.devices[0].user_gpu_id == OTHER_ID &&
	      d.devices[0].actual_gpu_id != OTHER_ID &&
	      d.bos[0].gpu_id == OTHER_ID, "user 0x%x, BO 0x%x",
	      d.devices[0].user_gpu_id, d.bos[0].gpu_id);
	ERRNO(0, simple(vg.kfd, KFD_CRIU_OP_UNPAUSE));
	OK(vg_bo_free(&bo));
	OK(vg_queue_destroy(&q));
}

static const struct tap_case cases[] = {
	{ "a process is dumped, killed and restored", dump_restore, 1 },
	{ "the same with XNACK", dump_restore_xnack, 1 },
	{ "a context save area is an SVM range", svm_save_area, 1 },
	{ "memory of SVM ranges comes late", no_memory_yet, 1 },
	{ "a restored process is dumped again", generations, 1 },
	{ "PROCESS_INFO, CHECKPOINT, UNPAUSE in and out of order", pause_go_on,
	  1 },
	{ "a paused process's queue stands, and goes on", paused, 1 },
	{ "the checkpointer is killed", checkpointer_dies, 1 },
	{ "a restored process is killed before it is resumed", paused_dies, 1 },
	{ "arguments of CHECKPOINT", bad_checkpoint, 1 },
	{ "who may", who_may, 1 },
	{ "what cannot be saved", not_saved, 1 },
	{ "an empty process", empty_process, 1 },
	{ "a GPU with another id", other_id, 1 },
	{ "arguments of RESTORE", bad_restore, 1 },
	{ "private data is cut off", truncated, 1 },
	{ "private data is changed", flipped, 1 },
	{ "buffers overlap", overlapping, 1 },
	{ "the hardware queue is taken", slot_taken, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
