/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clock, sleep, and time limits that grow with the slowness of the machine. */
#ifndef VG_TIMEOUT_H
#define VG_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Return CLOCK_MONOTONIC in ns. */
uint64_t vg_now(void);
void vg_sleep_us(unsigned int us);

/*
 * A run of the suites sets VGPU_TEST_SCALE to the slowness of the host relative to the reference
 * machine, from 1 to 4.
 */

/*
 * Return the time limit of a wait in ms: VGPU_TEST_SCALE times 30 s, or 60 s if VGPU_TEST_SCALE is
 * not set.
 */
int vg_timeout_ms(void);
#define VG_TIMEOUT_MS	vg_timeout_ms()
/* Return the time in ns at which a wait that begins now must end: vg_now() plus VG_TIMEOUT_MS. */
uint64_t vg_deadline(void);
/*
 * If VGPU_TEST_SCALE is set, measure the machine's slowness again, which takes 0.3 s or more. If
 * the result is above VGPU_TEST_SCALE, set VGPU_TEST_SCALE to the result, but to 4 at most. Return
 * true if VG_TIMEOUT_MS has grown.
 */
bool vg_scale_again(void);

#endif /* VG_TIMEOUT_H */
