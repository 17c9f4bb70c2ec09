/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations of vgpu-test-svm-torture.
 *
 * Lock order: slots by number. Within a slot: t_slot.map, t_slot.part[] by number,
 * t_slot.neighbour.
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
/* Size of the largest copy, and of the staging BO in struct t_thread. */
#define T_STAGE		VG_MIB
/*
 * Time limit of an op. Shorter than the limit of a case, because the message about a stuck op has
 * more details.
 */
#define T_STUCK_NS	(5ull * VG_TIMEOUT_MS * 1000000 / 2)

/* Kind of memory of a slot. T_FILE is a private mapping of t_base_file. */
enum t_kind { T_ANON, T_HUGE, T_SHARED, T_FILE, T_KINDS };

struct t_thread;

/**
 * struct t_op - an operation of a thread on one or two slots
 */
struct t_op {
	/** @name: name of the op in histories and reports */
	const char *name;
	/** @fn: executes the op; returns false if the op could not be done */
	bool (*fn)(struct t_thread *t);
	/** @weight: relative frequency of the op */
	unsigned int weight;
	/** @may: returns true if the machine can do the op; NULL: every machine can */
	bool (*may)(void);
	/**
	 * @no_retry: true if the op can also run with XNACK off, that is, without retry faults;
	 * false for ops that make pages inaccessible
	 */
	bool no_retry;
};

/**
 * struct t_note - an entry of a slot's history: an op used bytes of the slot
 */
struct t_note {
	/** @ns: time of the entry, from vg_now() */
	/** @nth: t_thread.nth of the op */
	/** @at: offset in the slot of the first byte that the op used */
	/** @bytes: number of bytes that the op used, from @at on */
	uint64_t ns, nth, at, bytes;
	/** @op: t_op.name, or "-" outside an op */
	const char *op;
	/** @thread: t_thread.id of the op's thread */
	int thread;
};

/**
 * struct t_slot - a range of addresses with one kind of memory
 */
struct t_slot {
	/** @index: number of the slot in t_slots */
	int index;
	/** @kind: changes when t_renew() maps new memory */
	enum t_kind kind;
	/** @at: address of the slot */
	/** @shadow: expected bytes of the slot; shared with children, and not used by the GPU */
	char *at, *shadow;
	/** @size: size of the slot in bytes */
	/**
	 * @bound: part i has bytes bound[i] to bound[i + 1] - 1. Inner bounds are within pages, so
	 * that adjacent parts share a page.
	 */
	uint64_t size, bound[T_PARTS + 1];
	/** @file: file of a T_SHARED slot, else -1 */
	int file;
	/**
	 * @map: read lock: @at and @size do not change. Write lock: the op may map, unmap or move
	 * the slot.
	 */
	/**
	 * @part: locks of the parts, taken after @map. Read lock: the op and the GPU may read the
	 * part. Write lock: they may also write.
	 */
	pthread_rwlock_t map, part[T_PARTS];
	/** @neighbour: lock of the addresses after the slot, which op_neighbour() uses briefly */
	pthread_mutex_t neighbour;
	/** @cutting: number of ops that currently make pages inaccessible */
	atomic_int cutting;
	/** @cuts: incremented at start and end of each op that makes pages inaccessible */
	atomic_uint cuts;
	/** @n_notes: number of entries that were added to the slot's history */
	atomic_uint n_notes;
	/** @note: the last T_HISTORY entries of the history; entry n is at n % T_HISTORY */
	struct t_note note[T_HISTORY];
};

/**
 * struct t_piece - bytes of one part of a slot
 * @s: slot
 * @part: number of the part
 * @off: offset in the slot
 * @bytes: length
 */
struct t_piece {
	struct t_slot *s;
	int part;
	uint64_t off, bytes;
};

/**
 * struct t_thread - a thread and its current op
 */
struct t_thread {
	/** @id: names the thread in messages; seeds @rng */
	int id;
	/** @thread: for pthread_join() */
	pthread_t thread;
	/** @nth: index of the current op, from 0 */
	/**
	 * @rng: state of the random numbers. t_begin_op() sets @rng to a hash of t_seed, @id and
	 * @nth
	 */
	uint64_t nth, rng;
	/** @op: current op, or NULL */
	const struct t_op *op;
	/** @since: start time of the op in ns; 0: the thread has ended */
	_Atomic uint64_t since;
	/**
	 * @slot: the last two slots that the thread has locked by t_lock_map(), newest first. Error
	 * messages show these slots
	 */
	struct t_slot *slot[2];
	/** @q: queue of a thread that runs t_gpu_ops */
	struct vg_queue q;
	/** @stage: staging BO in GTT of a thread that runs t_gpu_ops */
	struct vg_bo stage;
	/** @render: DRM file of the render node, or -1 */
	int render;
};

