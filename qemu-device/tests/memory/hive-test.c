/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the object vgpu-hive and the nodes of its devices. Also tests
 * the migration of a machine that has a device at node 1 but none at node 0.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/memory/hive-fixture.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define PLUG        "'driver': 'vgpu-kfd', 'bus': 'rp0', 'id': 'peer'"
#define HIVE        "'qom-type': 'vgpu-hive', 'id': 'h1'"

/*
 * Catches: a hive accepts devices with different VRAM sizes or at the same
 * node, or is deleted or changed while it has devices.
 */
static void test_bad(void)
{
    static const struct {
        const char *command;
        const char *arguments;
        const char *says;
    } cases[] = {
        { "object-add", HIVE ", 'hive-id': 7", "another vgpu-hive" },
        { "object-add", HIVE ", 'hive-id': 0", "must not be 0" },
        { "object-del", "'id': 'h0'", "in use" },
        { "qom-set", "'path': '/objects/h0', 'property': 'hive-id', 'value': 8",
          "cannot be changed" },
        /*
         * Catches: property hive accepts a number, or the error does not ask
         * for an id.
         */
        { "device_add", PLUG ", 'hive': 7", "id of a vgpu-hive object" },
        { "device_add", PLUG ", 'hive': '7'", "'7' not found" },
        { "device_add", PLUG ", 'hive': 'first'", "'first' is no vgpu-hive" },
        { "qom-set", "'path': '/machine/peripheral/first', 'property': 'hive', "
          "'value': 'h0'", "after it was realized" },
        { "device_add", PLUG ", 'hive': 'h0', 'vram': 134217728",
          "as much VRAM" },
        { "device_add", PLUG ", 'hive': 'h0', 'vram': 67108864, 'node': 2",
          "node 2 of the hive is taken by first" },
        { "device_add", PLUG ", 'hive': 'h0', 'vram': 67108864, 'node': 16",
          "from 0 to 15" },
        { "device_add", PLUG ", 'node': 1", "hive is missing" },
    };
    QVGPU *v = qvgpu_start_sized("64M,hive=h0,node=2,id=first",
                                 HIVE_OBJECT HIVE_SLOT);
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        qvgpu_expect_refused(v, cases[i].command, cases[i].arguments,
                             cases[i].says);
    }
    hive_plug(v, ", 'node': 15");
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 1u << 15);
    qtest_qmp_device_del(v->qts, "peer");
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    qvgpu_stop(v);
}

/* Return the hive of device @id, from query-vgpu. The caller unrefs it. */
static QDict *query_hive(QVGPU *v, const char *id)
{
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'query-vgpu' }");
    QDict *hive = NULL;
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), entry) {
        QDict *info = qobject_to(QDict, qlist_entry_obj(entry));

        if (!g_strcmp0(qdict_get_try_str(info, "id"), id)) {
            hive = qobject_ref(qdict_get_qdict(info, "hive"));
        }
    }
    g_assert_nonnull(hive);
    qobject_unref(rsp);
    return hive;
}

static void expect_node(QVGPU *v, const char *device, unsigned node)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/%s", device);
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'qom-get', 'arguments': "
                           "{ 'path': %s, 'property': 'node' } }", path);
    QDict *hive = query_hive(v, device);

    g_assert_cmpint(qdict_get_int(rsp, "return"), ==, node);
    g_assert_cmpuint(qdict_get_int(hive, "node"), ==, node);
    g_assert_cmpuint(qdict_get_int(hive, "hive"), ==, HIVE_ID);
    g_assert_cmpstr(qdict_get_str(hive, "id"), ==, "h0");
    qobject_unref(hive);
    qobject_unref(rsp);
}

/*
 * Catches: a device is not at the node that its property selects; a device
 * without the property is not at the lowest free node, or does not report its
 * node.
 */
