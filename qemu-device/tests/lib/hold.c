/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: holds a thread of QEMU in a trace event. QEMU's
 * log is a pipe. If a line does not fit in the pipe, the thread that logs the
 * line is blocked.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include <glib/gstdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VRAM_BYTES  (64 * MiB)
/*
 * QEMU writes its log to a pipe. To hold the thread that logs the second event,
 * qvgpu_hold_arm() leaves LINE_BYTES free in the pipe: one line fits, but not
 * two.
 */
#define LINE_BYTES  64

void qvgpu_hold_init(QVGPUHold *h)
{
    int fd;

    *h = (QVGPUHold) { .dir = g_dir_make_tmp("vgpu-kfd-XXXXXX", NULL) };
    g_assert_nonnull(h->dir);
    h->log = g_build_filename(h->dir, "log", NULL);
    h->file = g_build_filename(h->dir, "vram", NULL);
    g_assert_cmpint(mkfifo(h->log, 0600), ==, 0);
    /*
     * Open the pipe before QEMU does. QEMU opens the pipe for writing, which
     * blocks until the pipe has a reader.
     */
    h->fd = open(h->log, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    g_assert_cmpint(h->fd, >=, 0);

    fd = open(h->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, VRAM_BYTES), ==, 0);
    h->vram = mmap(NULL, VRAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(h->vram != MAP_FAILED);
    close(fd);
    h->args = g_strdup_printf("-D %s -object memory-backend-file,id=vram,"
                              "share=on,size=64M,mem-path=%s", h->log, h->file);
}

void qvgpu_hold_destroy(QVGPUHold *h)
{
    munmap(h->vram, VRAM_BYTES);
    close(h->fd);
    g_unlink(h->log);
    g_unlink(h->file);
    g_rmdir(h->dir);
    g_free(h->args);
    g_free(h->file);
    g_free(h->log);
    g_free(h->dir);
}

uint32_t *qvgpu_hold_page(QVGPUHold *h, QVGPU *v, uint64_t *mc)
{
    uint64_t page = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);

    *mc = qvgpu_mc(v, page);
    return h->vram + (page - v->bar[VGPU_BAR_VRAM]) / sizeof(*h->vram);
}

void qvgpu_trace(QVGPU *v, const char *event, bool enable)
{
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'trace-event-set-state', "
                             "'arguments': { 'name': %s, 'enable': %i } }",
                             event, enable);
}

void qvgpu_hold_arm(QVGPUHold *h, QVGPU *v, const char *event, bool second)
{
    g_autofree char *filling = NULL;
    int size = fcntl(h->fd, F_GETPIPE_SZ);

    g_assert_cmpint(size, >, LINE_BYTES);
    qvgpu_hold_release(h);
    h->filled = second ? size - LINE_BYTES : size;
    filling = g_malloc0(h->filled);
    g_assert_cmpint(write(h->fd, filling, h->filled), ==, h->filled);
    qvgpu_trace(v, event, true);
}

bool qvgpu_hold_logged(QVGPUHold *h)
{
    int line;

    g_assert_cmpint(ioctl(h->fd, FIONREAD, &line), ==, 0);
    line -= h->filled;
    if (!line) {
        return false;
    }
    /*
     * The line must use more than half of the LINE_BYTES that were free, so
     * that a second line of this length does not fit.
     */
    g_assert_cmpint(line, >, LINE_BYTES / 2);
    g_assert_cmpint(line, <=, LINE_BYTES);
    return true;
}

unsigned qvgpu_hold_release(QVGPUHold *h)
{
    unsigned lines = 0;
    char buf[4 * KiB];
    ssize_t n, i;

    while ((n = read(h->fd, buf, sizeof(buf))) > 0) {
        for (i = 0; i < n; i++) {
            lines += buf[i] == '\n';
        }
    }
    g_assert_cmpint(errno, ==, EAGAIN);
    h->filled = 0;
    return lines;
}

/*
 * If the thread sleeps, add the number of its context switches to *@switches
 * and return true. @tasks: folder of a process's threads in /proc.
 */
static bool thread_sleeps(const char *tasks, const char *thread,
                          uint64_t *switches)
{
    static const char *const counts[] = {
        "\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:",
    };
    g_autofree char *file = g_build_filename(tasks, thread, "status", NULL);
    g_autofree char *status = NULL;
    unsigned i;

    if (!g_file_get_contents(file, &status, NULL, NULL) ||
        !strstr(status, "\nState:\tS")) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(counts); i++) {
        const char *count = strstr(status, counts[i]);

        g_assert_nonnull(count);
        *switches += g_ascii_strtoull(count + strlen(counts[i]), NULL, 10);
    }
    return true;
}

/*
 * Return true if the caller of qvgpu_hold_release_later() and all threads of
 * QEMU sleep. *@switches receives the sum of their context switches.
 */
