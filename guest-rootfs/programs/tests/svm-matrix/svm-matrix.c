// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file has the functions that all cases of the matrix use: they open KFD, place the
 * memory, and write and compare it by GPU or CPU. A comparison always covers all bytes.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "svm-matrix.h"

#define RING	(64 * VG_KIB)

struct mx mx;

int mx_gpus(void)
{
	return mx.users->gpus;
}

static uint64_t total(void)
{
	struct mx_piece *pc;
	uint64_t n = 0;

	mx_each(pc)
		n += pc->size;
	return n;
}

uint64_t mx_counted(const char *name)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < mx_gpus(); i++)
		n += tap_driver_counter(&mx.vg.gpu[i], name);
	return n;
}

long mx_in_vram(void)
{
	struct mx_piece *pc;
	long n = 0, r;

	mx_each(pc) {
		uint64_t size;
		char *p = mx_pages(pc, &size);

		r = vg_pages_in_vram(p, size);
		OK((int)r);
		n += r;
	}
	return n;
}

long mx_movable(void)
{
	struct mx_piece *pc;
	uint64_t size;
	long n = 0;

	mx_each(pc)
		if (pc->is & MX_MOVES) {
			mx_pages(pc, &size);
			n += (long)(size / VG_PAGE);
		}
	return n;
}

/* Create a BO as source or destination of copies by the GPUs. All GPUs map the BO. */
static void stage(struct vg_bo *bo)
{
	uint64_t size = (total() + VG_PAGE - 1) / VG_PAGE * VG_PAGE;
	int i;

	OK(vg_bo_create(&mx.vg, &mx.vg.gpu[0], size, VG_GTT, bo));
	for (i = 1; i < mx_gpus(); i++)
		OK(vg_bo_map_peer(bo, &mx.vg.gpu[i]));
}

void mx_open(void)
{
	int i;

	memset(&mx.vg, 0, sizeof(mx.vg));
	memset(mx.q, 0, sizeof(mx.q));
	memset(&mx.cq, 0, sizeof(mx.cq));
	memset(&mx.in, 0, sizeof(mx.in));
	memset(&mx.out, 0, sizeof(mx.out));
	memset(&mx.save, 0, sizeof(mx.save));
	tap_open(&mx.vg, mx.mode != MX_NO_RETRY);
	CHECK(mx.vg.n_gpus >= mx_gpus(), "%d GPUs", mx.vg.n_gpus);
	for (i = 0; i < mx.users->queues; i++)
		OK(vg_queue_create(&mx.vg, &mx.vg.gpu[i % mx_gpus()], RING,
				   &mx.q[i]));
	if (mx.users->compute) {
		OK(vg_save_area(&mx.vg, &mx.vg.gpu[0],
				KFD_IOC_ALLOC_MEM_FLAGS_GTT, &mx.save));
		OK(vg_cq_create(&mx.vg, &mx.vg.gpu[0], &mx.save, RING, false,
				&mx.cq));
	}
	stage(&mx.in);
	stage(&mx.out);
}

void mx_close_queues(void)
{
	int i;

	if (mx.users->compute)
		OK(vg_cq_destroy(&mx.cq));
	for (i = 0; i < mx.users->queues; i++)
		OK(vg_queue_destroy(&mx.q[i]));
}

void mx_attr(uint32_t type, uint32_t value)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		OK(vg_svm_set1(&mx.vg, p, size, type, value));
	}
}

void mx_attr_gpus(uint32_t type)
{
	int i;

	for (i = 0; i < mx_gpus(); i++)
		mx_attr(type, mx.vg.gpu[i].gpu_id);
}

void mx_register(void)
{
	if (mx.place == MX_IN_PLACE)
		mx_attr_gpus(KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE);
	else if (mx.mode == MX_NO_RETRY)
		mx_attr_gpus(KFD_IOCTL_SVM_ATTR_ACCESS);
	if (mx.mode == MX_ALWAYS)
		mx_attr(KFD_IOCTL_SVM_ATTR_SET_FLAGS,
			KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED);
	if (mx.place == MX_PREFERRED)
		mx_attr(KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			mx.vg.gpu[0].gpu_id);
}

bool mx_must_move(void)
{
	/*
	 * In these cases both GPUs map the pages at the same time. The pages may stay in system
	 * memory, because one GPU may be unable to reach the other GPU's VRAM.
	 */
	if (mx_gpus() > 1 && (mx.mode != MX_RETRY || mx.place == MX_IN_PLACE))
		return false;
	/* A prefetch need not migrate untouched pages of a file. */
	return !(mx.action->flags & MX_UNTOUCHED &&
		 mx.kind->is & (MX_FILE | MX_MIXED));
}

