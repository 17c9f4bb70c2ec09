/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: benchmarks of the device, without a guest. Prints one line of JSON
 * for each sample; ./vgpu bench parses these lines. Times are host time. With
 * the argument "walk", the program measures only page-table walks, for
 * ./vgpu bench-curves.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID        2
#define SAMPLES     5
#define COPY        (64 * MiB)
#define ROUNDS      16                  /* copies of COPY bytes in a sample */
/* Bytes of each small fill: about the size of the host's caches. */
#define SMALL       MiB
#define SMALL_ROUNDS 1024
#define LEAF        (2 * MiB)
#define BIG_SRC     0x100000000000ull
#define BIG_DST     0x110000000000ull
#define PAGED       0x120000000000ull
#define ORDERED     0x130000000000ull
/* Leaves in the measurement of walks: four times the entries of the TLB. */
#define WALKS       8192
#define WALK_ROUNDS 32                  /* accesses to all leaves in a sample */
#define WALK_VA(level) (0x140000000000ull + (level) * 0x100000000000ull)
#define FILL_BYTES  (SDMA_CONST_FILL_DWORDS * sizeof(uint32_t))

static void say(const char *name, uint64_t bytes, double value,
                const char *unit)
{
    printf("{\"name\": \"%s\", \"bytes\": %" PRIu64 ", \"value\": %.9g, "
           "\"unit\": \"%s\"}\n", name, bytes, value, unit);
    fflush(stdout);
}

static double now(void)
{
    return g_get_monotonic_time() / 1e6;
}

/* Copy ROUNDS times with the host's memcpy(). Returns the rate in GB/s. */
static double host_memcpy(uint8_t *dst, const uint8_t *src)
{
    double start = now();
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        memcpy(dst, src, COPY);
        /* Prevent the compiler from merging the copies. */
        barrier();
    }
    return ROUNDS * (double)COPY / (now() - start) / 1e9;
}

/*
 * Map @len bytes at @addr to GPU address @va. The mapping consists of directory
 * entries that are leaves of 2 MiB.
 */
static void map_big(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len)
{
    uint64_t off;

    for (off = 0; off < len; off += LEAF) {
        qvgpu_space_set(s, va + off, VGPU_LEVEL_PDB0,
                        qvgpu_entry(s->v, addr + off, QVGPU_PTE_RW));
    }
}

/*
 * Map @len bytes in pages of 4 KiB. An odd @stride above 1 scatters the pages
 * in memory; @stride 1 keeps their order.
 */
static void map_pages(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len,
                      uint64_t stride)
{
    uint64_t n = len / QVGPU_PAGE, i, k;
    uint64_t ptes[VGPU_PT_ENTRIES];

    for (i = 0; i < n; i += VGPU_PT_ENTRIES) {
        for (k = 0; k < VGPU_PT_ENTRIES; k++) {
            uint64_t page = (i + k) * stride % n;

            ptes[k] = cpu_to_le64(qvgpu_entry(s->v, addr + page * QVGPU_PAGE,
                                              QVGPU_PTE_RW));
        }
        qtest_bufwrite(s->v->qts,
                       qvgpu_space_slot(s, va + i * QVGPU_PAGE,
                                        VGPU_LEVEL_PTB),
                       ptes, sizeof(ptes));
    }
}

/*
 * Run all packets in the ring and then a fence. Returns the seconds until the
 * fence is written.
 */
static double timed(QVGPUSdma *q, uint64_t fence, uint64_t fence_va)
{
    static uint32_t serial;
    double start;

    qvgpu_pkt_fence(q, fence_va, ++serial);
    start = now();
    qvgpu_sdma_kick(q);
    qvgpu_wait_until(qtest_readl(q->v->qts, fence) == serial);
    return now() - start;
}

typedef struct Bench {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t fence, fence_va;
} Bench;

static double copy_rate(Bench *b, uint64_t dst, uint64_t src)
{
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        qvgpu_pkt_copy(&b->q, src, dst, COPY);
    }
    return ROUNDS * (double)COPY / timed(&b->q, b->fence, b->fence_va) / 1e9;
}

