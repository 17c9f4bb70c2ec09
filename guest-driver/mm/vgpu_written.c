// SPDX-License-Identifier: GPL-2.0
/* Pages of processes that the GPU writes. */
#include <linux/mm.h>

#include "vgpu_userptr.h"

/**
 * vgpu_page_written() - a page that the GPU may write from now on is dirty
 * @page: what HMM found writable; it cannot be taken away until the caller drops
 *        the lock that his notifier waits for
 *
 * The GPU leaves no trace in the CPU's page tables. Without this, reclaim would
 * throw away what MADV_FREE made clean and the GPU wrote since; a page of shmem
 * that only the GPU wrote; one that has an older copy in swap space. Pages of a
 * file system it has made dirty itself, or they are not writable.
 */
void vgpu_page_written(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (folio_test_anon(folio) || folio_test_swapbacked(folio))
		folio_mark_dirty(folio);
}
