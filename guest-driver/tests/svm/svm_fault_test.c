// SPDX-License-Identifier: GPL-2.0
/*
 * Test the verdicts of svm/svm_fault.c on repairs that fail for lack of memory, and on faults that
 * are older than the removal of access. Catches: a fault that can never be repaired is raised again
 * without limit; a fault is denied although memory is short for a moment only; a denied fault is
 * not reported; a fault is denied although its access was allowed when it was raised.
 */
#include <linux/jiffies.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/xarray.h>

#include "vgpu/gmc.h"
#include "kfd/events/kfd_events.h"
#include "kfd/events/kfd_events_priv.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_fault.h"
#include "svm/svm_fault_entry.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "tests/lib/vgpu_vm_mock.h"

/* Start of the tests in jiffies; the time overflows a second later. */
#define FAILURES_START	(ULONG_MAX - HZ)
#define FAILURES_PAGE	5ul
#define FAILURES_OTHER	6ul
#define NOMEM_PAGES	4ul
#define NOMEM_GPUS	2u
/* A page without VMA: user space maps no page at address 0. */
#define NOMEM_HOLE	0ul
/* GPU clock at the fault. The process's time of birth is 0, because the mock's clock stands. */
#define NOMEM_TS	1000u

static unsigned long failures_give_up(void)
{
	return msecs_to_jiffies(SVM_FAULT_GIVE_UP_MS);
}

/* Count a failure of a process that uses one GPU. */
static bool failures_add(struct svm_fault_failures *fails, unsigned long page, unsigned long now)
{
	return svm_fault_failures_add(fails, page, now, 1);
}

/* Catches: a fault is denied after many failures in a short time, or only long after the limit. */
static void failures_soon(struct kunit *test)
{
	unsigned long end = FAILURES_START + failures_give_up();
	struct svm_fault_failures fails = { };
	unsigned int i;

	for (i = 0; i < 3 * SVM_FAULT_MAX_FAILURES; i++)
		KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, FAILURES_START + i));
	KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, end - 1));
	KUNIT_EXPECT_TRUE(test, failures_add(&fails, FAILURES_PAGE, end));
	/* Catches: a denial keeps the count, so the next failure of the page is denied at once. */
	KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, end));
	KUNIT_EXPECT_EQ(test, fails.count, 1);
}

/* Catches: a fault is denied after a long time with few failures. */
static void failures_few(struct kunit *test)
{
	unsigned long now = FAILURES_START;
	struct svm_fault_failures fails = { };
	unsigned int i;

	for (i = 1; i < SVM_FAULT_MAX_FAILURES; i++) {
		KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, now));
		now += failures_give_up();
	}
	KUNIT_EXPECT_TRUE(test, failures_add(&fails, FAILURES_PAGE, now));
}

/* Two queues fault in turn. Catches: the failures of one page reset those of the other page. */
static void failures_two_pages(struct kunit *test)
{
	unsigned long now = FAILURES_START;
	struct svm_fault_failures fails = { };
	unsigned int i;

	for (i = 1; i < SVM_FAULT_MAX_FAILURES; i++) {
		KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, now));
		KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_OTHER, now));
		now += failures_give_up();
	}
	KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_OTHER, now));
	KUNIT_EXPECT_TRUE(test, failures_add(&fails, FAILURES_PAGE, now));
}

/* Catches: a page that does not fault any more prevents the count of another page's failures. */
static void failures_old(struct kunit *test)
{
	unsigned long forget = msecs_to_jiffies(SVM_FAULT_FORGET_MS);
	struct svm_fault_failures fails = { };

	KUNIT_EXPECT_FALSE(test, failures_add(&fails, FAILURES_PAGE, FAILURES_START));
	failures_add(&fails, FAILURES_OTHER, FAILURES_START + forget - 1);
	KUNIT_EXPECT_EQ(test, fails.page, FAILURES_PAGE);
	failures_add(&fails, FAILURES_OTHER, FAILURES_START + forget);
	KUNIT_EXPECT_EQ(test, fails.page, FAILURES_OTHER);
	KUNIT_EXPECT_EQ(test, fails.count, 1);
	KUNIT_EXPECT_EQ(test, fails.first, FAILURES_START + forget);
}

/*
 * Repairs of a process exclude each other, also on different GPUs. If each repair waits for VRAM, a
 * page fails only once per round of all GPUs. Catches: the failures are forgotten in each round, so
 * the fault is never denied.
 */
