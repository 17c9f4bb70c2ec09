/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: threads that serve queues round-robin, and the choice of the next
 * queue. Times that the guest can see are on QEMU_CLOCK_VIRTUAL, which stops
 * with the machine. Waits for other host threads are on QEMU_CLOCK_REALTIME.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/timer.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/queue/internal.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"

/*
 * After n consecutive spins that found no work, the thread skips the next
 * 1 << n spins and sleeps immediately instead. This value is the maximum of n.
 */
#define SPIN_SKIP_LOG2_MAX  6

/*
 * The earliest time, on each clock, at which a waiting queue can be tried
 * again. INT64_MAX if no queue waits for a time on the clock.
 */
typedef struct Deadlines {
    int64_t virtual;            /* ns, QEMU_CLOCK_VIRTUAL */
    int64_t host;               /* ns, QEMU_CLOCK_REALTIME */
} Deadlines;

#define NO_DEADLINES        (Deadlines) { INT64_MAX, INT64_MAX }

/* The thread of a worker. Guarded by VGPUWorker.lock, except as noted. */
struct VGPUWorkerThread {
    QemuThread id;              /* guarded by the BQL */
    QemuCond wake;
    /* Signalled when w->current becomes NULL. */
    QemuCond parked;
    /* Runs worker_reg_bh() in the main loop. The pointer is constant. */
    QEMUBH *reg_bh;
    VGPUTimer timer;            /* wakes the thread */
    int64_t armed;              /* expiry of @timer; INT64_MAX: not armed */
    bool quit;                  /* the thread is to end */
    bool paused;                /* the thread is to start no step */
    /* The thread waits for @wake: see vgpu_worker_run_here(). */
    bool asleep;
    bool kicked;                /* kicked since the spin began; atomic */
    /*
     * Consecutive spins that found no work. Accessed only by the worker's
     * thread.
     */
    unsigned spins_in_vain;
    /*
     * Number of spins to skip: the thread sleeps immediately instead. Accessed
     * only by the worker's thread.
     */
    unsigned spin_skips;
    /*
     * Number of waits so far. Each new wait increments @waits and gets the
     * result as its VGPUStall.number.
     */
    uint32_t waits;
};

void vgpu_worker_kick(VGPUWorker *w)
{
    qatomic_set(&w->thread->kicked, true);
    qemu_cond_signal(&w->thread->wake);
}

/* The caller of the functions from here to worker_thread() holds w->lock. */

bool vgpu_worker_may_run(const VGPUWorker *w)
{
    return !w->thread->quit && !w->thread->paused &&
           !qatomic_read(&w->s->removed);
}

void vgpu_worker_park(VGPUWorker *w)
{
    while (w->current) {
        qemu_cond_wait(&w->thread->parked, &w->lock);
    }
}

void vgpu_worker_stall(VGPUWorker *w, unsigned n, bool wptr_moved)
{
    VGPUQueue *q = w->ops->queue(w, n);
    VGPUStall *stall = &q->exec.mem.stall;
    bool lasts;

    /*
     * If the event has already occurred, do not wait. Later events find q->wait
     * set: w->lock is held until q->wait is set below.
     */
    switch (stall->iommu ? VGPU_WAIT_IOMMU : stall->why) {
    case VGPU_WAIT_NONE:
        lasts = false;
        break;
    case VGPU_WAIT_WPTR:
        lasts = !wptr_moved;
        break;
    /*
     * Always wait. For POLL and DEVICE, worker_queue_ready() checks the
     * deadline later. For REG and IOMMU, the main loop cannot have served the
     * request yet, because q->wait is set only below.
     */
    case VGPU_WAIT_POLL:
    case VGPU_WAIT_REG:
    case VGPU_WAIT_IOMMU:
    case VGPU_WAIT_DEVICE:
        lasts = true;
        break;
    default:
        lasts = vgpu_fault_pending(w->s, stall);
        break;
    }
    if (lasts) {
        q->wait = stall->iommu ? VGPU_WAIT_IOMMU : stall->why;
        stall->number = ++w->thread->waits;
        if (q->wait == VGPU_WAIT_REG) {
            qemu_bh_schedule(w->thread->reg_bh);
        } else if (q->wait == VGPU_WAIT_IOMMU) {
            vgpu_iommu_schedule(w->s);
        }
    }
}

