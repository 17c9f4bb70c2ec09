/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time, and time limits in units of this machine's speed.
 */
#ifndef VG_TIMEOUT_H
#define VG_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Monotonic time in ns. */
uint64_t vg_now(void);
void vg_sleep_us(unsigned int us);

/*
 * A wait that takes longer than this has failed: 30 s on the reference machine
 * times VGPU_TEST_SCALE, which a run of the suites sets to how much slower its
 * host is (1 to 4); 60 s without that.
 */
int vg_timeout_ms(void);
#define VG_TIMEOUT_MS	vg_timeout_ms()
/* The vg_now() at which a wait that begins now has failed (VG_TIMEOUT_MS). */
uint64_t vg_deadline(void);
/*
 * Measure how much slower the machine is at this moment (0.3 s on the reference
 * machine). True: slower than VGPU_TEST_SCALE said; limits that are computed from
 * now on, in this process and its new children, are longer. False without
 * VGPU_TEST_SCALE.
 */
bool vg_scale_again(void);

#endif /* VG_TIMEOUT_H */