static void bench_copies(Bench *b)
{
    g_autofree uint8_t *one = g_malloc(COPY), *two = g_malloc(COPY);
    unsigned i;

    memset(one, 1, COPY);
    memset(two, 2, COPY);
    /*
     * The first copies fault the memory in, so that no sample includes page
     * faults.
     */
    copy_rate(b, BIG_DST, BIG_SRC);
    copy_rate(b, BIG_DST, PAGED);
    for (i = 0; i < SAMPLES; i++) {
        /*
         * Measure memcpy between the device's samples, so that both run under
         * the same load of the host.
         */
        say("device-memcpy", COPY, host_memcpy(two, one), "GB/s");
        say("device-copy-big", COPY, copy_rate(b, BIG_DST, BIG_SRC), "GB/s");
        say("device-copy-gtt", COPY, copy_rate(b, BIG_DST, PAGED), "GB/s");
        say("device-copy-to-gtt", COPY, copy_rate(b, PAGED, BIG_DST), "GB/s");
    }
}

/* Fill SMALL bytes at @va, SMALL_ROUNDS times. Return the time in seconds. */
static double fill_time(Bench *b, uint64_t va)
{
    unsigned i;

    for (i = 0; i < SMALL_ROUNDS; i++) {
        qvgpu_pkt_fill(&b->q, va, i, SMALL, 2);
    }
    return timed(&b->q, b->fence, b->fence_va);
}

/*
 * Report how much longer a fill takes, per page, if 4-KiB pages (ORDERED)
 * instead of 2-MiB leaves (BIG_DST) map the memory.
 */
static void bench_translation(Bench *b)
{
    double pages = SMALL / QVGPU_PAGE * SMALL_ROUNDS;
    unsigned i;

    fill_time(b, ORDERED);
    for (i = 0; i < SAMPLES; i++) {
        double big = fill_time(b, BIG_DST), paged = fill_time(b, ORDERED);

        say("device-tlb-hit", 0, (paged - big) / pages * 1e9, "ns");
    }
}

static uint64_t cpu_ticks(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    g_autofree char *text = NULL;
    unsigned long user, sys;
    const char *p;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    p = strrchr(text, ')');
    g_assert_nonnull(p);
    g_assert_cmpint(sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                           "%*u %lu %lu", &user, &sys), ==, 2);
    return user + sys;
}

/*
 * Return the resident anonymous memory of process @pid in MiB. VRAM and guest
 * RAM are not included.
 */
static double resident(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *text = NULL;
    const char *p;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    p = strstr(text, "RssAnon:");
    g_assert_nonnull(p);
    return strtod(p + strlen("RssAnon:"), NULL) / KiB;
}

/* Measure the CPU load of the idle device over two seconds. */
static void bench_idle(Bench *b)
{
    pid_t pid = qtest_pid(b->v->qts);
    uint64_t before = cpu_ticks(pid);

    g_usleep(2 * G_USEC_PER_SEC);
    say("device-idle-cpu", 0,
        (cpu_ticks(pid) - before) * 50.0 / sysconf(_SC_CLK_TCK), "%");
}

/* Measure the resident memory that an unused device adds to a machine. */
static void bench_memory(void)
{
    QTestState *bare = qtest_init("-machine q35 -nodefaults -m 128M");
    QVGPU *v = qvgpu_start_cold("64M");

    say("device-memory", 0,
        resident(qtest_pid(v->qts)) - resident(qtest_pid(bare)), "MiB");
    qvgpu_stop(v);
    qtest_quit(bare);
}

/*
 * All user queues copy at the same time. When half of all packets are done,
 * report the slowest queue's progress relative to the fastest queue's.
 */
