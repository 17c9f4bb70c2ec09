// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ops that change bytes, mappings or protections of a slot (struct t_slot). After each op, the
 * slot's memory must equal t_slot.shadow.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "torture.h"

static void protect(struct t_thread *t, const struct t_piece *p, int prot)
{
	T_CHECK(t, !mprotect(p->s->at + p->off, p->bytes, prot),
		"mprotect: %s", strerror(errno));
}

/* Write-protect pages by mprotect() while the GPU may copy from them. */
static bool op_read_only(struct t_thread *t)
{
	struct t_piece p;

	t_lock_pages(t, &p);
	t_lock_parts(p.s, false);
	protect(t, &p, PROT_READ);
	if (t_below(t, 2))
		t_check_slot(t, p.s);
	protect(t, &p, PROT_READ | PROT_WRITE);
	t_unlock_parts(p.s);
	t_unlock_map(p.s);
	return true;
}

static void cut(struct t_piece *p, bool now)
{
	if (now)
		atomic_fetch_add(&p->s->cutting, 1);
	atomic_fetch_add(&p->s->cuts, 1);
	if (!now)
		atomic_fetch_sub(&p->s->cutting, 1);
}

/* Make pages PROT_NONE while the GPU may copy to or from other parts of the slot. */
static bool op_no_access(struct t_thread *t)
{
	struct t_piece p;

	if (!t_lock_some(t, &p))
		return false;
	cut(&p, true);
	protect(t, &p, PROT_NONE);
	protect(t, &p, PROT_READ | PROT_WRITE);
	cut(&p, false);
	t_check_part(t, &p);
	t_unlock_part(&p);
	return true;
}

static bool op_drop(struct t_thread *t)
{
	struct t_piece p;

	if (!t_lock_some(t, &p))
		return false;
	t_drop(t, &p);
	memcpy(p.s->shadow + p.off, t_blank(p.s, p.off), p.bytes);
	t_check_part(t, &p);
	t_unlock_part(&p);
	return true;
}

/*
 * Check that each page is unchanged or zero after MADV_FREE. If a page is zero, also set the
 * page's shadow to zero.
 */
static void check_freed(struct t_thread *t, const struct t_piece *p)
{
	const struct t_piece page = { p->s, p->part, p->off, VG_PAGE };
	struct t_piece one = page;

	for (; one.off < p->off + p->bytes; one.off += VG_PAGE) {
		char *now = p->s->at + one.off;

		/* Write the page, so that reclaim can no longer drop it. */
		__atomic_fetch_or(now, 0, __ATOMIC_SEQ_CST);
		if (!memcmp(now, t_blank(p->s, one.off), VG_PAGE))
			memset(p->s->shadow + one.off, 0, VG_PAGE);
		t_compare(t, &one, now, "CPU, after MADV_FREE");
	}
}

static bool op_free(struct t_thread *t)
{
	struct t_piece p;
	bool ok;

	t_lock_part(t, &p, true);
	ok = p.s->kind <= T_HUGE && t_some_pages(t, &p);
	if (ok) {
		t_note(t, &p);
		T_CHECK(t, !madvise(p.s->at + p.off, p.bytes, MADV_FREE),
			"MADV_FREE: %s", strerror(errno));
		if (t_below(t, 2))
			madvise(p.s->at + p.off, p.bytes, MADV_PAGEOUT);
		check_freed(t, &p);
	}
	t_unlock_part(&p);
	return ok;
}

/*
 * Truncate the file of a T_SHARED slot at a page of the slot's last part, and extend the file
 * to the old size again.
 */
static bool op_truncate(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, false);
	struct t_piece p = { .s = s, .part = T_PARTS - 1 };
	uint64_t end = s->size;
	bool ok;

	pthread_rwlock_wrlock(&s->part[p.part]);
	ok = s->kind == T_SHARED && t_some_pages(t, &p);
	if (ok) {
		p.bytes = end - p.off;
		t_note(t, &p);
		cut(&p, true);
		T_CHECK(t, !ftruncate(s->file, (off_t)p.off) &&
			!ftruncate(s->file, (off_t)end), "ftruncate");
		cut(&p, false);
		memset(s->shadow + p.off, 0, p.bytes);
		t_check_part(t, &p);
		t_register(t, s);
	}
	t_unlock_part(&p);
	return ok;
}

