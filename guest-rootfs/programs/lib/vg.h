/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg: a thin library over the raw KFD uAPI (linux/kfd_ioctl.h), for the demo, the
 * guest tests and the benchmarks: all of its headers but render.h, the render
 * node's. No libhsakmt, no libdrm: what goes to the kernel is seen here.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and leave
 * a sentence about a failure in vg_error(). Nothing here is safe for two threads
 * on one object; different queues may be driven by different threads.
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
