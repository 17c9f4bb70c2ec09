// SPDX-License-Identifier: GPL-2.0
/*
 * Set attributes of memory (svm/svm_attr.c), and compare the access of each GPU with the expected
 * access. Compare the locations that the policy chooses (svm/svm_policy.c) with the expected ones.
 */
#include <linux/ktime.h>
#include <kunit/static_stub.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm_attr.h"
#include "svm/svm_policy.h"
#include "svm/svm_range.h"
#include "tests/lib/vgpu_mock.h"

#define N_GPUS		5u
#define NO_SVM		3u	/* GPU without SVM support */
#define GPU_ID(n)	(0x1000 + 77 * (n))
#define UNDEFINED	KFD_IOCTL_SVM_LOCATION_UNDEFINED
#define ROUNDS		2000
#define ATTR(t, v)	((struct kfd_ioctl_svm_attribute){		\
				.type = KFD_IOCTL_SVM_ATTR_##t, .value = (v) })

/*
 * A process on several GPUs, with one range. @linked is true for pairs of GPUs that have an
 * XGMI link.
 */
struct attr_mock {
	struct kfd_process p;
	struct svm_range_list svms;
	struct kfd_process_device pdd[N_GPUS];
	struct kfd_node node[N_GPUS];
	struct svm_gpu gpus[N_GPUS];
	struct svm_range range;
	struct rnd_state rnd;
	struct vgpu_mock *mock[N_GPUS];
	bool linked[N_GPUS][N_GPUS];
};

static bool attr_linked(struct vgpu_device *vdev, const struct vgpu_device *peer)
{
	struct attr_mock *m = kunit_get_current_test()->priv;
	unsigned int a = 0, b = 0;

	while (m->node[a].vdev != vdev)
		a++;
	while (m->node[b].vdev != peer)
		b++;
	return m->linked[a][b];
}

static struct attr_mock *attr_mock_new(struct kunit *test)
{
	struct attr_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < N_GPUS; i++) {
		m->node[i].gpu_id = GPU_ID(i);
		m->mock[i] = vgpu_mock_new(test);
		m->node[i].vdev = &m->mock[i]->vdev;
		m->pdd[i].node = &m->node[i];
		m->pdd[i].gpu_id = GPU_ID(i);
		m->p.pdds[i] = &m->pdd[i];
		if (i != NO_SVM)
			__set_bit(i, m->svms.bitmap_supported);
	}
	m->p.n_pdds = N_GPUS;
	m->p.svms = &m->svms;
	m->svms.process = &m->p;
	m->svms.n_gpus = N_GPUS;
	m->svms.gpus = m->gpus;
	m->p.xnack_enabled = true;
	m->range.svms = &m->svms;
	vgpu_test_rnd(test, &m->rnd);
	test->priv = m;
	kunit_activate_static_stub(test, vgpu_xgmi_linked, attr_linked);
	return m;
}

static unsigned int attr_gpu(struct attr_mock *m)
{
	unsigned int gpu;

	do
		gpu = vgpu_test_random(&m->rnd, N_GPUS);
	while (gpu == NO_SVM);
	return gpu;
}

static void attr_valid(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	const struct kfd_ioctl_svm_attribute good[] = {
		ATTR(PREFERRED_LOC, 0), ATTR(PREFERRED_LOC, UNDEFINED),
		ATTR(PREFERRED_LOC, GPU_ID(4)), ATTR(PREFETCH_LOC, 0),
		ATTR(PREFETCH_LOC, GPU_ID(0)), ATTR(ACCESS, GPU_ID(1)),
		ATTR(ACCESS_IN_PLACE, GPU_ID(2)), ATTR(NO_ACCESS, GPU_ID(4)),
		ATTR(SET_FLAGS, U32_MAX), ATTR(CLR_FLAGS, U32_MAX),
		ATTR(GRANULARITY, U32_MAX),
	};

	KUNIT_EXPECT_EQ(test, svm_attr_check(&m->p, ARRAY_SIZE(good), good), 0);
	KUNIT_EXPECT_EQ(test, svm_attr_check(&m->p, 0, NULL), 0);
}

