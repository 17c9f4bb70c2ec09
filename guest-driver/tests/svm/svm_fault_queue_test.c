// SPDX-License-Identifier: GPL-2.0
/*
 * Test svm/svm_fault_queue.c. The test holds the mmap_lock of a process, so that the process's
 * fault worker stalls, as during a page-in. Meanwhile other processes have faults.
 */
#include <linux/completion.h>
#include <linux/iopoll.h>
#include <linux/irqflags.h>
#include <linux/kref.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <kunit/static_stub.h>

#include "vgpu/bits.h"
#include "vgpu/doorbell.h"
#include "process/kfd_node.h"
#include "process/kfd_pasid.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_fault.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "tests/lib/vgpu_vm_mock.h"

#define FAULT_ENTRIES		(IH_RING_BYTES / IH_ENTRY_BYTES)
#define FAULT_PAGE		((unsigned long)VM_MOCK_FIRST)
#define FAULT_TIMEOUT_US	(10 * USEC_PER_SEC)
#define FAULT_TS		1000u
/* Number of times that the interrupt entry of a fault is repeated. */
#define FAULT_RESENT		100u
/* Number of no-retry faults that the test raises, more than the limit of queued faults. */
#define FAULT_NORETRY		(4 * SVM_FAULT_REPORTS)

/**
 * struct fault_process - a process on the GPU
 * @p: process
 * @pdd: state of @p on the GPU. The count pdd.evicted starts at 1, so it is still above 0 after an
 *       eviction and a restore. Therefore the restore loads no queues
 */
struct fault_process {
	struct kfd_process p;
	struct kfd_process_device pdd;
};

/**
 * struct fault_mock - two processes on a GPU with an interrupt ring
 * @stalled: process whose worker waits for mmap_lock, which the test holds
 * @other: process without address space, so that its faults are stale and do not need mmap_lock
 */
struct fault_mock {
	struct fault_process stalled, other;
	/** @node: GPU */
	struct kfd_node node;
	/** @sn: @node.svm, with the queued faults and the owners of the CAM slots */
	struct svm_node sn;
	/** @vm: mock of the device and of the address space that @stalled uses */
	struct vm_mock *vm;
	/** @ring: interrupt ring */
	__le32 *ring;
	/** @wptr: write-back of the ring's write pointer */
	__le32 wptr;
	/** @next: number of entries written so far */
	unsigned int next;
	/** @doorbells: BAR 2 */
	u32 *doorbells;
	/** @marker: work item of svm_range_list.wq that completes @marked */
	struct work_struct marker;
	/** @marked: @marker has run */
	struct completion marked;
};

static void fault_ring_init(struct kunit *test, struct fault_mock *m)
{
	struct vgpu_hw_state *hw = &m->vm->hw;

	m->ring = kunit_kzalloc(test, IH_RING_BYTES, GFP_KERNEL);
	m->doorbells = kunit_kzalloc(test, VGPU_DOORBELL_BAR_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, m->ring && m->doorbells);
	spin_lock_init(&hw->ih.lock);
	mutex_init(&hw->ih.poll_lock);
	spin_lock_init(&hw->latch_lock);
	spin_lock_init(&hw->gate_lock);
	hw->ih.ring = m->ring;
	hw->ih.wptr_wb = &m->wptr;
	hw->doorbell = (void __iomem __force *)m->doorbells;
	vgpu_ih_start(m->vm->vdev);
}

static void fault_process_init(struct kunit *test, struct fault_mock *m,
			       struct fault_process *fp, struct vgpu_vm *vm)
{
	int pasid = kfd_pasid_alloc();

	KUNIT_ASSERT_GT(test, pasid, 0);
	kref_init(&fp->p.ref);
	fp->p.pasid = pasid;
	fp->p.lead_thread = current;
	fp->p.mm = current->mm;
	fp->p.xnack_enabled = true;
	fp->pdd.node = &m->node;
	fp->pdd.process = &fp->p;
	fp->pdd.vm = vm;
	fp->pdd.evicted = 1;
	mutex_init(&fp->p.queue_lock);
	fp->p.pdds[0] = &fp->pdd;
	fp->p.n_pdds = 1;
	KUNIT_ASSERT_EQ(test, svm_range_list_init(&fp->p), 0);
	/*
	 * The driver would stop the queues after the test's retry faults, which it cannot repair.
	 * So make these faults stale: FAULT_TS is not later than unmap_ts. The driver acknowledges
	 * a stale fault, and does nothing else.
	 */
	fp->p.svms->gpus[0].unmap_ts = FAULT_TS;
	mutex_lock(&kfd_processes_mutex);
	kfd_process_hash(&fp->p);
	mutex_unlock(&kfd_processes_mutex);
}