static bool deadline_reached(QEMUClockType clock, int64_t until, int64_t *next)
{
    if (qemu_clock_get_ns(clock) >= until) {
        return true;
    }
    *next = MIN(*next, until);
    return false;
}

/*
 * Return true if queue @n can run now. If the queue waits for a time instead,
 * lower the deadline in @next to that time.
 */
static bool worker_queue_ready(VGPUWorker *w, unsigned n, Deadlines *next)
{
    const VGPUQueue *q = w->ops->queue(w, n);
    const VGPUStall *stall = &q->exec.mem.stall;

    if (!w->ops->runnable(w, n)) {
        return false;
    }
    switch (q->wait) {
    case VGPU_WAIT_NONE:
        return w->ops->pending(w, n);
    case VGPU_WAIT_POLL:
    case VGPU_WAIT_RETRY:
        return deadline_reached(QEMU_CLOCK_VIRTUAL, stall->until,
                                &next->virtual);
    case VGPU_WAIT_DEVICE:
        return deadline_reached(QEMU_CLOCK_REALTIME, stall->until, &next->host);
    case VGPU_WAIT_CAM_FREE:
        return !vgpu_fault_pending(w->s, stall);
    default:
        return false;
    }
}

/*
 * Return the number of the next queue that can run, round-robin. If no queue
 * can run, return -1 and lower @next to the earliest time for which a queue
 * waits.
 */
static int worker_pick_queue(VGPUWorker *w, Deadlines *next)
{
    unsigned i;

    for (i = 0; i < w->ops->num_queues; i++) {
        unsigned n = (w->next + i) % w->ops->num_queues;

        if (worker_queue_ready(w, n, next)) {
            w->next = n + 1;
            return n;
        }
    }
    return -1;
}

/*
 * Return true if the thread is to spin before it sleeps. After a spin in
 * vain, some spins are skipped (SPIN_SKIP_LOG2_MAX), to spare host CPUs.
 */
static bool worker_should_spin(VGPUWorker *w)
{
    if (!w->ops->spin || !w->s->poll_ns || w->thread->paused) {
        return false;
    }
    if (w->thread->spin_skips) {
        w->thread->spin_skips--;
        return false;
    }
    return true;
}

static bool any_deadline_reached(const Deadlines *d)
{
    return (d->host != INT64_MAX &&
            qemu_clock_get_ns(QEMU_CLOCK_REALTIME) >= d->host) ||
           (d->virtual != INT64_MAX &&
            qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) >= d->virtual);
}

/*
 * Spin until the worker is kicked, a clock reaches its deadline in @next, or
 * poll-ns of host time have elapsed. The lock is dropped while the thread
 * spins.
 */
static void worker_spin(VGPUWorker *w, const Deadlines *next)
{
    VGPUWorkerThread *t = w->thread;
    int64_t end = get_clock() + w->s->poll_ns;
    bool found;

    qatomic_set(&t->kicked, false);
    qemu_mutex_unlock(&w->lock);
    do {
        cpu_relax();
        found = qatomic_read(&t->kicked) || any_deadline_reached(next);
    } while (!found && get_clock() < end);
    qemu_mutex_lock(&w->lock);
    if (found) {
        t->spins_in_vain = 0;
    } else {
        t->spins_in_vain = MIN(t->spins_in_vain + 1, SPIN_SKIP_LOG2_MAX);
        t->spin_skips = 1u << t->spins_in_vain;
    }
}

/*
 * Called in the main loop when QEMU_CLOCK_VIRTUAL reaches a deadline: wake the
 * thread.
 */
static void worker_timer_cb(void *opaque)
{
    VGPUWorker *w = opaque;

    QEMU_LOCK_GUARD(&w->lock);
    w->thread->armed = INT64_MAX;
    qemu_cond_signal(&w->thread->wake);
}

/*
 * Sleep until a deadline in @next or a kick. If the sleep ends before the timer
 * expires, the timer stays armed and may cause a spurious wake-up later.
 */