/* Check that an invalid attribute at any position makes the whole call fail. */
static void attr_invalid(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	const struct kfd_ioctl_svm_attribute bad[] = {
		ATTR(PREFERRED_LOC, GPU_ID(NO_SVM)), ATTR(PREFERRED_LOC, 1),
		ATTR(PREFETCH_LOC, UNDEFINED), ATTR(PREFETCH_LOC, 4711),
		ATTR(ACCESS, 0), ATTR(ACCESS, UNDEFINED),
		ATTR(ACCESS, GPU_ID(NO_SVM)), ATTR(ACCESS_IN_PLACE, 5),
		ATTR(NO_ACCESS, GPU_ID(N_GPUS)),
		{ .type = KFD_IOCTL_SVM_ATTR_GRANULARITY + 1 },
		{ .type = U32_MAX },
	};
	struct kfd_ioctl_svm_attribute attrs[4];
	unsigned int i, k, at;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < ARRAY_SIZE(attrs); at++) {
			for (k = 0; k < ARRAY_SIZE(attrs); k++)
				attrs[k] = ATTR(ACCESS, GPU_ID(1));
			attrs[at] = bad[i];
			KUNIT_EXPECT_EQ_MSG(test,
					    svm_attr_check(&m->p, 4, attrs),
					    -EINVAL, "bad[%u]", i);
		}
	}
}

/* Check that for each GPU, the last access attribute in the list applies. */
static void attr_access(struct kunit *test)
{
	static const u32 types[] = {
		KFD_IOCTL_SVM_ATTR_NO_ACCESS, KFD_IOCTL_SVM_ATTR_ACCESS,
		KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	};
	struct attr_mock *m = attr_mock_new(test);
	struct kfd_ioctl_svm_attribute attrs[8];
	unsigned int said[N_GPUS] = {};
	struct svm_attrs a = {};
	unsigned int round, i, n;

	for (round = 0; round < ROUNDS; round++) {
		n = vgpu_test_random(&m->rnd, ARRAY_SIZE(attrs) + 1);
		for (i = 0; i < n; i++) {
			unsigned int gpu = attr_gpu(m);

			said[gpu] = vgpu_test_random(&m->rnd, 3);
			attrs[i].type = types[said[gpu]];
			attrs[i].value = GPU_ID(gpu);
		}
		svm_attr_apply(&m->p, &a, n, attrs);
		for (i = 0; i < N_GPUS; i++) {
			KUNIT_ASSERT_EQ(test, test_bit(i, a.bitmap_access),
					said[i] == 1);
			KUNIT_ASSERT_EQ(test, test_bit(i, a.bitmap_aip),
					said[i] == 2);
		}
	}
	KUNIT_EXPECT_FALSE(test, bitmap_intersects(a.bitmap_access,
						   a.bitmap_aip, SVM_MAX_GPU));
}

/* Check that flags are set and cleared bit by bit, in the order of the attributes. */
static void attr_flags(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	struct kfd_ioctl_svm_attribute attrs[6];
	struct svm_attrs a = { .flags = 0x55 };
	bool want[32] = {};
	unsigned int round, i, bit;

	for (bit = 0; bit < 8; bit += 2)
		want[bit] = true;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < ARRAY_SIZE(attrs); i++) {
			bool set = vgpu_test_random(&m->rnd, 2);
			u32 mask = vgpu_test_random(&m->rnd, BIT_ULL(32));

			attrs[i] = set ? ATTR(SET_FLAGS, mask) :
					 ATTR(CLR_FLAGS, mask);
			for (bit = 0; bit < 32; bit++)
				if (mask >> bit & 1)
					want[bit] = set;
		}
		svm_attr_apply(&m->p, &a, ARRAY_SIZE(attrs), attrs);
		for (bit = 0; bit < 32; bit++)
			KUNIT_ASSERT_EQ(test, a.flags >> bit & 1, want[bit]);
	}
}