static void bench_fairness(Bench *b)
{
    enum { QUEUES = SDMA_NUM_ENGINES * 8, PACKETS = 4000, LEN = 256 * KiB };
    g_autofree QVGPUSdma *q = g_new0(QVGPUSdma, QUEUES);
    uint64_t least = UINT64_MAX, most = 0, sum = 0;
    unsigned i, n;

    for (i = 0; i < QUEUES; i++) {
        uint64_t va = BIG_DST + i * MiB;

        qvgpu_sdma_init_ring(&q[i], b->v, i / 8, SDMA_QUEUE_RLC(i % 8),
                             &b->space, QVGPU_RAM, 128 * KiB);
        qvgpu_sdma_load(&q[i]);
        for (n = 0; n < PACKETS; n++) {
            qvgpu_pkt_copy(&q[i], va, va + LEN, LEN);
        }
    }
    qvgpu_invalidate(b->v, 1u << VMID);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_wr(b->v, SDMA_ENGINE(i) + SDMA_FREEZE, SDMA_FREEZE__FREEZE);
    }
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_kick(&q[i]);
    }
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_wr(b->v, SDMA_ENGINE(i) + SDMA_FREEZE, 0);
    }
    while (sum < QUEUES * PACKETS * 28ull / 2) {
        for (i = 0, sum = 0; i < QUEUES; i++) {
            sum += qvgpu_sdma_rptr(&q[i]);
        }
    }
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_wr(b->v, SDMA_ENGINE(i) + SDMA_FREEZE, SDMA_FREEZE__FREEZE);
    }
    for (i = 0; i < QUEUES; i++) {
        uint64_t done = qvgpu_sdma_rptr(&q[i]);

        least = MIN(least, done);
        most = MAX(most, done);
    }
    say("device-fairness", 0, 100.0 * least / most, "%");
}

/*
 * Map WALKS leaves from WALK_VA(@level) on. The entries of a table of @level
 * are the leaves, and all leaves have the page at CPU address @page.
 */
static void map_leaves(QVGPUSpace *s, unsigned level, uint64_t page)
{
    uint64_t size = 1ull << VGPU_LEVEL_SHIFT(level);
    uint64_t entry = qvgpu_entry(s->v, QEMU_ALIGN_DOWN(page, size),
                                 QVGPU_PTE_RW);
    uint64_t table[VGPU_PT_ENTRIES];
    unsigned i;

    if (level >= VGPU_LEVEL_PDB1) {
        entry |= VGPU_PDE_PTE;
    }
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        table[i] = cpu_to_le64(entry);
    }
    for (i = 0; i < WALKS; i += VGPU_PT_ENTRIES) {
        qtest_bufwrite(s->v->qts,
                       qvgpu_space_slot(s, WALK_VA(level) + i * size, level),
                       table, sizeof(table));
    }
}

/*
 * Write an indirect buffer of WALKS fills of 4 bytes each, @stride bytes apart
 * from @va on. Returns the buffer's GPU address.
 */
static uint64_t fill_buffer(QVGPUSpace *s, uint64_t va, uint64_t stride)
{
    g_autofree uint32_t *dw = g_new(uint32_t, WALKS * SDMA_CONST_FILL_DWORDS);
    uint64_t buffer = qvgpu_alloc(s->v, QVGPU_RAM, WALKS * FILL_BYTES,
                                  QVGPU_PAGE);
    unsigned i;

    for (i = 0; i < WALKS; i++) {
        uint32_t *p = dw + i * SDMA_CONST_FILL_DWORDS;
        uint64_t dst = va + i * stride;

        p[0] = cpu_to_le32(SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
                           VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u));
        p[1] = cpu_to_le32(QVGPU_LO(dst));
        p[2] = cpu_to_le32(QVGPU_HI(dst));
        p[3] = cpu_to_le32(i);
        p[4] = cpu_to_le32(sizeof(uint32_t) - 1);
    }
    qtest_bufwrite(s->v->qts, buffer, dw, WALKS * FILL_BYTES);
    return qvgpu_space_place(s, buffer, WALKS * FILL_BYTES);
}

