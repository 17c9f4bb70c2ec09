// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file has the actions of the matrix that call the memory manager, and those in
 * which the kernel reads or writes the memory.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "svm-matrix.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Move all pieces to other addresses with mremap(). */
static void move_pieces(int flags)
{
	char *to = mx_room(MX_HUGE);
	struct mx_piece *pc;
	uint64_t size;

	if (!(mx.kind->is & MX_THP))
		to = mx_room(MX_SIZE);
	mx_each(pc) {
		char *p = mx_pages(pc, &size);
		char *new = to + (p - mx.at);

		CHECK(mremap(p, size, size,
			     MREMAP_MAYMOVE | MREMAP_FIXED | flags, new) == new,
		      "mremap: %s", strerror(errno));
		if (pc->cpu == pc->p)
			pc->cpu = new;
		pc->p = new;
	}
	mx.at = to;
	mx_register();
}

static void remapped(void)
{
	mx_gpu_write(2);
	move_pieces(0);
	mx_gpu_check();
	mx_gpu_write(3);
	move_pieces(0);
	mx_cpu_check();
}

static void swap_pieces(struct mx_piece *other)
{
	struct mx_piece mine[MX_PIECES];

	memcpy(mine, mx.piece, sizeof(mine));
	memcpy(mx.piece, other, sizeof(mine));
	memcpy(other, mine, sizeof(mine));
}

/* After MREMAP_DONTUNMAP the old address must have fresh memory, which must be usable. */
static void remapped_both(void)
{
	struct mx_piece old[MX_PIECES], *pc;
	int i;

	mx_gpu_write(2);
	memcpy(old, mx.piece, sizeof(old));
	move_pieces(MREMAP_DONTUNMAP);
	mx_gpu_check();
	for (i = 0; i < mx.n_pieces; i++)
		if (old[i].is & MX_PRIVATE)
			old[i].want = old[i].fresh;
	swap_pieces(old);
	mx_register();
	mx_gpu_check();
	mx_gpu_write(3);
	mx_gpu_check();
	mx_cpu_check();
	/* Put the moved pieces back into mx.piece, because the caller checks mx.piece. */
	swap_pieces(old);
	/*
	 * With MX_VIEWS, pc->cpu and pc->p are different mappings of one file. The GPU has just
	 * written to this file at the piece's old address. pc->cpu must show the written data.
	 */
	mx_each(pc)
		if (pc->cpu != pc->p)
			CHECK(!memcmp(pc->cpu, pc->want, pc->size), "views");
}

/* Shrink each piece to its first half by mremap(), and enlarge it again. */
static void shrunk(void)
{
	struct mx_piece *pc;
	uint64_t size, half;

	mx_gpu_write(2);
	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		half = size / VG_PAGE / 2 * VG_PAGE;
		CHECK(mremap(p, size, half, 0) == p, "mremap: %s",
		      strerror(errno));
		CHECK(mremap(p, half, size, 0) == p, "mremap: %s",
		      strerror(errno));
		if (pc->is & MX_PRIVATE)
			memcpy(pc->want + half, pc->fresh + half, size - half);
	}
	mx_register();
	mx_gpu_check();
	mx_gpu_write(3);
}

static void protect(int prot, bool middle)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_each(pc) {
		char *p = middle ? mx_middle(pc, &size) : mx_pages(pc, &size);

		CHECK(!mprotect(p, size, prot), "mprotect: %s",
		      strerror(errno));
	}
}

static void protected(void)
{
	mx_gpu_write(2);
	protect(PROT_READ, false);
	mx_gpu_check();
	protect(PROT_NONE, true);
	protect(PROT_READ | PROT_WRITE, false);
	mx_register();
	mx_gpu_write(3);
	mx_gpu_check();
	protect(PROT_READ, true);
	mx_gpu_check();
	protect(PROT_READ | PROT_WRITE, true);
}

/* A write to read-only memory must stop the queues and change nothing. */
static void write_protected(void)
{
	if (!(mx.kind->is & MX_READ_ONLY)) {
		mx_gpu_write(2);
		protect(PROT_READ, false);
	}
	mx_gpu_check();
	memset(mx.in.cpu, 0x5c, VG_PAGE);
	tap_expect_stop(&mx.q[0], (uintptr_t)mx.piece->p + 100, mx.in.va, 900);
	mx_close_queues();
}