/*
 * Check that an attribute replaces the location or the granularity that an earlier attribute has
 * set, and that no other field changes.
 */
static void attr_values(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	const struct kfd_ioctl_svm_attribute attrs[] = {
		ATTR(PREFERRED_LOC, GPU_ID(1)), ATTR(PREFETCH_LOC, GPU_ID(2)),
		ATTR(GRANULARITY, 200), ATTR(PREFERRED_LOC, UNDEFINED),
		ATTR(PREFETCH_LOC, 0),
	};
	struct svm_attrs a = { .flags = 3 };
	unsigned int i;

	__set_bit(2, a.bitmap_access);
	svm_attr_apply(&m->p, &a, 2, attrs);
	KUNIT_EXPECT_EQ(test, a.preferred_loc, GPU_ID(1));
	KUNIT_EXPECT_EQ(test, a.prefetch_loc, GPU_ID(2));
	svm_attr_apply(&m->p, &a, ARRAY_SIZE(attrs), attrs);
	KUNIT_EXPECT_EQ(test, a.preferred_loc, UNDEFINED);
	KUNIT_EXPECT_EQ(test, a.prefetch_loc, 0);
	KUNIT_EXPECT_EQ(test, a.granularity, 0x3f);
	for (i = 0; i <= 0x3f; i++) {
		svm_attr_apply(&m->p, &a, 1, &ATTR(GRANULARITY, i));
		KUNIT_EXPECT_EQ(test, a.granularity, i);
	}
	KUNIT_EXPECT_EQ(test, a.flags, 3);
	KUNIT_EXPECT_EQ(test, bitmap_weight(a.bitmap_access, SVM_MAX_GPU), 1);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(a.bitmap_aip, SVM_MAX_GPU));
}

/*
 * Set a random state of the range. @access receives, for each GPU, 0 for NO_ACCESS, 1 for
 * ACCESS, 2 for ACCESS_IN_PLACE.
 */
static void attr_scramble(struct attr_mock *m, unsigned int *access)
{
	static const u32 locs[] = {
		0, UNDEFINED, GPU_ID(0), GPU_ID(1), GPU_ID(2), GPU_ID(4),
	};
	struct svm_attrs *a = &m->range.attrs;
	unsigned int i, k;

	bitmap_zero(a->bitmap_access, SVM_MAX_GPU);
	bitmap_zero(a->bitmap_aip, SVM_MAX_GPU);
	for (i = 0; i < N_GPUS; i++) {
		access[i] = i == NO_SVM ? 0 : vgpu_test_random(&m->rnd, 3);
		if (access[i])
			__set_bit(i, access[i] == 1 ? a->bitmap_access :
						      a->bitmap_aip);
		for (k = 0; k < i; k++) {
			m->linked[i][k] = vgpu_test_random(&m->rnd, 2);
			m->linked[k][i] = m->linked[i][k];
		}
	}
	a->preferred_loc = locs[vgpu_test_random(&m->rnd, ARRAY_SIZE(locs))];
	a->prefetch_loc = locs[vgpu_test_random(&m->rnd, ARRAY_SIZE(locs))];
	a->flags = vgpu_test_random(&m->rnd, 2) ?
		   KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED : 0;
	m->p.xnack_enabled = vgpu_test_random(&m->rnd, 2);
}

/*
 * Return true if the range must be mapped whenever queues run: XNACK is off, or the range has the
 * flag GPU_ALWAYS_MAPPED.
 */
static bool attr_stays(const struct attr_mock *m)
{
	return !m->p.xnack_enabled || m->range.attrs.flags;
}

/* Return true if each GPU with access can reach memory at @home. */
static bool attr_all_reach(const struct attr_mock *m,
			   const unsigned int *access, u32 home)
{
	unsigned int i, k;

	for (k = 0; GPU_ID(k) != home; k++)
		;
	for (i = 0; i < N_GPUS; i++)
		if (access[i] && i != k && !m->linked[i][k])
			return false;
	return true;
}

