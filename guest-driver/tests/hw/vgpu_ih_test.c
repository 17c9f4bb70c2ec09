// SPDX-License-Identifier: GPL-2.0
/*
 * Test hw/vgpu_ih.c and svm_fault_decode(): write entries into the ring, and check the handlers'
 * arguments.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "vgpu/doorbell.h"
#include "hw/vgpu_hw_priv.h"
#include "svm/svm_fault_entry.h"
#include "tests/lib/vgpu_mock.h"

#define ENTRIES		(IH_RING_BYTES / IH_ENTRY_BYTES)
#define ROUNDS		400

/**
 * struct ih_mock - a device with an interrupt ring
 * @mock: device
 * @ring: interrupt ring
 * @wptr: write-back of the write pointer
 * @next: number of entries written so far
 */
struct ih_mock {
	struct vgpu_mock *mock;
	__le32 *ring;
	__le32 wptr;
	u64 next;
};

static struct ih_mock *ih_mock_new(struct kunit *test)
{
	struct ih_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_ih *ih;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	m->ring = kunit_kzalloc(test, IH_RING_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->ring);
	ih = &m->mock->hw.ih;
	spin_lock_init(&ih->lock);
	mutex_init(&ih->poll_lock);
	ih->ring = m->ring;
	ih->wptr_wb = &m->wptr;
	vgpu_ih_start(&m->mock->vdev);
	return m;
}

static void ih_put(struct ih_mock *m, const u32 *dw)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		m->ring[m->next % ENTRIES * 8 + i] = cpu_to_le32(dw[i]);
	m->next++;
	m->wptr = cpu_to_le32(m->next % ENTRIES * 32);
}

/* Write an entry with @number as its first data word to the ring. */
static void ih_put_number(struct ih_mock *m, u8 client, u8 source, u32 number)
{
	const u32 dw[8] = { client | source << 8, 0, 0, 0, number };

	ih_put(m, dw);
}

/**
 * struct ih_seen - results of the handler ih_note()
 */
struct ih_seen {
	/** @last: decoded fields of the last entry, checked by ih_fields() */
	struct vgpu_iv_entry last;
	/** @n: number of entries that the handler got */
	unsigned int n;
	/** @expect: value that the next entry must have in its first data word */
	u32 expect;
	/** @wrong: the first data word of an entry was not @expect */
	bool wrong;
};

static void ih_note(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		    void *arg)
{
	struct ih_seen *seen = arg;

	seen->last = *iv;
	seen->n++;
	seen->wrong |= iv->data[0] != seen->expect++;
}

static void ih_note_too(struct vgpu_device *vdev,
			const struct vgpu_iv_entry *iv, void *arg)
{
	ih_note(vdev, iv, arg);
}

/*
 * Write entries with random values at the bit positions of docs/hardware.md, and compare the
 * decoded fields with the values.
 */
static void ih_fields(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	struct ih_seen seen = {};
	unsigned int i, k;

	KUNIT_ASSERT_EQ(test, vgpu_ih_register(vdev, 0x1b, 0, ih_note, &seen),
			0);
	for (i = 0; i < ROUNDS; i++) {
		u64 ts = vgpu_mock_random(m->mock, BIT_ULL(48));
		u32 vmid = vgpu_mock_random(m->mock, 16);
		u32 ring = vgpu_mock_random(m->mock, 256);
		u32 pasid = vgpu_mock_random(m->mock, 65536);
		u32 node = vgpu_mock_random(m->mock, 256);
		u32 mm = vgpu_mock_random(m->mock, 2);
		/* Reserved bits are set in half of the rounds. */
		u32 noise = vgpu_mock_random(m->mock, 2) ? U32_MAX : 0;
		u32 dw[8] = {
			0x1b | ring << 16 | vmid << 24 | mm << 31 |
				(noise & 0x70000000),
			lower_32_bits(ts),
			upper_32_bits(ts) | (noise & 0xffff0000),
			pasid | node << 16 | (noise & 0xff000000),
		};

		for (k = 4; k < 8; k++)
			dw[k] = vgpu_mock_random(m->mock, BIT_ULL(32));
		ih_put(m, dw);
		vgpu_ih_service(vdev);
		KUNIT_ASSERT_EQ(test, seen.n, i + 1);
		KUNIT_ASSERT_EQ(test, seen.last.client, 0x1b);
		KUNIT_ASSERT_EQ(test, seen.last.source, 0);
		KUNIT_ASSERT_EQ(test, seen.last.timestamp, ts);
		KUNIT_ASSERT_EQ(test, seen.last.vmid, vmid);
		KUNIT_ASSERT_EQ(test, seen.last.mm_hub, !!mm);
		KUNIT_ASSERT_EQ(test, seen.last.ring, ring);
		KUNIT_ASSERT_EQ(test, seen.last.pasid, pasid);
		KUNIT_ASSERT_EQ(test, seen.last.node, node);
		KUNIT_ASSERT_EQ(test, memcmp(seen.last.data, dw + 4, 16), 0);
	}
}