static void failures_many_gpus(struct kunit *test)
{
	unsigned long round = msecs_to_jiffies(SVM_FAULT_FORGET_MS) - 1;
	struct svm_fault_failures fails = { };
	unsigned long now = FAILURES_START;
	const unsigned int n_gpus = 3;
	unsigned int i;

	for (i = 1; i < SVM_FAULT_MAX_FAILURES; i++) {
		KUNIT_EXPECT_FALSE(test, svm_fault_failures_add(&fails, FAILURES_PAGE, now,
								n_gpus));
		KUNIT_EXPECT_EQ(test, fails.count, i);
		now += n_gpus * round;
	}
	KUNIT_EXPECT_TRUE(test, svm_fault_failures_add(&fails, FAILURES_PAGE, now, n_gpus));
}

/* Catches: failures count although the page was repaired since; a repair elsewhere resets them. */
static void failures_repaired(struct kunit *test)
{
	struct svm_interval other = { FAILURES_PAGE + 1, FAILURES_PAGE + 100 };
	struct svm_interval both = { FAILURES_PAGE, FAILURES_PAGE + 100 };
	struct svm_fault_failures fails = { };

	failures_add(&fails, FAILURES_PAGE, FAILURES_START);
	svm_fault_failures_forget(&fails, other);
	KUNIT_EXPECT_EQ(test, fails.count, 1);
	svm_fault_failures_forget(&fails, both);
	KUNIT_EXPECT_EQ(test, fails.count, 0);
}

/**
 * struct nomem_gpu - a GPU that has no memory for page tables, and a process's state on the GPU
 */
struct nomem_gpu {
	/** @pdd: element of kfd_process.pdds */
	struct kfd_process_device pdd;
	/** @qpd: pdd.qpd points to this */
	struct qcm_process_device qpd;
	/** @node: the GPU */
	struct kfd_node node;
	/** @sn: SVM state of the GPU */
	struct svm_node sn;
	/** @vm: address space of the process; vm_mock.limit is 0 */
	struct vm_mock *vm;
};

/**
 * struct nomem_mock - a process on GPUs that have no memory for page tables
 */
struct nomem_mock {
	/** @p: process, with XNACK on and without queues */
	struct kfd_process p;
	/** @gpu: GPUs of @p */
	struct nomem_gpu gpu[NOMEM_GPUS];
	/** @page: first of NOMEM_PAGES pages that @p may access */
	unsigned long page;
	/** @ev: event that is signalled when a fault is denied */
	struct kfd_event *ev;
};

/* Append a GPU to the process. */
static void nomem_gpu_init(struct kunit *test, struct nomem_mock *m, struct nomem_gpu *g)
{
	g->vm = vm_mock_new(test, false);
	g->vm->limit = 0;
	spin_lock_init(&g->vm->hw.latch_lock);
	g->node.vdev = g->vm->vdev;
	INIT_LIST_HEAD(&g->node.smi.clients);
	g->node.svm = &g->sn;
	g->sn.node = &g->node;
	g->sn.supported = true;
	g->pdd.node = &g->node;
	g->pdd.process = &m->p;
	g->pdd.vm = &g->vm->vm.base;
	g->pdd.qpd = &g->qpd;
	g->qpd.pdd = &g->pdd;
	INIT_LIST_HEAD(&g->qpd.queues);
	m->p.pdds[m->p.n_pdds++] = &g->pdd;
}

static void nomem_process_init(struct kunit *test, struct nomem_mock *m)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_MEMORY,
	};

	m->p.lead_thread = current;
	m->p.mm = current->mm;
	m->p.xnack_enabled = true;
	mutex_init(&m->p.mutex);
	mutex_init(&m->p.queue_lock);
	KUNIT_ASSERT_EQ(test, kfd_events_init(&m->p), 0);
	KUNIT_ASSERT_EQ(test, kfd_ioctl_create_event(&m->p, &args), 0);
	m->ev = xa_load(&m->p.events->all, args.event_id);
	KUNIT_ASSERT_NOT_NULL(test, m->ev);
	KUNIT_ASSERT_EQ(test, svm_range_list_init(&m->p), 0);
	/* The mock cannot migrate memory. */
	m->p.svms->policy = SVM_POLICY_IN_PLACE;
}

