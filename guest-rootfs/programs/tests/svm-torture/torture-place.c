// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ops that may move pages or change SVM ranges, but keep the contents. Most run while the GPU may
 * access the same pages.
 */
#include <asm/mman.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "race.h"
#include "render.h"
#include "torture.h"

#define PRESSURE_BO	(2 * VG_MIB)
#define PRESSURE_BOS	36

/*
 * Call madvise() for random pages. Only the slot's map is locked, not the parts: the locks of the
 * parts guard the contents, and a migration does not change contents.
 */
static bool advise(struct t_thread *t, int advice)
{
	struct t_piece p;
	int r;

	t_lock_pages(t, &p);
	r = madvise(p.s->at + p.off, p.bytes, advice);
	t_unlock_map(p.s);
	return !r;
}

/*
 * Collapse the slot's first aligned 2 MiB into a huge page. Return 0, or -1 if madvise() fails or
 * the slot has none.
 */
static int collapse(struct t_thread *t, struct t_slot *s)
{
	uint64_t huge = 2 * VG_MIB, off = -(uintptr_t)s->at & (huge - 1);

	if (off + huge > s->size)
		return -1;
	t_note(t, &(struct t_piece){ .s = s, .off = off, .bytes = huge });
	/* MADV_COLLAPSE needs a writable PTE and no page in VRAM. */
	madvise(s->at + off, huge, MADV_POPULATE_WRITE);
	return madvise(s->at + off, huge, MADV_COLLAPSE);
}

/* Call collapse() while the GPU may copy to or from the slot. */
static int collapse_shared(struct t_thread *t, struct t_slot *s)
{
	int r;

	t_lock_map(t, s, false);
	r = collapse(t, s);
	t_unlock_map(s);
	return r;
}

/* Map slot 0 again as one VMA, as MADV_COLLAPSE needs, and fill it. Then call collapse(). */
static int collapse_new(struct t_thread *t)
{
	struct t_slot *s = &t_slots[0];
	const struct t_piece all = { s, 0, 0, s->size };
	int r;

	t_lock_map(t, s, true);
	/*
	 * Other ops may have split slot 0 into several VMAs. VMAs with different anon_vmas cannot
	 * merge again, so only a new mapping is certain to be one VMA.
	 */
	t_renew(t, s, false);
	t_fresh(t, &all);
	memcpy(s->at, s->shadow, s->size);
	r = collapse(t, s);
	t_check_slot(t, s);
	t_unlock_map(s);
	return r;
}

bool t_op_collapse(struct t_thread *t)
{
	uint64_t i, first = t_below(t, T_SLOTS);
	int r = -1;

	for (i = 0; i < T_SLOTS && r; i++)
		r = collapse_shared(t, &t_slots[(first + i) % T_SLOTS]);
	return !r || !collapse_new(t);
}

bool t_op_pageout(struct t_thread *t)
{
	return advise(t, MADV_PAGEOUT);
}

bool t_op_cold(struct t_thread *t)
{
	return advise(t, MADV_COLD);
}

bool t_op_populate(struct t_thread *t)
{
	return advise(t, MADV_POPULATE_WRITE);
}

