/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg: a thin library over the raw KFD uAPI (linux/kfd_ioctl.h), for the demo, the guest tests and
 * the benchmarks. This header includes all headers of the library except render.h and delay.h. The
 * library does not use libhsakmt or libdrm, so that each ioctl is visible in the library's
 * functions.
 *
 * Functions return 0 or a negative errno unless stated otherwise, and record the text of a failure
 * for vg_error(). Two threads must not use one object at the same time. Different threads may use
 * different queues.
 */
#ifndef VG_H
#define VG_H

#include "bo.h"
#include "compute_queue.h"
#include "device.h"
#include "pattern.h"
#include "pci.h"
#include "rounds.h"
#include "sdma_queue.h"
#include "stats.h"
#include "svm.h"
#include "timeout.h"

#endif /* VG_H */