/* Create the mock. Returns with mmap_lock of the test's mm held for writing. */
static struct fault_mock *fault_mock_new(struct kunit *test)
{
	struct fault_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	/* The test's thread has no mm. kunit_vm_mmap() attaches an mm to the thread. */
	KUNIT_ASSERT_NE(test, kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ,
					    MAP_ANONYMOUS | MAP_PRIVATE, 0), 0);
	m->vm = vm_mock_new(test, false);
	fault_ring_init(test, m);
	m->node.vdev = m->vm->vdev;
	INIT_LIST_HEAD(&m->node.smi.clients);
	m->node.svm = &m->sn;
	m->sn.node = &m->node;
	m->sn.supported = true;
	KUNIT_ASSERT_EQ(test, svm_fault_init(&m->node), 0);
	fault_process_init(test, m, &m->stalled, &m->vm->vm.base);
	fault_process_init(test, m, &m->other, NULL);
	mmap_write_lock(current->mm);
	return m;
}

static void fault_process_fini(struct kunit *test, struct fault_process *fp)
{
	kfd_process_unhash(&fp->p);
	svm_fault_flush(fp->p.svms);
	/* Check that the interrupt handler and the worker have dropped their references. */
	KUNIT_EXPECT_EQ(test, kref_read(&fp->p.ref), 1);
	svm_range_list_fini(&fp->p);
	kfd_pasid_free(fp->p.pasid);
}

/* Drop mmap_lock, so that the stalled worker continues, and wait for all workers. */
static void fault_mock_end(struct kunit *test, struct fault_mock *m)
{
	mmap_write_unlock(current->mm);
	fault_process_fini(test, &m->stalled);
	fault_process_fini(test, &m->other);
	svm_fault_fini(&m->node);
}

static u64 fault_acks(struct fault_mock *m)
{
	return vgpu_stat_read(m->vm->vdev, VGPU_STAT_CAM_ACKS);
}

/* Raise an interrupt with one fault. */
static void fault_put(struct fault_mock *m, u16 pasid, bool retry, u32 cam, u32 serial)
{
	__le32 *dw = &m->ring[m->next++ % FAULT_ENTRIES * 8];

	dw[0] = cpu_to_le32(VGPU_PREP(IH_DW0__CLIENT, IH_CLIENT_VMC) |
			    VGPU_PREP(IH_DW0__SOURCE, IH_SRC_VM_FAULT) |
			    VGPU_PREP(IH_DW0__VMID, 3u) | IH_DW0__VMID_SRC);
	/* Make no-retry faults older than the process, so that they are not reported. */
	dw[1] = cpu_to_le32(retry ? FAULT_TS : 0);
	dw[2] = 0;
	dw[3] = cpu_to_le32(VGPU_PREP(IH_DW3__PASID, (u32)pasid));
	dw[4] = cpu_to_le32(FAULT_PAGE + cam);
	dw[5] = cpu_to_le32(retry ? IH_FAULT_D1__RETRY : 0);
	dw[6] = cpu_to_le32(cam);
	dw[7] = cpu_to_le32(serial);
	m->wptr = cpu_to_le32(m->next % FAULT_ENTRIES * IH_ENTRY_BYTES);
	local_irq_disable();
	vgpu_ih_service(m->vm->vdev);
	local_irq_enable();
}

static void fault_expect_ack(struct kunit *test, struct fault_mock *m, u64 acks, u32 cam)
{
	u64 now;

	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_acks, now, now == acks, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	KUNIT_EXPECT_EQ(test, m->doorbells[DOORBELL_IH_RETRY_CAM_DW], cam);
}

/*
 * Check that faults of another process, and of an unused PASID, are handled while the worker of
 * m->stalled waits for mmap_lock.
 */
static void fault_beside_stalled(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	int nobody = kfd_pasid_alloc();

	KUNIT_EXPECT_GT(test, nobody, 0);
	fault_put(m, m->stalled.p.pasid, true, 5, 1);
	fault_put(m, m->other.p.pasid, true, 6, 2);
	fault_expect_ack(test, m, 1, 6);
	fault_put(m, nobody, true, 7, 3);
	fault_expect_ack(test, m, 2, 7);
	fault_put(m, m->other.p.pasid, true, 8, 4);
	fault_expect_ack(test, m, 3, 8);
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, fault_acks(m), 4);
	KUNIT_EXPECT_EQ(test, m->doorbells[DOORBELL_IH_RETRY_CAM_DW], 5);
	kfd_pasid_free(nobody);
}