static void worker_sleep(VGPUWorker *w, const Deadlines *next)
{
    VGPUWorkerThread *t = w->thread;

    /*
     * The thread cannot compute how long to sleep, because QEMU_CLOCK_VIRTUAL
     * may jump (icount, qtest). So a timer in the main loop wakes the thread.
     */
    if (next->virtual < t->armed) {
        t->armed = next->virtual;
        vgpu_timer_anticipate(&t->timer, next->virtual);
    }
    t->asleep = true;
    if (next->host == INT64_MAX) {
        qemu_cond_wait(&t->wake, &w->lock);
    } else {
        int64_t left = next->host - qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

        qemu_cond_timedwait(&t->wake, &w->lock,
                            DIV_ROUND_UP(MAX(left, 1), SCALE_MS));
    }
    t->asleep = false;
    trace_vgpu_wake(w->s->id, w->client);
    vgpu_delay_worker(w->s, &w->lock, VGPU_DELAY_WAKE);
}

static void worker_enter_queue(VGPUWorker *w, VGPUQueue *q)
{
    w->current = q;
    q->wait = VGPU_WAIT_NONE;
}

static void worker_leave_queue(VGPUWorker *w, VGPUQueue *q)
{
    if (q->wait != VGPU_WAIT_IOMMU) {
        q->exec.mem.iotlb.used = 0;
    }
    w->current = NULL;
    qemu_cond_broadcast(&w->thread->parked);
}

/*
 * Run a time slice of queue @n. Return false if the queue did not run, or if
 * the queue waits after the time slice.
 */
static bool worker_run_queue(VGPUWorker *w, unsigned n)
{
    VGPUQueue *q = w->ops->queue(w, n);
    Deadlines next = NO_DEADLINES;

    if (vgpu_delay_worker(w->s, &w->lock, VGPU_DELAY_TAKE) &&
        !worker_queue_ready(w, n, &next)) {
        return false;
    }
    worker_enter_queue(w, q);
    w->ops->timeslice(w, n);
    worker_leave_queue(w, q);
    vgpu_delay_worker(w->s, &w->lock, VGPU_DELAY_DONE);
    return q->wait == VGPU_WAIT_NONE;
}

bool vgpu_worker_run_here(VGPUWorker *w, unsigned n)
{
    VGPUQueue *q = w->ops->queue(w, n);
    Deadlines next = NO_DEADLINES;

    if (!w->s->inline_bytes || !w->thread->asleep || w->current ||
        !worker_queue_ready(w, n, &next)) {
        return false;
    }
    trace_vgpu_inline(w->s->id, w->client, n);
    worker_enter_queue(w, q);
    w->ops->short_timeslice(w, n);
    worker_leave_queue(w, q);
    /*
     * Let the worker continue if work is left, or if the queue now waits for a
     * time: the worker's thread sets the timer.
     */
    return !worker_queue_ready(w, n, &next) && next.virtual == INT64_MAX &&
           next.host == INT64_MAX;
}

static void *worker_thread(void *opaque)
{
    VGPUWorker *w = opaque;
    const VGPUWorkerOps *ops = w->ops;
    bool worked = false;

    rcu_register_thread();
    qemu_mutex_lock(&w->lock);
    while (!w->thread->quit) {
        Deadlines next = NO_DEADLINES;
        int n;

        if (w->current) {
            /* Another thread runs a queue: vgpu_worker_run_here(). */
            qemu_cond_wait(&w->thread->parked, &w->lock);
            continue;
        }
        n = worker_pick_queue(w, &next);
        if (ops->busy && !w->thread->paused) {
            ops->busy(w, n >= 0);
        }
        if (n >= 0 && ops->yield && ops->yield(w)) {
            w->next = n;
        } else if (n >= 0) {
            worked = worker_run_queue(w, n);
        } else if (worked && worker_should_spin(w)) {
            worked = false;
            worker_spin(w, &next);
        } else {
            worked = false;
            worker_sleep(w, &next);
        }
    }
    if (ops->busy) {
        ops->busy(w, false);
    }
    qemu_mutex_unlock(&w->lock);
    rcu_unregister_thread();
    return NULL;
}

/*
 * Return true if queue @n waits for a register write that can be done now. If
 * the queue is stopped, end the wait without the write, because a stopped
 * engine must not change registers. w->lock held.
 */
static bool worker_reg_due(VGPUWorker *w, unsigned n)
{
    VGPUQueue *q = w->ops->queue(w, n);

    if (q->wait != VGPU_WAIT_REG) {
        return false;
    }
    if (w->ops->runnable(w, n)) {
        return true;
    }
    q->wait = VGPU_WAIT_NONE;
    vgpu_worker_kick(w);
    return false;
}