/*
 * Check the location that svm_policy_fault() chooses when VRAM has space and no migration was
 * recorded by svm_policy_pulled().
 */
static void policy_fault(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	unsigned int access[N_GPUS], i, gpu, home;

	for (i = 0; i < ROUNDS; i++) {
		u32 preferred, want = UNDEFINED, loc = 12345;
		int ret;

		attr_scramble(m, access);
		m->svms.policy = vgpu_test_random(&m->rnd, 2) ?
				   SVM_POLICY_AMDGPU : SVM_POLICY_IN_PLACE;
		preferred = m->range.attrs.preferred_loc;
		gpu = attr_gpu(m);
		ret = svm_policy_fault(&m->range, gpu, 0, (struct svm_interval){
				       0, 511 }, &loc);
		KUNIT_ASSERT_EQ(test, ret, access[gpu] ? 0 : -EACCES);
		if (ret)
			continue;
		/* With SVM_POLICY_AMDGPU, memory moves to a faulting GPU that has ACCESS. */
		if (access[gpu] == 1 && m->svms.policy == SVM_POLICY_AMDGPU)
			want = GPU_ID(gpu);
		/* Memory moves to the preferred location if the faulting GPU can reach it. */
		for (home = 0; home < N_GPUS; home++)
			if (preferred == GPU_ID(home) &&
			    (home == gpu || m->linked[gpu][home]))
				want = preferred;
		/*
		 * If the range must stay mapped (attr_stays()), memory may move only to a location
		 * that all GPUs with access can reach.
		 */
		if (want != UNDEFINED && attr_stays(m) &&
		    !attr_all_reach(m, access, want))
			want = UNDEFINED;
		/*
		 * If system memory is preferred (0), memory moves there in any case, because every
		 * GPU can reach system memory.
		 */
		if (!preferred)
			want = 0;
		KUNIT_ASSERT_EQ(test, loc, want);
	}
}

#define AMDGPU		SVM_POLICY_AMDGPU
#define IN_PLACE	SVM_POLICY_IN_PLACE
#define ADAPTIVE	SVM_POLICY_ADAPTIVE

/**
 * struct policy_case - faults of GPUs 0 and 1 on one page, one after the other
 */
struct policy_case {
	/** @policy: migration policy of the process */
	enum svm_policy policy;
	/** @access: for GPU 0 and GPU 1: 'a' is ACCESS, 'i' ACCESS_IN_PLACE, 'n' NO_ACCESS */
	const char *access;
	/** @linked: the GPUs have an XGMI link */
	bool linked;
	/** @preferred: preferred location */
	u32 preferred;
	/** @prefetch: location of the last prefetch */
	u32 prefetch;
	/** @pages: length of the range; the range's GRANULARITY attribute is 9 (512 pages) */
	unsigned long pages;
	/**
	 * @faults: one character for each step
	 * - '0' or '1': this GPU faults
	 * - 'T': a long time passes
	 * - 'F': VRAM of GPU 0 is full from this step on
	 */
	const char *faults;
	/**
	 * @want: the policy's choice for each '0' and '1' in @faults
	 * - '0' or '1': VRAM of this GPU
	 * - 's': system memory
	 * - '.': no location; pages move (to system memory) only if the GPU cannot reach them
	 * - 'x': denied fault
	 */
	const char *want;
};

