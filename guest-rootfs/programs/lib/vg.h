/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg: a thin library over the raw KFD uAPI (linux/kfd_ioctl.h). Unless stated otherwise, functions
 * return 0 or -errno, and record the text of a failure for vg_error(). Two threads must not use one
 * object at the same time.
 */
#ifndef VG_H
#define VG_H

/* All headers of the library except render.h and delay.h */
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
