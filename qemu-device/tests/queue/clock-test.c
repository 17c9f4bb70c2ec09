/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that timed waits follow the virtual clock, which stops while
 * the machine is stopped.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/queue/suite.h"

#define VMID        6
#define VA          0x111100000000ull
#define PASID(i)    (0x600 + (i))
#define HWS_VMID    8
#define CLOCK_NS    (1000000000 / VGPU_CLOCK_HZ)
#define CLOCKS_MS   (VGPU_CLOCK_HZ / 1000)
/* GPU clocks between two tries of a poll or of an atomic loop */
#define INTERVAL    1000
#define INTERVAL_NS (INTERVAL * CLOCK_NS)
#define MS          1000000ll           /* ns in a millisecond */
#define QUANTUM_MS  5
/*
 * Virtual time (ns) at which a wait begins. move() searches the saved state for
 * the value of the wait's deadline. With this unusual start, no other field has
 * the same value as the deadline.
 */
#define START_NS    1234567890000ll

/*
 * A machine with two queues of one engine. In q, a packet waits: in a poll, in
 * an atomic loop, or for the retry of a fault. kq is the kernel queue.
 */
typedef struct Clock {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q, kq;
    /* CPU and GPU address of a zeroed page */
    uint64_t at, mc;
} Clock;

/*
 * Start the machine. With @vmid, t->q is a user queue in an address space that
 * does not map VA; otherwise t->q is a queue of VMID 0.
 */
static void start(Clock *t, const char *args, bool vmid)
{
    QVGPU *v = t->v = qvgpu_start_args(args);

    qvgpu_sdma_open(&t->kq, v, 0, SDMA_QUEUE_GFX, NULL);
    if (vmid) {
        qvgpu_space_init(&t->space, v, VMID, QVGPU_VRAM);
    }
    qvgpu_sdma_open(&t->q, v, 0, SDMA_QUEUE_RLC(0), vmid ? &t->space : NULL);
    t->at = qvgpu_ram_page(v);
    t->mc = qvgpu_mc(v, t->at);
}

/* Emit a POLL_REGMEM whose condition is false. */
static void emit_poll(Clock *t, unsigned retry)
{
    QVGPU_EMIT(&t->q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) | SDMA_POLL_REGMEM__MEM |
               VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)QVGPU_POLL_EQ),
               QVGPU_LO(t->mc), QVGPU_HI(t->mc), 1, UINT32_MAX,
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, retry) |
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, (uint32_t)INTERVAL));
}

/*
 * Emit an ATOMIC compare-and-swap in loop mode. The memory never has the
 * compared value, so the loop ends with a timeout after @clocks GPU clocks.
 */
static void emit_loop(Clock *t, uint32_t clocks)
{
    qvgpu_wr(t->v, SDMA_ENGINE(0) + SDMA_ATOMIC_CNTL, clocks);
    QVGPU_EMIT(&t->q, SDMA_PKT(SDMA_OP_ATOMIC, 0) | SDMA_ATOMIC__LOOP |
               VGPU_PREP(SDMA_ATOMIC__OP, (uint32_t)SDMA_ATOMIC_CMPSWAP),
               QVGPU_LO(t->mc), QVGPU_HI(t->mc), 2, 0, 1, 0, INTERVAL);
}