/*
 * Return true if the worker of the stalled process has taken all faults of this process from the
 * lists.
 */
static bool fault_taken(struct fault_mock *m)
{
	struct svm_fault_queue *q = &m->stalled.p.svms->gpus[0].faults;
	bool taken;

	spin_lock_irq(&m->sn.fault_lock);
	taken = list_empty(&q->pending) && list_empty(&q->batch);
	spin_unlock_irq(&m->sn.fault_lock);
	return taken;
}

/*
 * A process has many faults while its worker stalls. Catches: each fault makes the process's queue
 * longer; a CAM slot is not acknowledged after the worker has continued.
 */
static void fault_bounded(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct svm_fault_queue *q = &m->stalled.p.svms->gpus[0].faults;
	u16 pasid = m->stalled.p.pasid;
	unsigned int i;
	bool taken;

	fault_put(m, pasid, true, 0, 1);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_taken, taken, taken, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	/* Repeat the faults of slots 0 and 1, as the hardware does until the acknowledge. */
	for (i = 0; i < FAULT_RESENT; i++) {
		fault_put(m, pasid, true, 0, 1);
		fault_put(m, pasid, true, 1, 2);
		/*
		 * Raise a new fault with slot 2, although no earlier fault with slot 2 was
		 * acknowledged. The hardware does so after a reset, which frees all slots.
		 */
		fault_put(m, pasid, true, 2, 3 + i);
	}
	for (i = 0; i < FAULT_NORETRY; i++)
		fault_put(m, pasid, false, 0, FAULT_RESENT + 3 + i);
	/* Catches: the counter of batches counts faults, or worker runs without faults. */
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->vm->vdev, VGPU_STAT_FAULT_BATCHES), 1);
	/* This slot number is too large by one, so the fault is dropped. */
	fault_put(m, pasid, true, VGPU_RETRY_CAM_SLOTS, 1);
	spin_lock_irq(&m->sn.fault_lock);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&q->pending), 2 + SVM_FAULT_REPORTS);
	spin_unlock_irq(&m->sn.fault_lock);
	KUNIT_EXPECT_EQ(test, m->sn.slots[2].serial, FAULT_RESENT + 2);
	/*
	 * The counter includes the first fault of each slot, and the fault with the invalid slot.
	 * Repeated and replacing faults do not count.
	 */
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->vm->vdev, VGPU_STAT_FAULTS_RETRY), 4);
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, fault_acks(m), 3);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->vm->vdev, VGPU_STAT_FAULT_BATCHES), 2);
}

/*
 * A new fault gets the CAM slot of a waiting fault, as after a reset. Catches: the slot is also
 * acknowledged for the old fault.
 */
static void fault_slot_reused(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_put(m, m->stalled.p.pasid, true, 0, 1);
	fault_put(m, m->stalled.p.pasid, true, 1, 2);
	fault_put(m, m->other.p.pasid, true, 1, 3);
	fault_expect_ack(test, m, 1, 1);
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, fault_acks(m), 2);
	KUNIT_EXPECT_EQ(test, m->doorbells[DOORBELL_IH_RETRY_CAM_DW], 0);
}

/*
 * Faults of the stalled process fill all CAM slots, so no slot is free for other processes. The
 * driver must evict the stalled process's queues, and free the slots by acknowledging them.
 */
static void fault_cam_full(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct kfd_process_device *pdd = &m->stalled.pdd;
	u16 pasid = m->stalled.p.pasid;
	unsigned int cam;
	bool taken;
	u64 now;

	fault_put(m, pasid, true, 0, 1);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_taken, taken, taken, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	for (cam = 1; cam < VGPU_RETRY_CAM_SLOTS - 1; cam++)
		fault_put(m, pasid, true, cam, cam + 1);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&m->sn.cam_work));
	fault_put(m, pasid, true, cam, cam + 1);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_acks, now, now == VGPU_RETRY_CAM_SLOTS,
					  USEC_PER_MSEC, FAULT_TIMEOUT_US, false, m), 0);
	/*
	 * cam_work has acknowledged all slots, but may still have to count the stall in
	 * VGPU_STAT_CAM_STALLS. So wait for the end of cam_work.
	 */
	flush_delayed_work(&m->sn.cam_work);
	KUNIT_EXPECT_EQ(test, pdd->evicted, 2);
	KUNIT_EXPECT_EQ(test, m->other.pdd.evicted, 1);
	fault_put(m, m->other.p.pasid, true, 3, 100);
	fault_expect_ack(test, m, VGPU_RETRY_CAM_SLOTS + 1, 3);
	fault_mock_end(test, m);
	/*
	 * fault_process_init() has set pdd->evicted to 1. An eviction by cam_work has raised the
	 * count to 2. The worker of m->stalled has undone this eviction, so the count is 1 again.
	 */
	KUNIT_EXPECT_EQ(test, pdd->evicted, 1);
	/*
	 * Each fault was acknowledged once: VGPU_RETRY_CAM_SLOTS faults of m->stalled, and one of
	 * m->other.
	 */
	KUNIT_EXPECT_EQ(test, fault_acks(m), VGPU_RETRY_CAM_SLOTS + 1);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->vm->vdev, VGPU_STAT_CAM_STALLS), 1);
}