/* Allow or forbid huge pages in the whole slot. A call for some pages would split the VMA. */
bool t_op_huge(struct t_thread *t)
{
	struct t_slot *s = t_lock_any(t, false);
	const struct t_piece all = { s, 0, 0, s->size };
	int r;

	t_note(t, &all);
	r = madvise(s->at, s->size,
		    t_below(t, 2) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	t_unlock_map(s);
	return !r;
}

/* Lock some pages by mlock() or mlock2() for a moment. */
bool t_op_lock(struct t_thread *t)
{
	struct t_piece p;
	int r;

	t_lock_pages(t, &p);
	/*
	 * MADV_DONTNEED fails for pages that mlock() locked. Read-lock all parts, because other
	 * threads call MADV_DONTNEED only with the write lock of a part.
	 */
	t_lock_parts(p.s, false);
	r = t_below(t, 2) ? mlock(p.s->at + p.off, p.bytes) :
	    mlock2(p.s->at + p.off, p.bytes, MLOCK_ONFAULT);
	munlock(p.s->at + p.off, p.bytes);
	t_unlock_parts(p.s);
	t_unlock_map(p.s);
	return !r;
}

bool t_op_prefetch(struct t_thread *t)
{
	struct t_piece p;
	bool ok;

	t_lock_pages(t, &p);
	ok = t_set(t, &p, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
		   t_below(t, 3) ? t_gpu->gpu_id : 0);
	t_unlock_map(p.s);
	return ok;
}

/* Set attributes of some pages, which splits and merges ranges. */
bool t_op_attr(struct t_thread *t)
{
	static const uint32_t flags[] = {
		KFD_IOCTL_SVM_FLAG_COHERENT, KFD_IOCTL_SVM_FLAG_GPU_EXEC,
		KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY,
		KFD_IOCTL_SVM_FLAG_HIVE_LOCAL,
		KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED,
	};
	uint32_t type, value = t_gpu->gpu_id;
	struct t_piece p;
	bool ok;

	t_lock_pages(t, &p);
	switch (t_below(t, 5)) {
	case 0:
		type = KFD_IOCTL_SVM_ATTR_GRANULARITY;
		value = (uint32_t)t_below(t, 11);
		break;
	case 1:
		type = KFD_IOCTL_SVM_ATTR_PREFERRED_LOC;
		if (!t_below(t, 3))
			value = t_below(t, 2) ? 0 :
				KFD_IOCTL_SVM_LOCATION_UNDEFINED;
		break;
	case 2:
		type = t_below(t, 2) ? KFD_IOCTL_SVM_ATTR_ACCESS :
				       KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
		break;
	case 3:
		type = KFD_IOCTL_SVM_ATTR_SET_FLAGS;
		value = flags[t_below(t, 5)];
		break;
	default:
		type = KFD_IOCTL_SVM_ATTR_CLR_FLAGS;
		value = flags[t_below(t, 5)];
	}
	ok = t_set(t, &p, type, value);
	t_unlock_map(p.s);
	return ok;
}

/*
 * Deny the GPU access to pages for a moment. No copy uses these pages while access is
 * denied, because their part is locked for writing.
 */
bool t_op_deny(struct t_thread *t)
{
	struct t_piece p;

	if (!t_lock_some(t, &p))
		return false;
	t_set(t, &p, KFD_IOCTL_SVM_ATTR_NO_ACCESS, t_gpu->gpu_id);
	t_check_part(t, &p);
	t_set(t, &p, KFD_IOCTL_SVM_ATTR_ACCESS, t_gpu->gpu_id);
	t_unlock_part(&p);
	return true;
}

/* Make pages read-only for the GPU. Meanwhile, other threads may copy from these pages. */
bool t_op_gpu_ro(struct t_thread *t)
{
	struct t_piece p;

	t_lock_pages(t, &p);
	t_lock_parts(p.s, false);
	t_set(t, &p, KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO);
	t_set(t, &p, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, t_gpu->gpu_id);
	t_set(t, &p, KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO);
	t_unlock_parts(p.s);
	t_unlock_map(p.s);
	return true;
}

bool t_op_evict(struct t_thread *t)
{
	char path[64];

	snprintf(path, sizeof(path),
		 "/sys/kernel/debug/dri/%d/amdgpu_evict_vram", t_gpu->minor);
	/* Do not check that VRAM is empty, because BOs that are in use may stay in VRAM. */
	(void)t;
	return !race_read(path);
}

/* Allocate and free BOs in VRAM, so that the driver may have to evict other memory. */
bool t_op_pressure(struct t_thread *t)
{
	uint32_t handle[PRESSURE_BOS];
	int i, n = 0, want = 1 + (int)t_below(t, PRESSURE_BOS);

	if (t->render < 0)
		t->render = vr_open(t_gpu);
	T_CHECK(t, t->render >= 0, "render node: %d", t->render);
	while (n < want && !vr_gem_create(t->render, PRESSURE_BO,
					  AMDGPU_GEM_DOMAIN_VRAM, 0,
					  &handle[n]))
		n++;
	for (i = 0; i < n; i++)
		T_CHECK(t, !vr_gem_close(t->render, handle[i]), "GEM_CLOSE");
	return n;
}

bool t_op_compact(struct t_thread *t)
{
	(void)t;
	return !vg_put("/proc/sys/vm/compact_memory", "1");
}

bool t_op_drop_caches(struct t_thread *t)
{
	return !vg_put("/proc/sys/vm/drop_caches", t_below(t, 2) ? "1" : "2");
}

bool t_may_numa(void)
{
	return !access("/sys/devices/system/node/node1", F_OK);
}

/* Move pages to another NUMA node. */
bool t_op_numa(struct t_thread *t)
{
	enum { MOST = 64, MOVE = 2 };
	int node[MOST], status[MOST];
	void *page[MOST];
	struct t_piece p;
	long i, n, r;

	t_lock_pages(t, &p);
	n = (long)(p.bytes / VG_PAGE) < MOST ? (long)(p.bytes / VG_PAGE) : MOST;
	for (i = 0; i < n; i++) {
		page[i] = p.s->at + p.off + (uint64_t)i * VG_PAGE;
		node[i] = (int)t_below(t, 2);
	}
	r = syscall(SYS_move_pages, 0, n, page, node, status, MOVE);
	t_unlock_map(p.s);
	return r >= 0;
}

bool t_may_swap(void)
{
	return !access(TAP_SWAP, F_OK);
}
