// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ops of threads with a GPU queue: copies and fills. An op locks parts of slots, and unlocks these
 * parts after the GPU has finished.
 */
#include <sys/mman.h>

#include "torture.h"

static uint64_t va(const struct t_piece *p)
{
	return (uintptr_t)p->s->at + p->off;
}

static void submit(struct t_thread *t, uint32_t *seq)
{
	T_OK(t, vg_emit_fence(&t->q, seq));
	vg_queue_submit(&t->q);
}

/*
 * After a copy's first timeout, print the driver's counters and wait again. On a debug kernel,
 * other threads may delay a copy for a minute.
 */
static void wait_longer(struct t_thread *t, uint32_t seq)
{
	uint64_t began = vg_now();
	struct vg_counters c;
	int i;

	tap_diag("thread %d: %s", t->id, vg_error());
	if (!vg_driver_counters(t_gpu, &c))
		for (i = 0; i < c.n; i++)
			tap_diag("%s %lu", c.c[i].name, c.c[i].value);
	if (vg_wait(&t->q, seq, VG_TIMEOUT_MS))
		t_fail(t, __LINE__, "a queue is stuck");
	tap_diag("thread %d: the copy completed %lu ms later", t->id,
		 (vg_now() - began) / 1000000);
}

static void wait_for(struct t_thread *t, uint32_t seq)
{
	if (vg_wait(&t->q, seq, VG_TIMEOUT_MS))
		wait_longer(t, seq);
	atomic_fetch_add(&t_copies, 1);
}

static void finish(struct t_thread *t)
{
	uint32_t seq;

	submit(t, &seq);
	wait_for(t, seq);
}

static void lock_one(struct t_piece *p, bool write)
{
	if (write)
		pthread_rwlock_wrlock(&p->s->part[p->part]);
	else
		pthread_rwlock_rdlock(&p->s->part[p->part]);
}

/*
 * Lock two different parts, possibly of one slot. Set @src and @dst to pieces of these parts with
 * the same size.
 */
static void lock_two(struct t_thread *t, struct t_piece *src,
		     struct t_piece *dst, bool change_src)
{
	struct t_piece *first = src, *second = dst;
	uint64_t bytes;

	src->s = t_pick(t);
	dst->s = t_below(t, 6) ? t_pick(t) : src->s;
	src->part = (int)t_below(t, T_PARTS);
	dst->part = (int)t_below(t, T_PARTS);
	if (src->s == dst->s && src->part == dst->part)
		dst->part = (dst->part + 1) % T_PARTS;
	if (src->s->index > dst->s->index ||
	    (src->s == dst->s && src->part > dst->part)) {
		first = dst;
		second = src;
	}
	/* Lock in ascending order of slots and parts, so that threads cannot deadlock. */
	t_lock_map(t, first->s, false);
	lock_one(first, first == dst || change_src);
	if (second->s != first->s)
		t_lock_map(t, second->s, false);
	lock_one(second, second == dst || change_src);

	t_some_bytes(t, src, T_STAGE);
	bytes = src->bytes;
	t_some_bytes(t, dst, bytes);
	if (dst->bytes > bytes)
		dst->bytes = bytes;
	src->bytes = dst->bytes;
	t_note(t, src);
	t_note(t, dst);
}

static void unlock_two(const struct t_piece *src, const struct t_piece *dst)
{
	pthread_rwlock_unlock(&src->s->part[src->part]);
	pthread_rwlock_unlock(&dst->s->part[dst->part]);
	t_unlock_map(src->s);
	if (dst->s != src->s)
		t_unlock_map(dst->s);
}

/*
 * Compare bytes with the shadow. At random, the CPU reads the whole part that contains @p, or the
 * GPU reads only @p.
 */
static void check(struct t_thread *t, const struct t_piece *p)
{
	if (t_below(t, 2)) {
		t_check_part(t, p);
		return;
	}
	/* Unlike a check by the CPU, this copy does not migrate pages back to system memory. */
	T_OK(t, vg_emit_copy(&t->q, t->stage.va, va(p), p->bytes));
	finish(t);
	t_compare(t, p, t->stage.cpu, "GPU");
}