static void access_changed(void)
{
	mx_gpu_write(2);
	mx_attr_gpus(KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	mx_attr_gpus(mx.place == MX_IN_PLACE ?
		     KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE :
		     KFD_IOCTL_SVM_ATTR_ACCESS);
	mx_gpu_check();
	mx_attr(KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO);
	mx_gpu_check();
	mx_attr(KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO);
	mx_gpu_write(3);
}

/*
 * Discard the middle of each piece. A private mapping of a file must show the file again,
 * other private memory must be zero, and shared memory must keep its contents.
 */
static void discarded(void)
{
	struct mx_piece *pc;
	uint64_t size, at;
	int i;

	for (i = 0; i < 2; i++) {
		mx_gpu_write(2 + i);
		mx_each(pc) {
			char *p = mx_middle(pc, &size);

			at = p - pc->p;
			CHECK(!madvise(p, size, MADV_DONTNEED), "madvise: %s",
			      strerror(errno));
			if (pc->is & MX_PRIVATE)
				memcpy(pc->want + at, pc->fresh + at, size);
		}
		mx_gpu_check();
	}
}

/* Each piece is shared memory, so it has a file. Punch a hole into this file (MADV_REMOVE). */
static void punched(void)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_gpu_write(2);
	mx_each(pc) {
		char *p = mx_middle(pc, &size);

		CHECK(!madvise(p, size, MADV_REMOVE), "madvise: %s",
		      strerror(errno));
		memset(pc->want + (p - pc->p), 0, size);
	}
	mx_gpu_check();
	mx_gpu_write(3);
}

/*
 * Truncate the file and extend it again. The truncation also drops private copies of the
 * truncated pages.
 */
static void truncated(void)
{
	const uint64_t half = MX_SIZE / 2;
	struct mx_piece *pc = mx.piece;

	mx_gpu_write(2);
	CHECK(!ftruncate(mx.fd, (off_t)half), "ftruncate");
	CHECK(!ftruncate(mx.fd, (off_t)MX_SIZE), "ftruncate");
	memset(pc->want + half, 0, MX_SIZE - half);
	mx_register();
	mx_gpu_check();
	mx_gpu_write(3);
}

/* Map other memory over the middle of each piece. */
static void replaced(void)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_gpu_write(2);
	mx_each(pc) {
		char *p = mx_middle(pc, &size);

		CHECK(mmap(p, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
		memset(pc->want + (p - pc->p), 0, size);
	}
	mx_register();
	mx_gpu_check();
	mx_gpu_write(3);
}

/* Unmap one page. The memory on both sides of it must stay usable. */
static void cut(void)
{
	struct mx_piece *left = mx.piece, *right = &mx.piece[mx.n_pieces];
	uint64_t at = left->size / VG_PAGE / 2 * VG_PAGE;

	mx_gpu_write(2);
	CHECK(mx.n_pieces < MX_PIECES, "pieces");
	CHECK(!munmap(left->p + at, VG_PAGE), "munmap");
	*right = *left;
	mx.n_pieces++;
	left->size = at;
	at += VG_PAGE;
	right->p += at;
	right->cpu += at;
	right->want += at;
	right->fresh += at;
	right->size -= at;
	mx_gpu_check();
	mx_gpu_write(3);
	mx_gpu_check();
	if (mx.kind->is & MX_MOVES)
		mx_prefetch(&mx.vg.gpu[0]);
}

/*
 * Map new memory at the same address. In half of the rounds the CPU is the first to
 * write it, in the others the GPU.
 */
static void again(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		mx_make_again();
		mx_register();
		if (i % 2)
			mx_cpu_write(10 + i);
		mx_gpu_check();
		mx_gpu_write(20 + i);
		if (i == 1 && mx.kind->is & MX_MOVES)
			mx_prefetch(&mx.vg.gpu[0]);
		mx_cpu_check();
	}
}

/*
 * Let the kernel read the memory, by a write() to a pipe, and then write new contents to
 * the memory, by a read() from the pipe.
 */
