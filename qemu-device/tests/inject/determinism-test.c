/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the choices of each kind of injection (cases[]). The same
 * seed must make the same choices, and another seed other choices. Each event
 * on which an injection acts must be traced and counted.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "tests/qtest/vgpu-kfd/inject/workloads.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"

/*
 * Trace events whose order is always the same, because the workloads use only
 * one thread of the device at a time.
 */
#define TRACES "-trace vgpu_inject -trace vgpu_fault -trace vgpu_fault_class " \
    "-trace vgpu_ih_push -trace vgpu_ih_full -trace vgpu_queue_error " \
    "-trace vgpu_cp_error -trace vgpu_removed -trace vgpu_xgmi_down " \
    "-trace vgpu_xgmi_refused "
#define HALF    ", 'probability': 0.5"
#define AT_VA   ", 'va': 70368744177664, 'length': 98304"
#define AT_GART ", 'va': 140733193388032, 'length': 98304"

typedef struct Case {
    const char *kind;
    const char *members;
    void (*run)(Workload *r);
    bool seedless;              /* the injection makes no random choice */
    bool peer;                  /* needs two devices */
} Case;

static const Case cases[] = {
    { "pte-corrupt", HALF AT_VA, workload_pages_vmid },
    { "pte-lost", HALF AT_VA, workload_pages_vmid },
    { "pte-late", HALF AT_VA ", 'walks': 2", workload_pages_vmid },
    { "gart-corrupt", HALF AT_GART, workload_pages_gart },
    { "gart-lost", HALF AT_GART, workload_pages_gart },
    { "gart-late", HALF AT_GART ", 'walks': 2", workload_pages_gart },
    { "sdma-hang", ", 'probability': 0.1", workload_fences },
    { "sdma-slow", HALF ", 'bytes-per-second': 16777216", workload_copies },
    { "sdma-wrong-byte", HALF, workload_copies },
    { "doorbell-lost", HALF, workload_doorbells },
    { "fault-spurious", ", 'vmid': 5, 'count': 8" AT_VA, workload_nothing },
    { "fault-duplicate", HALF, workload_faults },
    { "fault-drop", HALF, workload_faults },
    { "fault-delay", HALF ", 'delay-ns': 1000000", workload_faults },
    { "ih-overflow", HALF, workload_traps },
    { "inv-no-ack", HALF, workload_invalidations },
    { "inv-early-ack", HALF ", 'delay-ns': 1000000", workload_pages_vmid },
    { "vram-lost", "", workload_nothing },
    { "vram-lost-at-reset", HALF, workload_resets },
    { "vram-poison", HALF, workload_copies },
    { "vram-poison", HALF, workload_compute },
    { "surprise-removal", "", workload_nothing, .seedless = true },
    { "xgmi-down", ", 'device': 'a', 'probability': 0.1", workload_peer,
      .peer = true },
};

/* Return true for counters that depend on the speed of threads. */
static bool depends_on_time(const char *counter)
{
    return g_str_has_prefix(counter, "tlb-") || g_str_equal(counter, "msi") ||
           g_str_equal(counter, "faults-merged");
}

/*
 * Log all counters that do not depend on the speed of threads. Returns the
 * number of events on which the injection has acted.
 */
static uint64_t log_counters(Workload *r)
{
    QDict *rsp = qtest_qmp(r->v->qts, "{ 'execute': 'query-vgpu' }");
    uint64_t counted = 0, fired = qvgpu_inject_fired(r->v, r->id);
    QListEntry *device, *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), device) {
        QDict *info = qobject_to(QDict, qlist_entry_obj(device));

        QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "counters"), entry) {
            QDict *c = qobject_to(QDict, qlist_entry_obj(entry));
            const char *name = qdict_get_str(c, "counter");

            if (!depends_on_time(name)) {
                g_string_append_printf(r->log, "%s %" PRId64 "\n", name,
                                       qdict_get_int(c, "value"));
            }
            if (g_str_equal(name, "injections")) {
                counted += qdict_get_int(c, "value");
            }
        }
    }
    qobject_unref(rsp);
    /*
     * Catches: the device does not count an action, or counts it twice. A reset
     * clears the device's counter (counted), but not the injection's own
     * (fired).
     */
    g_assert_cmpuint(counted, ==, fired - r->before_reset);
    g_string_append_printf(r->log, "seen %" PRIu64 " fired %" PRIu64 "\n",
                           qvgpu_inject_seen(r->v, r->id), fired);
    return fired;
}

/*
 * Run @c once. Returns the log of results; @traced receives the trace output.
 */
