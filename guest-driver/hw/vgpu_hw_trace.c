// SPDX-License-Identifier: GPL-2.0
/* The room's tracepoints, instantiated. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_hw_trace.h"
#endif
