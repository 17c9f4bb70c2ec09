/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A case of vgpu-test-svm-matrix combines a kind of memory, a place, users, a mode and an action.
 * Each case runs in its own process.
 */
#ifndef SVM_MATRIX_H
#define SVM_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "tap.h"

#define MX_PAGES	64
#define MX_SIZE		(MX_PAGES * VG_PAGE)
#define MX_HUGE		(2 * VG_MIB)
#define MX_PIECES	8
#define MX_QUEUES	4

/*
 * Properties of a kind of memory. The test combines a kind with an action only if the kind has all
 * properties in mx_action.needs and none in mx_action.not.
 */
/*
 * MX_MMAP: each piece (struct mx_piece) has a mapping of its own. Actions may move and split the
 * mapping, except with MX_HUGETLB.
 */
#define MX_MMAP		0x001
#define MX_PRIVATE	0x002
#define MX_SHARED	0x004
#define MX_MOVES	0x008	/* all pages can be in VRAM */
#define MX_FRESH	0x010	/* contents before the first write are known: mx_piece.fresh */
#define MX_FILE		0x020	/* mapped from the file mx.fd */
#define MX_VIEWS	0x040	/* the CPU uses another mapping than the GPU */
#define MX_LOCKED	0x080
#define MX_THP		0x100
#define MX_HUGETLB	0x200
#define MX_READ_ONLY	0x400
#define MX_MIXED	0x800	/* the pieces have different properties (mx_piece.is) */
/* Use the kind only with one GPU, to save time: a similar kind is tested with several GPUs. */
#define MX_ONE_GPU	0x1000

/* Properties of an action. */
#define MX_READS	0x1	/* the action makes sense for read-only memory */
#define MX_UNTOUCHED	0x2	/* neither CPU nor GPU accesses the memory before the action */
/* The action stops the queues, so only the CPU checks the contents afterwards. */
#define MX_LAST		0x4
#define MX_MOVES_IT	0x8	/* the action needs a kind with MX_MOVES or MX_MIXED */

/**
 * struct mx_kind - a kind of memory
 * @name: part of the case's name
 * @is: properties of the kind: a mask of MX_MMAP to MX_ONE_GPU
 * @make: adds the pieces to mx.piece; @at is their address if @is has MX_MMAP
 */
struct mx_kind {
	const char *name;
	unsigned int is;
	void (*make)(char *at);
	/**
	 * @turn: the test combines the kind with every @turn-th action. @turn is above 1 for a kind
	 * that resembles another kind. The function has_turn() defines the exceptions.
	 */
	int turn;
};

/**
 * struct mx_action - an action on memory
 * @name: part of the case's name
 * @fn: the action; the caller checks the contents afterwards
 * @needs: properties that the kind must have
 * @not: properties that the kind must not have
 * @flags: MX_READS, ...
 */
struct mx_action {
	const char *name;
	void (*fn)(void);
	unsigned int needs, not, flags;
};

/*
 * How the memory is placed:
 * - MX_FAULTED: by retry faults of the GPUs
 * - MX_IN_PLACE: stays in system memory, where the GPUs access it
 * - MX_PREFETCHED: by a prefetch to the first GPU
 * - MX_PREFERRED: by retry faults, with the first GPU as preferred location
 * - MX_HALF: by a prefetch of one half to the first GPU, and of the rest to the second, if any
 */
enum mx_place { MX_FAULTED, MX_IN_PLACE, MX_PREFETCHED, MX_PREFERRED, MX_HALF };
/*
 * When the driver maps the memory for the GPUs:
 * - MX_RETRY: XNACK is on; after a retry fault
 * - MX_NO_RETRY: XNACK is off; before any GPU access
 * - MX_ALWAYS: XNACK is on; before any GPU access, because of the flag GPU_ALWAYS_MAPPED
 */
enum mx_mode { MX_RETRY, MX_NO_RETRY, MX_ALWAYS };

/**
 * struct mx_users - the GPUs and queues that access the memory in a case
 */
struct mx_users {
	/** @name: part of the case's name */
	const char *name;
	/** @gpus: number of GPUs in use */
	/** @queues: number of SDMA queues, which are distributed over the GPUs */
	int gpus, queues;
	/** @compute: whether there is also a compute queue */
	bool compute;
	/** @cost: relative cost of a case; the higher @cost, the fewer cases */
	int cost;
};

/**
 * struct mx_piece - memory within one mapping
 */
struct mx_piece {
	/** @p: address for the GPU */
	/** @cpu: address for the CPU */
	char *p, *cpu;
	/** @size: bytes */
	uint64_t size;
	/** @want: expected contents */
	/** @fresh: contents before the first write */
	char *want, *fresh;
	/** @is: MX_PRIVATE or MX_SHARED, and MX_MOVES if all pages of the piece can be in VRAM */
	unsigned int is;
};