static char *record(const Case *c, unsigned seed, char **traced)
{
    g_autofree char *file = NULL, *args = NULL, *members = NULL, *trace = NULL;
    const char *line;
    uint64_t fired;
    Workload r = { .log = g_string_new(""), .seed = seed };
    int fd = g_file_open_tmp("vgpu-inject-XXXXXX", &file, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    args = g_strdup_printf(TRACES "-D %s%s", file, c->peer ?
                           " -object vgpu-hive,id=h0"
                           " -device vgpu-kfd,vram=64M,hive=h0" : "");
    r.members = members = g_strdup_printf("'kind': '%s'%s", c->kind,
                                          c->members);
    r.v = qvgpu_start_sized(c->peer ? "64M,hive=h0,id=a" : "64M", args);
    r.src = qvgpu_alloc(r.v, QVGPU_VRAM, WORKLOAD_PAGES * QVGPU_PAGE,
                        QVGPU_PAGE);
    r.dst = qvgpu_alloc(r.v, QVGPU_VRAM, WORKLOAD_PAGES * QVGPU_PAGE,
                        QVGPU_PAGE);
    qvgpu_fill(r.v, r.src, 1, 0, WORKLOAD_PAGES * QVGPU_PAGE);
    c->run(&r);
    workload_log_memory(&r);
    fired = log_counters(&r);
    qvgpu_stop(r.v);

    g_assert_true(g_file_get_contents(file, &trace, NULL, NULL));
    g_unlink(file);
    /*
     * Each action of the injection adds a line with " kind=" to the trace.
     * Catches: an action is not traced, or the injection does not count it.
     */
    for (line = trace; (line = strstr(line, " kind=")); line++, fired--) {
        g_assert_cmpuint(fired, >, 0);
        g_assert_true(g_str_has_prefix(line + 6, c->kind));
    }
    g_assert_cmpuint(fired, ==, 0);
    *traced = g_steal_pointer(&trace);
    return g_string_free(r.log, FALSE);
}

/*
 * Catches: two runs with the same seed differ, because a choice depends on
 * time, on threads or on addresses of QEMU's memory.
 */
static void test_case(const void *opaque)
{
    const Case *c = opaque;
    g_autofree char *trace_a = NULL, *trace_b = NULL, *trace_c = NULL;
    g_autofree char *a = record(c, 3, &trace_a);
    g_autofree char *b = record(c, 3, &trace_b);

    g_assert_cmpstr(a, ==, b);
    g_assert_cmpstr(trace_a, ==, trace_b);
    g_assert_nonnull(strstr(trace_a, "kind="));
    if (!c->seedless) {
        g_autofree char *other = record(c, 8, &trace_c);

        /*
         * Catches: another seed does not change the choices. The logs (@a,
         * @other) show the choices. The traces contain random numbers, so the
         * comparison of traces only shows that the seed changes these numbers.
         */
        g_assert_cmpstr(a, !=, other);
        g_assert_cmpstr(trace_a, !=, trace_c);
    }
}

static QDict *schema_entry(QList *schema, const char *name)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(schema, entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(dict, "name"), name)) {
            return dict;
        }
    }
    g_assert_not_reached();
}

static const char *type_of_kind(QDict *arguments)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(arguments, "members"), entry) {
        QDict *member = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(member, "name"), "kind")) {
            return qdict_get_str(member, "type");
        }
    }
    g_assert_not_reached();
}

/* Catches: cases[] lacks a new kind of injection. */
static void test_complete(void)
{
    QTestState *qts = qtest_init("-machine none");
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-qmp-schema' }");
    QList *schema = qdict_get_qlist(rsp, "return");
    QDict *command = schema_entry(schema, "vgpu-inject");
    QDict *arguments = schema_entry(schema, qdict_get_str(command, "arg-type"));
    QDict *kinds = schema_entry(schema, type_of_kind(arguments));
    QListEntry *entry;
    unsigned i, n = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(kinds, "values"), entry) {
        const char *kind = qstring_get_str(qobject_to(QString,
                                                qlist_entry_obj(entry)));
        unsigned runs = 0;

        for (i = 0; i < ARRAY_SIZE(cases); i++) {
            runs += g_str_equal(cases[i].kind, kind);
        }
        if (!runs) {
            g_error("no run for injections of kind %s", kind);
        }
        n += runs;
    }
    g_assert_cmpuint(n, ==, ARRAY_SIZE(cases));
    qobject_unref(rsp);
    qtest_quit(qts);
}

void qvgpu_add_inject_determinism_tests(void)
{
    unsigned i;

    qtest_add_func("/vgpu-kfd/inject-seed/complete", test_complete);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *kind = cases[i].kind;
        bool cp = cases[i].run == workload_compute;
        g_autofree char *name = g_strdup_printf("/vgpu-kfd/inject-seed/%s%s",
                                                kind, cp ? "-cp" : "");

        qtest_add_data_func(name, &cases[i], test_case);
    }
}