/*
 * Check that svm_fault_decode() reads each field of a page fault's entry, and ignores reserved
 * bits.
 */
static void ih_fault_fields(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		u64 va = vgpu_test_random(&rnd, BIT_ULL(48));
		u32 write = vgpu_test_random(&rnd, 2);
		u32 retry = vgpu_test_random(&rnd, 2);
		u32 cam = vgpu_test_random(&rnd, 1024);
		u32 noise = vgpu_test_random(&rnd, 2) ? U32_MAX : 0;
		const struct vgpu_iv_entry iv = {
			.timestamp = vgpu_test_random(&rnd, BIT_ULL(48)),
			.pasid = vgpu_test_random(&rnd, 65536),
			.vmid = vgpu_test_random(&rnd, 16),
			.data = {
				lower_32_bits(va >> 12),
				va >> 44 | write << 5 | retry << 7 |
					(noise & 0xffffff50),
				cam | (noise & ~1023u),
				vgpu_test_random(&rnd, BIT_ULL(32)),
			},
		};
		struct svm_fault f;

		memset(&f, 0xff, sizeof(f));
		svm_fault_decode(&f, &iv);
		KUNIT_ASSERT_EQ(test, f.page, va >> 12);
		KUNIT_ASSERT_EQ(test, f.write, write);
		KUNIT_ASSERT_EQ(test, f.retry, retry);
		KUNIT_ASSERT_EQ(test, f.cam, cam);
		KUNIT_ASSERT_EQ(test, f.serial, iv.data[3]);
		KUNIT_ASSERT_EQ(test, f.ts, iv.timestamp);
		KUNIT_ASSERT_EQ(test, f.pasid, iv.pasid);
		KUNIT_ASSERT_EQ(test, f.vmid, iv.vmid);
	}
}

/*
 * Write batches of random size, four times around the ring. Check that each entry is dispatched
 * once and in order.
 */
static void ih_wrap(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	atomic64_t *stats = vdev->stats;
	struct ih_seen seen = {};
	u32 number = 0;

	KUNIT_ASSERT_EQ(test, vgpu_ih_register(vdev, 8, 224, ih_note, &seen),
			0);
	while (number < 4 * ENTRIES) {
		u64 n = vgpu_mock_random(m->mock, ENTRIES);

		while (n--)
			ih_put_number(m, 8, 224, number++);
		vgpu_ih_service(vdev);
		KUNIT_ASSERT_EQ(test, seen.n, number);
		KUNIT_ASSERT_FALSE(test, seen.wrong);
		KUNIT_ASSERT_EQ(test, m->mock->doorbells[DOORBELL_IH << 1],
				number % ENTRIES * 32);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&stats[VGPU_STAT_IH_ENTRIES]),
			number);
	KUNIT_EXPECT_EQ(test, atomic64_read(&stats[VGPU_STAT_IH_OVERFLOWS]), 0);
}

static void ih_empty(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	struct ih_seen seen = {};

	KUNIT_ASSERT_EQ(test, vgpu_ih_register(vdev, 0, 0, ih_note, &seen), 0);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	ih_put_number(m, 0, 0, 0);
	vgpu_ih_service(vdev);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
}

