/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cases of a program run. For the runner in tap.c.
 */
#ifndef TAP_CHOOSE_H
#define TAP_CHOOSE_H

#include "tap.h"

/*
 * Whether @c runs: @only is "=NAME", this case alone, or a part of names, and no
 * line of VGPU_TEST_LEAVE_OUT is its name.
 */
bool tap_chosen(const struct tap_case *c, const char *only);
/* Whether each line of VGPU_TEST_LEAVE_OUT is a case; prints those that are not. */
bool tap_left_out_known(const struct tap_case *cases, int n);

#endif /* TAP_CHOOSE_H */
