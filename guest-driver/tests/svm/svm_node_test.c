// SPDX-License-Identifier: GPL-2.0
/*
 * Test svm_supported() (svm/svm_node.c). Catches: a process that opens KFD directly after the
 * module was loaded runs without SVM, because the device-private pages are not made yet.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "process/kfd_node.h"
#include "svm/svm.h"
#include "svm/svm_node.h"

#define NODE_PAGES_MS	50

/**
 * struct node_mock - a GPU whose device-private pages are being made
 */
struct node_mock {
	/** @node: GPU; only @node.svm is set */
	struct kfd_node node;
	/** @sn: SVM state of @node; svm_node.pending is true at first */
	struct svm_node sn;
	/** @supported: value of svm_node.supported after the pages are made */
	bool supported;
	/** @done: completed when the thread does not use the mock any more */
	struct completion done;
};

/* Takes the place of svm_node.vram_work. */
static int node_make_pages(void *arg)
{
	struct node_mock *m = arg;

	msleep(NODE_PAGES_MS);
	svm_node_ready(&m->sn, m->supported);
	complete(&m->done);
	return 0;
}

static void node_wait(struct kunit *test, bool supported)
{
	struct node_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct task_struct *thread;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->node.svm = &m->sn;
	m->sn.node = &m->node;
	m->sn.pending = true;
	/* While pages are pending, svm_node.supported has no meaning. */
	m->sn.supported = !supported;
	m->supported = supported;
	init_completion(&m->done);
	thread = kthread_run(node_make_pages, m, "vgpu_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	KUNIT_EXPECT_EQ(test, svm_supported(&m->node), supported);
	wait_for_completion(&m->done);
	KUNIT_EXPECT_EQ(test, svm_supported(&m->node), supported);
}

static void node_supported(struct kunit *test)
{
	node_wait(test, true);
}

static void node_not_supported(struct kunit *test)
{
	node_wait(test, false);
}

static struct kunit_case node_cases[] = {
	KUNIT_CASE(node_supported),
	KUNIT_CASE(node_not_supported),
	{}
};

static struct kunit_suite node_suite = {
	.name = "svm_node",
	.test_cases = node_cases,
};

kunit_test_suite(node_suite);
