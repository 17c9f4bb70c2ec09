// SPDX-License-Identifier: GPL-2.0
/*
 * Implements struct svm_pipe. The order of the steps of chunks 1, 2, 3:
 *
 *	lock pages of 1, submit copy 1,
 *	lock pages of 2, submit copy 2, wait for copy 1, complete 1,
 *	lock pages of 3, submit copy 3, wait for copy 2, complete 2, ...
 *
 * The engine copies a chunk while the CPU completes the chunk before it and locks the pages of the
 * next chunk. So the wait is mostly for a copy that has ended already.
 *
 * This is safe because no step waits for a page lock, except for locks of new pages:
 * migrate_vma_setup() only tries page locks. MMU notifiers and lru_add_drain_all(), which it calls,
 * run under page locks in other callers of the kernel, too.
 */
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "svm/svm_map.h"
#include "svm_move.h"
#include "svm_pipe.h"

int svm_pipe_init(struct svm_pipe *pipe, struct kfd_node *node, struct svm_interval iv)
{
	*pipe = (struct svm_pipe){ .node = node };
	pipe->move[0] = kvmalloc(sizeof(*pipe->move[0]), GFP_KERNEL);
	if (!pipe->move[0])
		return -ENOMEM;
	/* Without the memory for a second chunk, the migration works, but slower. */
	if (iv.first >> SVM_CHUNK_ORDER != iv.last >> SVM_CHUNK_ORDER)
		pipe->move[1] = kvmalloc(sizeof(*pipe->move[1]), GFP_KERNEL |
					 __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_pipe_init);

static void svm_pipe_complete(struct svm_pipe *pipe, struct svm_move *m)
{
	long ret = svm_move_complete(pipe->node, m);

	if (ret > 0)
		pipe->moved += ret;
	else if (!pipe->error)
		pipe->error = ret;
}

void svm_pipe_drain(struct svm_pipe *pipe)
{
	struct svm_move *m = pipe->last;

	pipe->last = NULL;
	if (m)
		svm_pipe_complete(pipe, m);
}

struct svm_move *svm_pipe_next(struct svm_pipe *pipe)
{
	if (!pipe->move[1])
		svm_pipe_drain(pipe);
	return pipe->last == pipe->move[0] ? pipe->move[1] : pipe->move[0];
}
EXPORT_SYMBOL_IF_KUNIT(svm_pipe_next);

void svm_pipe_push(struct svm_pipe *pipe, struct svm_move *m)
{
	svm_pipe_drain(pipe);
	pipe->last = m;
	/* Do not keep pages locked without a copy to wait for. */
	if (m->copies <= 0)
		svm_pipe_drain(pipe);
}
EXPORT_SYMBOL_IF_KUNIT(svm_pipe_push);

int svm_pipe_fini(struct svm_pipe *pipe, unsigned long *moved)
{
	svm_pipe_drain(pipe);
	kvfree(pipe->move[0]);
	kvfree(pipe->move[1]);
	*moved += pipe->moved;
	return pipe->error;
}
EXPORT_SYMBOL_IF_KUNIT(svm_pipe_fini);
