// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file has the op that registers pages of a slot (struct t_slot) with a userfaultfd, in the
 * mode for missing or for write-protected pages.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "torture.h"

static int open_uffd(struct t_thread *t, const struct t_piece *p, uint64_t mode)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_MOVE,
	};
	struct uffdio_register reg = {
		.range = { (uintptr_t)p->s->at + p->off, p->bytes },
		.mode = mode,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	T_CHECK(t, fd >= 0, "userfaultfd: %s", strerror(errno));
	T_CHECK(t, !tap_ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
	T_CHECK(t, !tap_ioctl(fd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER: %s",
		strerror(errno));
	return fd;
}

static void close_uffd(struct t_thread *t, int fd, const struct t_piece *p)
{
	struct uffdio_range range = { (uintptr_t)p->s->at + p->off, p->bytes };

	T_CHECK(t, !tap_ioctl(fd, UFFDIO_UNREGISTER, &range),
		"UFFDIO_UNREGISTER: %s", strerror(errno));
	close(fd);
}

/*
 * Copy the bytes at @src to the piece, or zero the piece if @src is 0. Return 0 or the
 * ioctl's -errno.
 */
static int fill(int fd, const struct t_piece *p, uint64_t src)
{
	uint64_t at = (uintptr_t)p->s->at + p->off, end = at + p->bytes;
	int64_t n;
	int r;

	do {
		struct uffdio_zeropage zero = { .range = { at, end - at } };
		struct uffdio_copy copy = {
			.dst = at, .src = src, .len = end - at,
		};

		r = src ? tap_ioctl(fd, UFFDIO_COPY, &copy) :
			  tap_ioctl(fd, UFFDIO_ZEROPAGE, &zero);
		n = src ? copy.copy : zero.zeropage;
		if (n > 0) {
			at += (uint64_t)n;
			src += src ? (uint64_t)n : 0;
		}
		/* -EAGAIN: another thread is changing the mappings, e.g. by fork() or munmap(). */
	} while (r == -EAGAIN);
	return r;
}

/* Fill the piece from its shadow or, if @zero, with zeros. */
static void give(struct t_thread *t, int fd, const struct t_piece *p, bool zero)
{
	uint64_t half = p->bytes / 2 & -VG_PAGE;
	int r = fill(fd, p, zero ? 0 : (uintptr_t)p->s->shadow + p->off);

	/* The ioctl returns -ENOENT if the piece has several VMAs: fill each half separately. */
	if (r == -ENOENT && half) {
		const struct t_piece first = { p->s, p->part, p->off, half };
		const struct t_piece second = {
			p->s, p->part, p->off + half, p->bytes - half,
		};

		give(t, fd, &first, zero);
		give(t, fd, &second, zero);
		return;
	}
	T_CHECK(t, !r, "%s: %s", zero ? "UFFDIO_ZEROPAGE" : "UFFDIO_COPY",
		strerror(-r));
}

/* Move pages from another mapping into the piece. Copy a page that cannot be moved. */
static void give_moved(struct t_thread *t, int fd, const struct t_piece *p)
{
	char *from = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct t_piece page = { p->s, p->part, p->off, VG_PAGE };
	uint64_t i;

	T_CHECK(t, from != MAP_FAILED, "mmap");
	memcpy(from, p->s->shadow + p->off, p->bytes);
	for (i = 0; i < p->bytes; i += VG_PAGE) {
		struct uffdio_move move = {
			.dst = (uintptr_t)p->s->at + p->off + i,
			.src = (uintptr_t)from + i,
			.len = VG_PAGE,
		};

		page.off = p->off + i;
		if (tap_ioctl(fd, UFFDIO_MOVE, &move))
			give(t, fd, &page, false);
	}
	munmap(from, p->bytes);
}

static void missing(struct t_thread *t, const struct t_piece *p)
{
	int fd = open_uffd(t, p, UFFDIO_REGISTER_MODE_MISSING);

	t_drop(t, p);
	t_fresh(t, p);
	switch (t_below(t, p->s->kind == T_SHARED ? 2 : 3)) {
	case 0:
		give(t, fd, p, false);
		break;
	case 1:
		give(t, fd, p, true);
		memset(p->s->shadow + p->off, 0, p->bytes);
		break;
	default:
		give_moved(t, fd, p);
	}
	close_uffd(t, fd, p);
}

/* Catches: the CPU reads wrong bytes from write-protected pages, which may be in VRAM. */
static void protected(struct t_thread *t, const struct t_piece *p)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)p->s->at + p->off, p->bytes },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int r, fd = open_uffd(t, p, UFFDIO_REGISTER_MODE_WP);

	do
		r = tap_ioctl(fd, UFFDIO_WRITEPROTECT, &wp);
	while (r == -EAGAIN);
	T_CHECK(t, !r, "UFFDIO_WRITEPROTECT: %s", strerror(-r));
	t_check_slot(t, p->s);
	wp.mode = 0;
	do
		r = tap_ioctl(fd, UFFDIO_WRITEPROTECT, &wp);
	while (r == -EAGAIN);
	T_CHECK(t, !r, "UFFDIO_WRITEPROTECT: %s", strerror(-r));
	close_uffd(t, fd, p);
}

bool t_op_uffd(struct t_thread *t)
{
	struct t_slot *s = t_pick(t);
	struct t_piece p;
	bool ok;

	/*
	 * Write-lock the slot, so that no GPU copy uses it: HMM does not wait for a userfaultfd's
	 * handler, but returns an error.
	 */
	t_lock_map(t, s, true);
	ok = s->kind <= T_SHARED;
	if (ok) {
		t_any_pages(t, s, &p);
		t_note(t, &p);
		/*
		 * Clear GPU_ALWAYS_MAPPED: with this flag, the driver would map the pages, and HMM
		 * returns an error for missing or protected pages.
		 */
		t_set(t, &p, KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
		      KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED);
		if (t_below(t, 2))
			t_set(t, &p, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
			      t_gpu->gpu_id);
		if (s->kind == T_SHARED || t_below(t, 2))
			missing(t, &p);
		else
			protected(t, &p);
		t_check_slot(t, s);
	}
	t_unlock_map(s);
	return ok;
}
