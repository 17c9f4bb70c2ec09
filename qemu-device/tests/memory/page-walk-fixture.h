/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what the tests of the walker share: a space, a user queue in it
 * whose copies are the probe, and a place to copy to. Faults are no-retry
 * here, so that each shows as a latched status.
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
    uint64_t dst, dst_va;       /* 64 KiB to copy to */
} PageWalk;

void page_walk_start_in(PageWalk *w, QVGPUKind tables);
void page_walk_start(PageWalk *w);
/* Copy by the user queue; faults do not stop it. */
void page_walk_copy(PageWalk *w, uint64_t src, uint64_t dst, uint64_t len);
/* What is at @va is bytes @from.. of pattern @seed, and no fault comes. */
void page_walk_expect_at(PageWalk *w, uint64_t va, uint64_t seed, uint64_t from,
                         uint64_t len);
/* A no-retry fault of a 4-byte access at @va; the queue goes on. */
void page_walk_expect_fault(PageWalk *w, uint64_t va, bool write,
                            unsigned walker);
/* Clear the latched fault. */
void page_walk_clear_fault(PageWalk *w);

#endif /* VGPU_TEST_PAGE_WALK_FIXTURE_H */
