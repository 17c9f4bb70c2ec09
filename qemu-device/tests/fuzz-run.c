/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: the device does a case. All queues start at once; then
 * the oracle goes through them one after the other and deals with their faults
 * as it meets them, which leaves the others time to get on or to wait.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include <sys/mman.h>
#include "fuzz.h"

#define PATIENCE_US     (20 * G_USEC_PER_SEC)
#define IH_ORDER        13              /* 1024 entries */

void fuzz_fail(FuzzCase *c, const char *fmt, ...)
{
    va_list ap;

    if (!c->failure->len) {
        va_start(ap, fmt);
        g_string_append_vprintf(c->failure, fmt, ap);
        va_end(ap);
    }
}

void fuzz_start(FuzzCase *c)
{
    g_autofree char *path = NULL, *args = NULL;
    unsigned i;
    int fd;

    memset(c, 0, sizeof(*c));
    fd = g_file_open_tmp("vgpu-fuzz-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, QVGPU_RAM_SIZE), ==, 0);
    c->ram = mmap(NULL, QVGPU_RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    g_assert_true(c->ram != MAP_FAILED);
    close(fd);
    args = g_strdup_printf("-machine memory-backend=ram -object "
                           "memory-backend-file,id=ram,share=on,size=%uM,"
                           "mem-path=%s",
                           (unsigned)(QVGPU_RAM_SIZE / MiB), path);
    c->v = qvgpu_start_args(args);
    g_unlink(path);
    qvgpu_ih_init(c->v, IH_ORDER, 0);

    c->ram_size = QVGPU_RAM_SIZE;
    c->vram_size = c->v->vram_size;
    c->vram_bus = c->v->bar[VGPU_BAR_VRAM];
    c->agp = qvgpu_mc(c->v, 0);
    c->fb = qvgpu_mc(c->v, c->vram_bus);
    for (i = 0; i < 2; i++) {
        c->mem[i].base = (i == QVGPU_RAM ? c->ram_size : c->vram_size) -
                         FUZZ_MEM;
        c->mem[i].byte = g_malloc0(FUZZ_MEM);
        c->mem[i].undef = g_malloc0(FUZZ_MEM);
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        FuzzQueue *q = &c->queue[i];

        q->traps = g_array_new(false, false, sizeof(uint32_t));
        q->seen_traps = g_array_new(false, false, sizeof(uint32_t));
        q->seen_stalls = g_array_new(false, false, sizeof(QVGPUIrq));
    }
    c->broken = g_array_new(false, false, sizeof(FuzzBroken));
    c->faults = g_array_new(false, true, sizeof(FuzzFault));
    c->seen_faults = g_array_new(false, true, sizeof(FuzzFault));
    c->failure = g_string_new(NULL);
}

void fuzz_stop(FuzzCase *c)
{
    unsigned i;

    qvgpu_stop(c->v);
    munmap(c->ram, c->ram_size);
    for (i = 0; i < 2; i++) {
        g_free(c->mem[i].byte);
        g_free(c->mem[i].undef);
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        g_array_unref(c->queue[i].traps);
        g_array_unref(c->queue[i].seen_traps);
        g_array_unref(c->queue[i].seen_stalls);
    }
    g_array_unref(c->broken);
    g_array_unref(c->faults);
    g_array_unref(c->seen_faults);
    g_string_free(c->failure, true);
}

/* Take the interrupts that there are to whom they concern. */
static void drain(FuzzCase *c)
{
    while (qvgpu_ih_pending(c->v)) {
        QVGPUIrq irq;
        uint64_t va;
        unsigned n;

        qvgpu_ih_next(c->v, &irq);
        switch (irq.source) {
        case IH_SRC_SDMA_TRAP:
            n = FUZZ_QUEUES - 1 - irq.data[0] / (1 << 24) % FUZZ_QUEUES;
            g_array_append_val(c->queue[n].seen_traps, irq.data[0]);
            break;
        case IH_SRC_VM_FAULT:
            va = ((uint64_t)irq.data[0] | (irq.data[1] & 0xfull) << 32)
                 << VGPU_PAGE_SHIFT;
            n = FUZZ_QUEUES - 1 - (va >> 39) / (VGPU_PT_ENTRIES / FUZZ_QUEUES);
            if (irq.data[1] & IH_FAULT_D1__RETRY) {
                g_array_append_val(c->queue[n].seen_stalls, irq);
            } else {
                FuzzFault f = { irq.vmid, va >> VGPU_PAGE_SHIFT,
                                irq.data[1] & IH_FAULT_D1__WRITE };

                g_array_append_val(c->seen_faults, f);
            }
            break;
        case IH_SRC_SDMA_POLL_TIMEOUT:
            break;              /* it goes on all the same */
        default:
            fuzz_fail(c, "interrupt of source %u, data 0x%x 0x%x", irq.source,
                      irq.data[0], irq.data[1]);
            break;
        }
    }
}

/* Entries may change while others use the table: the device's side of it. */
static void poke(FuzzCase *c, FuzzPlace at, uint64_t val)
{
    fuzz_put64(c, at, val);
    qtest_writeq(c->v->qts, c->mem[at.kind].base + at.off +
                 (at.kind == QVGPU_RAM ? 0 : c->vram_bus), val);
}

/* What the driver makes of the entry that a queue stalled at. */
static void repair(FuzzQueue *q, unsigned vmid, const FuzzHit *hit)
{
    uint64_t now = fuzz_get64(q->c, hit->slot), to;
    uint64_t leaf = hit->level >= VGPU_LEVEL_PDB1 ? VGPU_PDE_PTE : 0;
    unsigned i, dice = fuzz_below(&q->rng, 100);
    const FuzzBroken *b = NULL;

    for (i = 0; i < q->c->broken->len && !b; i++) {
        b = &g_array_index(q->c->broken, FuzzBroken, i);
        if (b->slot.kind != hit->slot.kind || b->slot.off != hit->slot.off ||
            b->want == now) {
            b = NULL;
        }
    }
    if (hit->permission) {
        to = now | VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE;
    } else if (b && (!b->data || dice < 70)) {
        to = b->want;
    } else if (hit->level == VGPU_LEVEL_PTB && dice < 50) {
        to = fuzz_case_pte(q, &q->rng);
    } else if (dice % 2) {
        to = VGPU_PTE_PRT;
    } else {
        to = VGPU_PTE_NORETRY | leaf;
    }
    poke(q->c, hit->slot, to);
    /* What was valid is in the TLB. */
    if (hit->permission || fuzz_chance(&q->rng, 20)) {
        qvgpu_invalidate(q->c->v, 1u << vmid);
    }
}

/* Let an engine stand still, wherever it is, and go on. */
static void freeze(QVGPU *v, unsigned engine)
{
    uint32_t reg = SDMA_ENGINE(engine) + SDMA_FREEZE;

    qvgpu_wr(v, reg, SDMA_FREEZE__FREEZE);
    qvgpu_wait_until(qvgpu_rd(v, reg) & SDMA_FREEZE__FROZEN);
    qvgpu_wr(v, reg, 0);
}

/* Things that change nothing. */
static void disturb(FuzzQueue *q)
{
    FuzzCase *c = q->c;
    QVGPUQueue *other = &c->queue[fuzz_below(&q->rng, c->nqueues)].q;

    switch (fuzz_below(&q->rng, 16)) {
    case 0 ... 1:
        qvgpu_invalidate(c->v, fuzz_rnd(&q->rng) & 0xffff);
        break;
    case 2 ... 3:
        qvgpu_queue_disable(other);
        qvgpu_queue_enable(other);
        break;
    case 4:
        freeze(c->v, other->engine);
        break;
    case 5:
        /* The machine stops and goes on. */
        qtest_qmp_assert_success(c->v->qts, "{ 'execute': 'stop' }");
        qtest_qmp_assert_success(c->v->qts, "{ 'execute': 'cont' }");
        break;
    case 6 ... 7:
        if (!q->loose) {
            uint64_t at = FUZZ_PARTS_AT + q->part * FUZZ_PART;

            fuzz_check_pages(c, at / QVGPU_PAGE,
                             (at + FUZZ_PART) / QVGPU_PAGE);
        }
        break;
    default:
        break;
    }
}

bool fuzz_stall(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                const FuzzHit *hit)
{
    int64_t until = g_get_monotonic_time() + PATIENCE_US;
    FuzzCase *c = q->c;
    QVGPUIrq irq;

    while (!c->failure->len && q->seen_stalls->len == q->taken) {
        drain(c);
        if (g_get_monotonic_time() > until) {
            fuzz_fail(c, "queue %u: no retry fault at 0x%" PRIx64 " of VMID "
                      "%u (%s)", q->part, va, vmid, write ? "write" : "read");
        }
    }
    if (c->failure->len) {
        return false;
    }
    irq = g_array_index(q->seen_stalls, QVGPUIrq, q->taken++);
    if (irq.vmid != vmid || irq.data[0] != (uint32_t)(va >> VGPU_PAGE_SHIFT) ||
        !(irq.data[1] & IH_FAULT_D1__WRITE) == write) {
        fuzz_fail(c, "queue %u: retry fault at page 0x%x of VMID %u (0x%x), "
                  "should be at 0x%" PRIx64 " of VMID %u (%s)", q->part,
                  irq.data[0], irq.vmid, irq.data[1], va, vmid,
                  write ? "write" : "read");
        return false;
    }
    c->all_stalls++;
    disturb(q);
    if (!fuzz_chance(&q->rng, 10)) {
        repair(q, vmid, hit);
    }
    qvgpu_cam_ack(c->v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    return !c->failure->len;
}

static void program(FuzzCase *c)
{
    uint64_t gart = c->mem[c->gart_table.kind].base + c->gart_table.off;
    uint64_t first = c->gart / QVGPU_PAGE;
    unsigned i;

    qvgpu_mm_wr(c->v, MC_VM_FB_OFFSET, c->fb_offset >> 24);
    qvgpu_mm_wr64(c->v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
                  c->default_page / QVGPU_PAGE);
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
                  VGPU_PDE_VALID |
                  (c->gart_table.kind == QVGPU_RAM ? VGPU_PDE_SYSTEM | gart
                                                   : gart + c->fb_offset));
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0), first);
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  first + c->gart_pages - 1);
    qvgpu_mm_wr(c->v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS |
                VM_CONTEXT_CNTL__ALL_DEFAULTS);
    for (i = 0; i < c->nspaces; i++) {
        unsigned vmid = c->vmids[i];
        FuzzPlace root = c->space[vmid].root;
        uint64_t addr = c->mem[root.kind].base + root.off;
        QVGPUSpace s = { .v = c->v, .vmid = vmid };

        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid),
                      VGPU_PDE_VALID |
                      (root.kind == QVGPU_RAM ? VGPU_PDE_SYSTEM | addr
                                              : addr + c->fb_offset));
        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid), 0);
        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid),
                      (1ull << (VGPU_VA_BITS - VGPU_PAGE_SHIFT)) - 1);
        qvgpu_space_set_retry(&s, c->space[vmid].retry);
    }
    qvgpu_invalidate(c->v, 0xffff);
}

