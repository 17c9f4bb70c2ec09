/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of vgpu-test-svm-matrix: memory of some kind, a place where it is,
 * who works on it, how the GPU gets at it, and what is done to it. A case is one
 * of each. All state is one structure, as a case has a process of its own.
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

/* What memory is like, or what an action needs it to be like. */
#define MX_MMAP		0x001	/* has mappings of its own, to be moved and cut */
#define MX_PRIVATE	0x002
#define MX_SHARED	0x004
#define MX_MOVES	0x008	/* all of it can be in VRAM */
#define MX_FRESH	0x010	/* what it reads as before it is written is known */
#define MX_FILE		0x020	/* mx.fd is what it is in */
#define MX_VIEWS	0x040	/* the CPU has another view of it than the GPU */
#define MX_LOCKED	0x080
#define MX_THP		0x100
#define MX_HUGETLB	0x200
#define MX_READ_ONLY	0x400
#define MX_MIXED	0x800	/* of several kinds */
#define MX_ONE_GPU	0x1000	/* several GPUs see in it what they see in another */

/* What else holds for an action. */
#define MX_READS	0x1	/* says something about memory that is only read */
#define MX_UNTOUCHED	0x2	/* nobody wrote the memory before */
#define MX_LAST		0x4	/* the queues have stopped afterwards */
#define MX_MOVES_IT	0x8	/* goes through VRAM itself: wants MX_MOVES */

/**
 * struct mx_kind - a kind of memory
 * @make: adds pieces; @at is where, of MX_MMAP
 * @turn: it is like another kind, so it takes every so many-th action only
 */
struct mx_kind {
	const char *name;
	unsigned int is;
	void (*make)(char *at);
	int turn;
};

/**
 * struct mx_action - what is done to memory
 * @needs: what the kind must be, all of it
 * @not: what it must not be
 * @flags: MX_READS, ...
 */
struct mx_action {
	const char *name;
	void (*fn)(void);
	unsigned int needs, not, flags;
};

enum mx_place { MX_FAULTED, MX_IN_PLACE, MX_PREFETCHED, MX_PREFERRED, MX_HALF };
enum mx_mode { MX_RETRY, MX_NO_RETRY, MX_ALWAYS };

/**
 * struct mx_users - who works on the memory
 * @gpus: at least so many
 * @queues: SDMA queues, taking turns between the GPUs
 * @compute: and a compute queue
 * @cost: of a case, so that there are fewer
 */
struct mx_users {
	const char *name;
	int gpus, queues;
	bool compute;
	int cost;
};

/**
 * struct mx_piece - memory within one mapping
 * @p: where the GPU sees it
 * @cpu: where the CPU does
 * @want: what must be there
 * @fresh: what is there as long as nobody writes
 * @is: MX_PRIVATE, MX_SHARED, MX_MOVES
 */
struct mx_piece {
	char *p, *cpu;
	uint64_t size;
	char *want, *fresh;
	unsigned int is;
};

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

/* Room for @size bytes that nothing else is in, around a 2 MiB boundary. */
char *mx_room(uint64_t size);
/* Unmaps all pieces and forgets them; makes new ones at the same place. */
void mx_make_again(void);
/* The pages that are all @pc's, or the middle third of them. */
char *mx_pages(const struct mx_piece *pc, uint64_t *size);
char *mx_middle(const struct mx_piece *pc, uint64_t *size);
/* Bytes of a mapping that are in huge pages. */
uint64_t mx_huge_bytes(const void *p);
/* What mx_kinds' huge TLB pages need; 0 gives it back. */
void mx_huge_pool(int pages);

/* svm-matrix.c */

/* Opens, makes, registers and places what the case says. */
void mx_begin(void);
/* KFD, queues and BOs; a child after fork has its own. */
void mx_open(void);
void mx_close_queues(void);
/* Attributes, by place and mode; then moves it where place says. */
void mx_register(void);
void mx_put_in_place(void);
/* To @gpu's VRAM, or with NULL to system memory; and looks whether it is there. */
void mx_prefetch(struct vg_gpu *gpu);
/* One attribute of all the memory; @each_gpu: value is each GPU of the users. */
void mx_attr(uint32_t type, uint32_t value);
void mx_attr_gpus(uint32_t type);
/* Pages in VRAM, and how many there could be. */
long mx_in_vram(void);
long mx_movable(void);
/*
 * What can move does when it is prefetched. Not with several GPUs of which one
 * cannot fault, and not a file's pages that nobody wrote: they are the file's.
 */
bool mx_must_move(void);
/* Sum of a driver's counter over the GPUs. */
uint64_t mx_counted(const char *name);
int mx_gpus(void);

/*
 * All the memory has a new pattern, by GPU or CPU, or should have had in the
 * mappings that are @is.
 */
void mx_gpu_write(uint64_t seed);
void mx_gpu_write_begin(uint64_t seed);
void mx_cpu_write(uint64_t seed);
void mx_want(uint64_t seed, unsigned int is);
/* One copy by the next queue, to be waited for by mx_finish(). */
void mx_gpu_write_at(struct mx_piece *pc, uint64_t at, uint64_t n,
		     uint64_t seed);
/* The queues begin; mx_finish() is still to come. */
void mx_submit(void);
/* Until all queues are done. */
void mx_finish(void);
/* Byte for byte, by what the GPU reads and what the CPU does. */
void mx_gpu_check(void);
void mx_gpu_check_begin(void);
void mx_gpu_check_end(void);
void mx_cpu_check(void);

/* svm-matrix-actions.c, svm-matrix-mm.c */

extern const struct mx_action mx_actions[], mx_mm_actions[];
extern const int mx_n_actions, mx_n_mm_actions;

#endif /* SVM_MATRIX_H */
