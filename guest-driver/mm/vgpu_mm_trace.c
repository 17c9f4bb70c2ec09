// SPDX-License-Identifier: GPL-2.0
/* sparse defines __CHECKER__ and skips this file, because sparse warns about tracepoint macros. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vgpu_mm_trace.h"
#endif