static void load(FuzzQueue *q)
{
    QVGPU *v = q->c->v;
    unsigned i = q->q.index - SDMA_QUEUE_RLC(0);
    uint64_t wptr = q->q.wptr;

    q->q.v = v;
    q->q.doorbell = 0;
    if (q->q.index >= SDMA_QUEUE_RLC(0)) {
        q->q.doorbell = qvgpu_doorbell(1 + q->part, q->q.engine, i);
    }
    q->q.wptr = q->first;
    qvgpu_queue_load(&q->q);
    q->q.wptr = wptr;
}

static bool same(GArray *a, GArray *b)
{
    return a->len == b->len &&
           (!a->len || !memcmp(a->data, b->data, (size_t)a->len *
                               g_array_get_element_size(a)));
}

static void check_queue(FuzzQueue *q)
{
    int64_t until = g_get_monotonic_time() + PATIENCE_US;
    FuzzCase *c = q->c;

    while (!qvgpu_queue_idle(&q->q) && !c->failure->len) {
        drain(c);
        if (q->seen_stalls->len != q->taken) {
            fuzz_fail(c, "queue %u: a retry fault too many", q->part);
        } else if (g_get_monotonic_time() > until) {
            fuzz_fail(c, "queue %u hangs at 0x%" PRIx64 ", should go to "
                      "0x%" PRIx64, q->part, qvgpu_queue_rptr(&q->q),
                      q->done);
        }
    }
    drain(c);
    if (qvgpu_queue_exception(&q->q)) {
        fuzz_fail(c, "queue %u: exception %u", q->part,
                  qvgpu_queue_exception(&q->q));
    }
    if (qvgpu_queue_rptr(&q->q) != q->done) {
        fuzz_fail(c, "queue %u: rptr is 0x%" PRIx64 ", should be 0x%" PRIx64,
                  q->part, qvgpu_queue_rptr(&q->q), q->done);
    }
    if (!same(q->traps, q->seen_traps)) {
        fuzz_fail(c, "queue %u: %u traps came, should be %u", q->part,
                  q->seen_traps->len, q->traps->len);
    }
}