static void by_calls(void)
{
	struct mx_piece *pc;
	uint64_t at, n;
	int fd[2];
	char *buf = malloc(VG_PAGE);

	CHECK(buf && !pipe(fd), "pipe");
	mx_gpu_write(2);
	mx_each(pc)
		for (at = 0; at < pc->size; at += n) {
			n = pc->size - at < VG_PAGE ? pc->size - at : VG_PAGE;
			CHECK(write(fd[1], pc->p + at, n) == (ssize_t)n,
			      "write: %s", strerror(errno));
			CHECK(read(fd[0], buf, n) == (ssize_t)n, "read");
			CHECK(!memcmp(buf, pc->want + at, n),
			      "a call read other bytes at 0x%lx", at);
		}
	if (!(mx.kind->is & MX_READ_ONLY)) {
		mx_prefetch(&mx.vg.gpu[0]);
		mx_want(3, ~0u);
		mx_each(pc)
			for (at = 0; at < pc->size; at += n) {
				n = pc->size - at < VG_PAGE ? pc->size - at :
							      VG_PAGE;
				CHECK(write(fd[1], pc->want + at, n) ==
				      (ssize_t)n, "write");
				CHECK(read(fd[0], pc->p + at, n) == (ssize_t)n,
				      "read: %s", strerror(errno));
			}
	}
	mx_gpu_check();
	free(buf);
}

/* Number of pages that the pipe in pinned() references. A pipe can hold at most 16 pages. */
#define PINNED	8

/*
 * A pipe holds references to some pages. These pages must stay in system memory, and the
 * GPU must write to them in system memory.
 */
static void pinned(void)
{
	struct mx_piece *pc = mx.piece;
	struct iovec iov = { pc->p, PINNED * VG_PAGE };
	char *seen = malloc(iov.iov_len);
	int fd[2];

	CHECK(seen && !pipe(fd), "pipe");
	mx_attr(KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0);
	CHECK(vmsplice(fd[1], &iov, 1, 0) == (ssize_t)iov.iov_len,
	      "vmsplice: %s", strerror(errno));
	mx_attr(KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, mx.vg.gpu[0].gpu_id);
	CHECK(mx_in_vram() <= mx_movable() - PINNED,
	      "%ld of %ld pages are in VRAM", mx_in_vram(), mx_movable());
	mx_gpu_check();
	mx_gpu_write(2);
	CHECK(read(fd[0], seen, iov.iov_len) == (ssize_t)iov.iov_len, "read");
	CHECK(!memcmp(seen, pc->want, iov.iov_len),
	      "the pipe's pages are not those that the GPU wrote");
	free(seen);
}

/* mlock() must migrate the memory to system memory and keep it there. */
static void locked(void)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_prefetch(&mx.vg.gpu[0]);
	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		CHECK(!mlock(p, size), "mlock: %s", strerror(errno));
	}
	CHECK(!mx_in_vram(), "%ld locked pages are in VRAM", mx_in_vram());
	mx_gpu_check();
	mx_gpu_write(2);
	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		CHECK(!munlock(p, size), "munlock: %s", strerror(errno));
	}
	mx_gpu_write(3);
}

