// SPDX-License-Identifier: GPL-2.0
/* Instantiate the tracepoints of svm_trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "svm_trace.h"
#endif