/* Replaces svm_fault_cpu_idle(): the interrupt has come on an idle CPU. */
static bool fault_cpu_is_idle(void)
{
	return true;
}

/* Raise an interrupt with a retry fault, on an idle CPU if @idle. */
static void fault_put_on(struct kunit *test, struct fault_mock *m, u16 pasid, bool idle, u32 cam)
{
	if (idle)
		kunit_activate_static_stub(test, svm_fault_cpu_idle, fault_cpu_is_idle);
	fault_put(m, pasid, true, cam, cam + 1);
	if (idle)
		kunit_deactivate_static_stub(test, svm_fault_cpu_idle);
}

/*
 * If @idle, the first fault of the stalled process comes on an idle CPU and the second one on a
 * busy CPU, otherwise the other way round.
 */
static void fault_worker(struct kunit *test, bool idle)
{
	struct fault_mock *m = fault_mock_new(test);
	struct svm_fault_queue *q = &m->stalled.p.svms->gpus[0].faults;
	u16 pasid = m->stalled.p.pasid;
	bool taken;

	fault_put_on(test, m, pasid, idle, 5);
	KUNIT_EXPECT_EQ(test, !!work_busy(&q->local_work), idle);
	KUNIT_EXPECT_EQ(test, !!work_busy(&q->work), !idle);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_taken, taken, taken, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	fault_put_on(test, m, pasid, !idle, 6);
	KUNIT_EXPECT_EQ(test, !!work_busy(&q->local_work), idle);
	KUNIT_EXPECT_EQ(test, !!work_busy(&q->work), !idle);
	/* A worker of the other process does not wait for the stalled worker on the same CPU. */
	fault_put_on(test, m, m->other.p.pasid, idle, 7);
	fault_expect_ack(test, m, 1, 7);
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, fault_acks(m), 3);
}

/*
 * Catches: the worker of a fault on an idle CPU is not bound to this CPU; a second worker serves
 * the queue while the first one does; the second fault is not served.
 */
static void fault_idle_cpu(struct kunit *test)
{
	fault_worker(test, true);
}

/*
 * Catches: the worker of a fault on a busy CPU is bound to this CPU, where it may wait for a
 * real-time task; the other defects of fault_idle_cpu().
 */
static void fault_busy_cpu(struct kunit *test)
{
	fault_worker(test, false);
}

/*
 * svm_cam_work() has taken the user queues off the GPU and dropped all queued faults before the
 * worker looks at them. Catches: a worker without faults leaves the user queues off the GPU.
 */
static void fault_cam_dropped(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct svm_fault_queue *q = &m->stalled.p.svms->gpus[0].faults;
	struct kfd_process_device *pdd = &m->stalled.pdd;

	pdd->evicted++;
	kref_get(&m->stalled.p.ref);
	spin_lock_irq(&m->sn.fault_lock);
	q->off = true;
	q->scheduled = true;
	spin_unlock_irq(&m->sn.fault_lock);
	queue_work(q->wq, &q->work);
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, pdd->evicted, 1);
}

static void fault_marker(struct work_struct *work)
{
	complete(&container_of(work, struct fault_mock, marker)->marked);
}

/* Let the stalled worker take mmap_lock once or more. Return fault_taken() afterwards. */
static bool fault_let_run(struct fault_mock *m)
{
	mmap_write_unlock(current->mm);
	mmap_write_lock(current->mm);
	return fault_taken(m);
}

/*
 * While the worker serves a fault, another work item of the process is queued, and then the next
 * fault arrives. Catches: the worker does not return while faults arrive, so that the other work
 * items of the ordered workqueue wait.
 */