/*
 * Do the register writes for which queues wait (VGPU_WAIT_REG). w->lock is not
 * held during a register write.
 */
static void worker_reg_bh(void *opaque)
{
    VGPUWorker *w = opaque;
    unsigned n;

    for (n = 0; n < w->ops->num_queues; n++) {
        VGPUQueue *q = w->ops->queue(w, n);
        VGPUExec *x = &q->exec;
        uint32_t reg = 0, val = 0, number = 0;
        bool due;

        WITH_QEMU_LOCK_GUARD(&w->lock) {
            due = worker_reg_due(w, n);
            if (due) {
                reg = x->reg;
                val = x->reg_val;
                number = x->mem.stall.number;
                /*
                 * Count the register write in x->done now. After
                 * vgpu_reg_write() below, @x may belong to another queue.
                 */
                x->done++;
                w->writing = q;
                w->ops->trace_reg(w, n, reg, val);
            }
        }
        if (!due) {
            continue;
        }
        /*
         * During this write, another queue may be mapped to this HQD, and may
         * wait for a register write too. That wait has another stall.number, so
         * the code below does not end that wait.
         */
        vgpu_reg_write(w->s, reg, val);
        WITH_QEMU_LOCK_GUARD(&w->lock) {
            w->writing = NULL;
            if (q->wait == VGPU_WAIT_REG && x->mem.stall.number == number) {
                q->wait = VGPU_WAIT_NONE;
                vgpu_worker_kick(w);
            }
        }
    }
}

void vgpu_workers_alloc(VGPUState *s)
{
    s->workers = g_new0(VGPUWorkers, 1);
}

void vgpu_workers_free(VGPUState *s)
{
    g_free(s->workers);
}

void vgpu_worker_start(VGPUWorker *w, VGPUState *s, const VGPUWorkerOps *ops,
                       unsigned client, const char *name)
{
    VGPUWorkerThread *t = g_new0(VGPUWorkerThread, 1);

    w->ops = ops;
    w->s = s;
    w->client = client;
    w->thread = t;
    s->workers->by_client[client] = w;
    t->reg_bh = qemu_bh_new_guarded(worker_reg_bh, w,
                                    &DEVICE(s)->mem_reentrancy_guard);
    vgpu_timer_init(&t->timer, DEVICE(s), worker_timer_cb, w);
    t->armed = INT64_MAX;
    qemu_mutex_init(&w->lock);
    qemu_cond_init(&t->wake);
    qemu_cond_init(&t->parked);
    qemu_thread_create(&t->id, name, worker_thread, w, QEMU_THREAD_JOINABLE);
}

void vgpu_worker_stop(VGPUWorker *w)
{
    WITH_QEMU_LOCK_GUARD(&w->lock) {
        w->thread->quit = true;
        vgpu_worker_kick(w);
    }
    qemu_thread_join(&w->thread->id);
}

void vgpu_worker_destroy(VGPUWorker *w)
{
    VGPUWorkerThread *t = w->thread;

    w->s->workers->by_client[w->client] = NULL;
    qemu_bh_delete(t->reg_bh);
    vgpu_timer_destroy(&t->timer);
    qemu_cond_destroy(&t->parked);
    qemu_cond_destroy(&t->wake);
    qemu_mutex_destroy(&w->lock);
    g_clear_pointer(&w->thread, g_free);
}

void vgpu_worker_pause(VGPUWorker *w, bool paused)
{
    QEMU_LOCK_GUARD(&w->lock);
    w->thread->paused = paused;
    vgpu_worker_kick(w);
}

void vgpu_worker_hold(VGPUWorker *w)
{
    bool paused;

    qemu_mutex_lock(&w->lock);
    paused = w->thread->paused;
    w->thread->paused = true;
    vgpu_worker_park(w);
    /*
     * thread->paused was needed only while vgpu_worker_park() dropped w->lock.
     * From here on, the held w->lock keeps the thread from starting a step.
     */
    w->thread->paused = paused;
}

void vgpu_worker_release(VGPUWorker *w)
{
    vgpu_worker_kick(w);
    qemu_mutex_unlock(&w->lock);
}