/* These variables are set before the threads start. */
extern struct vg t_vg;
extern struct vg_gpu *t_gpu;
extern bool t_xnack;
extern uint64_t t_seed;
extern struct t_slot t_slots[T_SLOTS];
extern int t_base_file;
/*
 * t_gpu_ops has the ops of threads with a queue, t_cpu_ops the ops of threads without a
 * queue. The last entry of each table has a NULL name.
 */
extern const struct t_op t_gpu_ops[], t_cpu_ops[];
/* Number of copies and fills that the GPU has completed for all threads. */
extern atomic_ulong t_copies;

/* torture.c: slots */

/* Print the message and the histories of the slots in @t->slot, and end the case as failed. */
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

/* Return a random number below @n from the op's generator. */
uint64_t t_below(struct t_thread *t, uint64_t n);
void t_begin_op(struct t_thread *t, const struct t_op *op);

void t_slots_init(void);
struct t_slot *t_pick(struct t_thread *t);
/*
 * A thread that holds locks of slots may wait for a child process or for the GPU. This cannot
 * deadlock, because child processes and the GPU do not take locks of slots.
 */
void t_lock_map(struct t_thread *t, struct t_slot *s, bool write);
void t_unlock_map(struct t_slot *s);
/* Lock the map of a random slot and return the slot. */
struct t_slot *t_lock_any(struct t_thread *t, bool write);
/*
 * Lock the map of a random slot for reading. Set @p to random contiguous pages of the slot,
 * and note them in the slot's history.
 */
void t_lock_pages(struct t_thread *t, struct t_piece *p);
void t_lock_parts(struct t_slot *s, bool write);
void t_unlock_parts(struct t_slot *s);
/*
 * Read-lock a random slot's map. Then write-lock (@write) or read-lock a random part of the slot.
 * Set @p to the whole part.
 */
void t_lock_part(struct t_thread *t, struct t_piece *p, bool write);
void t_unlock_part(const struct t_piece *p);
/*
 * As t_lock_part() for writing, but set @p to random whole pages of the part, and call t_note() for
 * them. If the part has no whole page, return false with nothing locked.
 */
bool t_lock_some(struct t_thread *t, struct t_piece *p);

/* Set @p->off and @p->bytes to a random piece of at most @max bytes of the part @p->part. */
void t_some_bytes(struct t_thread *t, struct t_piece *p, uint64_t max);
/* As t_some_bytes(), but choose whole pages. Return false if the part has no whole page. */
bool t_some_pages(struct t_thread *t, struct t_piece *p);
/* Set @p to random contiguous pages of the slot. These pages may lie in several parts. */
void t_any_pages(struct t_thread *t, struct t_slot *s, struct t_piece *p);

/* Note in the slot's history that the thread's current op uses the piece. */
void t_note(struct t_thread *t, const struct t_piece *p);
/* Fill the shadow of the piece with bytes that no op has used before. */
void t_fresh(struct t_thread *t, const struct t_piece *p);
/* Return the expected contents of dropped or new pages of the slot, from offset @at on. */
const char *t_blank(const struct t_slot *s, uint64_t at);
/* Drop whole pages in a way that the kind of memory allows. The caller updates the shadow. */
void t_drop(struct t_thread *t, const struct t_piece *p);
/*
 * Compare @bytes, which were read from the piece, with the shadow. @by names the reader
 * in the message.
 */
void t_compare(struct t_thread *t, const struct t_piece *p, const char *bytes,
	       const char *by);
/* Read the whole part, or the whole slot, by the CPU, and compare it with the shadow. */
void t_check_part(struct t_thread *t, const struct t_piece *p);
void t_check_slot(struct t_thread *t, struct t_slot *s);
/*
 * Map new memory for the slot. The caller has locked the slot's map for writing. @first
 * means that the slot has no memory yet.
 */
void t_renew(struct t_thread *t, struct t_slot *s, bool first);
/* Choose new bounds of the slot's parts. */
void t_divide(struct t_thread *t, struct t_slot *s);
/*
 * With XNACK off, set KFD_IOCTL_SVM_ATTR_ACCESS for the slot's memory, because the GPU
 * accesses only registered memory. With XNACK on, do nothing.
 */
void t_register(struct t_thread *t, struct t_slot *s);
/*
 * Set one attribute of the piece. Return false if memory is full, or another op makes the slot's
 * pages inaccessible. Other errors end the case.
 */
bool t_set(struct t_thread *t, const struct t_piece *p, uint32_t type,
	   uint32_t value);
/* A slot has two possible addresses. Return the one that the slot does not currently have. */
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
/*
 * t_lives_start() starts a process. The children of this process use the GPU and end with copies in
 * flight.
 */
void t_lives_start(void);
/* End the process that t_lives_start() started. */
void t_lives_end(void);
/* Return the number of children of that process that have ended. */
unsigned long t_lives(void);

#endif /* TORTURE_H */
