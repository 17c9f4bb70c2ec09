/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: machine, queues and memory for tests of replays after faults. */
#ifndef VGPU_TEST_REPLAY_FIXTURE_H
#define VGPU_TEST_REPLAY_FIXTURE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID    6
#define SRC     0x111100000000ull
#define DST     0x222200000000ull
#define PAGES   16

typedef struct Replay {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;                /* user queue, engine 0 */
    QVGPUSdma kq;               /* kernel queue, engine 0 */
    /* CPU addresses of the pages (PAGES each) to map at SRC and at DST */
    uint64_t src, dst;
} Replay;

/*
 * Start a machine with the queues @r->q and @r->kq. The pages at @r->src
 * contain the pattern of qvgpu_fill() with seed 1. The GPU addresses SRC and
 * DST are not mapped.
 */
void replay_start(Replay *r);
/* Map all pages of SRC or DST, without invalidation. */
void replay_map_src(Replay *r);
void replay_map_dst(Replay *r);

#endif /* VGPU_TEST_REPLAY_FIXTURE_H */
