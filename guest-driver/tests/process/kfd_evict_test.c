// SPDX-License-Identifier: GPL-2.0
/* Test process/kfd_evict.c with processes that have neither queues nor BOs. */
#include <linux/dma-fence.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <drm/ttm/ttm_placement.h>

#include "kfd/queues/kfd_queue.h"
#include "process/kfd_evict.h"
#include "process/kfd_evict_priv.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "tests/lib/vgpu_mock.h"

#define RESTORE_NEVER_MS	(3600 * MSEC_PER_SEC)
/* Number of processes that are restored at a time (KFD_RESTORE_ACTIVE). */
#define RESTORE_SLOTS		3u
/*
 * Value for amdkfd_process_info.restore_busy, above KFD_RESTORE_BUSY. So restore_work sleeps until
 * it gets kfd_process.mutex. (Below KFD_RESTORE_BUSY, restore_work only tries to lock the mutex.)
 */
#define RESTORE_BUSY		1000u
#define RESTORE_TIMEOUT_US	(10 * USEC_PER_SEC)
#define EVICT_TIMEOUT		(10 * HZ)

/**
 * struct evict_mock - a process on one GPU
 */
struct evict_mock {
	/** @p: process */
	struct kfd_process p;
	/**
	 * @pdd: state of @p on the GPU. The count pdd.evicted starts at 1, so that a restore loads
	 * no queues
	 */
	struct kfd_process_device pdd;
	/** @qpd: pdd.qpd points to this */
	struct qcm_process_device qpd;
	/** @node: GPU */
	struct kfd_node node;
	/** @cb: callback of the eviction fence */
	struct dma_fence_cb cb;
	/** @called: if false, @queued and @locked have no meaning yet */
	bool called;
	/** @queued: restore_work was queued when @cb was called */
	bool queued;
	/** @locked: kfd_process.queue_lock was held when @cb was called */
	bool locked;
};

static void evict_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct evict_mock *m = container_of(cb, struct evict_mock, cb);

	m->called = true;
	m->queued = delayed_work_pending(&m->p.restore_work);
	m->locked = mutex_is_locked(&m->p.queue_lock);
}

static void evict_free_info(void *p)
{
	kfd_process_info_free(p);
}

static struct evict_mock *evict_mock_new(struct kunit *test)
{
	struct evict_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->node.vdev = &vgpu_mock_new(test)->vdev;
	INIT_LIST_HEAD(&m->node.smi.clients);
	m->pdd.node = &m->node;
	m->pdd.process = &m->p;
	m->pdd.evicted = 1;
	m->pdd.qpd = &m->qpd;
	m->qpd.pdd = &m->pdd;
	INIT_LIST_HEAD(&m->qpd.queues);
	m->p.pdds[0] = &m->pdd;
	m->p.n_pdds = 1;
	m->p.lead_thread = current;
	mutex_init(&m->p.mutex);
	mutex_init(&m->p.queue_lock);
	KUNIT_ASSERT_EQ(test, kfd_process_info_init(&m->p), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, evict_free_info,
							&m->p), 0);
	/* With this delay, restore_work does not run during the test, even on a slow host. */
	m->p.kgd_process_info->restore_delay_ms = RESTORE_NEVER_MS;
	return m;
}

/*
 * Catches: restore_work is queued after queue_lock is dropped. (Another thread could then free the
 * process before restore_work is queued.)
 */
static void evict_queues_restore(struct kunit *test)
{
	struct evict_mock *m = evict_mock_new(test);
	struct amdkfd_process_info *info = m->p.kgd_process_info;

	mutex_lock(&m->p.mutex);
	KUNIT_ASSERT_EQ(test, kfd_process_make_resident(&m->p), 0);
	KUNIT_ASSERT_EQ(test, dma_fence_add_callback(m->p.ef, &m->cb,
						     evict_signalled), 0);
	kfd_evict_now(info, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	KUNIT_EXPECT_TRUE(test, m->called);
	KUNIT_EXPECT_TRUE(test, m->locked);
	KUNIT_EXPECT_TRUE(test, m->queued);
	KUNIT_EXPECT_TRUE(test, info->evicted);
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
	KUNIT_EXPECT_EQ(test, m->pdd.evicted, 1);
}

/* Catches: restore_work is queued for a process without an eviction fence. */
static void evict_after_release(struct kunit *test)
{
	struct evict_mock *m = evict_mock_new(test);
	struct amdkfd_process_info *info = m->p.kgd_process_info;

	mutex_lock(&m->p.mutex);
	KUNIT_ASSERT_EQ(test, kfd_process_make_resident(&m->p), 0);
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
	kfd_evict_now(info, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&m->p.restore_work));
	KUNIT_EXPECT_FALSE(test, info->evicted);
	KUNIT_EXPECT_EQ(test, m->pdd.evicted, 1);
}

