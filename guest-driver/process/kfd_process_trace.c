// SPDX-License-Identifier: GPL-2.0
/* Instantiate the tracepoints of kfd_process_trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "kfd_process_trace.h"
#endif