static void emit_clock(Clock *t, unsigned quad)
{
    uint64_t to = t->mc + 8 * quad;

    QVGPU_EMIT(&t->q, SDMA_PKT(SDMA_OP_TIMESTAMP,
                               SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
               QVGPU_LO(to), QVGPU_HI(to));
}

/*
 * Fail the test unless t->q still waits and no interrupt is pending.
 * qvgpu_sdma_pass() runs two packets on t->kq. If t->q no longer waited, the
 * engine would run t->q between these two packets.
 */
static void expect_wait(Clock *t)
{
    qvgpu_sdma_pass(&t->kq);
    g_assert_false(qvgpu_sdma_idle(&t->q));
    g_assert_false(qvgpu_ih_pending(t->v));
}

/*
 * Fail the test unless the queue waits for @ns. Returns with the clock at the
 * end of @ns.
 */
static void expect_wait_ns(Clock *t, int64_t ns)
{
    expect_wait(t);
    qtest_clock_step(t->v->qts, ns - 1);
    expect_wait(t);
    qtest_clock_step(t->v->qts, 1);
}

/*
 * Fail the test unless the waiting packet ends with timeout interrupt @source.
 * Quits QEMU.
 */
static void expect_timeout(Clock *t, unsigned source)
{
    QVGPUIrq irq;

    qvgpu_sdma_finish(&t->q);
    qvgpu_ih_next(t->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA0);
    g_assert_cmpuint(irq.source, ==, source);
    g_assert_false(qvgpu_ih_pending(t->v));
    qvgpu_stop(t->v);
}

/*
 * Stop the machine, and thereby the virtual clock, for @ms of host time. The
 * callers check that no wait of the device ends or becomes shorter meanwhile.
 */
static void stop_for(QVGPU *v, int64_t ms)
{
    int64_t until = g_get_monotonic_time() + ms * 1000;

    qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
    while (g_get_monotonic_time() < until) {
        qvgpu_rd(v, VGPU_MAGIC);
    }
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
}

/*
 * Catches: the interval or the timeout of POLL_REGMEM does not follow the
 * virtual clock, or continues while the machine is stopped.
 */
static void test_poll(void)
{
    Clock t;

    start(&t, "", false);
    emit_poll(&t, 2);
    qvgpu_sdma_kick(&t.q);
    expect_wait_ns(&t, INTERVAL_NS);
    expect_wait(&t);
    stop_for(t.v, 2);
    expect_wait_ns(&t, INTERVAL_NS);
    expect_timeout(&t, IH_SRC_SDMA_POLL_TIMEOUT);
}

/*
 * Catches: LOOP_TIMER does not follow the virtual clock, or runs while the
 * machine is stopped.
 */
static void test_loop(void)
{
    Clock t;

    start(&t, "", false);
    emit_loop(&t, 2 * INTERVAL);
    qvgpu_sdma_kick(&t.q);
    expect_wait_ns(&t, INTERVAL_NS);
    expect_wait(&t);
    stop_for(t.v, 2);
    expect_wait_ns(&t, INTERVAL_NS);
    expect_timeout(&t, IH_SRC_SDMA_ATOMIC_TIMEOUT);
}

static void expect_entry(Clock *t)
{
    qvgpu_ih_next_fault(t->v, VMID, VA, true, true);
}

/*
 * Catches: the retries or the interrupt entries of a faulting access ignore the
 * virtual clock, or go on while the machine is stopped. (The CAM is off.)
 */
static void test_retry(void)
{
    Clock t;

    start(&t, "", true);
    qvgpu_wr(t.v, IH_RETRY_INT_CAM_CNTL, 0);
    qvgpu_pkt_fence(&t.q, VA, 1);
    qvgpu_sdma_kick(&t.q);
    /*
     * The access is retried every 1 ms. The interval between the interrupt
     * entries doubles each time: entries come after 0, 1 and 3 ms.
     */
    expect_entry(&t);
    expect_wait_ns(&t, MS);
    expect_entry(&t);
    expect_wait(&t);
    stop_for(t.v, 5);
    expect_wait_ns(&t, MS);
    expect_wait_ns(&t, MS);
    expect_entry(&t);
    qvgpu_space_map(&t.space, VA, t.at, QVGPU_PAGE);
    expect_wait_ns(&t, MS);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qtest_readl(t.v->qts, t.at), ==, 1);
    qvgpu_stop(t.v);
}

/* Two processes that use one VMID in turn, by time slices. */
typedef struct Slices {
    QVGPU *v;
    QVGPUHws h;
    QVGPUProcess p[2];
    QVGPUUserCompute q[2];
    /* CPU address of a page that both processes map at GPU address VA */
    uint64_t page;
} Slices;

static void slices_start(Slices *t, const char *args, unsigned ms)
{
    QVGPU *v = t->v = qvgpu_start_args(args);
    unsigned i;

    qvgpu_hws_init(&t->h, v);
    qvgpu_hws_resources(&t->h, 1u << HWS_VMID, UINT32_MAX);
    t->page = qvgpu_ram_page(v);
    qvgpu_list_begin(&t->h);
    for (i = 0; i < ARRAY_SIZE(t->p); i++) {
        qvgpu_process_init(&t->p[i], v, PASID(i));
        qvgpu_space_map(&t->p[i].space, VA, t->page, QVGPU_PAGE);
        qvgpu_list_process(&t->h, &t->p[i], ms);
        qvgpu_user_compute_init(&t->q[i], v, &t->p[i], i);
        qvgpu_list_compute(&t->h, &t->q[i], 0);
    }
    qvgpu_list_chain(&t->h);
}

/* Return the index of the process that has HWS_VMID. */
static unsigned runs(Slices *t)
{
    return qvgpu_rd(t->v, IH_VMID_LUT(HWS_VMID)) - PASID(0);
}

/* Fail the test unless process 0 still has its time slice. */
static void expect_slice(Slices *t)
{
    /*
     * Wait for two fences, because the scheduler checks between them whether
     * the time slice has ended.
     */
    qvgpu_hws_sync(&t->h);
    qvgpu_hws_sync(&t->h);
    g_assert_cmpuint(runs(t), ==, 0);
}

/*
 * Catches: a time slice does not follow the virtual clock, or ends while the
 * machine is stopped.
 */