static void test_places(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0,node=1,id=first",
                                 HIVE_OBJECT HIVE_SLOT
                                 "-device vgpu-kfd,vram=64M,hive=h0,id=second");
    uint64_t own = v->bar[VGPU_BAR_VRAM] + QVGPU_PAGE;
    uint64_t back = qvgpu_ram_page(v);

    hive_plug(v, "");
    expect_node(v, "first", 1);
    expect_node(v, "second", 0);
    expect_node(v, "peer", 2);
    qtest_system_reset(v->qts);
    qvgpu_map_bars(v);
    hive_expect_place(v, 1, 2, 5, HIVE_ID);

    qvgpu_bring_up(v);
    qvgpu_fill(v, own, 1, 0, QVGPU_PAGE);
    hive_copy(v, NULL, hive_mc(v, HIVE_VRAM + QVGPU_PAGE),
              hive_mc(v, 2 * HIVE_VRAM), QVGPU_PAGE);
    hive_copy(v, NULL, hive_mc(v, 2 * HIVE_VRAM), qvgpu_mc(v, back),
              QVGPU_PAGE);
    qvgpu_expect(v, back, 1, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/*
 * Load @file in a QEMU with the command line of @v minus @without. The load
 * must fail. Returns QEMU's error output, which the caller frees.
 */
static char *load_error(QVGPU *v, const char *without, const char *file)
{
    g_auto(GStrv) parts = g_strsplit(v->args, without, -1);
    g_autofree char *args = g_strjoinv("", parts);
    g_autofree char *log = NULL;
    int fd = g_file_open_tmp("vgpu-kfd-XXXXXX", &log, NULL);
    QVGPU other = *v;
    char *said;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_cmpuint(g_strv_length(parts), ==, 2);
    /* qtest starts QEMU with a shell, so the redirection of stderr works. */
    other.args = g_strdup_printf("%s 2>%s", args, log);
    g_assert_false(qvgpu_loads(&other, file));
    g_assert_true(g_file_get_contents(log, &said, NULL, NULL));
    g_unlink(log);
    g_free(other.args);
    return said;
}

/*
 * Node 0 is unplugged before the save. Catches: after the load, the device of
 * node 1 is at another node.
 */
static void test_move_without_node_0(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0,node=1", HIVE_OBJECT HIVE_SLOT);
    uint64_t own = v->bar[VGPU_BAR_VRAM] + QVGPU_PAGE;
    g_autofree char *file = NULL, *said = NULL;
    uint64_t back = qvgpu_ram_page(v);

    hive_plug(v, "");
    qvgpu_fill(v, own, 1, 0, QVGPU_PAGE);
    hive_copy(v, NULL, hive_mc(v, HIVE_VRAM + QVGPU_PAGE), hive_mc(v, 0),
              QVGPU_PAGE);
    qtest_qmp_device_del(v->qts, "peer");
    hive_expect_place(v, 1, 1, 0, HIVE_ID);

    file = qvgpu_save_restore(v, true);
    /*
     * Catches: a device without node=1 accepts the state, or the error does not
     * name node=1.
     */
    said = load_error(v, ",node=1", file);
    g_assert_nonnull(strstr(said, "start the device with node=1"));
    g_assert_nonnull(strstr(said, "vgpu-hive object"));
    g_unlink(file);

    qvgpu_cont(v);
    hive_expect_place(v, 1, 1, 0, HIVE_ID);
    hive_copy(v, NULL, hive_mc(v, HIVE_VRAM + QVGPU_PAGE), qvgpu_mc(v, back),
              QVGPU_PAGE);
    qvgpu_expect(v, back, 1, 0, QVGPU_PAGE);
    /*
     * A new device gets the node of the unplugged device, node 0. The VRAM of
     * the new device contains only zeros.
     */
    hive_plug(v, "");
    hive_expect_place(v, 1, 1, 1, HIVE_ID);
    hive_copy(v, NULL, hive_mc(v, 0), qvgpu_mc(v, back), QVGPU_PAGE);
    qvgpu_expect_byte(v, back, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

void qvgpu_add_hive_tests(void)
{
    qtest_add_func("/vgpu-kfd/hive/bad", test_bad);
    qtest_add_func("/vgpu-kfd/hive/places", test_places);
    qtest_add_func("/vgpu-kfd/hive/move-without-node-0",
                   test_move_without_node_0);
}