/* Check that all handlers of an entry's source are called, and no handler of another source. */
static void ih_dispatch_to(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	struct ih_seen a = {}, b = {}, other_client = {}, other_source = {};

	vgpu_ih_register(vdev, 8, 224, ih_note, &a);
	vgpu_ih_register(vdev, 9, 224, ih_note, &other_client);
	vgpu_ih_register(vdev, 8, 225, ih_note, &other_source);
	vgpu_ih_register(vdev, 8, 224, ih_note_too, &b);
	ih_put_number(m, 8, 224, 0);
	ih_put_number(m, 8, 224, 1);
	ih_put_number(m, 9, 224, 0);
	ih_put_number(m, 1, 224, 0);	/* client 1 has no handler */
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, a.n, 2);
	KUNIT_EXPECT_EQ(test, b.n, 2);
	KUNIT_EXPECT_FALSE(test, a.wrong || b.wrong || other_client.wrong);
	KUNIT_EXPECT_EQ(test, other_client.n, 1);
	KUNIT_EXPECT_EQ(test, other_source.n, 0);
}

static void ih_unregister(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	struct ih_seen a = {}, same_fn = {}, same_source = {};

	vgpu_ih_register(vdev, 8, 224, ih_note, &a);
	vgpu_ih_register(vdev, 9, 224, ih_note, &same_fn);
	vgpu_ih_register(vdev, 8, 224, ih_note_too, &same_source);
	vgpu_ih_unregister(vdev, 8, 224, ih_note);
	ih_put_number(m, 8, 224, 0);
	ih_put_number(m, 9, 224, 0);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, a.n, 0);
	KUNIT_EXPECT_EQ(test, same_fn.n, 1);
	KUNIT_EXPECT_EQ(test, same_source.n, 1);
}

/**
 * struct ih_linger - a handler that still runs while it is unregistered
 * @vdev: device
 * @inside: the handler has been called
 * @gone: vgpu_ih_unregister() has returned
 * @left: the handler is about to return
 * @polled: vgpu_ih_poll() has returned
 */
struct ih_linger {
	struct vgpu_device *vdev;
	bool inside, gone, left;
	struct completion polled;
};

/*
 * Handler in slot 0. Waits until vgpu_ih_unregister() has emptied the slot, then until
 * vgpu_ih_unregister() has returned (l->gone).
 */
static void ih_linger(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		      void *arg)
{
	struct ih_linger *l = arg;
	unsigned int us;

	WRITE_ONCE(l->inside, true);
	for (us = 0; us < USEC_PER_SEC && READ_ONCE(to_hw_state(vdev)->ih.slots[0].fn); us++)
		udelay(1);
	/*
	 * Stay in the handler for up to 20 ms. A vgpu_ih_unregister() that does not wait for the
	 * handler returns in this time.
	 */
	for (us = 0; us < 20 * USEC_PER_MSEC && !READ_ONCE(l->gone); us++)
		udelay(1);
	WRITE_ONCE(l->left, true);
}

static int ih_poller(void *arg)
{
	struct ih_linger *l = arg;

	vgpu_ih_poll(l->vdev, false);
	kthread_complete_and_exit(&l->polled, 0);
}

/*
 * Catches: vgpu_ih_unregister() returns while vgpu_ih_poll() is in the handler, which then uses
 * memory that its owner has freed.
 */
static void ih_unregister_polled(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct ih_linger *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	bool left;

	KUNIT_ASSERT_NOT_NULL(test, l);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: handler and unregister run at the same time");
	l->vdev = &m->mock->vdev;
	init_completion(&l->polled);
	/* INT_MAX is not a valid IRQ, so disable_irq() and enable_irq() do nothing. */
	to_hw_state(l->vdev)->ih.irq = INT_MAX;
	vgpu_ih_register(l->vdev, 8, 224, ih_linger, l);
	ih_put_number(m, 8, 224, 0);

	vgpu_test_start_elsewhere(test, ih_poller, l);
	while (!READ_ONCE(l->inside) && !completion_done(&l->polled))
		usleep_range(50, 100);
	vgpu_ih_unregister(l->vdev, 8, 224, ih_linger);
	left = READ_ONCE(l->left);
	WRITE_ONCE(l->gone, true);
	wait_for_completion(&l->polled);
	migrate_enable();
	KUNIT_EXPECT_TRUE(test, l->inside);
	KUNIT_EXPECT_TRUE(test, left);
}

