/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of vgpu-test-svm-torture share: slots of memory, the shadow that
 * knows each of their bytes, the locks that say who may do what, the ops.
 *
 * A slot is a piece of address space with one kind of memory. It is divided into
 * parts, whose bounds lie somewhere within pages, so that two who write next to
 * each other have a page in common.
 *
 *   slot.map    for reading: it stays where it is, as large as it is, and whoever
 *               does not change bytes may do anything to it, under copies also
 *               for writing: it comes, goes, moves
 *   slot.part[] for reading: bytes stay what they are; the GPU may read them
 *               for writing: bytes change, the GPU may write them
 *
 * Order: slots by number; within one: map, parts by number, neighbour. Nobody
 * waits for a lock with a child or a copy under way but for these two's own end.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "tap.h"

#define T_SLOTS		40
#define T_PARTS		3
#define T_MAX_PAGES	1024ul
#define T_WINDOW	(8 * VG_MIB)
#define T_HISTORY	32
/* The largest copy: what a thread's stage holds. */
#define T_STAGE		VG_MIB
/* An op that takes longer will not end: before the case's own limit, which says less. */
#define T_STUCK_NS	(5ull * VG_TIMEOUT_MS * 1000000 / 2)

/* What is behind the memory. T_FILE: a private mapping of t_base. */
enum t_kind { T_ANON, T_HUGE, T_SHARED, T_FILE, T_KINDS };

struct t_thread;

/**
 * struct t_op - something that a thread does to one or two slots
 * @name: in the histories
 * @fn: returns whether it could be done
 * @weight: how often, compared with others
 * @may: whether this machine can; NULL: always
 * @no_retry: also with XNACK off
 */
struct t_op {
	const char *name;
	bool (*fn)(struct t_thread *t);
	unsigned int weight;
	bool (*may)(void);
	bool no_retry;
};

/**
 * struct t_note - who did what to a slot
 */
struct t_note {
	uint64_t ns, nth, at, bytes;
	const char *op;
	int thread;
};

/**
 * struct t_slot - see above
 * @index: its number
 * @at, @size: where it is
 * @bound: of part i: bytes bound[i] to bound[i + 1]
 * @shadow: what the bytes are; shared with children, and no SVM
 * @file: of T_SHARED
 * @cutting, @cuts: pages that nobody may touch there are now; how often there were
 */
struct t_slot {
	int index;
	enum t_kind kind;
	char *at, *shadow;
	uint64_t size, bound[T_PARTS + 1];
	int file;
	pthread_rwlock_t map, part[T_PARTS];
	pthread_mutex_t neighbour;
	atomic_int cutting;
	atomic_uint cuts;
	atomic_uint n_notes;
	struct t_note note[T_HISTORY];
};

/**
 * struct t_piece - bytes of one part
 */
struct t_piece {
	struct t_slot *s;
	int part;
	uint64_t off, bytes;
};

/**
 * struct t_thread - a thread and the op that it is at
 * @nth: number of the op; with @id and the seed it gives @rng
 * @since: when the op began; 0: the thread has ended
 * @slot: those that it has, or had last
 * @q, @stage: its queue and a GTT BO, if it has one
 * @render: a file of the render node
 */
struct t_thread {
	int id;
	pthread_t thread;
	uint64_t nth, rng;
	const struct t_op *op;
	_Atomic uint64_t since;
	struct t_slot *slot[2];
	struct vg_queue q;
	struct vg_bo stage;
	int render;
	unsigned long *done, *tried;
};

/* Set before the threads start. */
extern struct vg t_vg;
extern struct vg_gpu *t_gpu;
extern bool t_xnack;
extern uint64_t t_seed;
extern struct t_slot t_slots[T_SLOTS];
extern int t_base_file;
/* Ops of threads with a queue and of those without; the end has no name. */
extern const struct t_op t_gpu_ops[], t_cpu_ops[];
/* How many copies have been waited for. */
extern atomic_ulong t_copies;

/* torture.c: slots */

