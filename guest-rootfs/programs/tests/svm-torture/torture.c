// SPDX-License-Identifier: GPL-2.0-or-later
/* This file implements the slots that torture.h declares, and the report of a failure. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "torture.h"

/*
 * Slots are mapped from this address on. The address is far from those that the kernel
 * chooses for other mappings, so that the kernel puts nothing between the slots.
 */
#define ARENA		0x100000000000ull

struct vg t_vg;
struct vg_gpu *t_gpu;
bool t_xnack;
uint64_t t_seed;
struct t_slot t_slots[T_SLOTS];
int t_base_file;
atomic_ulong t_copies;

static char *base, *zeros;

static const char *const kinds[] = { "anonymous", "huge", "shared", "file" };

/* One step of the random number generator splitmix64. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t t_below(struct t_thread *t, uint64_t n)
{
	t->rng = mix(t->rng);
	return (t->rng >> 11) % n;
}

void t_begin_op(struct t_thread *t, const struct t_op *op)
{
	t->op = op;
	t->rng = mix(t_seed ^ mix((uint64_t)t->id << 48 ^ t->nth));
	atomic_store(&t->since, vg_now());
}

static void show(const struct t_slot *s)
{
	unsigned int i, end = atomic_load(&s->n_notes);
	uint64_t now = vg_now();

	tap_diag("slot %d: %s, 0x%lx bytes at %p, parts 0x%lx 0x%lx 0x%lx; ms ago, thread.op, what, offset+bytes:",
		 s->index, kinds[s->kind], s->size, (void *)s->at, s->bound[1],
		 s->bound[2], s->bound[3]);
	for (i = end > T_HISTORY ? end - T_HISTORY : 0; i != end; i++) {
		const struct t_note *n = &s->note[i % T_HISTORY];

		tap_diag("  %8.3f %2d.%lu %s 0x%lx+0x%lx",
			 (double)(now - n->ns) / 1e6, n->thread, n->nth, n->op,
			 n->at, n->bytes);
	}
}

void t_fail(struct t_thread *t, int line, const char *fmt, ...)
{
	static atomic_flag failed = ATOMIC_FLAG_INIT;
	char text[400];
	va_list ap;
	int i;

	/*
	 * Only the first failure is reported, because tap_fail() ends the process. Other
	 * threads that fail at the same time wait here.
	 */
	while (atomic_flag_test_and_set(&failed))
		pause();
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tap_diag("%s", text);
	for (i = 0; i < 2; i++)
		if (t->slot[i] && (!i || t->slot[1] != t->slot[0]))
			show(t->slot[i]);
	tap_fail(t->op ? t->op->name : "torture", line,
		 "thread %d, op %lu: %s", t->id, t->nth, text);
}

struct t_slot *t_pick(struct t_thread *t)
{
	return &t_slots[t_below(t, T_SLOTS)];
}

void t_lock_map(struct t_thread *t, struct t_slot *s, bool write)
{
	if (write)
		pthread_rwlock_wrlock(&s->map);
	else
		pthread_rwlock_rdlock(&s->map);
	t->slot[1] = t->slot[0];
	t->slot[0] = s;
}

void t_unlock_map(struct t_slot *s)
{
	pthread_rwlock_unlock(&s->map);
}

struct t_slot *t_lock_any(struct t_thread *t, bool write)
{
	struct t_slot *s = t_pick(t);

	t_lock_map(t, s, write);
	return s;
}

void t_lock_pages(struct t_thread *t, struct t_piece *p)
{
	t_any_pages(t, t_lock_any(t, false), p);
	t_note(t, p);
}

static void lock_part(struct t_slot *s, int part, bool write)
{
	if (write)
		pthread_rwlock_wrlock(&s->part[part]);
	else
		pthread_rwlock_rdlock(&s->part[part]);
}

void t_lock_parts(struct t_slot *s, bool write)
{
	int i;

	for (i = 0; i < T_PARTS; i++)
		lock_part(s, i, write);
}

void t_unlock_parts(struct t_slot *s)
{
	int i;

	for (i = 0; i < T_PARTS; i++)
		pthread_rwlock_unlock(&s->part[i]);
}

void t_lock_part(struct t_thread *t, struct t_piece *p, bool write)
{
	p->s = t_pick(t);
	p->part = (int)t_below(t, T_PARTS);
	t_lock_map(t, p->s, false);
	lock_part(p->s, p->part, write);
	p->off = p->s->bound[p->part];
	p->bytes = p->s->bound[p->part + 1] - p->off;
}

void t_unlock_part(const struct t_piece *p)
{
	pthread_rwlock_unlock(&p->s->part[p->part]);
	t_unlock_map(p->s);
}

void t_some_bytes(struct t_thread *t, struct t_piece *p, uint64_t max)
{
	uint64_t first = p->s->bound[p->part];
	uint64_t all = p->s->bound[p->part + 1] - first;

	if (max > all)
		max = all;
	if (max > 3 * VG_PAGE && t_below(t, 4))
		max = 3 * VG_PAGE;
	p->bytes = 1 + t_below(t, max);
	p->off = first + t_below(t, all - p->bytes + 1);
}