static void test_slice(void)
{
    Slices t;

    slices_start(&t, "", QUANTUM_MS);
    qvgpu_list_run(&t.h, 0);
    expect_slice(&t);
    qtest_clock_step(t.v->qts, QUANTUM_MS * MS - 1);
    expect_slice(&t);
    stop_for(t.v, 2 * QUANTUM_MS);
    expect_slice(&t);
    qtest_clock_step(t.v->qts, 1);
    qvgpu_wait_until(runs(&t) == 1);
    qvgpu_stop(t.v);
}

/*
 * Save, restore and continue the machine. @until is the deadline in the saved
 * state (virtual time, ns). Fails the test if QEMU loads a copy of the state in
 * which this deadline is negative.
 */
static void move(QVGPU *v, int64_t until)
{
    g_autofree char *file = qvgpu_save_restore(v, true);

    g_assert_true(qvgpu_loads(v, file));
    g_assert_false(qvgpu_loads_with(v, file, until, 0, 0x80));
    g_unlink(file);
    qvgpu_cont(v);
}

/*
 * Catches: a restore triggers a poll, or restarts the interval of the poll; a
 * restore accepts a saved state with a negative deadline.
 */
static void test_moved_poll(void)
{
    Clock t;

    start(&t, "", false);
    qtest_clock_step(t.v->qts, START_NS);
    emit_poll(&t, 1);
    qvgpu_sdma_kick(&t.q);
    expect_wait(&t);
    qtest_clock_step(t.v->qts, INTERVAL_NS - CLOCK_NS);
    expect_wait(&t);
    move(t.v, START_NS + INTERVAL_NS);
    expect_wait_ns(&t, CLOCK_NS);
    expect_timeout(&t, IH_SRC_SDMA_POLL_TIMEOUT);
}

/*
 * Catches: after a restore, LOOP_TIMER runs for its full time instead of the
 * time that was left.
 */
static void test_moved_loop(void)
{
    Clock t;

    start(&t, "", false);
    qtest_clock_step(t.v->qts, START_NS);
    emit_loop(&t, 2 * INTERVAL);
    qvgpu_sdma_kick(&t.q);
    expect_wait_ns(&t, INTERVAL_NS);
    expect_wait(&t);
    qtest_clock_step(t.v->qts, INTERVAL_NS / 2);
    expect_wait(&t);
    move(t.v, START_NS + 2 * INTERVAL_NS);
    expect_wait_ns(&t, INTERVAL_NS / 2);
    expect_timeout(&t, IH_SRC_SDMA_ATOMIC_TIMEOUT);
}

/*
 * Catches: after a restore, a retry fault sends an interrupt entry too early.
 */
static void test_moved_retry(void)
{
    Clock t;

    start(&t, "", true);
    qvgpu_wr(t.v, IH_RETRY_INT_CAM_CNTL, 0);
    qtest_clock_step(t.v->qts, START_NS);
    qvgpu_pkt_fence(&t.q, VA, 1);
    qvgpu_sdma_kick(&t.q);
    expect_entry(&t);
    expect_wait_ns(&t, MS);
    expect_entry(&t);
    expect_wait(&t);
    qtest_clock_step(t.v->qts, MS / 2);
    expect_wait(&t);
    /*
     * The third interrupt entry is due 2 ms after the second one, see
     * test_retry(). Restore the machine between these two entries.
     */
    move(t.v, START_NS + 3 * MS);
    expect_wait_ns(&t, MS / 2);
    expect_wait_ns(&t, MS);
    expect_entry(&t);
    qvgpu_stop(t.v);
}

/*
 * Catches: a restore of the machine ends the current time slice, or makes the
 * time slice longer.
 */
static void test_moved_slice(void)
{
    Slices t;

    slices_start(&t, "", QUANTUM_MS);
    qtest_clock_step(t.v->qts, START_NS);
    qvgpu_list_run(&t.h, 0);
    expect_slice(&t);
    qtest_clock_step(t.v->qts, QUANTUM_MS * MS - CLOCK_NS);
    expect_slice(&t);
    move(t.v, START_NS + QUANTUM_MS * MS);
    expect_slice(&t);
    qtest_clock_step(t.v->qts, CLOCK_NS - 1);
    expect_slice(&t);
    qtest_clock_step(t.v->qts, 1);
    qvgpu_wait_until(runs(&t) == 1);
    qvgpu_stop(t.v);
}

/*
 * A machine with TCG, so that the virtual clock runs without steps by the test.
 * The tests need no guest software: the CPU halts at its first instruction.
 */
typedef struct Running {
    const char *name;
    const char *args;                   /* arguments for QEMU */
    unsigned loop_ms;                   /* LOOP_TIMER in ms of virtual time */
} Running;

static const Running machines[] = {
    { "tcg", "", 30 },
    { "icount", "-icount shift=0", 500 },
    { "icount-no-sleep", "-icount shift=0,sleep=off", 30 },
};