/* Execute an indirect buffer WALK_ROUNDS times. Returns the time in seconds. */
static double buffer_time(Bench *b, uint64_t buffer)
{
    unsigned i;

    for (i = 0; i < WALK_ROUNDS; i++) {
        qvgpu_pkt_indirect(&b->q, VMID, buffer,
                           WALKS * SDMA_CONST_FILL_DWORDS);
    }
    return timed(&b->q, b->fence, b->fence_va);
}

/*
 * Report the time of a walk that reads N entries: the difference of accesses to
 * more leaves than the TLB has entries, and of as many accesses to one leaf.
 * N is 2 for leaves in PDB1, 3 in PDB0, 4 in a PTB. A leaf in PDB2 (N is 1) is
 * not measured: the TLB has room for all of them.
 */
static void bench_walks(Bench *b)
{
    uint64_t page = qvgpu_ram_page(b->v), miss[VGPU_LEVEL_PDB2];
    uint64_t hit[VGPU_LEVEL_PDB2];
    unsigned level, i;

    for (level = 0; level < VGPU_LEVEL_PDB2; level++) {
        uint64_t size = 1ull << VGPU_LEVEL_SHIFT(level);
        uint64_t va = WALK_VA(level) + (page & (size - 1));

        map_leaves(&b->space, level, page);
        miss[level] = fill_buffer(&b->space, va, size);
        hit[level] = fill_buffer(&b->space, va, 0);
        buffer_time(b, miss[level]);
        buffer_time(b, hit[level]);
    }
    for (i = 0; i < SAMPLES; i++) {
        for (level = 0; level < VGPU_LEVEL_PDB2; level++) {
            uint64_t before = qvgpu_counter(b->v, VGPU_CNT_TLB_MISSES);
            double missed = buffer_time(b, miss[level]);
            double seconds = missed - buffer_time(b, hit[level]);
            uint64_t walks = qvgpu_counter(b->v, VGPU_CNT_TLB_MISSES) - before;

            /* Almost every access must have missed the TLB. */
            g_assert_cmpuint(walks, >, WALKS * WALK_ROUNDS / 10 * 9);
            printf("{\"curve\": \"walk\", \"n\": %u, \"value\": %.9g, "
                   "\"unit\": \"ns\"}\n", 4 - level,
                   seconds * 1e9 / WALKS / WALK_ROUNDS);
            fflush(stdout);
        }
    }
}

/* Start the machine, and set up an address space and an SDMA queue. */
static void bench_start(Bench *b)
{
    b->v = qvgpu_start_sized("256M", "");
    qvgpu_space_init(&b->space, b->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_init_ring(&b->q, b->v, 0, SDMA_QUEUE_RLC(0), &b->space,
                         QVGPU_RAM, 64 * KiB);
    qvgpu_sdma_load(&b->q);
    b->fence = qvgpu_ram_page(b->v);
    b->fence_va = qvgpu_space_place(&b->space, b->fence, 4);
}

int main(int argc, char **argv)
{
    uint64_t src, dst, ram;
    Bench b;

    g_test_init(&argc, &argv, NULL);
    if (argc > 1 && g_str_equal(argv[1], "walk")) {
        bench_start(&b);
        bench_walks(&b);
        qvgpu_stop(b.v);
        return 0;
    }
    bench_memory();

    bench_start(&b);
    src = qvgpu_alloc(b.v, QVGPU_VRAM, COPY, LEAF);
    dst = qvgpu_alloc(b.v, QVGPU_VRAM, COPY, LEAF);
    ram = qvgpu_alloc(b.v, QVGPU_RAM, COPY, LEAF);
    map_big(&b.space, BIG_SRC, src, COPY);
    map_big(&b.space, BIG_DST, dst, COPY);
    map_pages(&b.space, PAGED, ram, COPY, 4099);
    map_pages(&b.space, ORDERED, dst, SMALL, 1);

    bench_idle(&b);
    bench_copies(&b);
    bench_translation(&b);
    qvgpu_sdma_disable(&b.q);
    bench_fairness(&b);
    qvgpu_stop(b.v);
    return 0;
}
