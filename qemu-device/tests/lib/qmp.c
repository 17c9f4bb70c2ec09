/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: sends QMP commands. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"

QDict *qvgpu_query(QVGPU *v)
{
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'query-vgpu' }");
    QList *list = qdict_get_qlist(rsp, "return");
    QDict *info;

    g_assert_nonnull(list);
    g_assert_cmpuint(qlist_size(list), ==, 1);
    info = qobject_to(QDict, qlist_peek(list));
    qobject_ref(info);
    qobject_unref(rsp);
    return info;
}

void qvgpu_expect_refused(QVGPU *v, const char *command, const char *arguments,
                          const char *says)
{
    g_autofree char *json = g_strdup_printf("{ %s }", arguments);
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': %s, 'arguments': %p }",
                           command, qobject_from_json(json, &error_abort));
    QDict *error = qdict_get_qdict(rsp, "error");

    if (!error || !strstr(qdict_get_str(error, "desc"), says)) {
        g_error("%s %s: %s, expected: %s", command, arguments,
                error ? qdict_get_str(error, "desc") : "done", says);
    }
    qobject_unref(rsp);
}

unsigned qvgpu_query_links(QVGPU *v, unsigned node)
{
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'query-vgpu' }");
    QListEntry *entry;
    int links = -1;

    /*
     * Search all devices, because query-vgpu lists them in no particular order.
     */
    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), entry) {
        QDict *hive = qdict_get_qdict(qobject_to(QDict, qlist_entry_obj(entry)),
                                      "hive");

        if (hive && qdict_get_int(hive, "node") == node) {
            links = qdict_get_int(hive, "links");
        }
    }
    g_assert_cmpint(links, >=, 0);
    qobject_unref(rsp);
    return links;
}

/* Return the element of @list whose member @key equals @val, or NULL. */
static QDict *find(QList *list, const char *key, unsigned val)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(list, entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(dict, key) == val) {
            return dict;
        }
    }
    return NULL;
}

QDict *qvgpu_query_queue(QDict *info, unsigned engine, unsigned queue)
{
    QDict *e = find(qdict_get_qlist(info, "engines"), "engine", engine);

    g_assert_nonnull(e);
    return find(qdict_get_qlist(e, "queues"), "queue", queue);
}

QDict *qvgpu_query_vmid(QDict *info, const char *hub, unsigned vmid)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vmids"), entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(dict, "vmid") == vmid &&
            g_str_equal(qdict_get_str(dict, "hub"), hub)) {
            return dict;
        }
    }
    return NULL;
}

uint64_t qvgpu_query_counter(QDict *info, const char *name)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "counters"), entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(dict, "counter"), name)) {
            return qdict_get_int(dict, "value");
        }
    }
    g_assert_not_reached();
}

unsigned qvgpu_query_tlb(QVGPU *v, unsigned engine)
{
    QDict *info = qvgpu_query(v);
    QDict *e = find(qdict_get_qlist(info, "engines"), "engine", engine);
    unsigned used = qdict_get_int(e, "tlb-used");

    qobject_unref(info);
    return used;
}

static G_GNUC_PRINTF(2, 0)
QDict *inject(QVGPU *v, const char *members, va_list ap)
{
    g_autofree char *filled = g_strdup_vprintf(members, ap);
    g_autofree char *json = g_strdup_printf("{ %s }", filled);

    return qtest_qmp(v->qts, "{ 'execute': 'vgpu-inject', 'arguments': %p }",
                     qobject_from_json(json, &error_abort));
}

uint32_t qvgpu_inject(QVGPU *v, const char *members, ...)
{
    QDict *rsp;
    uint32_t id;
    va_list ap;

    va_start(ap, members);
    rsp = inject(v, members, ap);
    va_end(ap);
    if (!qdict_haskey(rsp, "return")) {
        g_error("vgpu-inject %s: %s", members,
                qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"));
    }
    id = qdict_get_int(qdict_get_qdict(rsp, "return"), "id");
    qobject_unref(rsp);
    return id;
}

void qvgpu_inject_refused(QVGPU *v, const char *members, ...)
{
    QDict *rsp;
    va_list ap;

    va_start(ap, members);
    rsp = inject(v, members, ap);
    va_end(ap);
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
}

void qvgpu_inject_remove(QVGPU *v, uint32_t id)
{
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'vgpu-inject-remove',"
                             "  'arguments': { 'id': %u } }", id);
}

static uint64_t injection(QVGPU *v, uint32_t id, const char *key)
{
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'query-vgpu' }");
    QDict *i = NULL;
    QListEntry *entry;
    uint64_t n;

    /*
     * Search all devices. At most one matches, because no two injections of a
     * machine have the same id.
     */
    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), entry) {
        QDict *info = qobject_to(QDict, qlist_entry_obj(entry));

        i = i ?: find(qdict_get_qlist(info, "injections"), "id", id);
    }
    g_assert_nonnull(i);
    n = qdict_get_int(i, key);
    qobject_unref(rsp);
    return n;
}

uint64_t qvgpu_inject_fired(QVGPU *v, uint32_t id)
{
    return injection(v, id, "fired");
}

uint64_t qvgpu_inject_seen(QVGPU *v, uint32_t id)
{
    return injection(v, id, "seen");
}