/* Create a process on @n_gpus GPUs. */
static struct nomem_mock *nomem_mock_new(struct kunit *test, unsigned int n_gpus)
{
	struct nomem_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned long addr;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	/* The test's thread has no mm. kunit_vm_mmap() attaches an mm to the thread. */
	addr = kunit_vm_mmap(test, NULL, 0, NOMEM_PAGES * PAGE_SIZE, PROT_READ,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	m->page = addr >> PAGE_SHIFT;
	for (i = 0; i < n_gpus; i++)
		nomem_gpu_init(test, m, &m->gpu[i]);
	nomem_process_init(test, m);
	return m;
}

static void nomem_mock_end(struct nomem_mock *m)
{
	svm_range_list_fini(&m->p);
	kfd_events_fini(&m->p);
}

static enum svm_verdict nomem_serve_on(struct nomem_mock *m, unsigned int gpu,
				       unsigned long page)
{
	const struct svm_fault f = {
		.page = page, .ts = NOMEM_TS, .not_present = true, .retry = true,
	};
	struct svm_interval win;

	return svm_fault_service(&m->gpu[gpu].node, &m->p, &f, &win);
}

static enum svm_verdict nomem_serve(struct nomem_mock *m, unsigned long page)
{
	return nomem_serve_on(m, 0, page);
}

/* Catches: the repair fails for ever; the denied fault is neither counted nor reported. */
static void nomem_denied(struct kunit *test)
{
	struct nomem_mock *m = nomem_mock_new(test, 1);
	struct svm_fault_failures *fails = &m->p.svms->gpus[0].failures;

	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page), SVM_FAULT_NO_MEMORY);
	KUNIT_EXPECT_EQ(test, fails->page, m->page);
	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page + 1), SVM_FAULT_NO_MEMORY);
	KUNIT_EXPECT_EQ(test, fails->page, m->page);
	KUNIT_EXPECT_EQ(test, fails->count, 1);

	fails->count = SVM_FAULT_MAX_FAILURES;
	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page), SVM_FAULT_NO_MEMORY);
	KUNIT_EXPECT_FALSE(test, m->ev->signaled);
	fails->first -= failures_give_up();
	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page), SVM_FAULT_DENIED);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->gpu[0].node.vdev, VGPU_STAT_FAULTS_UNREPAIRED),
			1);
	KUNIT_EXPECT_TRUE(test, m->ev->signaled);
	KUNIT_EXPECT_EQ(test, m->ev->memory.va, (u64)m->page << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, m->ev->memory.failure.NotPresent, 1);
	KUNIT_EXPECT_EQ(test, fails->count, 0);
	nomem_mock_end(m);
}

/*
 * The record of failures is forgotten when a fault of the page is stale. Catches: two failures that
 * have nothing to do with each other count together.
 */
static void nomem_stale(struct kunit *test)
{
	struct nomem_mock *m = nomem_mock_new(test, 1);
	struct svm_fault_failures *fails = &m->p.svms->gpus[0].failures;

	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page), SVM_FAULT_NO_MEMORY);
	/* From here on, all faults of the process are stale. */
	atomic_set(&m->p.svms->drain_pagefaults, 1);
	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page + 1), SVM_FAULT_STALE);
	KUNIT_EXPECT_EQ(test, fails->count, 1);
	KUNIT_EXPECT_EQ(test, nomem_serve(m, m->page), SVM_FAULT_STALE);
	KUNIT_EXPECT_EQ(test, fails->count, 0);
	nomem_mock_end(m);
}

/*
 * A file is truncated, then both GPUs have a fault that is older. While the first fault is judged,
 * the clock of the other GPU stands at 0, as if nothing had read this clock yet. Catches: the
 * worker of the first GPU resets the flag of the truncation for both GPUs, so that the other
 * fault is denied.
 */
static void cleared_on_two_gpus(struct kunit *test)
{
	struct nomem_mock *m = nomem_mock_new(test, NOMEM_GPUS);
	unsigned int i;

	svm_fault_note_clear(m->p.svms);
	for (i = 0; i < NOMEM_GPUS; i++) {
		vgpu_wreg(m->gpu[i].node.vdev, RLC_GPU_CLOCK_COUNT_LSB, NOMEM_TS);
		KUNIT_EXPECT_EQ(test, nomem_serve_on(m, i, NOMEM_HOLE), SVM_FAULT_STALE);
	}
	nomem_mock_end(m);
}

/* Catches: a fault that is raised after a truncation is never denied. */
static void cleared_before_fault(struct kunit *test)
{
	struct nomem_mock *m = nomem_mock_new(test, 1);

	svm_fault_note_clear(m->p.svms);
	vgpu_wreg(m->gpu[0].node.vdev, RLC_GPU_CLOCK_COUNT_LSB, NOMEM_TS - 1);
	KUNIT_EXPECT_EQ(test, nomem_serve(m, NOMEM_HOLE), SVM_FAULT_DENIED);
	nomem_mock_end(m);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(failures_soon),
	KUNIT_CASE(failures_few),
	KUNIT_CASE(failures_two_pages),
	KUNIT_CASE(failures_old),
	KUNIT_CASE(failures_many_gpus),
	KUNIT_CASE(failures_repaired),
	KUNIT_CASE(nomem_denied),
	KUNIT_CASE(nomem_stale),
	KUNIT_CASE(cleared_on_two_gpus),
	KUNIT_CASE(cleared_before_fault),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "svm_fault",
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
