/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: delays in the threads of the device. See core/delay.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

#ifdef VGPU_KFD_DELAYS

#define POINT_NS        (300 * SCALE_MS)
#define POINT_PERIOD_NS (1000 * SCALE_MS)

static const char *const point_names[VGPU_DELAY_POINTS] = {
    [VGPU_DELAY_WAKE] = "wake",
    [VGPU_DELAY_TAKE] = "take",
    [VGPU_DELAY_DONE] = "done",
    [VGPU_DELAY_IRQ] = "irq",
    [VGPU_DELAY_ACK] = "ack",
    [VGPU_DELAY_WINDOW] = "window",
};

static int64_t delay_now_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

/*
 * Return the next number of the pseudo-random sequence, which all threads
 * share.
 */
static uint64_t delay_random(VGPUDelays *d)
{
    uint64_t x = qatomic_fetch_add(&d->rng, 0x9e3779b97f4a7c15ull);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/*
 * Return a delay in ns. Of 128 delays, on average 117 are 0, 10 are up to
 * 100 us, and one is up to 4 ms. If x-delays is 0, all delays are 0.
 */
static int64_t delay_random_ns(VGPUDelays *d)
{
    uint64_t dice = delay_random(d) % 128;

    if (!d->seed || dice > 10) {
        return 0;
    }
    return 1 + delay_random(d) % ((dice ? 100 : 4000) * SCALE_US);
}

/*
 * Return a delay in ns. At the point of x-delay-point: POINT_NS once in
 * POINT_PERIOD_NS, otherwise 0. At other points: a random delay.
 */
static int64_t delay_point_ns(VGPUState *s, VGPUDelayPoint point)
{
    VGPUDelays *d = &s->delays;
    int64_t now, next;

    if (d->point != point) {
        return delay_random_ns(d);
    }
    now = delay_now_ns();
    next = qatomic_read(&d->next);
    if (now < next ||
        qatomic_cmpxchg(&d->next, next, now + POINT_PERIOD_NS) != next) {
        return 0;
    }
    return POINT_NS;
}

/*
 * Sleep for @ns. If x-delay-point selects @point, emit a trace event before and
 * after the sleep, so that a test can detect that the thread sleeps.
 */
static void delay_wait(VGPUState *s, VGPUDelayPoint point, int64_t ns)
{
    bool chosen = s->delays.point == point;

    if (chosen) {
        trace_vgpu_delay(s->id, point_names[point]);
    }
    g_usleep(DIV_ROUND_UP(ns, SCALE_US));
    if (chosen) {
        trace_vgpu_delay_end(s->id, point_names[point]);
    }
}

bool vgpu_delay_worker(VGPUState *s, QemuMutex *lock, VGPUDelayPoint point)
{
    int64_t ns = delay_point_ns(s, point);

    if (!ns) {
        return false;
    }
    qemu_mutex_unlock(lock);
    delay_wait(s, point, ns);
    qemu_mutex_lock(lock);
    return true;
}

static void irq_timer(void *opaque)
{
    VGPUState *s = opaque;

    qemu_bh_schedule(qatomic_read(&s->delays.irq_bh));
}

bool vgpu_delay_irq(VGPUState *s, QEMUBH *bh)
{
    int64_t ns = delay_point_ns(s, VGPU_DELAY_IRQ);

    if (ns) {
        qatomic_set(&s->delays.irq_bh, bh);
        timer_mod_anticipate_ns(s->delays.irq_timer, delay_now_ns() + ns);
    }
    return ns;
}

bool vgpu_delay_ack(VGPUState *s, bool request)
{
    if (request) {
        s->delays.ack_due = delay_now_ns() + delay_point_ns(s, VGPU_DELAY_ACK);
    }
    return delay_now_ns() < s->delays.ack_due;
}

void vgpu_delay_window(VGPUState *s)
{
    int64_t ns = delay_point_ns(s, VGPU_DELAY_WINDOW);

    if (ns) {
        delay_wait(s, VGPU_DELAY_WINDOW, ns);
    }
}

bool vgpu_delay_init(VGPUState *s, Error **errp)
{
    VGPUDelays *d = &s->delays;
    int i;

    d->point = -1;
    for (i = 0; d->point_name && i < VGPU_DELAY_POINTS; i++) {
        if (!strcmp(d->point_name, point_names[i])) {
            d->point = i;
        }
    }
    if (d->point_name && d->point < 0) {
        error_setg(errp, "x-delay-point: there is no point '%s'",
                   d->point_name);
        return false;
    }
    d->rng = d->seed;
    d->irq_timer = timer_new_ns(QEMU_CLOCK_REALTIME, irq_timer, s);
    return true;
}

void vgpu_delay_destroy(VGPUState *s)
{
    timer_free(s->delays.irq_timer);
}

#endif
