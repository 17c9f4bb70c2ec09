/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: save, restore and migrate the machine. */
#ifndef VGPU_TEST_MIGRATION_H
#define VGPU_TEST_MIGRATION_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

/*
 * Stop the machine, save it to a file and load it into a new QEMU, which is
 * stopped. The file stays if @keep: its name, which the caller removes and
 * frees.
 */
char *qvgpu_save_restore(QVGPU *v, bool keep);
/*
 * Move to a new QEMU, which is stopped, while the engines work; @feed is called
 * now and then until they have stopped here.
 */
void qvgpu_migrate_live(QVGPU *v, void (*feed)(void *opaque), void *opaque);
/* Let the machine run. */
void qvgpu_cont(QVGPU *v);
/* Does a QEMU with @v's command line load the state in @file? */
bool qvgpu_loads(QVGPU *v, const char *file);
/*
 * The one place in a state of @len bytes where the big-endian @quad stands;
 * fails the test if there is none, or more.
 */
size_t qvgpu_state_find(const char *buf, size_t len, uint64_t quad);
/* qvgpu_loads() with @byte at @at, counted from @quad. @file stays as it is. */
bool qvgpu_loads_with(QVGPU *v, const char *file, uint64_t quad, int at,
                      uint8_t byte);

#endif /* VGPU_TEST_MIGRATION_H */