static bool op_renew(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, true);
	const struct t_piece all = { s, 0, 0, s->size };

	t_note(t, &all);
	t_renew(t, s, false);
	t_unlock_map(s);
	return true;
}

/*
 * Move the slot. With MREMAP_DONTUNMAP the old mapping stays, without pages; this op
 * then unmaps it.
 */
static bool op_move(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, true);
	const struct t_piece all = { s, 0, 0, s->size };
	char *to = t_place(t, s), *from = s->at;
	int keep = s->kind <= T_HUGE && t_below(t, 2) ? MREMAP_DONTUNMAP : 0;
	bool ok;

	t_note(t, &all);
	ok = mremap(from, s->size, s->size, MREMAP_MAYMOVE | MREMAP_FIXED |
		    keep, to) == to;
	/*
	 * mremap() fails with EFAULT if the slot has become two VMAs, which cannot be
	 * moved in one call.
	 */
	T_CHECK(t, ok || errno == EFAULT, "mremap: %s", strerror(errno));
	if (ok) {
		if (keep)
			T_CHECK(t, !munmap(from, s->size), "munmap");
		s->at = to;
		t_register(t, s);
		if (t_below(t, 2))
			t_check_slot(t, s);
	}
	t_unlock_map(s);
	return ok;
}

static bool op_resize(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, true);
	uint64_t old = s->size, n = old / VG_PAGE, most = T_MAX_PAGES;
	const struct t_piece all = { s, 0, 0, old };
	bool ok;

	t_note(t, &all);
	/*
	 * The new size is between half and twice the old size. Slot 0 does not shrink.
	 * A T_SHARED slot does not grow, because its file has the old size.
	 */
	most = s->kind == T_SHARED ? n : 2 * n < most ? 2 * n : most;
	if (s->index)
		n = n / 2 < 8 ? 8 : n / 2;
	n += t_below(t, most - n + 1);
	ok = mremap(s->at, old, n * VG_PAGE, 0) == s->at;
	T_CHECK(t, ok || errno == EFAULT, "mremap in place: %s",
		strerror(errno));
	if (ok) {
		s->size = n * VG_PAGE;
		if (s->size > old)
			memcpy(s->shadow + old, t_blank(s, old), s->size - old);
		t_divide(t, s);
		t_register(t, s);
		t_check_slot(t, s);
	}
	t_unlock_map(s);
	return ok;
}

/* Map and unmap memory next to the slot, possibly in the same VMA as the slot. */
static bool op_neighbour(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, false);
	uint64_t bytes = (1 + t_below(t, 64)) * VG_PAGE;
	const struct t_piece beside = { s, 0, s->size, bytes };
	char *at = s->at + s->size, *to = at + 2 * bytes;

	pthread_mutex_lock(&s->neighbour);
	t_note(t, &beside);
	T_CHECK(t, mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == at,
		"mmap beside a slot: %s", strerror(errno));
	memset(at, 0x5a, bytes);
	switch (t_below(t, 3)) {
	case 0:
		T_CHECK(t, mremap(at, bytes, bytes, MREMAP_MAYMOVE |
				  MREMAP_FIXED, to) == to, "mremap");
		at = to;
		break;
	case 1:
		T_CHECK(t, !mprotect(at, bytes, PROT_READ), "mprotect");
		break;
	case 2:
		t_set(t, &beside, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
		      t_gpu->gpu_id);
	}
	T_CHECK(t, at[0] == 0x5a && at[bytes - 1] == 0x5a, "a neighbour");
	T_CHECK(t, !munmap(at, bytes), "munmap");
	pthread_mutex_unlock(&s->neighbour);
	t_unlock_map(s);
	return true;
}

/*
 * Copy the piece from the shadow to the slot: by memcpy() if @way is 0, by process_vm_writev()
 * if @way is 1, and by /proc/self/mem if @way is 2.
 */
