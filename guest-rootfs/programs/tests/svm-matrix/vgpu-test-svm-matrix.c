// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests combinations of features of shared virtual memory (svm-matrix.h). Catches: in a combination
 * of two features, bytes are lost, stale, written twice or wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "svm-matrix.h"

#define HUGE_PAGES	8
#define MAX_VALUES	48
#define DIMENSIONS	5

static const char *const places[] = {
	[MX_FAULTED] = "faulted",
	[MX_IN_PLACE] = "in place",
	[MX_PREFETCHED] = "prefetched",
	[MX_PREFERRED] = "preferred",
	[MX_HALF] = "half prefetched",
};

static const char *const modes[] = {
	[MX_RETRY] = "XNACK on",
	[MX_NO_RETRY] = "XNACK off",
	[MX_ALWAYS] = "always mapped",
};

/*
 * In a guest with several GPUs, the cases use only the last two entries, because the cases
 * with one GPU run in another guest.
 */
static const struct mx_users users[] = {
	{ "1 queue", 1, 1, false, 1 },
	{ "4 queues", 1, 4, false, 1 },
	{ "2 queues and compute", 1, 2, true, 4 },
	{ "2 GPUs", 2, 2, false, 1 },
	{ "2 GPUs, 4 queues", 2, 4, false, 1 },
};

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* A case: an index into each list, in the order of the enum below. */
struct choice {
	int of[DIMENSIONS];
};

enum { KIND, ACTION, PLACE, MODE, USERS };

static int counts[DIMENSIONS];
static int n_gpus;
/*
 * @all: choose all cases that make sense; set with VGPU_TEST_SECONDS.
 * @few: choose fewer cases; set with several GPUs or on a debug kernel, unless @all.
 */
static bool all, few;

static const struct mx_action *action(int i)
{
	return i < mx_n_actions ? &mx_actions[i] :
				  &mx_mm_actions[i - mx_n_actions];
}

static bool kind_fits(const struct mx_kind *k, const struct mx_action *a)
{
	if ((k->is & a->needs) != a->needs || k->is & a->not)
		return false;
	if (k->is & MX_READ_ONLY && !(a->flags & MX_READS))
		return false;
	return !(a->flags & MX_MOVES_IT) || k->is & (MX_MOVES | MX_MIXED);
}

static bool place_fits(const struct mx_kind *k, int place, int mode)
{
	/* Memory gets to these two places only by retry faults. */
	if ((place == MX_FAULTED || place == MX_PREFERRED) && mode != MX_RETRY)
		return false;
	/*
	 * For memory that cannot migrate, MX_PREFERRED and MX_HALF are the same as
	 * MX_PREFETCHED, so leave them out.
	 */
	return place < MX_PREFERRED || k->is & (MX_MOVES | MX_MIXED);
}

static bool has_turn(const struct choice *c)
{
	const struct mx_kind *k = &mx_kinds[c->of[KIND]];
	int turn = few ? 2 * k->turn : k->turn;

	/*
	 * Combine a kind with every @turn-th action only. Actions that need MX_THP fit one kind
	 * only, so never leave them out.
	 */
	return all || action(c->of[ACTION])->needs & MX_THP ||
	       (c->of[KIND] + c->of[ACTION]) % turn == 0;
}

static bool makes_sense(const struct choice *c)
{
	const struct mx_kind *k = &mx_kinds[c->of[KIND]];

	if (users[c->of[USERS]].gpus != (n_gpus > 1 ? 2 : 1) ||
	    (n_gpus > 1 && k->is & MX_ONE_GPU))
		return false;
	return has_turn(c) && kind_fits(k, action(c->of[ACTION])) &&
	       place_fits(k, c->of[PLACE], c->of[MODE]);
}

static bool next(struct choice *c, int from)
{
	int d;

	for (d = DIMENSIONS - 1; d >= from; d--) {
		if (++c->of[d] < counts[d])
			return true;
		c->of[d] = 0;
	}
	return false;
}

/* met[a][i][b][k]: true if a chosen case has value i of list a and value k of list b. */
static bool met[DIMENSIONS][MAX_VALUES][DIMENSIONS][MAX_VALUES];

static int meetings(const struct choice *c, bool note)
{
	int a, b, fresh = 0;

	for (a = 0; a < DIMENSIONS; a++)
		for (b = a + 1; b < DIMENSIONS; b++) {
			bool *m = &met[a][c->of[a]][b][c->of[b]];

			fresh += !*m;
			*m |= note;
		}
	return fresh;
}

/*
 * used[d][i]: how often value i of dimension d was chosen. worth() prefers values with small
 * counts.
 */
static int used[DIMENSIONS][MAX_VALUES];

