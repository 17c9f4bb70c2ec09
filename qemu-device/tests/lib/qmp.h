/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: sends QMP commands. */
#ifndef VGPU_TEST_QMP_H
#define VGPU_TEST_QMP_H

#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

/* Run query-vgpu on a machine with one device. The caller unrefs the result. */
QDict *qvgpu_query(QVGPU *v);
/*
 * Fail the test unless @command is refused with a description that contains
 * @says. @arguments: members in JSON, without braces.
 */
void qvgpu_expect_refused(QVGPU *v, const char *command, const char *arguments,
                          const char *says);
/*
 * Return the mask of nodes to which @node has a link that is up (query-vgpu).
 * Fails the test if no device is node @node of a hive. Use this only on a
 * machine with one hive, because nodes of two hives may have the same number.
 */
unsigned qvgpu_query_links(QVGPU *v, unsigned node);
/*
 * Look up a queue or a VMID in @info of qvgpu_query(). Returns a borrowed
 * reference, or NULL if absent. An absent engine fails the test.
 */
QDict *qvgpu_query_queue(QDict *info, unsigned engine, unsigned queue);
QDict *qvgpu_query_vmid(QDict *info, const char *hub, unsigned vmid);
/*
 * Look up a counter in @info of qvgpu_query(). An absent counter fails the
 * test.
 */
uint64_t qvgpu_query_counter(QDict *info, const char *name);
/* Return the number of entries in use in the TLB of @engine. */
unsigned qvgpu_query_tlb(QVGPU *v, unsigned engine);

/**
 * qvgpu_inject: arm an injection
 * @v: the machine
 * @members: printf format of the arguments of vgpu-inject, as in "'kind':
 *     'pte-lost', 'vmid': %u"
 *
 * Fails the test if the command is refused.
 *
 * Return: the id of the injection.
 */
uint32_t qvgpu_inject(QVGPU *v, const char *members, ...) G_GNUC_PRINTF(2, 3);
/* Fail the test unless vgpu-inject refuses @members. */
void qvgpu_inject_refused(QVGPU *v, const char *members, ...)
    G_GNUC_PRINTF(2, 3);
/* Remove injection @id. */
void qvgpu_inject_remove(QVGPU *v, uint32_t id);
/*
 * Return the number of events that injection @id has acted on (fired), and the
 * number of events that have matched its filter (seen).
 */
uint64_t qvgpu_inject_fired(QVGPU *v, uint32_t id);
uint64_t qvgpu_inject_seen(QVGPU *v, uint32_t id);

#endif /* VGPU_TEST_QMP_H */