static void some_pages(struct t_thread *t, struct t_piece *p, uint64_t first,
		       uint64_t end)
{
	uint64_t n = (end - first) / VG_PAGE;
	uint64_t count = 1 + t_below(t, t_below(t, 4) && n > 4 ? 4 : n);

	p->off = first + t_below(t, n - count + 1) * VG_PAGE;
	p->bytes = count * VG_PAGE;
}

bool t_some_pages(struct t_thread *t, struct t_piece *p)
{
	uint64_t first = (p->s->bound[p->part] + VG_PAGE - 1) & -VG_PAGE;
	uint64_t end = p->s->bound[p->part + 1] & -VG_PAGE;

	if (first >= end)
		return false;
	some_pages(t, p, first, end);
	return true;
}

bool t_lock_some(struct t_thread *t, struct t_piece *p)
{
	t_lock_part(t, p, true);
	if (!t_some_pages(t, p)) {
		t_unlock_part(p);
		return false;
	}
	t_note(t, p);
	return true;
}

void t_any_pages(struct t_thread *t, struct t_slot *s, struct t_piece *p)
{
	p->s = s;
	p->part = 0;
	some_pages(t, p, 0, s->size);
}

void t_note(struct t_thread *t, const struct t_piece *p)
{
	unsigned int i = atomic_fetch_add(&p->s->n_notes, 1);

	p->s->note[i % T_HISTORY] = (struct t_note){
		.ns = vg_now(), .nth = t->nth, .at = p->off,
		.bytes = p->bytes, .op = t->op ? t->op->name : "-",
		.thread = t->id,
	};
}

void t_fresh(struct t_thread *t, const struct t_piece *p)
{
	vg_pattern_fill(p->s->shadow + p->off, p->bytes,
			mix(t_seed ^ ((uint64_t)t->id << 32 | t->nth)),
			(uint64_t)p->s->index * T_WINDOW + p->off);
}

const char *t_blank(const struct t_slot *s, uint64_t at)
{
	return (s->kind == T_FILE ? base : zeros) + at;
}

void t_drop(struct t_thread *t, const struct t_piece *p)
{
	int r;

	if (p->s->kind != T_SHARED)
		r = madvise(p->s->at + p->off, p->bytes, MADV_DONTNEED);
	else if (t_below(t, 2))
		r = madvise(p->s->at + p->off, p->bytes, MADV_REMOVE);
	else
		r = fallocate(p->s->file, FALLOC_FL_PUNCH_HOLE |
			      FALLOC_FL_KEEP_SIZE, (off_t)p->off,
			      (off_t)p->bytes);
	T_CHECK(t, !r, "dropping pages: %s", strerror(errno));
}

void t_compare(struct t_thread *t, const struct t_piece *p, const char *bytes,
	       const char *by)
{
	const char *want = p->s->shadow + p->off;
	uint64_t i, first = p->bytes, last = 0, n = 0, zero = 0;

	if (!memcmp(bytes, want, p->bytes))
		return;
	for (i = 0; i < p->bytes; i++) {
		if (bytes[i] == want[i])
			continue;
		if (first == p->bytes)
			first = i;
		last = i;
		n++;
		zero += !bytes[i];
	}
	T_CHECK(t, n, "by %s: bytes of slot %d changed while they were compared",
		by, p->s->index);
	t_fail(t, __LINE__,
	       "by %s: slot %d, %lu bytes in 0x%lx..0x%lx are wrong, %lu of them zero; the first is 0x%02x, should be 0x%02x",
	       by, p->s->index, n, p->off + first, p->off + last, zero,
	       (unsigned char)bytes[first], (unsigned char)want[first]);
}

void t_check_part(struct t_thread *t, const struct t_piece *p)
{
	struct t_piece all = {
		p->s, p->part, p->s->bound[p->part],
		p->s->bound[p->part + 1] - p->s->bound[p->part],
	};

	t_compare(t, &all, p->s->at + all.off, "CPU");
}

void t_check_slot(struct t_thread *t, struct t_slot *s)
{
	const struct t_piece all = { s, 0, 0, s->size };

	t_compare(t, &all, s->at, "CPU");
}

void t_divide(struct t_thread *t, struct t_slot *s)
{
	int i;

	s->bound[0] = 0;
	s->bound[T_PARTS] = s->size;
	for (i = 1; i < T_PARTS; i++)
		s->bound[i] = s->size / T_PARTS * i + t_below(t, VG_PAGE);
}

/* Make most slots small, because migrating a page takes a millisecond on a debug kernel. */
static uint64_t random_size(struct t_thread *t)
{
	uint64_t most = t_below(t, 4) ? 24 : t_below(t, 4) ? 96 : T_MAX_PAGES;

	return (8 + t_below(t, most - 7)) * VG_PAGE;
}