static bool all_sleep(const QVGPUHold *h, int caller, uint64_t *switches)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task", (int)h->qemu);
    g_autofree char *thread = g_strdup_printf("%d", caller);
    g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
    const char *name;

    *switches = 0;
    if (!dir || !thread_sleeps("/proc/self/task", thread, switches)) {
        return false;
    }
    while ((name = g_dir_read_name(dir))) {
        if (!thread_sleeps(tasks, name, switches)) {
            return false;
        }
    }
    return true;
}

static void *release_later(void *opaque)
{
    QVGPUHold *h = opaque;
    int64_t until = g_get_monotonic_time() + qvgpu_wait_us();
    uint64_t before, after;

    while (!qatomic_read(&h->returned)) {
        int caller = qatomic_read(&h->caller);

        /*
         * If no thread has run between the two calls, all threads slept at one
         * time, between the calls.
         */
        if (caller && all_sleep(h, caller, &before) &&
            all_sleep(h, caller, &after) && before == after) {
            qatomic_set(&h->released, true);
            break;
        }
        g_assert_cmpint(g_get_monotonic_time(), <=, until);
        g_usleep(G_USEC_PER_SEC / 1000);
    }
    qvgpu_hold_release(h);
    return NULL;
}

void qvgpu_hold_release_later(QVGPUHold *h, QVGPU *v)
{
    h->qemu = qtest_pid(v->qts);
    h->caller = 0;
    h->released = false;
    h->returned = false;
    h->later = g_thread_new("release", release_later, h);
    /*
     * The new thread looks at the calling thread from now on. Until the command
     * is sent, the calling thread does not sleep.
     */
    qatomic_set(&h->caller, qemu_get_thread_id());
}

bool qvgpu_hold_waited(QVGPUHold *h)
{
    bool released = qatomic_read(&h->released);

    qatomic_set(&h->returned, true);
    g_thread_join(h->later);
    return released;
}

void qvgpu_hold_access(QVGPUHold *h, QVGPUSdma *q)
{
    /* Disable the interrupts of retry faults. */
    qvgpu_mm_wr(q->v, VM_L2_PROTECTION_FAULT_CNTL2, 0);
    /*
     * qvgpu_hold_arm() leaves room for one line in the log pipe. Within the
     * access, the engine logs two events. The line of vgpu_fault_silent fits.
     * The line of vgpu_stall does not fit, so the engine blocks.
     */
    qvgpu_hold_arm(h, q->v, "vgpu_fault_silent", true);
    qvgpu_trace(q->v, "vgpu_stall", true);
    qvgpu_sdma_kick(q);
    qvgpu_wait_until(qvgpu_hold_logged(h));
}

void qvgpu_hold_access_end(QVGPUHold *h, QVGPU *v)
{
    g_assert_true(qvgpu_hold_waited(h));
    qvgpu_trace(v, "vgpu_fault_silent", false);
    qvgpu_trace(v, "vgpu_stall", false);
    qvgpu_hold_release(h);
}

void qvgpu_hold_removal(QVGPUHold *h, QVGPU *v, unsigned interrupts)
{
    enum { DONE = QVGPU_GATE_BYTES / sizeof(uint32_t) };
    uint32_t *words;
    unsigned i, lines;
    QVGPUCompute c;
    QVGPUGate gate;
    uint64_t mc;
    QDict *rsp;

    words = qvgpu_hold_page(h, v, &mc);
    qvgpu_cp_setup(v);
    qvgpu_compute_open_vram(&c, v);
    qvgpu_gate_emit(&gate, &c, mc, words, 0);
    for (i = 0; i < interrupts; i++) {
        qvgpu_pm4_interrupt(&c, i);
    }
    qvgpu_pm4_write(&c, mc + 4 * DONE, 1);
    qvgpu_compute_kick(&c);

    qvgpu_hold_arm(h, v, "flatview_new", true);
    qtest_qmp_send(v->qts, "{ 'execute': 'vgpu-inject', 'arguments': "
                   "{ 'kind': 'surprise-removal' } }");
    qvgpu_wait_until(qvgpu_hold_logged(h));
    qvgpu_gate_open(&gate);
    qvgpu_wait_until(qatomic_read(&words[DONE]));
    /*
     * The pipe still contains only the first line, because there is no space
     * for the second line. The main loop is held in the write of the second
     * line.
     */
    g_assert_true(qvgpu_hold_logged(h));
    lines = qvgpu_hold_release(h);
    rsp = qtest_qmp_receive(v->qts);
    g_assert_true(qdict_haskey(rsp, "return"));
    qobject_unref(rsp);
    g_assert_cmpuint(lines + qvgpu_hold_release(h), >, 1);
    qvgpu_trace(v, "flatview_new", false);
}