static void ih_slots(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	unsigned int i;

	for (i = 0; i < VGPU_MAX_IV_HANDLERS; i++)
		KUNIT_ASSERT_EQ(test, vgpu_ih_register(vdev, i, 1, ih_note,
						       NULL), 0);
	KUNIT_EXPECT_EQ(test, vgpu_ih_register(vdev, i, 1, ih_note, NULL),
			-ENOSPC);
	vgpu_ih_unregister(vdev, 3, 1, ih_note);
	KUNIT_EXPECT_EQ(test, vgpu_ih_register(vdev, i, 1, ih_note, NULL), 0);
	KUNIT_EXPECT_EQ(test, vgpu_ih_register(vdev, i, 1, ih_note, NULL),
			-ENOSPC);
}

static void ih_cam_ack(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	u32 cam;

	for (cam = 0; cam < VGPU_RETRY_CAM_SLOTS; cam++) {
		vgpu_ih_cam_ack(vdev, cam);
		KUNIT_ASSERT_EQ(test,
				m->mock->doorbells[DOORBELL_IH_RETRY_CAM_DW],
				cam);
	}
	KUNIT_EXPECT_EQ(test,
			vgpu_stat_read(vdev, VGPU_STAT_CAM_ACKS),
			VGPU_RETRY_CAM_SLOTS);
}

/*
 * Check that after an overflow of the ring, the entries that were not overwritten are dispatched,
 * and all CAM slots are released.
 */
static void ih_overflow(struct kunit *test)
{
	struct ih_mock *m = ih_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	u32 number, at = 100;
	struct ih_seen seen = {
		.expect = at + 1,
	};

	vgpu_ih_register(vdev, 8, 224, ih_note, &seen);
	for (number = 0; number < ENTRIES + at; number++)
		ih_put_number(m, 8, 224, number);
	/*
	 * The oldest remaining entry is at the write pointer. The driver must skip this entry:
	 * equal read and write pointers would mean an empty ring.
	 */
	m->mock->regs[IH_RB_WPTR] = at * 32;
	m->wptr = cpu_to_le32(at * 32 | IH_RB_WPTR__RB_OVERFLOW);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, seen.n, ENTRIES - 1);
	KUNIT_EXPECT_FALSE(test, seen.wrong);
	KUNIT_EXPECT_EQ(test, m->mock->doorbells[DOORBELL_IH << 1], at * 32);
	KUNIT_EXPECT_FALSE(test, m->mock->regs[IH_RB_CNTL] &
			   IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
	KUNIT_EXPECT_EQ(test,
			vgpu_stat_read(vdev, VGPU_STAT_CAM_ACKS),
			VGPU_RETRY_CAM_SLOTS);
	KUNIT_EXPECT_EQ(test,
			vgpu_stat_read(vdev, VGPU_STAT_IH_OVERFLOWS),
			1);
}

static struct kunit_case ih_cases[] = {
	KUNIT_CASE(ih_fields),
	KUNIT_CASE(ih_fault_fields),
	KUNIT_CASE(ih_wrap),
	KUNIT_CASE(ih_empty),
	KUNIT_CASE(ih_dispatch_to),
	KUNIT_CASE(ih_unregister),
	KUNIT_CASE(ih_unregister_polled),
	KUNIT_CASE(ih_slots),
	KUNIT_CASE(ih_cam_ack),
	KUNIT_CASE(ih_overflow),
	{}
};

static struct kunit_suite ih_suite = {
	.name = "vgpu_ih",
	.test_cases = ih_cases,
};

kunit_test_suite(ih_suite);
