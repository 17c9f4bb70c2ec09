/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run the rounds of a workload until the host closes the workload's standard input. */
#ifndef VG_ROUNDS_H
#define VG_ROUNDS_H

#include <stdint.h>

/*
 * Call @fn with 1, 2, ... until standard input is readable or ends, or until @fn fails. Print
 * "round N" after each call that succeeds. Return 0, or the negative errno of @fn.
 */
int vg_rounds(int (*fn)(void *arg, uint64_t round), void *arg);

#endif /* VG_ROUNDS_H */
