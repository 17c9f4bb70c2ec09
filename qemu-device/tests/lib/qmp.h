/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side QMP of vgpu-kfd. */
#ifndef VGPU_TEST_QMP_H
#define VGPU_TEST_QMP_H

#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

/* What query-vgpu says of the only device; the caller unrefs it. */
QDict *qvgpu_query(QVGPU *v);
/*
 * A command is refused, in words that contain @says. @arguments as JSON has
 * them, without braces.
 */
void qvgpu_expect_refused(QVGPU *v, const char *command, const char *arguments,
                          const char *says);
/* Links of a node of the only hive, as query-vgpu has them. */
unsigned qvgpu_query_links(QVGPU *v, unsigned node);
/* Parts of it. NULL where there is none. */
QDict *qvgpu_query_queue(QDict *info, unsigned engine, unsigned queue);
QDict *qvgpu_query_vmid(QDict *info, const char *hub, unsigned vmid);
uint64_t qvgpu_query_counter(QDict *info, const char *name);
/* Entries in an engine's TLB. */
unsigned qvgpu_query_tlb(QVGPU *v, unsigned engine);

/*
 * vgpu-inject with @members, as in "'kind': 'pte-lost', 'vmid': %u". Returns
 * the id. The second expects to be refused.
 */
uint32_t qvgpu_inject(QVGPU *v, const char *members, ...) G_GNUC_PRINTF(2, 3);
void qvgpu_inject_refused(QVGPU *v, const char *members, ...)
    G_GNUC_PRINTF(2, 3);
void qvgpu_inject_remove(QVGPU *v, uint32_t id);
/* How many occasions it has taken, and how many it has seen. */
uint64_t qvgpu_inject_fired(QVGPU *v, uint32_t id);
uint64_t qvgpu_inject_seen(QVGPU *v, uint32_t id);

#endif /* VGPU_TEST_QMP_H */