void mx_prefetch(struct vg_gpu *gpu)
{
	long want = gpu ? mx_movable() : 0;

	mx_attr(KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, gpu ? gpu->gpu_id : 0);
	if (!gpu || mx_must_move())
		CHECK(mx_in_vram() == want,
		      "%ld pages are in VRAM after a prefetch to %s, not %ld",
		      mx_in_vram(), gpu ? "it" : "system memory", want);
}

/*
 * Prefetch the first half of each piece to VRAM of the first GPU. With two GPUs, prefetch the
 * second half to the second GPU.
 */
static void put_half(void)
{
	struct mx_piece *pc;
	uint64_t size, half;

	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		half = size / VG_PAGE / 2 * VG_PAGE;
		OK(vg_svm_prefetch(&mx.vg, p, half, mx.vg.gpu[0].gpu_id));
		if (mx_gpus() > 1)
			OK(vg_svm_prefetch(&mx.vg, p + half, size - half,
					   mx.vg.gpu[1].gpu_id));
		if (!mx_must_move() || !(pc->is & MX_MOVES))
			continue;
		CHECK(vg_pages_in_vram(p, half) == (long)(half / VG_PAGE),
		      "%ld of %lu pages are in VRAM", vg_pages_in_vram(p, half),
		      half / VG_PAGE);
		if (mx_gpus() == 1)
			CHECK(!vg_pages_in_vram(p + half, size - half),
			      "the other half is in VRAM, too");
	}
}

void mx_put_in_place(void)
{
	long want = mx_movable();
	uint64_t faults;

	if (mx.place == MX_PREFETCHED)
		mx_prefetch(&mx.vg.gpu[0]);
	if (mx.place == MX_HALF)
		put_half();
	if (mx.action->flags & MX_UNTOUCHED)
		return;
	faults = mx_counted("faults_retry");
	mx_gpu_check();
	faults = mx_counted("faults_retry") - faults;
	if (mx.place == MX_FAULTED || mx.place == MX_PREFERRED)
		CHECK(faults, "no fault was taken");
	if (mx.place == MX_IN_PLACE)
		CHECK(!mx_in_vram(), "%ld pages are in VRAM", mx_in_vram());
	if (mx.place == MX_PREFERRED && mx_gpus() == 1)
		CHECK(mx_in_vram() == want,
		      "%ld pages are in VRAM after a fault, not %ld",
		      mx_in_vram(), want);
}

void mx_begin(void)
{
	mx.at = mx_room(MX_HUGE);
	if (mx.kind->is & MX_MMAP && !(mx.kind->is & (MX_THP | MX_HUGETLB)))
		mx.at = mx_room(MX_SIZE);
	mx.kind->make(mx.at);
	if (!(mx.action->flags & MX_UNTOUCHED))
		mx_cpu_write(1);
	if (mx.kind->is & MX_THP && !(mx.action->flags & MX_UNTOUCHED))
		CHECK(mx_huge_bytes(mx.piece->p) == MX_HUGE,
		      "the page is not huge");
	mx_open();
	mx_register();
	mx_put_in_place();
}

/* Return the offset of a piece in the BOs mx.in and mx.out. */
static uint64_t stage_offset(const struct mx_piece *of)
{
	struct mx_piece *pc;
	uint64_t at = 0;

	for (pc = mx.piece; pc < of; pc++)
		at += pc->size;
	return at;
}

void mx_want(uint64_t seed, unsigned int is)
{
	struct mx_piece *pc;

	mx_each(pc)
		if (pc->is & is && !(mx.kind->is & MX_READ_ONLY))
			vg_pattern_fill(pc->want, pc->size, seed,
					stage_offset(pc));
}

void mx_cpu_write(uint64_t seed)
{
	struct mx_piece *pc;

	if (mx.kind->is & MX_READ_ONLY)
		return;
	mx_want(seed, ~0u);
	mx_each(pc)
		memcpy(pc->cpu, pc->want, pc->size);
}

static void same(const char *got, const struct mx_piece *pc, const char *who)
{
	uint64_t i;

	if (!memcmp(got, pc->want, pc->size))
		return;
	for (i = 0; got[i] == pc->want[i]; i++)
		;
	tap_fail(__FILE__, __LINE__,
		 "piece %d, byte 0x%lx of 0x%lx is 0x%02x for the %s, should be 0x%02x",
		 (int)(pc - mx.piece), i, pc->size, (uint8_t)got[i], who,
		 (uint8_t)pc->want[i]);
}

void mx_cpu_check(void)
{
	struct mx_piece *pc;

	mx_each(pc)
		same(pc->cpu, pc, "CPU");
}

/*
 * Split the memory into chunks, and call @fn for each chunk. The argument "turn" selects the queue
 * for the chunk: chunks go to the queues in turn. With one queue, a chunk is a whole piece (struct
 * mx_piece). With several queues, a piece has many chunks.
 */