static const struct policy_case policy_table[] = {
	/*
	 * Memory moves to each GPU that faults, but not back to an earlier GPU ('.' in @want),
	 * unless a long time has passed ('T' in @faults).
	 */
	{ AMDGPU, "aa", false, UNDEFINED, UNDEFINED, 4096, "0", "0" },
	{ AMDGPU, "aa", false, UNDEFINED, UNDEFINED, 4096, "000", "000" },
	{ AMDGPU, "aa", false, UNDEFINED, UNDEFINED, 4096, "010101", "01...." },
	{ AMDGPU, "aa", true, UNDEFINED, UNDEFINED, 4096, "010", "01." },
	{ AMDGPU, "aa", false, UNDEFINED, UNDEFINED, 4096, "01T0T1", "0101" },
	/* GPU 0 has no access, so faults of GPU 0 are denied ('x'). */
	{ AMDGPU, "na", true, UNDEFINED, UNDEFINED, 4096, "01", "x1" },
	{ AMDGPU, "na", true, GPU_ID(0), UNDEFINED, 4096, "01", "x0" },
	/* GPU 1 has ACCESS_IN_PLACE: the policy chooses no location ('.') for faults of GPU 1. */
	{ AMDGPU, "ai", true, UNDEFINED, UNDEFINED, 4096, "1010", ".0.0" },
	/*
	 * Without a link, GPU 1 cannot reach VRAM of GPU 0. The four faults, in order:
	 * - GPU 1: the policy chooses no location ('.').
	 * - GPU 0: the memory moves to VRAM of GPU 0 ('0').
	 * - GPU 1: no location ('.'), so the memory moves to system memory.
	 * - GPU 0: the memory must stay there ('.'). Otherwise it would move at each fault.
	 */
	{ AMDGPU, "ai", false, UNDEFINED, UNDEFINED, 4096, "1010", ".0.." },
	/* Memory moves to the preferred location if the GPU that faults can reach this location. */
	{ AMDGPU, "aa", true, 0, UNDEFINED, 4096, "01", "ss" },
	{ AMDGPU, "ii", true, 0, GPU_ID(0), 4096, "01", "ss" },
	{ AMDGPU, "aa", true, GPU_ID(1), UNDEFINED, 4096, "0101", "1111" },
	{ AMDGPU, "aa", false, GPU_ID(1), UNDEFINED, 4096, "0101", "01.." },
	{ AMDGPU, "ia", false, GPU_ID(1), UNDEFINED, 4096, "0101", ".1.." },
	{ AMDGPU, "ii", true, GPU_ID(1), UNDEFINED, 4096, "01", "11" },
	/*
	 * After 'F' (full VRAM of GPU 0), every second fault of GPU 0 moves nothing ('.').
	 * Otherwise two pages could evict each other without end.
	 */
	{ AMDGPU, "aa", false, UNDEFINED, UNDEFINED, 4096, "0F0000", "00.0." },
	{ AMDGPU, "aa", false, GPU_ID(0), UNDEFINED, 4096, "0F00001", "00.0.1" },

	{ IN_PLACE, "aa", true, UNDEFINED, GPU_ID(0), 16, "0101", "...." },
	{ IN_PLACE, "na", true, UNDEFINED, UNDEFINED, 16, "01", "x." },
	{ IN_PLACE, "aa", true, 0, UNDEFINED, 16, "01", "ss" },
	{ IN_PLACE, "aa", true, GPU_ID(0), UNDEFINED, 16, "01", "00" },
	{ IN_PLACE, "aa", false, GPU_ID(0), UNDEFINED, 16, "0101", "0..." },

	/* A GPU pulls memory when it has had five more faults than all other GPUs together. */
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 4096, "000000", "....00" },
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 4096, "0101010101010101",
	  "................" },
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 4096, "0000100", "......0" },
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 4096, "000001111111111",
	  "....0.........1" },
	/*
	 * The 17 faults of GPU 0 give a lead of only 8 (the maximum). GPU 1 needs 8 faults to end
	 * this lead, and 5 more to pull memory.
	 */
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 4096,
	  "000000000000000001111111111111", "....0000000000000............1" },
	/*
	 * GPU 1 has ACCESS_IN_PLACE. So GPU 1 does not pull memory, but its faults count: after two
	 * faults of GPU 1, GPU 0 needs 2 + 5 faults for a lead of 5.
	 */
	{ ADAPTIVE, "ai", true, UNDEFINED, UNDEFINED, 4096, "1111111", "......." },
	{ ADAPTIVE, "ai", true, UNDEFINED, UNDEFINED, 4096, "1100000000",
	  "........00" },
	/*
	 * The last prefetch went to GPU 0. So the first fault of GPU 0 moves memory to GPU 0,
	 * unless GPU 0 has ACCESS_IN_PLACE.
	 */
	{ ADAPTIVE, "aa", true, UNDEFINED, GPU_ID(0), 4096, "01", "0." },
	{ ADAPTIVE, "ia", true, UNDEFINED, GPU_ID(0), 4096, "01", ".." },
	/*
	 * In a range with fewer pages than the granularity (512), a GPU pulls memory when it has
	 * had more faults than all other GPUs together.
	 */
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 511, "0", "0" },
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 512, "0", "." },
	{ ADAPTIVE, "aa", true, UNDEFINED, UNDEFINED, 16, "011", "0.1" },
	{ ADAPTIVE, "aa", false, UNDEFINED, UNDEFINED, 16, "0101", "0..." },
	/* A preferred location takes precedence over the prefetch and over the faults. */
	{ ADAPTIVE, "aa", true, 0, GPU_ID(0), 16, "00", "ss" },
	{ ADAPTIVE, "aa", true, GPU_ID(1), UNDEFINED, 4096, "01", "11" },
};