/* Nothing of the last case; its pages are zero now. */
static void forget(FuzzCase *c)
{
    unsigned i, kind;

    for (kind = 0; kind < 2; kind++) {
        FuzzMem *m = &c->mem[kind];

        for (i = 0; i < FUZZ_PAGES; i++) {
            if (m->used[i]) {
                memset(m->byte + i * QVGPU_PAGE, 0, QVGPU_PAGE);
                memset(m->undef + i * QVGPU_PAGE, 0, QVGPU_PAGE);
                m->used[i]--;
            }
        }
        c->tables[kind] = 0;
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        FuzzQueue *q = &c->queue[i];

        g_array_set_size(q->traps, 0);
        g_array_set_size(q->seen_traps, 0);
        g_array_set_size(q->seen_stalls, 0);
        q->taken = 0;
    }
    g_array_set_size(c->broken, 0);
    g_array_set_size(c->faults, 0);
    g_array_set_size(c->seen_faults, 0);
    memset(c->space, 0, sizeof(c->space));
    c->npackets = 0;
    g_string_truncate(c->failure, 0);
}

bool fuzz_run(FuzzCase *c, uint64_t seed, const GArray *drop)
{
    unsigned i;

    forget(c);
    c->seed = seed;
    c->rng.state = seed;
    c->drop = drop;
    fuzz_case_make(c);
    fuzz_push(c);
    program(c);
    for (i = 0; i < c->nqueues; i++) {
        load(&c->queue[i]);
    }
    for (i = 0; i < c->nqueues; i++) {
        qvgpu_kick(&c->queue[i].q);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        fuzz_oracle_run(&c->queue[i]);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        check_queue(&c->queue[i]);
    }
    if (!c->failure->len) {
        fuzz_check_faults(c);
        fuzz_check_pages(c, 0, FUZZ_PAGES);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        qvgpu_queue_disable(&c->queue[i].q);
    }
    return !c->failure->len;
}