/* State of the case that this process runs. */
struct mx {
	const struct mx_kind *kind;
	const struct mx_action *action;
	const struct mx_users *users;
	enum mx_place place;
	enum mx_mode mode;

	struct vg vg;
	struct vg_queue q[MX_QUEUES];
	struct vg_cq cq;
	struct vg_bo save, in, out;

	struct mx_piece piece[MX_PIECES];
	int n_pieces;
	char *at;
	int fd;
};

extern struct mx mx;

#define mx_each(pc)							\
	for ((pc) = mx.piece; (pc) < mx.piece + mx.n_pieces; (pc)++)

/* svm-matrix-memory.c */

extern const struct mx_kind mx_kinds[];
extern const int mx_n_kinds;

/*
 * Reserve @size bytes of address space. If @size is at least 2 MiB, the space starts at a 2
 * MiB boundary. Otherwise a 2 MiB boundary is in the middle of the space.
 */
char *mx_room(uint64_t size);
/* Unmap all pieces and make new pieces at the same address. */
void mx_make_again(void);
/*
 * mx_pages() returns the address and size of the pages that contain @pc. mx_middle()
 * returns the address and size of the middle third of these pages.
 */
char *mx_pages(const struct mx_piece *pc, uint64_t *size);
char *mx_middle(const struct mx_piece *pc, uint64_t *size);
/* Return the number of bytes of the mapping at @p that are in huge pages. */
uint64_t mx_huge_bytes(const void *p);
/* Reserve @pages pages for the kind "hugetlb". If @pages is 0, release them. */
void mx_huge_pool(int pages);

/* svm-matrix.c */

/* Make the memory of the case, open KFD, and register and place the memory. */
void mx_begin(void);
/* Open KFD and create queues and BOs. A child calls this function after the fork. */
void mx_open(void);
void mx_close_queues(void);
/* Set the attributes that the place and the mode of the case require. */
void mx_register(void);
/* Move the memory to the place of the case, and check that the memory is there. */
void mx_put_in_place(void);
/*
 * Prefetch all memory to the VRAM of @gpu, or to system memory if @gpu is NULL. Check
 * that the memory is there.
 */
void mx_prefetch(struct vg_gpu *gpu);
/*
 * Set one attribute on all memory. mx_attr_gpus() sets the attribute once for each GPU that
 * the case uses, with the GPU's ID as value.
 */
void mx_attr(uint32_t type, uint32_t value);
void mx_attr_gpus(uint32_t type);
/*
 * mx_in_vram() returns how many pages of the case's memory are in VRAM now. mx_movable()
 * returns how many pages of this memory can be in VRAM.
 */
long mx_in_vram(void);
long mx_movable(void);
/* Return true if a prefetch must migrate all movable pages. */
bool mx_must_move(void);
/* Add up the driver's counter @name of all GPUs that the case uses, and return the sum. */
uint64_t mx_counted(const char *name);
int mx_gpus(void);

/*
 * Write the pattern of @seed to all memory, and set the expected contents. Do nothing if the
 * memory is read-only.
 */
void mx_gpu_write(uint64_t seed);
/* mx_gpu_write() without waiting for the GPU. */
void mx_gpu_write_begin(uint64_t seed);
/* mx_gpu_write() by the CPU instead of the GPU. */
void mx_cpu_write(uint64_t seed);
/*
 * Set the expected contents, not the memory, to the pattern of @seed, for pieces with a property
 * in mask @is. Do nothing for read-only memory.
 */
void mx_want(uint64_t seed, unsigned int is);
/*
 * Emit a copy of the pattern of @seed to @n bytes at offset @at of the piece. mx_submit() or
 * mx_finish() starts the copy.
 */
void mx_gpu_write_at(struct mx_piece *pc, uint64_t at, uint64_t n,
		     uint64_t seed);
/* Submit all queues without waiting. mx_finish() waits for them. */
void mx_submit(void);
/* Submit all queues, and wait until they have finished. */
void mx_finish(void);
/*
 * Let the GPU or the CPU read all bytes, and compare them with the expected contents.
 * mx_gpu_check_begin() starts the reads, and mx_gpu_check_end() waits for them and
 * compares.
 */
void mx_gpu_check(void);
void mx_gpu_check_begin(void);
void mx_gpu_check_end(void);
void mx_cpu_check(void);

/* svm-matrix-actions.c, svm-matrix-mm.c */

extern const struct mx_action mx_actions[], mx_mm_actions[];
extern const int mx_n_actions, mx_n_mm_actions;

#endif /* SVM_MATRIX_H */
