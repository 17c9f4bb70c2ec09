// SPDX-License-Identifier: GPL-2.0
/* The room's tracepoints, instantiated. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "svm_trace.h"
#endif