/* Ends the case: what went wrong, what happened to the slots. */
void t_fail(struct t_thread *t, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#define T_CHECK(t, cond, ...)						\
	do {								\
		if (!(cond))						\
			t_fail(t, __LINE__, __VA_ARGS__);		\
	} while (0)
#define T_OK(t, expr)							\
	do {								\
		if ((expr) < 0)						\
			t_fail(t, __LINE__, "%s: %s", #expr,		\
			       vg_error());				\
	} while (0)

/* The op's own random numbers. */
uint64_t t_below(struct t_thread *t, uint64_t n);
void t_begin_op(struct t_thread *t, const struct t_op *op);

void t_slots_init(void);
struct t_slot *t_pick(struct t_thread *t);
void t_lock_map(struct t_thread *t, struct t_slot *s, bool write);
void t_unlock_map(struct t_slot *s);
/* Map of a random slot. */
struct t_slot *t_lock_any(struct t_thread *t, bool write);
/* The same for some pages of it, which go into its history. */
void t_lock_pages(struct t_thread *t, struct t_piece *p);
void t_lock_parts(struct t_slot *s, bool write);
void t_unlock_parts(struct t_slot *s);
/* Locks map (for reading) and one part of a random slot. */
void t_lock_part(struct t_thread *t, struct t_piece *p, bool write);
void t_unlock_part(const struct t_piece *p);
/*
 * The same for writing, of pages that the part has for itself alone; they go into
 * its history. If it has none: false, nothing is locked.
 */
bool t_lock_some(struct t_thread *t, struct t_piece *p);

/* Some bytes, at most @max, of the part; or pages that it has for itself alone. */
void t_some_bytes(struct t_thread *t, struct t_piece *p, uint64_t max);
bool t_some_pages(struct t_thread *t, struct t_piece *p);
/* Pages anywhere in the slot: the part does not matter. */
void t_any_pages(struct t_thread *t, struct t_slot *s, struct t_piece *p);

/* Into the slot's history. */
void t_note(struct t_thread *t, const struct t_piece *p);
/* The piece's shadow is new bytes, that nobody had before. */
void t_fresh(struct t_thread *t, const struct t_piece *p);
/* What pages are that have never been written, or were dropped: @at bytes in. */
const char *t_blank(const struct t_slot *s, uint64_t at);
/* Drops whole pages, as the kind of memory lets it; the shadow is left. */
void t_drop(struct t_thread *t, const struct t_piece *p);
/* @bytes, which were the piece's, must be the shadow's. */
void t_compare(struct t_thread *t, const struct t_piece *p, const char *bytes,
	       const char *by);
/* By the CPU, all of the part or of the slot. */
void t_check_part(struct t_thread *t, const struct t_piece *p);
void t_check_slot(struct t_thread *t, struct t_slot *s);
/* Other memory in the slot, which is locked for writing; @first: there is none. */
void t_renew(struct t_thread *t, struct t_slot *s, bool first);
/* New bounds of the parts. */
void t_divide(struct t_thread *t, struct t_slot *s);
/* With XNACK off memory has to be made known; not done with XNACK on. */
void t_register(struct t_thread *t, struct t_slot *s);
/* SET_ATTR of one attribute; whether it could be mapped. */
bool t_set(struct t_thread *t, const struct t_piece *p, uint32_t type,
	   uint32_t value);
/* Other place in the address space for the slot, of its two. */
char *t_place(struct t_thread *t, const struct t_slot *s);

/* torture-place.c */
bool t_op_collapse(struct t_thread *t);
bool t_op_pageout(struct t_thread *t);
bool t_op_cold(struct t_thread *t);
bool t_op_populate(struct t_thread *t);
bool t_op_huge(struct t_thread *t);
bool t_op_lock(struct t_thread *t);
bool t_op_prefetch(struct t_thread *t);
bool t_op_attr(struct t_thread *t);
bool t_op_deny(struct t_thread *t);
bool t_op_gpu_ro(struct t_thread *t);
bool t_op_evict(struct t_thread *t);
bool t_op_pressure(struct t_thread *t);
bool t_op_compact(struct t_thread *t);
bool t_op_drop_caches(struct t_thread *t);
bool t_may_numa(void);
bool t_op_numa(struct t_thread *t);
bool t_may_swap(void);

/* torture-uffd.c */
bool t_op_uffd(struct t_thread *t);

/* torture-child.c: ops with a child */
bool t_op_fork(struct t_thread *t);
bool t_op_scribble(struct t_thread *t);
bool t_op_exec(struct t_thread *t);
bool t_op_ptrace(struct t_thread *t);
bool t_op_remote(struct t_thread *t);
/* A process beside, in which others live and die with copies under way. */
void t_lives_start(void);
void t_lives_end(void);
unsigned long t_lives(void);

#endif /* TORTURE_H */
