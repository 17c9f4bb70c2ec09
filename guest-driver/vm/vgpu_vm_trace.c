// SPDX-License-Identifier: GPL-2.0
/* In vm/, only this file sets CREATE_TRACE_POINTS, so that each tracepoint is defined once. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_vm_trace.h"
#endif