static void fault_shares_wq(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	u16 pasid = m->stalled.p.pasid;
	bool taken;

	init_completion(&m->marked);
	INIT_WORK(&m->marker, fault_marker);
	fault_put(m, pasid, true, 5, 1);
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_taken, taken, taken, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	queue_work(m->stalled.p.svms->wq, &m->marker);
	fault_put(m, pasid, true, 6, 2);
	KUNIT_EXPECT_FALSE(test, completion_done(&m->marked));
	KUNIT_EXPECT_EQ(test,
			read_poll_timeout(fault_let_run, taken, taken, USEC_PER_MSEC,
					  FAULT_TIMEOUT_US, false, m), 0);
	KUNIT_EXPECT_TRUE(test, completion_done(&m->marked));
	fault_mock_end(test, m);
	KUNIT_EXPECT_EQ(test, fault_acks(m), 2);
}

/* Mask of the slots for which ack_record() was called since the start of the test. */
static unsigned long ack_slots;
/* True if ack_record() was called while interrupts were enabled. */
static bool ack_interrupts;

/* Replaces vgpu_ih_cam_ack(). */
static void ack_record(struct vgpu_device *vdev, u32 cam)
{
	ack_slots |= BIT(cam);
	if (!irqs_disabled())
		ack_interrupts = true;
}

/* Put a fault of @q with slot @cam, on page FAULT_PAGE + @cam, into @list. */
static void ack_put(struct fault_mock *m, struct svm_fault_queue *q, struct list_head *list,
		    unsigned int cam)
{
	struct svm_fault *f = &m->sn.slots[cam];

	*f = (struct svm_fault){ .page = FAULT_PAGE + cam, .cam = cam, .retry = true };
	list_add_tail(&f->link, list);
	m->sn.cam_owners[cam] = q;
}

/*
 * The repair of the fault in slot 0 has mapped the page of another fault in its batch, and the page
 * of a fault that has arrived during the repair. Catches: a fault that the repair resolves keeps
 * its slot, so that it is served alone, or one that it does not resolve loses its slot; an
 * interrupt may come between the acknowledgments, so that each queue that faults again costs an
 * interrupt of its own.
 */
static void fault_acks_together(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct svm_fault_queue *q = &m->stalled.p.svms->gpus[0].faults;
	const struct svm_interval win = { FAULT_PAGE, FAULT_PAGE + 2 };
	struct svm_fault f = { .page = FAULT_PAGE, .retry = true };
	unsigned int cam;

	ack_slots = 0;
	ack_interrupts = false;
	kunit_activate_static_stub(test, vgpu_ih_cam_ack, ack_record);
	spin_lock_irq(&m->sn.fault_lock);
	ack_put(m, q, &q->batch, 1);
	ack_put(m, q, &q->pending, 2);
	ack_put(m, q, &q->batch, 3);
	m->sn.cam_owners[0] = q;
	q->serving = &f;
	spin_unlock_irq(&m->sn.fault_lock);

	svm_fault_ack(q, &f, &win);
	KUNIT_EXPECT_EQ(test, ack_slots, BIT(0) | BIT(1) | BIT(2));
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(m->vm->vdev, VGPU_STAT_FAULTS_COVERED), 2);
	KUNIT_EXPECT_FALSE(test, ack_interrupts);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_NULL(test, q->serving);
	for (cam = 0; cam < 3; cam++)
		KUNIT_EXPECT_NULL(test, m->sn.cam_owners[cam]);
	KUNIT_EXPECT_PTR_EQ(test, m->sn.cam_owners[3], q);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&q->batch));
	KUNIT_EXPECT_TRUE(test, list_empty(&q->pending));

	/* Serve the last fault, without a repair. */
	spin_lock_irq(&m->sn.fault_lock);
	list_del_init(&m->sn.slots[3].link);
	spin_unlock_irq(&m->sn.fault_lock);
	svm_fault_ack(q, &m->sn.slots[3], NULL);
	KUNIT_EXPECT_EQ(test, ack_slots, GENMASK(3, 0));
	kunit_deactivate_static_stub(test, vgpu_ih_cam_ack);
	fault_mock_end(test, m);
}

static struct kunit_case fault_queue_cases[] = {
	KUNIT_CASE(fault_beside_stalled),
	KUNIT_CASE(fault_bounded),
	KUNIT_CASE(fault_slot_reused),
	KUNIT_CASE(fault_cam_full),
	KUNIT_CASE(fault_idle_cpu),
	KUNIT_CASE(fault_busy_cpu),
	KUNIT_CASE(fault_cam_dropped),
	KUNIT_CASE(fault_shares_wq),
	KUNIT_CASE(fault_acks_together),
	{}
};

static struct kunit_suite fault_queue_suite = {
	.name = "svm_fault_queue",
	.test_cases = fault_queue_cases,
};

kunit_test_suite(fault_queue_suite);
