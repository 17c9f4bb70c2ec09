// SPDX-License-Identifier: GPL-2.0
/* Instantiate the tracepoints of vgpu_hw_trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_hw_trace.h"
#endif
