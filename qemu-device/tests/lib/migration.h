/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: saves, restores and migrates the machine. */
#ifndef VGPU_TEST_MIGRATION_H
#define VGPU_TEST_MIGRATION_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

/**
 * qvgpu_save_restore: move the machine to a new QEMU through a file
 * @v: the machine, stopped on return: call qvgpu_cont() to let it run
 * @keep: keep the file
 *
 * Return: the kept file's name, or NULL. The caller frees the name and removes
 *     the file.
 */
char *qvgpu_save_restore(QVGPU *v, bool keep);
/**
 * qvgpu_migrate_live: migrate the running machine to a new QEMU
 * @v: the machine, stopped on return: call qvgpu_cont() to let it run
 * @feed: called until the migration has completed, or NULL
 * @opaque: argument of @feed
 *
 * Data that @feed writes after the old QEMU has stopped is not migrated.
 */
void qvgpu_migrate_live(QVGPU *v, void (*feed)(void *opaque), void *opaque);
/* Let the stopped machine run (QMP cont). */
void qvgpu_cont(QVGPU *v);
/*
 * Start a new QEMU with the command line of @v. Return true if it loads the
 * state in @file.
 */
bool qvgpu_loads(QVGPU *v, const char *file);
/*
 * Return the offset of @quad, stored big-endian, in the saved state @buf of
 * @len bytes. Fails the test unless @quad occurs exactly once.
 */
size_t qvgpu_state_find(const char *buf, size_t len, uint64_t quad);
/*
 * Find @quad in @file as qvgpu_state_find() does. Write @byte to the file, @at
 * bytes after the start of @quad. Return qvgpu_loads() for the changed file.
 * Undoes the change.
 */
bool qvgpu_loads_with(QVGPU *v, const char *file, uint64_t quad, int at,
                      uint8_t byte);

#endif /* VGPU_TEST_MIGRATION_H */
