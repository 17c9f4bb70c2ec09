/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/hive-fixture.h"

uint64_t hive_mc(QVGPU *v, uint64_t offset)
{
    return qvgpu_mc(v, v->bar[VGPU_BAR_VRAM]) + offset;
}

void hive_copy(QVGPU *v, QVGPUSpace *space, uint64_t src, uint64_t dst,
               uint64_t len)
{
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, 0, space);
    qvgpu_pkt_copy(&q, src, dst, len);
    qvgpu_sdma_finish(&q);
}

void hive_expect_place(QVGPU *v, unsigned node, unsigned last, uint32_t links,
                       uint64_t id)
{
    uint32_t cntl = qvgpu_mm_rd(v, MC_VM_XGMI_LFB_CNTL);

    g_assert_cmpuint(VGPU_GET(cntl, MC_VM_XGMI_LFB_CNTL__PF_LFB_REGION), ==,
                     node);
    g_assert_cmpuint(VGPU_GET(cntl, MC_VM_XGMI_LFB_CNTL__PF_MAX_REGION), ==,
                     last);
    g_assert_cmphex(qvgpu_mm_rd(v, MC_VM_XGMI_LFB_SIZE), ==, HIVE_VRAM >> 24);
    g_assert_cmphex(qvgpu_rd(v, HUB(VGPU_HUB_GFX) + MC_VM_XGMI_LFB_CNTL), ==,
                    cntl);
    g_assert_cmpuint(qvgpu_mm_rd(v, MC_VM_FB_LOCATION_TOP) -
                     qvgpu_mm_rd(v, MC_VM_FB_LOCATION_BASE) + 1, ==,
                     (last + 1) * (HIVE_VRAM >> 24));
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, links);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_HIVE_LO), ==, (uint32_t)id);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_HIVE_HI), ==, id >> 32);
}

void hive_plug(QVGPU *v, const char *props)
{
    g_autofree char *json = g_strdup_printf("{ 'bus': 'rp0', 'vram': %" PRIu64
                                            ", 'hive': 'h0'%s }",
                                            (uint64_t)HIVE_VRAM, props);
    QDict *args = qobject_to(QDict, qobject_from_json(json, &error_abort));

    qdict_put_str(args, "id", "peer");
    qtest_qmp_device_add_qdict(v->qts, "vgpu-kfd", args);
    qobject_unref(args);
}
