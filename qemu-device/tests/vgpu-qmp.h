/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side QMP of vgpu-kfd. */
#ifndef VGPU_QMP_H
#define VGPU_QMP_H

#include "qobject/qdict.h"
#include "vgpu-qos.h"

/* What query-vgpu says of the only device; the caller unrefs it. */
QDict *qvgpu_query(QVGPU *v);
/* Parts of it. NULL where there is none. */
QDict *qvgpu_query_queue(QDict *info, unsigned engine, unsigned queue);
QDict *qvgpu_query_vmid(QDict *info, const char *hub, unsigned vmid);
uint64_t qvgpu_query_counter(QDict *info, const char *name);
/* Entries in an engine's TLB. */
unsigned qvgpu_query_tlb(QVGPU *v, unsigned engine);

#endif /* VGPU_QMP_H */