/*
 * Return QEMU's arguments. Without TCG, skip the test and return NULL. The
 * caller removes the BIOS image *@path once QEMU has started.
 */
static char *running_args(const Running *m, char **path)
{
    static const char halt[64 * KiB] = { [0 ... 64 * KiB - 1] = 0xf4 };
    int fd;

    if (!qtest_has_accel("tcg")) {
        g_test_skip("this QEMU has no TCG");
        return NULL;
    }
    fd = g_file_open_tmp("vgpu-bios-XXXXXX", path, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(*path, halt, sizeof(halt), NULL));
    return g_strdup_printf("-accel tcg -bios %s %s", *path, m->args);
}

/*
 * Catches: LOOP_TIMER runs while the virtual clock is stopped; with icount,
 * LOOP_TIMER never ends.
 */
static void test_running_loop(const void *machine)
{
    const uint64_t clocks = ((const Running *)machine)->loop_ms * CLOCKS_MS;
    g_autofree char *path = NULL, *args = running_args(machine, &path);
    uint64_t times[2];
    Clock t;

    if (!args) {
        return;
    }
    start(&t, args, false);
    g_unlink(path);
    emit_clock(&t, 1);
    qvgpu_pkt_fence(&t.q, t.mc + 24, 1);
    /*
     * With icount and a halted CPU, the virtual clock advances only to the
     * deadline of a timer. So the loop ends only if the engine's thread sets a
     * timer and the vCPU thread notices the timer.
     */
    emit_loop(&t, clocks);
    emit_clock(&t, 2);
    qvgpu_sdma_kick(&t.q);
    qvgpu_wait_until(qtest_readl(t.v->qts, t.at + 24));
    stop_for(t.v, 100);
    qvgpu_sdma_finish(&t.q);
    times[0] = qtest_readq(t.v->qts, t.at + 8);
    times[1] = qtest_readq(t.v->qts, t.at + 16);
    g_assert_cmpuint(times[1] - times[0], >=, clocks);
    expect_timeout(&t, IH_SRC_SDMA_ATOMIC_TIMEOUT);
}

/*
 * Catches:
 * - The time slice of process 0 ends too early, because it does not pause while
 *   the virtual clock is stopped.
 * - With icount, the time slice never ends, because no timer lets the virtual
 *   clock advance (see test_running_loop()).
 */
static void test_running_slice(const void *machine)
{
    enum { SLICE_MS = 50 };
    g_autofree char *path = NULL, *args = running_args(machine, &path);
    uint64_t began;
    Slices t;

    if (!args) {
        return;
    }
    slices_start(&t, args, SLICE_MS);
    g_unlink(path);
    /* When process 1 gets its time slice, its queue writes the GPU clock. */
    QVGPU_PM4(&t.q[1].c, PM4_COPY_DATA, PM4_SRC_CLOCK | PM4_DST_MEM << 8 |
              PM4_COPY_DATA_DW1__COUNT_64, 0, 0, QVGPU_LO(VA), QVGPU_HI(VA));
    qvgpu_user_compute_kick(&t.q[1]);
    began = qvgpu_clock(t.v);
    qvgpu_list_run(&t.h, 0);
    qvgpu_hws_sync(&t.h);
    stop_for(t.v, 2 * SLICE_MS);
    qvgpu_wait_until(qtest_readq(t.v->qts, t.page));
    g_assert_cmpuint(qtest_readq(t.v->qts, t.page) - began, >=,
                     SLICE_MS * CLOCKS_MS);
    qvgpu_stop(t.v);
}

static void add_running(const char *name, const Running *m,
                        void (*test)(const void *machine))
{
    g_autofree char *path = g_strdup_printf("/vgpu-kfd/clock/%s/%s", name,
                                            m->name);

    qtest_add_data_func(path, m, test);
}

void qvgpu_add_clock_tests(void)
{
    unsigned i;

    qtest_add_func("/vgpu-kfd/clock/poll", test_poll);
    qtest_add_func("/vgpu-kfd/clock/loop", test_loop);
    qtest_add_func("/vgpu-kfd/clock/retry", test_retry);
    qtest_add_func("/vgpu-kfd/clock/slice", test_slice);
    qtest_add_func("/vgpu-kfd/clock/moved-poll", test_moved_poll);
    qtest_add_func("/vgpu-kfd/clock/moved-loop", test_moved_loop);
    qtest_add_func("/vgpu-kfd/clock/moved-retry", test_moved_retry);
    qtest_add_func("/vgpu-kfd/clock/moved-slice", test_moved_slice);
    for (i = 0; i < ARRAY_SIZE(machines); i++) {
        add_running("running-loop", &machines[i], test_running_loop);
        add_running("running-slice", &machines[i], test_running_slice);
    }
}