static void deal(void (*fn)(int turn, struct mx_piece *pc, uint64_t at,
			    uint64_t n))
{
	int turns = mx.users->queues + mx.users->compute, turn = 0;
	struct mx_piece *pc;
	uint64_t at, n;

	mx_each(pc)
		for (at = 0; at < pc->size; at += n, turn++) {
			n = pc->size;
			/* Small chunks: different queues access the same pages. */
			if (turns > 1)
				n = 900 + (uint64_t)turn * 388 % 2600;
			if (pc->size > MX_SIZE)
				n *= 16;
			if (n > pc->size - at)
				n = pc->size - at;
			fn(turn % turns, pc, at, n);
		}
}

static bool by_compute(int turn, uint64_t n)
{
	return turn == mx.users->queues && n % 4 == 0;
}

static struct vg_queue *queue(int turn)
{
	return &mx.q[turn % mx.users->queues];
}

static void emit_write(int turn, struct mx_piece *pc, uint64_t at, uint64_t n)
{
	uint64_t from = stage_offset(pc) + at, k, some;
	char *in = mx.in.cpu;

	if (!by_compute(turn, n)) {
		OK(vg_emit_copy(queue(turn), (uintptr_t)pc->p + at,
				mx.in.va + from, n));
		return;
	}
	for (k = 0; k < n; k += some) {
		some = n - k < VG_PAGE ? n - k : VG_PAGE;
		OK(vg_pm4_write(&mx.cq, (uintptr_t)pc->p + at + k,
				(uint32_t *)(in + from + k),
				(unsigned int)(some / 4)));
	}
}

/*
 * Let an SDMA queue copy the chunk to mx.out. If it is the compute queue's turn, the compute queue
 * also polls the chunk's first dword for the expected value. The copy does not wait for the poll.
 */
static void emit_read(int turn, struct mx_piece *pc, uint64_t at, uint64_t n)
{
	uint32_t first;

	memcpy(&first, pc->want + at, n < 4 ? n : 4);
	if (by_compute(turn, n))
		OK(vg_pm4_wait(&mx.cq, (uintptr_t)pc->p + at, first));
	OK(vg_emit_copy(queue(turn), mx.out.va + stage_offset(pc) + at,
			(uintptr_t)pc->p + at, n));
}

static uint32_t seqs[MX_QUEUES];

static void submit(void)
{
	int i;

	for (i = 0; i < mx.users->queues; i++)
		OK(vg_emit_fence(&mx.q[i], &seqs[i]));
	if (mx.users->compute) {
		OK(vg_cq_emit_fence(&mx.cq));
		vg_cq_submit(&mx.cq);
	}
	for (i = 0; i < mx.users->queues; i++)
		vg_queue_submit(&mx.q[i]);
}

static void await(void)
{
	int i;

	for (i = 0; i < mx.users->queues; i++)
		OK(vg_wait(&mx.q[i], seqs[i], VG_TIMEOUT_MS));
	if (mx.users->compute)
		OK(vg_cq_wait(&mx.cq, VG_TIMEOUT_MS));
}

void mx_submit(void)
{
	int i;

	for (i = 0; i < mx.users->queues; i++)
		vg_queue_submit(&mx.q[i]);
}

void mx_finish(void)
{
	submit();
	await();
}

void mx_gpu_write_begin(uint64_t seed)
{
	struct mx_piece *pc;

	if (mx.kind->is & MX_READ_ONLY)
		return;
	mx_want(seed, ~0u);
	mx_each(pc)
		memcpy((char *)mx.in.cpu + stage_offset(pc), pc->want,
		       pc->size);
	deal(emit_write);
	submit();
}

void mx_gpu_write(uint64_t seed)
{
	if (mx.kind->is & MX_READ_ONLY)
		return;
	mx_gpu_write_begin(seed);
	await();
}

void mx_gpu_write_at(struct mx_piece *pc, uint64_t at, uint64_t n,
		     uint64_t seed)
{
	static int turn;
	uint64_t from = stage_offset(pc) + at;

	vg_pattern_fill(pc->want + at, n, seed, from);
	memcpy((char *)mx.in.cpu + from, pc->want + at, n);
	OK(vg_emit_copy(queue(turn++), (uintptr_t)pc->p + at, mx.in.va + from,
			n));
}

void mx_gpu_check_begin(void)
{
	memset(mx.out.cpu, 0xa5, total());
	deal(emit_read);
	submit();
}

void mx_gpu_check_end(void)
{
	struct mx_piece *pc;

	await();
	mx_each(pc)
		same((char *)mx.out.cpu + stage_offset(pc), pc, "GPU");
}

void mx_gpu_check(void)
{
	mx_gpu_check_begin();
	mx_gpu_check_end();
}
