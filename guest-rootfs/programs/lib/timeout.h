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
 * Return the time limit of a wait in ms: 30 s times VGPU_TEST_SCALE. If VGPU_TEST_SCALE is not set,
 * the limit is 60 s. A run of the suites sets VGPU_TEST_SCALE to the slowness of the host relative
 * to the reference machine, a number from 1 to 4.
 */
int vg_timeout_ms(void);
#define VG_TIMEOUT_MS	vg_timeout_ms()
/* Return the time in ns at which a wait that begins now must end: vg_now() plus VG_TIMEOUT_MS. */
uint64_t vg_deadline(void);
/*
 * Measure the slowness of the machine again, for about 0.3 s. If the result is above
 * VGPU_TEST_SCALE, set VGPU_TEST_SCALE to the result (at most 4), for this process and children
 * forked later. Return true if the limits have grown. Without VGPU_TEST_SCALE, return false.
 */
bool vg_scale_again(void);

#endif /* VG_TIMEOUT_H */
