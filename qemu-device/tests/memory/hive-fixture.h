/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: fixture of the hive tests. All devices have 64 MiB of VRAM. */
#ifndef VGPU_TEST_HIVE_FIXTURE_H
#define VGPU_TEST_HIVE_FIXTURE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

#define HIVE_VRAM       (64 * MiB)
#define HIVE_ID         7
/* Argument for QEMU. The hive-id is HIVE_ID. */
#define HIVE_OBJECT     "-object vgpu-hive,id=h0,hive-id=7 "
/* Arguments for QEMU: create the empty slot that hive_plug() uses. */
#define HIVE_SLOT       \
    "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off " \
    "-device pcie-root-port,id=rp0,chassis=1,slot=1 "

/*
 * Return the GPU address, in VMID 0, of byte @offset of the hive's memory. The
 * VRAM of node n begins at offset n * HIVE_VRAM.
 */
uint64_t hive_mc(QVGPU *v, uint64_t offset);
/*
 * Copy @len bytes with a queue of @v in @space, or in VMID 0 if @space is NULL.
 * Returns when the copy is complete.
 */
void hive_copy(QVGPU *v, QVGPUSpace *space, uint64_t src, uint64_t dst,
               uint64_t len);
/*
 * Fail the test unless the registers of @v report hive @id, node @node, last
 * node @last and mask @links (nodes to which links are up).
 */
void hive_expect_place(QVGPU *v, unsigned node, unsigned last, uint32_t links,
                       uint64_t id);
/*
 * Plug a device with id "peer" into the slot that HIVE_SLOT creates. The device
 * is in hive h0. @props: more device properties, as in ", 'node': 1".
 */
void hive_plug(QVGPU *v, const char *props);

#endif /* VGPU_TEST_HIVE_FIXTURE_H */
