/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rounds of a workload that its host ends.
 */
#ifndef VG_ROUNDS_H
#define VG_ROUNDS_H

#include <stdint.h>

/*
 * Call @fn with 1, 2, ... until standard input ends, or it fails, and print
 * "round N" after each. 0, or @fn's negative errno.
 */
int vg_rounds(int (*fn)(void *arg, uint64_t round), void *arg);

#endif /* VG_ROUNDS_H */
