// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file allocates the kinds of memory that the cases of vgpu-test-svm-matrix use. The memory
 * of a case consists of one or more pieces (struct mx_piece), each within one mapping.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "svm-matrix.h"

#define FILE_SEED	0xf11e
#define HUGE_POOL	"/proc/sys/vm/nr_hugepages"

/*
 * A piece of malloc() memory starts ODD_START bytes after the start of a page and ends
 * ODD_END bytes before the end of a page.
 */
#define ODD_START	36
#define ODD_END		41

char *mx_room(uint64_t size)
{
	uint64_t room = (size + MX_HUGE - 1) / MX_HUGE * MX_HUGE + 2 * MX_HUGE;
	char *p = mmap(NULL, room, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t mid;

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	mid = ((uintptr_t)p + 2 * MX_HUGE - 1) & ~(MX_HUGE - 1);
	return (char *)(size < MX_HUGE ? mid - size / 2 : mid);
}

static struct mx_piece *add(char *p, uint64_t size, unsigned int is)
{
	struct mx_piece *pc = &mx.piece[mx.n_pieces++];

	CHECK(mx.n_pieces <= MX_PIECES, "too many pieces");
	pc->p = p;
	pc->cpu = p;
	pc->size = size;
	pc->want = calloc(1, size);
	pc->fresh = calloc(1, size);
	CHECK(pc->want && pc->fresh, "no memory");
	pc->is = is;
	return pc;
}

static char *map(char *at, uint64_t size, int flags, int fd)
{
	char *p = mmap(at, size, PROT_READ | PROT_WRITE,
		       flags | (at ? MAP_FIXED : 0), fd, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

/*
 * Add a piece (struct mx_piece) of malloc() memory, which is not page aligned. malloc() uses mmap()
 * for sizes of @threshold bytes or more, and the heap for smaller sizes.
 */
static char *add_malloc(int threshold)
{
	char *p;

	mallopt(M_MMAP_THRESHOLD, threshold);
	p = malloc(MX_SIZE + 2 * VG_PAGE);
	CHECK(p, "no memory");
	add((char *)(((uintptr_t)p | (VG_PAGE - 1)) + 1 + ODD_START),
	    MX_SIZE - ODD_START - ODD_END, MX_PRIVATE | MX_MOVES);
	return p;
}

static void make_malloc(char *at)
{
	(void)at;
	/*
	 * Set M_MMAP_THRESHOLD to 128 KiB, the default. malloc() then creates a separate mapping
	 * for the piece, because the piece (256 KiB, MX_SIZE) is larger than this threshold.
	 */
	add_malloc(128 * VG_KIB);
}

static void make_heap(char *at)
{
	char *p = add_malloc(4 * MX_HUGE);

	(void)at;
	CHECK(p < (char *)sbrk(0) && (char *)sbrk(0) - p < (long)(2 * MX_HUGE),
	      "malloc's memory is not the heap's");
}

static void make_bss(char *at)
{
	static char bss[MX_SIZE + 2 * VG_PAGE];
	char *p = (char *)(((uintptr_t)bss | (VG_PAGE - 1)) + 1);

	(void)at;
	add(p, MX_SIZE, MX_PRIVATE | MX_MOVES);
}

/*
 * Add stack memory far below the stack pointer. Before that, write to each page down to this
 * memory, so that the stack grows.
 */
static void make_stack(char *at)
{
	char here, *p = (char *)((uintptr_t)&here & ~(VG_PAGE - 1));
	volatile char *deep;

	(void)at;
	p -= 2 * MX_SIZE;
	for (deep = &here; deep > p - VG_PAGE; deep -= VG_PAGE)
		*deep = *deep;
	add(p, MX_SIZE, MX_PRIVATE | MX_MOVES);
}

static void make_anon(char *at)
{
	add(map(at, MX_SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1), MX_SIZE,
	    MX_PRIVATE | MX_MOVES);
}

static void make_shared(char *at)
{
	add(map(at, MX_SIZE, MAP_SHARED | MAP_ANONYMOUS, -1), MX_SIZE,
	    MX_SHARED);
}

/* Add a mapping of a new file that has a pattern. Store the file in mx.fd. */
static struct mx_piece *add_file(char *at, uint64_t size, int flags)
{
	struct mx_piece *pc;

	mx.fd = memfd_create("matrix", MFD_CLOEXEC);
	CHECK(mx.fd >= 0, "memfd: %s", strerror(errno));
	CHECK(!ftruncate(mx.fd, (off_t)size), "ftruncate");
	pc = add(map(at, size, flags, mx.fd), size,
		 flags == MAP_SHARED ? MX_SHARED : MX_PRIVATE | MX_MOVES);
	vg_pattern_fill(pc->fresh, size, FILE_SEED, 0);
	CHECK(pwrite(mx.fd, pc->fresh, size, 0) == (ssize_t)size, "pwrite");
	memcpy(pc->want, pc->fresh, size);
	return pc;
}

static void make_private_file(char *at)
{
	add_file(at, MX_SIZE, MAP_PRIVATE);
}

static void make_shared_file(char *at)
{
	add_file(at, MX_SIZE, MAP_SHARED);
}

static void make_two_views(char *at)
{
	struct mx_piece *pc = add_file(at, MX_SIZE, MAP_SHARED);

	pc->cpu = map(NULL, MX_SIZE, MAP_SHARED, mx.fd);
}

static void make_thp(char *at)
{
	map(at, MX_HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(!madvise(at, MX_HUGE, MADV_HUGEPAGE), "madvise: %s",
	      strerror(errno));
	add(at, MX_HUGE, MX_PRIVATE | MX_MOVES);
}

static void make_hugetlb(char *at)
{
	map(at, MX_HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	add(at, MX_HUGE, MX_PRIVATE);
}

static void make_locked(char *at)
{
	make_anon(at);
	CHECK(!mlock(at, MX_SIZE), "mlock: %s", strerror(errno));
}

static void make_read_only(char *at)
{
	struct mx_piece *pc;

	make_anon(at);
	pc = mx.piece;
	vg_pattern_fill(pc->p, pc->size, FILE_SEED, 1);
	memcpy(pc->want, pc->p, pc->size);
	CHECK(!mprotect(at, MX_SIZE, PROT_READ), "mprotect");
}

/*
 * Add mappings of several kinds side by side, with an inaccessible page between the
 * last two.
 */
static void make_patchwork(char *at)
{
	const uint64_t size = MX_SIZE / 4;

	add(map(at, size, MAP_PRIVATE | MAP_ANONYMOUS, -1), size,
	    MX_PRIVATE | MX_MOVES);
	add(map(at + size, size, MAP_SHARED | MAP_ANONYMOUS, -1), size,
	    MX_SHARED);
	add_file(at + 2 * size, size, MAP_PRIVATE);
	/* The first page of the last quarter stays inaccessible, as mx_room() mapped it. */
	add(map(at + 3 * size + VG_PAGE, size - VG_PAGE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1),
	    size - VG_PAGE, MX_PRIVATE | MX_MOVES);
}

#define OWN	(MX_MMAP | MX_FRESH)
#define ANON	(MX_PRIVATE | MX_MOVES)

const struct mx_kind mx_kinds[] = {
	{ "malloc", MX_ONE_GPU | ANON, make_malloc, 4 },
	{ "heap", MX_ONE_GPU | ANON, make_heap, 4 },
	{ "bss", MX_ONE_GPU | ANON | MX_FRESH, make_bss, 4 },
	{ "stack", MX_ONE_GPU | ANON, make_stack, 4 },
	{ "private", OWN | ANON, make_anon, 1 },
	{ "shared", OWN | MX_SHARED, make_shared, 2 },
	{ "private file", MX_ONE_GPU | OWN | ANON | MX_FILE,
	  make_private_file, 2 },
	{ "shared file", MX_ONE_GPU | OWN | MX_SHARED | MX_FILE,
	  make_shared_file, 2 },
	{ "file seen twice", OWN | MX_SHARED | MX_FILE | MX_VIEWS,
	  make_two_views, 2 },
	{ "huge pages", OWN | ANON | MX_THP, make_thp, 2 },
	{ "hugetlb", MX_MMAP | MX_PRIVATE | MX_FRESH | MX_HUGETLB,
	  make_hugetlb, 2 },
	{ "locked", MX_ONE_GPU | OWN | ANON | MX_LOCKED, make_locked, 2 },
	{ "read-only", MX_MMAP | ANON | MX_READ_ONLY, make_read_only, 1 },
	{ "patchwork", OWN | MX_PRIVATE | MX_MIXED, make_patchwork, 1 },
};

const int mx_n_kinds = sizeof(mx_kinds) / sizeof(mx_kinds[0]);

void mx_make_again(void)
{
	struct mx_piece *pc;
	uint64_t size;

	mx_each(pc) {
		char *p = mx_pages(pc, &size);

		CHECK(mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			   MAP_NORESERVE | MAP_FIXED, -1, 0) == p, "mmap");
		if (pc->cpu != pc->p)
			CHECK(!munmap(pc->cpu, size), "munmap");
		free(pc->want);
		free(pc->fresh);
	}
	mx.n_pieces = 0;
	if (mx.fd > 0)
		close(mx.fd);
	mx.kind->make(mx.at);
}

char *mx_pages(const struct mx_piece *pc, uint64_t *size)
{
	uintptr_t first = (uintptr_t)pc->p & ~(VG_PAGE - 1);
	uintptr_t end = ((uintptr_t)pc->p + pc->size + VG_PAGE - 1) &
			~(VG_PAGE - 1);

	*size = end - first;
	return (char *)first;
}

char *mx_middle(const struct mx_piece *pc, uint64_t *size)
{
	uint64_t all, third;
	char *p = mx_pages(pc, &all);

	third = all / VG_PAGE / 3 * VG_PAGE;
	*size = third;
	return p + third;
}

uint64_t mx_huge_bytes(const void *p)
{
	uint64_t first, last, kib, bytes = 0;
	bool here = false;
	char line[256];
	FILE *f = fopen("/proc/self/smaps", "re");

	CHECK(f, "smaps: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
			here = (uintptr_t)p >= first && (uintptr_t)p < last;
		else if (here &&
			 sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			bytes += kib * VG_KIB;
	}
	fclose(f);
	return bytes;
}

void mx_huge_pool(int pages)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pages);
	if (vg_put(HUGE_POOL, text))
		tap_diag("%s", vg_error());
}