/*
 * Make a process resident and evict it. Returns with kfd_process.mutex held, with lockdep subclass
 * @subclass. restore_work starts without delay, and waits for this mutex.
 */
static struct evict_mock *evict_mock_evicted(struct kunit *test, unsigned int subclass)
{
	struct evict_mock *m = evict_mock_new(test);
	struct amdkfd_process_info *info = m->p.kgd_process_info;

	info->restore_delay_ms = 0;
	info->restore_busy = RESTORE_BUSY;
	mutex_lock_nested(&m->p.mutex, subclass);
	KUNIT_EXPECT_EQ(test, kfd_process_make_resident(&m->p), 0);
	kfd_evict_now(info, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	return m;
}

static void evict_mock_end(struct evict_mock *m)
{
	mutex_lock(&m->p.mutex);
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
}

/*
 * While kfd_process.mutex of RESTORE_SLOTS processes is held, one more process must be restored.
 * Catches: restore_work occupies a restore slot while waiting for a mutex.
 */
static void evict_mutexes_held(struct kunit *test)
{
	struct evict_mock *held[RESTORE_SLOTS], *other;
	bool evicted;
	unsigned int i;

	for (i = 0; i < RESTORE_SLOTS; i++)
		held[i] = evict_mock_evicted(test, i);
	other = evict_mock_evicted(test, RESTORE_SLOTS);
	mutex_unlock(&other->p.mutex);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(READ_ONCE, evicted, !evicted, USEC_PER_MSEC,
					  RESTORE_TIMEOUT_US, false,
					  other->p.kgd_process_info->evicted), 0);
	for (i = 0; i < RESTORE_SLOTS; i++) {
		KUNIT_EXPECT_TRUE(test, held[i]->p.kgd_process_info->evicted);
		mutex_unlock(&held[i]->p.mutex);
	}
	for (i = 0; i < RESTORE_SLOTS; i++)
		evict_mock_end(held[i]);
	evict_mock_end(other);
}

/*
 * The test waits for the eviction fence of a process at the beginning of a long time slice.
 * Catches: the fence signals only at the end of the time slice.
 */
static void evict_at_once(struct kunit *test)
{
	struct evict_mock *m = evict_mock_new(test);
	struct amdkfd_process_info *info = m->p.kgd_process_info;
	struct dma_fence *fence;

	mutex_lock(&m->p.mutex);
	KUNIT_ASSERT_EQ(test, kfd_process_make_resident(&m->p), 0);
	info->timeslice.active_until = jiffies + 3600 * HZ;
	info->timeslice.slice_until = jiffies + 3600 * HZ;
	KUNIT_ASSERT_TRUE(test, kfd_process_keeps(info, TTM_PL_VRAM));
	KUNIT_EXPECT_GT(test, kfd_process_kept(info), 3000 * HZ);
	fence = dma_fence_get(m->p.ef);
	mutex_unlock(&m->p.mutex);
	KUNIT_EXPECT_GT(test, dma_fence_wait_timeout(fence, false,
						     EVICT_TIMEOUT), 0);
	mutex_lock(&m->p.mutex);
	KUNIT_EXPECT_TRUE(test, info->evicted);
	KUNIT_EXPECT_FALSE(test, kfd_process_keeps(info, TTM_PL_VRAM));
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	dma_fence_put(fence);
	kfd_process_info_fini(&m->p);
}

/* Catches: a process is evicted although no thread waits for its newest fence. */
static void evict_not_wanted(struct kunit *test)
{
	struct evict_mock *m = evict_mock_new(test);
	struct amdkfd_process_info *info = m->p.kgd_process_info;

	mutex_lock(&m->p.mutex);
	KUNIT_ASSERT_EQ(test, kfd_process_make_resident(&m->p), 0);
	/* Run eviction_work as if it had been queued for an earlier fence. */
	schedule_work(&m->p.eviction_work);
	flush_work(&m->p.eviction_work);
	KUNIT_EXPECT_FALSE(test, info->evicted);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(m->p.ef));
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
}

static struct kunit_case evict_cases[] = {
	KUNIT_CASE(evict_queues_restore),
	KUNIT_CASE(evict_after_release),
	KUNIT_CASE(evict_mutexes_held),
	KUNIT_CASE(evict_at_once),
	KUNIT_CASE(evict_not_wanted),
	{}
};

static struct kunit_suite evict_suite = {
	.name = "kfd_evict",
	.test_cases = evict_cases,
};

kunit_test_suite(evict_suite);
