/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Migrate the chunks of an interval so that the engine copies a chunk while the CPU works on its
 * neighbours. Included only in this folder.
 */
#ifndef SVM_PIPE_H
#define SVM_PIPE_H

#include "svm/svm_interval.h"

struct kfd_node;
struct svm_move;

/**
 * struct svm_pipe - migration of an interval, chunk by chunk
 *
 * At most two chunks are in progress, so at most 2 * SVM_CHUNK_PAGES pages are locked.
 */
struct svm_pipe {
	/** @node: GPU to or from whose VRAM the pages migrate */
	struct kfd_node *node;
	/**
	 * @move: memory for the chunks. The second element is NULL if the interval is a single
	 * chunk, or if memory is short: then each chunk is completed before the next one
	 */
	struct svm_move *move[2];
	/** @last: the chunk that was pushed last, if it is not completed yet, else NULL */
	struct svm_move *last;
	/** @moved: number of pages that have migrated */
	long moved;
	/** @error: error of the first chunk that failed, a negative errno; or 0 */
	long error;
};

/*
 * Prepare the migration of @iv. Returns 0 or -ENOMEM. The caller holds mmap_lock from the first
 * svm_pipe_next() to svm_pipe_fini().
 */
int svm_pipe_init(struct svm_pipe *pipe, struct kfd_node *node, struct svm_interval iv);
/* Return the memory for the next chunk. The caller fills it in and calls svm_pipe_push(). */
struct svm_move *svm_pipe_next(struct svm_pipe *pipe);
/*
 * Add a chunk that svm_pipe_next() has returned; m->copies says whether a copy was submitted.
 * Completes the chunk before @m, and @m too if there is no copy to wait for.
 */
void svm_pipe_push(struct svm_pipe *pipe, struct svm_move *m);
/* Complete the chunk pipe->last, if there is one. */
void svm_pipe_drain(struct svm_pipe *pipe);
/*
 * Complete all chunks, and free their memory. Adds pipe->moved to *@moved, also if a chunk failed.
 * Returns pipe->error.
 */
int svm_pipe_fini(struct svm_pipe *pipe, unsigned long *moved);

#endif /* SVM_PIPE_H */