/*
 * Call svm_policy_pulled(), as after a migration of @win to VRAM of GPU @gpu. Return true if
 * svm_pull.until is at least one second after the start of the call.
 */
static bool policy_pulled(struct attr_mock *m, unsigned int gpu,
			  struct svm_interval win)
{
	struct svm_gpu *g = &m->gpus[gpu];
	struct svm_pull *pull = &g->pulls[g->next_pull % SVM_PULLS];
	u64 before = ktime_get_ns();
	bool recent;

	svm_policy_pulled(&m->svms, gpu, win);
	recent = pull->until >= before + NSEC_PER_SEC;
	/*
	 * The pull must not expire by real time, because the virtual machine may be paused for more
	 * than a second. Instead, policy_faults() lets the pull expire.
	 */
	pull->until = U64_MAX;
	return recent;
}

static char policy_answer(struct attr_mock *m, unsigned int gpu)
{
	const struct svm_interval win = { 512, 1023 };
	u32 loc = 12345;
	unsigned int i;

	if (svm_policy_fault(&m->range, gpu, 600, win, &loc))
		return 'x';
	if (loc == UNDEFINED || !loc)
		return loc ? '.' : 's';
	for (i = 0; i < N_GPUS; i++) {
		if (loc != GPU_ID(i))
			continue;
		return policy_pulled(m, i, win) ? '0' + i : '?';
	}
	return '?';
}

static void policy_prepare(struct attr_mock *m, const struct policy_case *c)
{
	struct svm_attrs *a = &m->range.attrs;
	unsigned int i;

	memset(m->gpus, 0, sizeof(m->gpus));
	memset(a, 0, sizeof(*a));
	m->svms.policy = c->policy;
	m->p.xnack_enabled = true;
	m->range.lead = 0;
	m->range.iv.first = 512;
	m->range.iv.last = 512 + c->pages - 1;
	a->preferred_loc = c->preferred;
	a->prefetch_loc = c->prefetch;
	a->granularity = 9;
	for (i = 0; i < 2; i++) {
		m->linked[i][!i] = c->linked;
		if (c->access[i] != 'n')
			__set_bit(i, c->access[i] == 'a' ? a->bitmap_access :
							   a->bitmap_aip);
	}
}

static void policy_faults(struct kunit *test)
{
	const struct ttm_place all = { .mem_type = TTM_PL_VRAM };
	const u64 most = (VGPU_MOCK_VRAM >> PAGE_SHIFT) - 511;
	struct attr_mock *m = attr_mock_new(test);
	const struct policy_case *c;
	struct ttm_resource *res;
	unsigned int n, gpu, i;
	const char *f;
	char got[40];
	int ret;

	for (c = policy_table; c < policy_table + ARRAY_SIZE(policy_table); c++) {
		policy_prepare(m, c);
		res = NULL;
		n = 0;
		for (f = c->faults; *f && n < sizeof(got) - 1; f++) {
			if (*f == 'T') {
				for (gpu = 0; gpu < N_GPUS; gpu++)
					for (i = 0; i < SVM_PULLS; i++)
						m->gpus[gpu].pulls[i].until = 0;
			} else if (*f == 'F') {
				ret = vgpu_mock_alloc(m->mock[0], most, 1, &all,
						      &res);
				KUNIT_ASSERT_EQ(test, ret, 0);
			} else {
				got[n++] = policy_answer(m, *f - '0');
			}
		}
		got[n] = 0;
		KUNIT_EXPECT_STREQ_MSG(test, got, c->want, "case %zu, faults %s",
				       c - policy_table, c->faults);
		if (res)
			vgpu_mock_free(m->mock[0], res);
	}
}