static bool op_copy(struct t_thread *t)
{
	struct t_piece src, dst;

	lock_two(t, &src, &dst, false);
	T_OK(t, vg_emit_copy(&t->q, va(&dst), va(&src), src.bytes));
	finish(t);
	memcpy(dst.s->shadow + dst.off, src.s->shadow + src.off, src.bytes);
	if (t_below(t, 2))
		check(t, &dst);
	unlock_two(&src, &dst);
	return true;
}

static bool op_fill(struct t_thread *t)
{
	uint32_t value = (uint32_t)t_below(t, 1ull << 32);
	struct t_piece p;
	uint64_t i, end;

	t_lock_part(t, &p, true);
	t_some_bytes(t, &p, T_STAGE);
	/*
	 * The packet fills whole dwords, so round the start and the length of the piece to dwords.
	 * The piece must stay within the part.
	 */
	end = p.s->bound[p.part + 1];
	p.off = (p.off + 3) & -4ull;
	if (p.off + 4 > end)
		p.off = (end - 4) & -4ull;
	p.bytes = ((p.bytes + 3 < end - p.off ? p.bytes + 3 : end - p.off) &
		   -4ull);
	t_note(t, &p);
	T_OK(t, vg_emit_fill(&t->q, va(&p), value, p.bytes));
	finish(t);
	for (i = 0; i < p.bytes; i += 4)
		memcpy(p.s->shadow + p.off + i, &value, 4);
	if (t_below(t, 2))
		check(t, &p);
	t_unlock_part(&p);
	return true;
}

/* Store new bytes in the shadow, and let the engine write them to the piece. */
static void put(struct t_thread *t, const struct t_piece *p)
{
	t_fresh(t, p);
	memcpy(t->stage.cpu, p->s->shadow + p->off, p->bytes);
	T_OK(t, vg_emit_copy(&t->q, va(p), t->stage.va, p->bytes));
	finish(t);
}

static bool op_put(struct t_thread *t)
{
	struct t_piece p;

	t_lock_part(t, &p, true);
	t_some_bytes(t, &p, T_STAGE);
	t_note(t, &p);
	put(t, &p);
	if (t_below(t, 2))
		check(t, &p);
	t_unlock_part(&p);
	return true;
}

static bool op_get(struct t_thread *t)
{
	struct t_piece p;

	t_lock_part(t, &p, false);
	t_some_bytes(t, &p, T_STAGE);
	t_note(t, &p);
	T_OK(t, vg_emit_copy(&t->q, t->stage.va, va(&p), p.bytes));
	finish(t);
	t_compare(t, &p, t->stage.cpu, "GPU");
	t_unlock_part(&p);
	return true;
}

/*
 * Catches: a GPU write after MADV_FREE is lost in reclaim; a GPU write to a page that
 * was in swap is lost.
 */
static bool op_put_freed(struct t_thread *t)
{
	bool ok, freed = t_below(t, 2);
	struct t_piece p;

	t_lock_part(t, &p, true);
	ok = p.s->kind <= T_HUGE && t_some_pages(t, &p);
	if (ok) {
		if (p.bytes > T_STAGE)
			p.bytes = T_STAGE;
		t_note(t, &p);
		if (!freed)
			madvise(p.s->at + p.off, p.bytes, MADV_PAGEOUT);
		if (!freed || t_below(t, 2))
			t_check_part(t, &p);
		if (freed)
			T_CHECK(t, !madvise(p.s->at + p.off, p.bytes, MADV_FREE),
				"MADV_FREE: %s", strerror(errno));
		put(t, &p);
		madvise(p.s->at + p.off, p.bytes, MADV_PAGEOUT);
		check(t, &p);
	}
	t_unlock_part(&p);
	return ok;
}