/* Collapse small pages into a huge page. */
static void collapsed(void)
{
	uint64_t deadline = vg_deadline();
	char *p = mx.piece->p;
	int r;

	CHECK(mmap(p, MX_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
	CHECK(!madvise(p, MX_HUGE, MADV_NOHUGEPAGE), "madvise");
	mx_register();
	mx_cpu_write(2);
	CHECK(!mx_huge_bytes(p), "the page is huge already");
	/* With granularity 0, the CPU access below migrates only one page back. */
	mx_attr(KFD_IOCTL_SVM_ATTR_GRANULARITY, 0);
	mx_put_in_place();
	/*
	 * MADV_COLLAPSE needs one page in system memory, and migrates the others back itself.
	 * mx_put_in_place() may have moved all pages to VRAM.
	 */
	*(volatile char *)p = *p;
	CHECK(!madvise(p, MX_HUGE, MADV_HUGEPAGE), "madvise");
	/*
	 * Repeat the call, because pages that were just migrated may not be on an LRU
	 * list yet.
	 */
	while ((r = madvise(p, MX_HUGE, MADV_COLLAPSE)) && errno == EAGAIN &&
	       vg_now() < deadline)
		sched_yield();
	CHECK(!r, "collapse: %s", strerror(errno));
	CHECK(mx_huge_bytes(p) == MX_HUGE, "the page is not huge");
	mx_gpu_check();
	mx_gpu_write(3);
}

/*
 * Make the pages of @pc clean, so that reclaim can drop them unless they are written again.
 */
static void make_clean(const struct mx_piece *pc)
{
	volatile char *p;
	uint64_t size;

	p = mx_pages(pc, &size);
	if (pc->is & MX_PRIVATE) {
		memset(pc->p, 0x11, pc->size);
		CHECK(!madvise((char *)p, size, MADV_FREE), "madvise: %s",
		      strerror(errno));
		return;
	}
	for (; size; size -= VG_PAGE, p += VG_PAGE)
		(void)*p;
}

static void page_out(void *p, uint64_t size)
{
	CHECK(!madvise(p, size, MADV_PAGEOUT), "madvise: %s", strerror(errno));
}

/*
 * Check that reclaim drops clean pages. paged_out() relies on this: a page that a GPU's write has
 * wrongly left clean must lose its contents, or the test misses the bug.
 */
static void see_page_out(unsigned int is)
{
	int flags = is & MX_SHARED ? MAP_SHARED : MAP_PRIVATE;
	unsigned char there[MX_PAGES];
	struct mx_piece pc = { .size = MX_SIZE, .is = is };
	int i, n = 0;

	pc.p = mmap(NULL, MX_SIZE, PROT_READ | PROT_WRITE,
		    flags | MAP_ANONYMOUS, -1, 0);
	CHECK(pc.p != MAP_FAILED, "mmap");
	make_clean(&pc);
	page_out(pc.p, MX_SIZE);
	CHECK(!mincore(pc.p, MX_SIZE, there), "mincore");
	for (i = 0; i < MX_PAGES; i++)
		n += there[i] & 1;
	CHECK(!n, "%d clean pages are still there", n);
	CHECK(!munmap(pc.p, MX_SIZE), "munmap");
}

/*
 * The GPU writes to clean pages before reclaim runs. Catches: the write does not mark the pages
 * dirty, so that reclaim drops the contents.
 */
static void paged_out(void)
{
	struct mx_piece *pc;
	cpu_set_t one;
	uint64_t size;
	int i;

	/*
	 * Stay on one CPU. MADV_FREE leaves pages in a list of its CPU, and MADV_PAGEOUT processes
	 * only the list of its own CPU.
	 */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one), "CPU");
	mx_each(pc) {
		see_page_out(pc->is);
		make_clean(pc);
	}
	mx_gpu_write(2);
	for (i = 0; i < 2; i++) {
		mx_each(pc) {
			char *p = mx_pages(pc, &size);

			page_out(p, size);
		}
		/*
		 * This check migrates pages from VRAM back to system memory. In the second
		 * round, reclaim therefore finds them in system memory.
		 */
		mx_cpu_check();
	}
}

#define CUT	(MX_READ_ONLY | MX_HUGETLB)

const struct mx_action mx_mm_actions[] = {
	{ "mremap", remapped, MX_MMAP, MX_HUGETLB, MX_READS },
	{ "mremap DONTUNMAP", remapped_both, MX_MMAP, CUT, 0 },
	{ "mremap smaller and larger", shrunk, MX_MMAP, CUT, 0 },
	{ "mprotect", protected, 0, CUT, 0 },
	{ "write-protected", write_protected, MX_MMAP, 0,
	  MX_READS | MX_LAST },
	{ "access changes", access_changed, 0, MX_READ_ONLY, 0 },
	{ "DONTNEED", discarded, MX_FRESH, MX_LOCKED | CUT, 0 },
	{ "hole in the file", punched, MX_SHARED, 0, 0 },
	{ "truncated", truncated, MX_FILE, 0, 0 },
	{ "replaced in the middle", replaced, MX_MMAP, CUT | MX_VIEWS, 0 },
	{ "munmap in the middle", cut, MX_MMAP, MX_HUGETLB, MX_READS },
	{ "new each time", again, MX_MMAP | MX_FRESH, 0, 0 },
	{ "read() and write()", by_calls, 0, 0, MX_READS },
	{ "pinned", pinned, MX_MOVES, MX_READ_ONLY, MX_MOVES_IT },
	{ "mlock", locked, MX_MOVES, MX_LOCKED | MX_READ_ONLY, MX_MOVES_IT },
	{ "collapsed", collapsed, MX_THP, 0, 0 },
	{ "paged out", paged_out, MX_FRESH, MX_LOCKED | MX_FILE | CUT | MX_MIXED,
	  MX_UNTOUCHED },
};

const int mx_n_mm_actions = sizeof(mx_mm_actions) / sizeof(mx_mm_actions[0]);