/*
 * Catches: a prefetch chooses VRAM that a GPU with ACCESS_IN_PLACE cannot reach; or, if
 * attr_stays() is true, VRAM that a GPU with ACCESS cannot reach.
 */
static void policy_prefetch(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	unsigned int access[N_GPUS], i, gpu, home, moved = 0, by_link = 0;

	for (i = 0; i < ROUNDS; i++) {
		bool linked = false;
		u32 want, loc;

		attr_scramble(m, access);
		want = m->range.attrs.prefetch_loc;
		loc = svm_policy_prefetch(&m->range);
		if (!want || want == UNDEFINED) {
			KUNIT_ASSERT_EQ(test, loc, want);
			continue;
		}
		for (home = 0; GPU_ID(home) != want; home++)
			;
		for (gpu = 0; gpu < N_GPUS; gpu++) {
			bool here = access[gpu] == 2 ||
				    (access[gpu] && attr_stays(m));

			if (!here || gpu == home)
				continue;
			if (m->linked[gpu][home])
				linked = true;
			else
				want = 0;
		}
		KUNIT_ASSERT_EQ(test, loc, want);
		moved += !!loc;
		by_link += loc && linked;
	}
	KUNIT_EXPECT_GT(test, moved, 10);
	KUNIT_EXPECT_GT(test, by_link, 10);
}

/* Check for which GPUs SET_ATTR maps memory immediately. */
static void policy_map_now(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	unsigned int access[N_GPUS], i, gpu;

	for (i = 0; i < ROUNDS; i++) {
		DECLARE_BITMAP(gpus, SVM_MAX_GPU);
		bool stays;
		u32 placed;

		attr_scramble(m, access);
		placed = vgpu_test_random(&m->rnd, 2) ? GPU_ID(attr_gpu(m)) : 0;
		stays = attr_stays(m);
		bitmap_fill(gpus, SVM_MAX_GPU);
		svm_policy_map_now(&m->range, placed, gpus);
		for (gpu = 0; gpu < N_GPUS; gpu++) {
			/*
			 * A GPU with ACCESS_IN_PLACE (2) always gets a mapping. A GPU with ACCESS
			 * (1) gets one if the range must stay mapped, or was prefetched to this
			 * GPU.
			 */
			bool want = access[gpu] == 2 ||
				    (access[gpu] == 1 &&
				     (stays || placed == GPU_ID(gpu)));

			KUNIT_ASSERT_EQ(test, test_bit(gpu, gpus), want);
		}
		KUNIT_ASSERT_GE(test, N_GPUS,
				find_last_bit(gpus, SVM_MAX_GPU) %
				SVM_MAX_GPU);
	}
}

static struct kunit_case attr_cases[] = {
	KUNIT_CASE(attr_valid),
	KUNIT_CASE(attr_invalid),
	KUNIT_CASE(attr_access),
	KUNIT_CASE(attr_flags),
	KUNIT_CASE(attr_values),
	KUNIT_CASE(policy_fault),
	KUNIT_CASE(policy_faults),
	KUNIT_CASE(policy_prefetch),
	KUNIT_CASE(policy_map_now),
	{}
};

static struct kunit_suite attr_suite = {
	.name = "vgpu_svm_attr",
	.test_cases = attr_cases,
};

kunit_test_suite(attr_suite);