/*
 * Check that each byte of the piece equals its byte in the shadow or in @other. Then store the
 * byte of the piece in the shadow.
 */
static void check_either(struct t_thread *t, const struct t_piece *p,
			 const char *other)
{
	const char *now = p->s->at + p->off;
	char *want = p->s->shadow + p->off;
	uint64_t i;

	for (i = 0; i < p->bytes; i++) {
		char c = now[i];

		T_CHECK(t, c == want[i] || c == other[i],
			"slot %d, byte 0x%lx: 0x%02x, should be 0x%02x or 0x%02x",
			p->s->index, p->off + i, (unsigned char)c,
			(unsigned char)want[i], (unsigned char)other[i]);
		want[i] = c;
	}
}

static struct t_piece overlap(const struct t_piece *a, const struct t_piece *b)
{
	struct t_piece both = *a;
	uint64_t end = a->off + a->bytes, other = b->off + b->bytes;

	both.off = a->off > b->off ? a->off : b->off;
	end = end < other ? end : other;
	both.bytes = end > both.off ? end - both.off : 0;
	return both;
}

/*
 * @pages of the destination's slot were dropped while the GPU copied @src to @dst. Check that each
 * byte of @dst in @pages is the copied byte or blank (t_blank()). Update the slot's shadow.
 */
static void drop_dst(struct t_thread *t, const struct t_piece *src,
		     const struct t_piece *dst, const struct t_piece *pages)
{
	struct t_piece both = overlap(dst, pages);

	memcpy(dst->s->shadow + pages->off, t_blank(dst->s, pages->off),
	       pages->bytes);
	memcpy(dst->s->shadow + dst->off, src->s->shadow + src->off,
	       src->bytes);
	check_either(t, &both, t_blank(dst->s, both.off));
}

/*
 * @pages of the source were dropped while the GPU copied @src to @dst. Check that each byte copied
 * from @pages is blank (t_blank()), or the source's byte from before the drop. Update the shadows.
 */
static void drop_src(struct t_thread *t, const struct t_piece *src,
		     const struct t_piece *dst, const struct t_piece *pages)
{
	struct t_piece both = overlap(src, pages), seen = *dst;

	memcpy(dst->s->shadow + dst->off, src->s->shadow + src->off,
	       src->bytes);
	seen.off = dst->off + (both.off - src->off);
	seen.bytes = both.bytes;
	if (both.bytes)
		check_either(t, &seen, t_blank(src->s, both.off));
	memcpy(src->s->shadow + pages->off, t_blank(src->s, pages->off),
	       pages->bytes);
}

static bool op_dropped(struct t_thread *t)
{
	struct t_piece src, dst, pages;
	bool ok, from = t_below(t, 2);
	uint32_t seq;

	lock_two(t, &src, &dst, from);
	pages = from ? src : dst;
	ok = t_some_pages(t, &pages);
	T_OK(t, vg_emit_copy(&t->q, va(&dst), va(&src), src.bytes));
	submit(t, &seq);
	if (ok) {
		t_note(t, &pages);
		t_drop(t, &pages);
	}
	wait_for(t, seq);
	if (!ok)
		memcpy(dst.s->shadow + dst.off, src.s->shadow + src.off,
		       src.bytes);
	else if (from)
		drop_src(t, &src, &dst, &pages);
	else
		drop_dst(t, &src, &dst, &pages);
	t_check_part(t, &dst);
	t_check_part(t, &src);
	unlock_two(&src, &dst);
	return ok;
}

const struct t_op t_gpu_ops[] = {
	{ "GPU copy", op_copy, 10, NULL, true },
	{ "GPU fill", op_fill, 4, NULL, true },
	{ "GPU write", op_put, 5, NULL, true },
	{ "GPU read", op_get, 5, NULL, true },
	{ "GPU write, freed", op_put_freed, 3, NULL, true },
	{ "GPU copy, dropped", op_dropped, 5, NULL, true },
	{ 0 },
};
