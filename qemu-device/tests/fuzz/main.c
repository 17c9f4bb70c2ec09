/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: selects cases, and shrinks a case that fails. Prints TAP,
 * and after a failure the command that repeats the failing case.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"

/* After this number of cases, campaign() starts the next kind of machine. */
#define MACHINE_CASES   512
/*
 * shrink() tries to drop each of the last MAX_SHRINK - 1 packets of a failing
 * case. All earlier packets stay.
 */
#define MAX_SHRINK      400

static gint64 seconds = 10;
static gint64 first_seed = -1;
static gint64 machine;
static gchar *one_case;
static gchar *drop_list;
static gboolean dont_shrink;

static const GOptionEntry options[] = {
    { "seconds", 0, 0, G_OPTION_ARG_INT64, &seconds,
      "how long to go on (10)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &first_seed,
      "the run's seed, instead of a random one", "N" },
    { "case", 0, 0, G_OPTION_ARG_STRING, &one_case,
      "do only this case", "HEX" },
    { "machine", 0, 0, G_OPTION_ARG_INT64, &machine,
      "the first machine: 0 alone, 1, 2 in a hive as node 0, 1", "N" },
    { "drop", 0, 0, G_OPTION_ARG_STRING, &drop_list,
      "leave out these packets of the case", "N,N..." },
    { "no-shrink", 0, 0, G_OPTION_ARG_NONE, &dont_shrink,
      "do not look for a smaller case that fails as well", NULL },
    { NULL },
};

/*
 * libqtest calls this before it aborts the fuzzer, because QEMU has died or a
 * wait was too long.
 */
static void say_case(void *data)
{
    FuzzCase *c = data;

    fprintf(stderr, "# died in case 0x%016" PRIx64 ", machine %d\n", c->seed,
            c->machine);
    g_unlink(c->ram_file);
}

static GArray *parse_drop(const char *list)
{
    GArray *drop = g_array_new(false, false, sizeof(unsigned));
    g_auto(GStrv) words = g_strsplit(list ? list : "", ",", -1);
    unsigned i, n;

    for (i = 0; words[i] && *words[i]; i++) {
        n = g_ascii_strtoull(words[i], NULL, 10);
        g_array_append_val(drop, n);
    }
    return drop;
}

static char *format_drop(const GArray *drop)
{
    GString *list = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < drop->len; i++) {
        g_string_append_printf(list, "%s%u", i ? "," : "",
                               g_array_index(drop, unsigned, i));
    }
    return g_string_free(list, false);
}

/*
 * Run the case of @seed without the packets in @drop, in a new process. Return
 * true if the case fails.
 */
static bool fails_without(const char *self, uint64_t seed, const GArray *drop)
{
    g_autofree char *number = g_strdup_printf("0x%" PRIx64, seed);
    g_autofree char *list = format_drop(drop);
    g_autofree char *kind = g_strdup_printf("%" PRId64, machine);
    const char *argv[] = { self, "--case", number, "--machine", kind,
                           "--drop", list, "--no-shrink", NULL };
    g_autofree char *out = NULL, *err = NULL;
    int status = 0;

    return g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, &err,
                        &status, NULL) && status;
}

/*
 * Try to drop the packets of the failing case one by one, backwards from the
 * last packet. A packet stays dropped if the case still fails without it.
 */
static void shrink(const char *self, uint64_t seed, unsigned packets)
{
    g_autoptr(GArray) drop = g_array_new(false, false, sizeof(unsigned));
    g_autofree char *list = NULL;
    unsigned i;

    if (!fails_without(self, seed, drop)) {
        printf("# alone, the case passes\n");
        return;
    }
    for (i = packets; i-- > 0 && packets - i < MAX_SHRINK; ) {
        g_array_append_val(drop, i);
        if (!fails_without(self, seed, drop)) {
            g_array_set_size(drop, drop->len - 1);
        }
    }
    list = format_drop(drop);
    printf("# %u of %u packets are enough: %s --case 0x%" PRIx64
           " --machine %" PRId64 " --drop %s\n", packets - drop->len, packets,
           self, seed, machine, list);
}

typedef struct Sum {
    uint64_t cases, packets, stalls, faults, saves;
} Sum;

/*
 * Call after the last case of a machine: adds the machine's totals to @sum, and
 * checks memory that no case uses. Returns true if the machine passed.
 */
static bool end_machine(FuzzCase *c, Sum *sum)
{
    sum->stalls += c->all_stalls;
    sum->faults += c->all_faults;
    sum->saves += c->all_saves;
    return !c->failure->len && fuzz_check_rest(c);
}

/* Run cases until the time is over or a case fails, which sets c->failure. */
static void campaign(FuzzCase *c, uint64_t seed, Sum *sum)
{
    int64_t until = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    uint64_t i;

    for (i = 0; i == 0 || g_get_monotonic_time() < until; i++) {
        FuzzRng r = { seed ^ i };

        if (i && i % MACHINE_CASES == 0) {
            if (!end_machine(c, sum)) {
                return;
            }
            fuzz_stop(c);
            machine = (machine + 1) % FUZZ_MACHINES;
            fuzz_start(c, machine);
        }
        if (!fuzz_run(c, fuzz_rnd(&r), NULL)) {
            break;
        }
        sum->cases++;
        sum->packets += c->npackets;
    }
    end_machine(c, sum);
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("");
    g_autoptr(GError) err = NULL;
    g_autoptr(GArray) drop = NULL;
    Sum sum = { 0 };
    static FuzzCase c;
    bool failed;

    setvbuf(stdout, NULL, _IONBF, 0);
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &err)) {
        fprintf(stderr, "%s\n", err->message);
        return 2;
    }
    if (first_seed < 0) {
        first_seed = (uint64_t)g_random_int() << 16;
    }
    drop = parse_drop(drop_list);
    printf("1..1\n# seed %" PRId64 "\n", first_seed);
    qtest_add_abrt_handler(say_case, &c);
    fuzz_start(&c, machine % FUZZ_MACHINES);
    if (one_case) {
        fuzz_run(&c, g_ascii_strtoull(one_case, NULL, 0), drop);
    } else {
        campaign(&c, first_seed, &sum);
    }
    failed = c.failure->len;
    if (failed) {
        printf("# case 0x%" PRIx64 ", after %" PRIu64 " that passed, machine %d"
               ": %s\n", c.seed, sum.cases, c.machine, c.failure->str);
        if (!dont_shrink) {
            shrink(argv[0], c.seed, c.npackets);
        }
    }
    printf("# %" PRIu64 " cases passed: %" PRIu64 " packets, %" PRIu64 " retry "
           "faults, %" PRIu64 " no-retry faults, %" PRIu64 " saves\n",
           sum.cases, sum.packets, sum.stalls, sum.faults, sum.saves);
    puts(failed ? "not ok 1 - model" : "ok 1 - model");
    fuzz_stop(&c);
    qtest_remove_abrt_handler(&c);
    return failed;
}