static void write_by(struct t_thread *t, const struct t_piece *p, int way)
{
	char *to = p->s->at + p->off, *from = p->s->shadow + p->off;
	struct iovec ours = { from, p->bytes }, theirs = { to, p->bytes };
	ssize_t n = (ssize_t)p->bytes;
	int fd;

	switch (way) {
	case 0:
		memcpy(to, from, p->bytes);
		break;
	case 1:
		n = process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0);
		break;
	default:
		fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
		n = pwrite(fd, from, p->bytes, (off_t)(uintptr_t)to);
		close(fd);
	}
	T_CHECK(t, n == (ssize_t)p->bytes, "%zd of %lu bytes written, way %d: %s",
		n, p->bytes, way, strerror(errno));
}

static bool op_write(struct t_thread *t)
{
	struct t_piece p;

	t_lock_part(t, &p, true);
	t_some_bytes(t, &p, T_STAGE);
	t_note(t, &p);
	t_fresh(t, &p);
	write_by(t, &p, (int)t_below(t, 3));
	if (t_below(t, 2))
		t_check_part(t, &p);
	t_unlock_part(&p);
	return true;
}

static bool op_check(struct t_thread *t)
{
	static __thread char copy[64 * VG_KIB];
	struct iovec ours, theirs;
	struct t_piece p;

	t_lock_part(t, &p, false);
	if (t_below(t, 2)) {
		t_check_part(t, &p);
	} else {
		t_some_bytes(t, &p, sizeof(copy));
		ours = (struct iovec){ copy, p.bytes };
		theirs = (struct iovec){ p.s->at + p.off, p.bytes };
		T_CHECK(t, process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0)
			== (ssize_t)p.bytes, "process_vm_readv: %s",
			strerror(errno));
		t_compare(t, &p, copy, "process_vm_readv");
	}
	t_unlock_part(&p);
	return true;
}

const struct t_op t_cpu_ops[] = {
	{ "write", op_write, 12, NULL, true },
	{ "check", op_check, 10, NULL, true },
	{ "mmap", op_renew, 4, NULL, true },
	{ "mremap", op_move, 4, NULL, true },
	{ "mremap in place", op_resize, 3, NULL, true },
	{ "neighbour", op_neighbour, 4, NULL, true },
	{ "drop", op_drop, 5, NULL, true },
	{ "MADV_FREE", op_free, 4, NULL, true },
	{ "MADV_COLLAPSE", t_op_collapse, 4, NULL, true },
	{ "MADV_PAGEOUT", t_op_pageout, 5, t_may_swap, true },
	{ "MADV_COLD", t_op_cold, 2, NULL, true },
	{ "MADV_POPULATE", t_op_populate, 2, NULL, true },
	{ "MADV_HUGEPAGE", t_op_huge, 2, NULL, true },
	{ "mlock", t_op_lock, 3, NULL, true },
	{ "mprotect read", op_read_only, 5, NULL, true },
	{ "mprotect none", op_no_access, 3, NULL, false },
	{ "truncate", op_truncate, 6, NULL, false },
	{ "prefetch", t_op_prefetch, 8, NULL, true },
	{ "attributes", t_op_attr, 8, NULL, true },
	{ "no access", t_op_deny, 2, NULL, false },
	{ "GPU read only", t_op_gpu_ro, 2, NULL, true },
	{ "evict", t_op_evict, 1, NULL, true },
	{ "pressure", t_op_pressure, 2, NULL, true },
	{ "compact", t_op_compact, 1, NULL, true },
	{ "drop_caches", t_op_drop_caches, 1, NULL, true },
	{ "move_pages", t_op_numa, 4, t_may_numa, true },
	{ "userfaultfd", t_op_uffd, 3, NULL, false },
	{ "fork", t_op_fork, 2, NULL, true },
	{ "scribble", t_op_scribble, 2, NULL, true },
	{ "exec", t_op_exec, 1, NULL, true },
	{ "ptrace", t_op_ptrace, 2, NULL, true },
	{ "remote write", t_op_remote, 2, NULL, true },
	{ 0 },
};
