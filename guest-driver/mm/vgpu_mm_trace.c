// SPDX-License-Identifier: GPL-2.0
/* Sparse cannot handle the macros of tracepoints, so hide the macros from sparse. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_mm_trace.h"
#endif
