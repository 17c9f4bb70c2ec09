// SPDX-License-Identifier: GPL-2.0
/* Only this file sets CREATE_TRACE_POINTS, so that each tracepoint of vm/ is defined once. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_vm_trace.h"
#endif
