// SPDX-License-Identifier: GPL-2.0
/* Instantiate the tracepoints of vgpu_mm_trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_mm_trace.h"
#endif