char *t_place(struct t_thread *t, const struct t_slot *s)
{
	bool second = s->at && !((uintptr_t)s->at / T_WINDOW % 2);
	uint64_t at = ARENA + ((uint64_t)s->index * 2 + second) * T_WINDOW;

	/*
	 * In half of the calls, return the start of the window, which is aligned for
	 * huge pages and for large page table entries of the GPU.
	 */
	return (char *)at + (t_below(t, 2) ? t_below(t, 256) * VG_PAGE : 0);
}

static void file_behind(struct t_thread *t, struct t_slot *s)
{
	struct t_piece all = { s, 0, 0, s->size };

	s->file = memfd_create("torture", MFD_CLOEXEC);
	T_CHECK(t, s->file >= 0 && !ftruncate(s->file, (off_t)s->size),
		"memfd: %s", strerror(errno));
	if (!t_below(t, 2))
		return;
	t_fresh(t, &all);
	T_CHECK(t, pwrite(s->file, s->shadow, s->size, 0) == (ssize_t)s->size,
		"pwrite: %s", strerror(errno));
}

void t_renew(struct t_thread *t, struct t_slot *s, bool first)
{
	char *at = t_place(t, s);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, file = -1;

	if (!first)
		T_CHECK(t, !munmap(s->at, s->size), "munmap");
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
	/*
	 * Slot 0 always has anonymous memory and the maximum size, so that at least one
	 * slot contains a whole huge page.
	 */
	s->kind = (enum t_kind)t_below(t, s->index ? T_KINDS : T_SHARED);
	s->size = s->index ? random_size(t) : T_MAX_PAGES * VG_PAGE;
	memcpy(s->shadow, t_blank(s, 0), s->size);
	if (s->kind == T_SHARED) {
		file_behind(t, s);
		file = s->file;
		flags = MAP_SHARED;
	} else if (s->kind == T_FILE) {
		file = t_base_file;
		flags = MAP_PRIVATE;
	}
	s->at = mmap(at, s->size, PROT_READ | PROT_WRITE,
		     flags | MAP_FIXED_NOREPLACE, file, 0);
	T_CHECK(t, s->at == at, "mmap at %p: %s", (void *)at, strerror(errno));
	if (s->kind == T_HUGE)
		madvise(at, s->size, MADV_HUGEPAGE);
	t_divide(t, s);
	t_register(t, s);
}

static bool was_cut(struct t_slot *s, unsigned int before)
{
	return atomic_load(&s->cutting) || atomic_load(&s->cuts) != before;
}

bool t_set(struct t_thread *t, const struct t_piece *p, uint32_t type,
	   uint32_t value)
{
	unsigned int before = atomic_load(&p->s->cuts);
	int r = vg_svm_set1(&t_vg, p->s->at + p->off, p->bytes, type, value);

	/*
	 * SET_ATTR returns -ENOMEM if memory is full. It returns -EFAULT or -EPERM if
	 * pages cannot be mapped because another op makes them inaccessible.
	 */
	T_CHECK(t, !r || r == -ENOMEM ||
		((r == -EFAULT || r == -EPERM) && was_cut(p->s, before)),
		"SET_ATTR %u to %#x: %s", type, value, vg_error());
	return !r;
}

void t_register(struct t_thread *t, struct t_slot *s)
{
	const struct t_piece all = { s, 0, 0, s->size };

	if (t_xnack)
		return;
	T_CHECK(t, t_set(t, &all, KFD_IOCTL_SVM_ATTR_ACCESS, t_gpu->gpu_id),
		"memory cannot be registered: %s", vg_error());
}

static char *shared_memory(int file, uint64_t offset, uint64_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		       (off_t)offset);

	CHECK(p != MAP_FAILED, "mmap of a shadow: %s", strerror(errno));
	return p;
}

void t_slots_init(void)
{
	const uint64_t most = T_MAX_PAGES * VG_PAGE;
	int i, k, shadow = memfd_create("shadow", MFD_CLOEXEC);
	struct t_thread t = { .id = 99 };

	t_base_file = memfd_create("base", MFD_CLOEXEC);
	CHECK(shadow >= 0 && t_base_file >= 0, "memfd");
	CHECK(!ftruncate(shadow, (off_t)(most * T_SLOTS)) &&
	      !ftruncate(t_base_file, (off_t)most), "ftruncate");
	base = shared_memory(t_base_file, 0, most);
	vg_pattern_fill(base, most, t_seed, 0);
	zeros = mmap(NULL, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(zeros != MAP_FAILED, "mmap");
	t_begin_op(&t, NULL);
	for (i = 0; i < T_SLOTS; i++) {
		struct t_slot *s = &t_slots[i];

		s->index = i;
		s->file = -1;
		s->shadow = shared_memory(shadow, (uint64_t)i * most, most);
		pthread_rwlock_init(&s->map, NULL);
		for (k = 0; k < T_PARTS; k++)
			pthread_rwlock_init(&s->part[k], NULL);
		pthread_mutex_init(&s->neighbour, NULL);
		t_renew(&t, s, true);
	}
}
