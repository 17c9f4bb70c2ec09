/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: machine, queues and memory of the replay tests. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/queue/replay-fixture.h"

void replay_start(Replay *r)
{
    r->v = qvgpu_start();
    qvgpu_space_init(&r->space, r->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&r->q, r->v, 0, SDMA_QUEUE_RLC(0), &r->space);
    qvgpu_sdma_open(&r->kq, r->v, 0, SDMA_QUEUE_GFX, NULL);
    r->src = qvgpu_alloc(r->v, QVGPU_RAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    r->dst = qvgpu_alloc(r->v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(r->v, r->src, 1, 0, PAGES * QVGPU_PAGE);
}

void replay_map_src(Replay *r)
{
    qvgpu_space_map(&r->space, SRC, r->src, PAGES * QVGPU_PAGE);
}

void replay_map_dst(Replay *r)
{
    qvgpu_space_map(&r->space, DST, r->dst, PAGES * QVGPU_PAGE);
}
