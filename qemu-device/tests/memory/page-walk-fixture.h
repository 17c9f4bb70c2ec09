/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fixture of the page walk tests: an address space, a user queue
 * whose copies access this space, and a destination. Faults are no-retry
 * faults, so that the first one is latched in the status register.
 */
#ifndef VGPU_TEST_PAGE_WALK_FIXTURE_H
#define VGPU_TEST_PAGE_WALK_FIXTURE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define PAGE_WALK_VMID  7
#define VA              0x123000000000ull
#define LEAF(flags)     (QVGPU_PTE_RW | (flags))

typedef struct PageWalk {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t dst, dst_va;       /* CPU and GPU address of a 64 KiB buffer */
} PageWalk;

/*
 * Start a machine with page tables in memory of kind @tables. page_walk_start()
 * puts the tables in VRAM.
 */
void page_walk_start_in(PageWalk *w, QVGPUKind tables);
void page_walk_start(PageWalk *w);
/*
 * Copy with queue @w->q, and wait until the queue is idle. The wait also ends
 * if the copy faults, because a no-retry fault does not stop the queue.
 */
void page_walk_copy(PageWalk *w, uint64_t src, uint64_t dst, uint64_t len);
/*
 * Copy @len bytes from @va to @w->dst. These bytes must be the part of pattern
 * @seed that begins at offset @from. Fails the test if other bytes are copied,
 * or if the copy faults.
 */
void page_walk_expect_at(PageWalk *w, uint64_t va, uint64_t seed, uint64_t from,
                         uint64_t len);
/*
 * Access 4 bytes at @va. Fail the test unless a no-retry fault with walker
 * error @walker follows and the queue continues. Clears the fault.
 */
void page_walk_expect_fault(PageWalk *w, uint64_t va, bool write,
                            unsigned walker);
/* Clear the fault status of the MM hub, so that the hub latches a new fault. */
void page_walk_clear_fault(PageWalk *w);

#endif /* VGPU_TEST_PAGE_WALK_FIXTURE_H */
