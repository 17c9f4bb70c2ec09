/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Select the cases of a program, for the runner in tap.c. */
#ifndef TAP_CHOOSE_H
#define TAP_CHOOSE_H

#include "tap.h"

/*
 * Return true if @only selects @c, and neither VGPU_TEST_LEAVE_OUT nor VGPU_TEST_DONE names @c.
 * VGPU_TEST_DONE lists cases that have run before, perhaps on another machine; its names need not
 * exist. @only is:
 *
 *   ""      all cases
 *   "=xyz"  the case "xyz"
 *   "xyz"   all cases with "xyz" in the name
 */
bool tap_chosen(const struct tap_case *c, const char *only);
/* Return true if @only selects the name of a case, even if the environment names the case. */
bool tap_any_selected(const struct tap_case *cases, int n, const char *only);
/*
 * Return true if every line of VGPU_TEST_LEAVE_OUT names a case; print the lines that
 * do not.
 */
bool tap_left_out_known(const struct tap_case *cases, int n);

#endif /* TAP_CHOOSE_H */
