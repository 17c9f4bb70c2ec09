/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of vgpu-kfd: tests the device without a guest, against
 * docs/hardware.md.
 */
#include "qemu/osdep.h"
#include "tests/qtest/libqtest.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/ih/suite.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"
#include "tests/qtest/vgpu-kfd/qapi/suite.h"
#include "tests/qtest/vgpu-kfd/queue/suite.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

/*
 * Tests must poll for effects, because engines run in threads, in real time.
 * Virtual time passes only by steps of the clock (qvgpu_time_passes()).
 */
int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    if (!qtest_has_device("vgpu-kfd")) {
        g_test_skip("this QEMU has no vgpu-kfd");
        return g_test_run();
    }
    qvgpu_add_pci_tests();
    qvgpu_add_regs_tests();
    qvgpu_add_gart_tests();
    qvgpu_add_page_walk_tests();
    qvgpu_add_page_walk_fault_tests();
    qvgpu_add_tlb_tests();
    qvgpu_add_invalidate_range_tests();
    qvgpu_add_bus_remap_tests();
    qvgpu_add_packet_tests();
    qvgpu_add_packet_copy_tests();
    qvgpu_add_packet_atomic_tests();
    qvgpu_add_packet_control_tests();
    qvgpu_add_fairness_tests();
    qvgpu_add_queue_teardown_tests();
    qvgpu_add_queue_tests();
    qvgpu_add_queue_error_tests();
    qvgpu_add_ih_fault_tests();
    qvgpu_add_ih_cam_crowd_tests();
    qvgpu_add_fault_class_tests();
    qvgpu_add_replay_tests();
    qvgpu_add_clock_tests();
    qvgpu_add_inline_tests();
    qvgpu_add_hubs_tests();
    qvgpu_add_ih_ring_tests();
    qvgpu_add_ih_secondary_rings_tests();
    qvgpu_add_query_tests();
    qvgpu_add_migration_tests();
    qvgpu_add_migration_hostile_tests();
    qvgpu_add_reset_tests();
    qvgpu_add_cp_reset_map_tests();
    qvgpu_add_cp_hqd_tests();
    qvgpu_add_cp_pm4_tests();
    qvgpu_add_vram_bar_tests();
    qvgpu_add_hive_tests();
    qvgpu_add_xgmi_tests();
    qvgpu_add_iommu_tests();
    qvgpu_add_inject_tests();
    qvgpu_add_inject_fault_irq_tests();
    qvgpu_add_inject_sdma_tests();
    qvgpu_add_inject_vram_tests();
    qvgpu_add_inject_determinism_tests();
    return g_test_run();
}