/*
 * Return the worth of case @c. A case with more new pairs (pairs of values that no chosen case has)
 * is worth more.
 */
static int worth(const struct choice *c)
{
	int d, rare = 0;

	/*
	 * Among cases with equally many new pairs, a case is worth more if its place, mode and
	 * users were chosen less often so far.
	 */
	for (d = PLACE; d < DIMENSIONS; d++)
		rare += used[d][c->of[d]];
	return 10000 * meetings(c, false) - rare;
}

static struct choice *chosen;
static int n_chosen;

static void choose(const struct choice *c)
{
	int d;

	meetings(c, true);
	/* Count expensive users more, so that they are chosen less often. */
	for (d = 0; d < DIMENSIONS; d++)
		used[d][c->of[d]] += d == USERS ? users[c->of[d]].cost : 1;
	chosen = realloc(chosen, (n_chosen + 1) * sizeof(*chosen));
	if (!chosen)
		exit(1);
	chosen[n_chosen++] = *c;
}

/*
 * For each pair of a kind of memory and an action, choose the case with the greatest worth(), if
 * any case with this pair makes sense.
 */
static void choose_each(void)
{
	struct choice c = { 0 }, best = { 0 };
	bool any;

	do {
		any = false;
		do {
			if (!makes_sense(&c) ||
			    (any && worth(&c) <= worth(&best)))
				continue;
			best = c;
			any = true;
		} while (next(&c, PLACE));
		if (any)
			choose(&best);
		/*
		 * The inner loop has left the last three indices at 0: set them to
		 * their last value, so that next() continues with the next kind and
		 * action.
		 */
		c.of[USERS] = counts[USERS] - 1;
		c.of[MODE] = counts[MODE] - 1;
		c.of[PLACE] = counts[PLACE] - 1;
	} while (next(&c, 0));
}

/*
 * Choose each case that has a new pair: two values that no chosen case has together. If the
 * variable @all is true, choose all cases that make sense.
 */
static void choose_rest(void)
{
	struct choice c = { 0 };

	do {
		/*
		 * Unless @all is true, skip a case without a new pair (meetings() is 0),
		 * and skip a case with huge pages (MX_THP), which takes long.
		 */
		if (makes_sense(&c) &&
		    (all || (meetings(&c, false) &&
			     !(mx_kinds[c.of[KIND]].is & MX_THP))))
			choose(&c);
	} while (next(&c, 0));
}

static struct tap_case *cases;

static void run(void)
{
	const struct choice *c = &chosen[tap_this() - cases];
	uint64_t denied;

	mx.kind = &mx_kinds[c->of[KIND]];
	mx.action = action(c->of[ACTION]);
	mx.place = c->of[PLACE];
	mx.mode = c->of[MODE];
	mx.users = &users[c->of[USERS]];
	mx_begin();
	denied = mx_counted("faults_unrepaired");
	mx.action->fn();
	if (mx.action->flags & MX_LAST) {
		mx_cpu_check();
		return;
	}
	mx_gpu_check();
	mx_cpu_check();
	CHECK(mx_counted("faults_unrepaired") == denied, "a fault was denied");
}

static void make_cases(void)
{
	char *name;
	int i;

	cases = calloc(n_chosen, sizeof(*cases));
	if (!cases)
		exit(1);
	for (i = 0; i < n_chosen; i++) {
		const int *of = chosen[i].of;

		if (asprintf(&name, "%s: %s, %s, %s, %s",
			     mx_kinds[of[KIND]].name, action(of[ACTION])->name,
			     places[of[PLACE]], modes[of[MODE]],
			     users[of[USERS]].name) < 0)
			exit(1);
		cases[i].name = name;
		cases[i].fn = run;
		cases[i].min_gpus = users[of[USERS]].gpus;
	}
}

static int count_gpus(void)
{
	int i, n = 0, nodes = vg_topology_nodes();

	for (i = 0; i < nodes; i++)
		n += vg_node_property(i, "drm_render_minor", 0) != 0;
	return n;
}

int main(int argc, char **argv)
{
	int r;

	counts[KIND] = mx_n_kinds;
	counts[ACTION] = mx_n_actions + mx_n_mm_actions;
	counts[PLACE] = N(places);
	counts[MODE] = N(modes);
	counts[USERS] = N(users);
	n_gpus = count_gpus();
	all = getenv("VGPU_TEST_SECONDS") != NULL;
	few = !all && (n_gpus > 1 || tap_debug_kernel());
	if (!all)
		choose_each();
	if (!few)
		choose_rest();
	make_cases();
	mx_huge_pool(HUGE_PAGES);
	r = tap_main(cases, n_chosen, argc, argv);
	mx_huge_pool(0);
	return r;
}
