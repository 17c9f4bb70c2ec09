// SPDX-License-Identifier: GPL-2.0
/* Tracepoints of memory and recovery, instantiated. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_trace.h"
#endif
