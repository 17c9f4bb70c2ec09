/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: saves, restores and migrates the machine. */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"

/*
 * After this number of passes over dirty memory, qvgpu_migrate_live() allows a
 * long downtime, so that the migration completes.
 */
#define PASSES      4

static bool status_is(QTestState *qts, const char *command, const char *want)
{
    QDict *reply = qtest_qmp_assert_success_ref(qts, "{ 'execute': %s }",
                                                command);
    const char *status = qdict_get_try_str(reply, "status");
    bool is = status && !strcmp(status, want);

    qobject_unref(reply);
    return is;
}

static void wait_migrated(QTestState *qts)
{
    qvgpu_wait_until(({
        g_assert_false(status_is(qts, "query-migrate", "failed"));
        status_is(qts, "query-migrate", "completed");
    }));
}

static void migrate(QTestState *qts, const char *uri)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
}

static void set_downtime(QTestState *qts, int ms)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate-set-parameters', "
                             "'arguments': { 'downtime-limit': %d, "
                             "'max-bandwidth': 1099511627776 } }", ms);
}

/* Return how often the migration has looked for dirty memory so far. */
static int64_t passes(QTestState *qts)
{
    QDict *reply = qtest_qmp_assert_success_ref(qts,
                                                "{ 'execute': "
                                                "'query-migrate' }");
    QDict *ram = qdict_get_qdict(reply, "ram");
    int64_t n = ram ? qdict_get_try_int(ram, "dirty-sync-count", 0) : 0;

    qobject_unref(reply);
    return n;
}

static QTestState *start_incoming(QVGPU *v, const char *uri)
{
    QTestState *qts = qtest_initf("%s -S -incoming defer", v->args);

    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s, "
                             "'exit-on-error': false } }", uri);
    return qts;
}

/* Let @v use QEMU @qts, which has received the state, and quit the old QEMU. */
static void move(QVGPU *v, QTestState *qts)
{
    qvgpu_wait_until(!status_is(qts, "query-status", "inmigrate"));
    /*
     * The state has deadlines in virtual time. Under qtest, the virtual clock
     * of a new QEMU starts at 0: set it to the device's clock.
     */
    qtest_clock_set(qts, qvgpu_clock(v) * (1000000000 / VGPU_CLOCK_HZ));
    qtest_quit(v->qts);
    g_free(v->pci);
    qpci_free_pc(v->bus);
    v->qts = qts;
    v->bus = qpci_new_pc(qts, NULL);
    v->pci = qvgpu_find(v->bus);
    g_assert_nonnull(v->pci);
}

char *qvgpu_save_restore(QVGPU *v, bool keep)
{
    g_autofree char *file = NULL, *uri = NULL;
    QTestState *qts;
    QVGPU *ticking;
    int fd = g_file_open_tmp("vgpu-kfd-XXXXXX", &file, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    uri = g_strdup_printf("file:%s", file);
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
    ticking = qvgpu_time_passes(NULL);
    migrate(v->qts, uri);
    wait_migrated(v->qts);
    qts = start_incoming(v, uri);
    wait_migrated(qts);
    move(v, qts);
    qvgpu_time_passes(ticking);
    if (keep) {
        return g_steal_pointer(&file);
    }
    g_unlink(file);
    return NULL;
}

void qvgpu_migrate_live(QVGPU *v, void (*feed)(void *opaque), void *opaque)
{
    g_autofree char *dir = g_dir_make_tmp("vgpu-kfd-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    QTestState *qts = start_incoming(v, uri);
    bool hurry = true;

    /*
     * The downtime limit of 1 ms keeps the migration from ending while engines
     * write much memory. After PASSES passes, the loop allows 10 s of downtime.
     */
    set_downtime(v->qts, 1);
    if (feed) {
        feed(opaque);
    }
    migrate(v->qts, uri);
    qvgpu_wait_until(({
        if (feed) {
            feed(opaque);
        }
        if (hurry && passes(v->qts) >= PASSES) {
            set_downtime(v->qts, 10000);
            hurry = false;
        }
        g_assert_false(status_is(v->qts, "query-migrate", "failed"));
        status_is(v->qts, "query-migrate", "completed");
    }));
    move(v, qts);
    g_unlink(path);
    g_rmdir(dir);
}

void qvgpu_cont(QVGPU *v)
{
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
}

bool qvgpu_loads(QVGPU *v, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    QTestState *qts = start_incoming(v, uri);
    bool loads;

    qvgpu_wait_until(status_is(qts, "query-migrate", "failed") ||
                     status_is(qts, "query-migrate", "completed"));
    loads = status_is(qts, "query-migrate", "completed");
    qtest_quit(qts);
    return loads;
}

size_t qvgpu_state_find(const char *buf, size_t len, uint64_t quad)
{
    uint64_t be = cpu_to_be64(quad);
    const char *at = memmem(buf, len, &be, sizeof(be));

    g_assert_nonnull(at);
    g_assert_null(memmem(at + 1, buf + len - at - 1, &be, sizeof(be)));
    return at - buf;
}

bool qvgpu_loads_with(QVGPU *v, const char *file, uint64_t quad, int at,
                      uint8_t byte)
{
    g_autofree char *buf = NULL;
    size_t len;
    char *p, good;
    bool loads;

    g_assert_true(g_file_get_contents(file, &buf, &len, NULL));
    p = &buf[qvgpu_state_find(buf, len, quad) + at];
    good = *p;
    *p = byte;
    g_assert_true(g_file_set_contents(file, buf, len, NULL));
    loads = qvgpu_loads(v, file);
    *p = good;
    g_assert_true(g_file_set_contents(file, buf, len, NULL));
    return loads;
}
