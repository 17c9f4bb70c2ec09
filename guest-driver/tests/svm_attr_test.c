// SPDX-License-Identifier: GPL-2.0
/*
 * svm/svm_attr.c and svm/svm_policy.c: what attributes mean, against a list of
 * what each GPU was told last. Would catch access that one attribute leaves and
 * another takes, a GPU that is mistaken for its neighbour, and memory that moves
 * to where somebody cannot reach it.
 */
#include "../kfd/kfd_room.h"
#include "../svm/svm_priv.h"
#include "vgpu_mock.h"

#define N_GPUS		5u
#define NO_SVM		3u	/* GPU that does not do SVM */
#define GPU_ID(n)	(0x1000 + 77 * (n))
#define UNDEFINED	KFD_IOCTL_SVM_LOCATION_UNDEFINED
#define ROUNDS		2000
#define ATTR(t, v)	((struct kfd_ioctl_svm_attribute){		\
				.type = KFD_IOCTL_SVM_ATTR_##t, .value = (v) })

/* A process on some GPUs, with one range. */
struct attr_mock {
	struct kfd_process p;
	struct kfd_process_device pdd[N_GPUS];
	struct kfd_node node[N_GPUS];
	struct svm_range range;
	struct rnd_state rnd;
};

static struct attr_mock *attr_mock_new(struct kunit *test)
{
	struct attr_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < N_GPUS; i++) {
		m->node[i].gpu_id = GPU_ID(i);
		m->pdd[i].node = &m->node[i];
		m->pdd[i].gpu_id = GPU_ID(i);
		m->p.pdds[i] = &m->pdd[i];
		if (i != NO_SVM)
			__set_bit(i, m->p.svms.bitmap_supported);
	}
	m->p.n_pdds = N_GPUS;
	m->p.svms.n_gpus = N_GPUS;
	m->p.xnack_enabled = true;
	m->range.svms = &m->p.svms;
	vgpu_test_rnd(test, &m->rnd);
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

/* One bad attribute, wherever it stands, spoils all. */
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

/* For each GPU the last word counts. */
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

/* Set and cleared bit by bit, in the order in which they stand. */
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

/* Locations and granularity: the last one, and nothing else changes. */
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

/* Some state of the range; GPU @n may have no access, access, or in place. */
static void attr_scramble(struct attr_mock *m, unsigned int *access)
{
	static const u32 locs[] = {
		0, UNDEFINED, GPU_ID(0), GPU_ID(1), GPU_ID(2), GPU_ID(4),
	};
	struct svm_attrs *a = &m->range.attrs;
	unsigned int i;

	bitmap_zero(a->bitmap_access, SVM_MAX_GPU);
	bitmap_zero(a->bitmap_aip, SVM_MAX_GPU);
	for (i = 0; i < N_GPUS; i++) {
		access[i] = i == NO_SVM ? 0 : vgpu_test_random(&m->rnd, 3);
		if (access[i])
			__set_bit(i, access[i] == 1 ? a->bitmap_access :
						      a->bitmap_aip);
	}
	a->preferred_loc = locs[vgpu_test_random(&m->rnd, ARRAY_SIZE(locs))];
	a->prefetch_loc = locs[vgpu_test_random(&m->rnd, ARRAY_SIZE(locs))];
	a->flags = vgpu_test_random(&m->rnd, 2) ?
		   KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED : 0;
	m->p.xnack_enabled = vgpu_test_random(&m->rnd, 2);
}

/* A fault moves memory to system memory or to the faulting GPU, if wanted there. */
static void policy_fault(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	unsigned int access[N_GPUS], i, gpu;

	for (i = 0; i < ROUNDS; i++) {
		u32 preferred, loc = 12345;
		int ret;

		attr_scramble(m, access);
		preferred = m->range.attrs.preferred_loc;
		gpu = attr_gpu(m);
		ret = svm_policy_fault(&m->range, gpu, &loc);
		KUNIT_ASSERT_EQ(test, ret, access[gpu] ? 0 : -EACCES);
		if (ret)
			continue;
		if (preferred == GPU_ID(gpu))
			KUNIT_ASSERT_EQ(test, loc, GPU_ID(gpu));
		else if (!preferred)
			KUNIT_ASSERT_EQ(test, loc, 0);
		else
			KUNIT_ASSERT_EQ(test, loc, UNDEFINED);
	}
}

/* A GPU that cannot fault must reach the memory where it is put. */
static void policy_prefetch(struct kunit *test)
{
	struct attr_mock *m = attr_mock_new(test);
	unsigned int access[N_GPUS], i, gpu, moved = 0;

	for (i = 0; i < ROUNDS; i++) {
		u32 want, loc;

		attr_scramble(m, access);
		want = m->range.attrs.prefetch_loc;
		loc = svm_policy_prefetch(&m->range);
		if (!want || want == UNDEFINED) {
			KUNIT_ASSERT_EQ(test, loc, want);
			continue;
		}
		for (gpu = 0; gpu < N_GPUS; gpu++) {
			bool here = access[gpu] == 2 ||
				    (access[gpu] && !m->p.xnack_enabled);

			if (here && GPU_ID(gpu) != want)
				want = 0;
		}
		KUNIT_ASSERT_EQ(test, loc, want);
		moved += !!loc;
	}
	KUNIT_EXPECT_GT(test, moved, 10);
}

/* Who must never see a hole is mapped at once; of the others, who it went to. */
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
		stays = !m->p.xnack_enabled || m->range.attrs.flags;
		bitmap_fill(gpus, SVM_MAX_GPU);
		svm_policy_map_now(&m->range, placed, gpus);
		for (gpu = 0; gpu < N_GPUS; gpu++) {
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
	KUNIT_CASE(policy_prefetch),
	KUNIT_CASE(policy_map_now),
	{}
};

static struct kunit_suite attr_suite = {
	.name = "vgpu_svm_attr",
	.test_cases = attr_cases,
};

kunit_test_suite(attr_suite);
