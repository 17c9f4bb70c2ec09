// SPDX-License-Identifier: GPL-2.0
/*
 * Serve faults on memory of a real address space (svm/svm_map.c), and map memory ahead of them
 * (svm/svm_fault_ahead.c). Compare the GPU's entries with the CPU's pages, by the content of the
 * memory to which the entries point.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_fault.h"
#include "svm/svm_fault_ahead.h"
#include "svm/svm_fault_entry.h"
#include "svm/svm_map.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "tests/lib/vgpu_vm_mock.h"

/* Wherever the memory begins, a whole granule lies in it, and parts of two others. */
#define MAP_PAGES	1200u
#define MAP_GRANULE	512ul
/* GPU clock at the faults. The process's time of birth is 0, because the mock's clock stands. */
#define MAP_TS		1000u
#define MAP_RO		(VGPU_PTE_VALID | VGPU_PTE_SYSTEM | VGPU_PTE_READABLE)
#define MAP_RW		(MAP_RO | VGPU_PTE_WRITEABLE)
/* The CPU does not touch this page, nor each seventh page before and after it. */
#define MAP_FAULT	599u
/* Number of whole granules in the memory of ahead_mock_init(), wherever the memory begins. */
#define AHEAD_GRANULES	5u
#define AHEAD_PAGES	((unsigned int)((AHEAD_GRANULES + 1) * MAP_GRANULE))
/* The CPU does not touch a page of this granule. */
#define AHEAD_PARTIAL	4u

/**
 * struct map_mock - a process on one GPU, with anonymous memory
 */
struct map_mock {
	/** @p: process, with XNACK on */
	struct kfd_process p;
	/** @pdd: the only element of @p.pdds */
	struct kfd_process_device pdd;
	/** @node: GPU */
	struct kfd_node node;
	/** @sn: SVM state of the GPU */
	struct svm_node sn;
	/** @dev: device for which pages are mapped; without IOMMU */
	struct device dev;
	/** @vm: address space of @p */
	struct vm_mock *vm;
	/** @page: number of the first page */
	unsigned long page;
};

/* Create a process with @pages pages of memory. */
static struct map_mock *map_mock_new(struct kunit *test, unsigned int pages)
{
	struct map_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, m);
	/* The test's thread has no mm. kunit_vm_mmap() attaches an mm to the thread. */
	addr = kunit_vm_mmap(test, NULL, 0, pages * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	m->page = addr >> PAGE_SHIFT;
	m->dev.coherent_dma_mask = DMA_BIT_MASK(64);
	m->dev.dma_mask = &m->dev.coherent_dma_mask;
	m->vm = vm_mock_new(test, false);
	m->vm->vdev->drm.dev = &m->dev;
	spin_lock_init(&m->vm->hw.latch_lock);
	m->node.vdev = m->vm->vdev;
	INIT_LIST_HEAD(&m->node.smi.clients);
	m->node.svm = &m->sn;
	m->sn.node = &m->node;
	m->sn.supported = true;
	spin_lock_init(&m->sn.fault_lock);
	m->pdd.node = &m->node;
	m->pdd.process = &m->p;
	m->pdd.vm = &m->vm->vm.base;
	m->p.pdds[0] = &m->pdd;
	m->p.n_pdds = 1;
	m->p.lead_thread = current;
	m->p.mm = current->mm;
	m->p.xnack_enabled = true;
	mutex_init(&m->p.mutex);
	mutex_init(&m->p.queue_lock);
	KUNIT_ASSERT_EQ(test, svm_range_list_init(&m->p), 0);
	/* The mock cannot migrate memory. */
	m->p.svms->policy = SVM_POLICY_IN_PLACE;
	return m;
}

static void map_mock_end(struct map_mock *m)
{
	svm_range_list_fini(&m->p);
}

/* Return true if the CPU writes to page @i before the faults. */
static bool map_touched(unsigned int i)
{
	return i % 7 != MAP_FAULT % 7;
}

/* Write a word to the start of page @i. Returns 0 or -EFAULT. */
static int map_put(struct map_mock *m, unsigned int i, u32 word)
{
	return put_user(word, (u32 __user *)((m->page + i) << PAGE_SHIFT));
}

/* Write @tag + i to page i, for all pages if @all is true, otherwise for those of map_touched(). */
static void map_touch(struct kunit *test, struct map_mock *m, u32 tag, bool all)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < MAP_PAGES; i++)
		if (all || map_touched(i))
			err |= map_put(m, i, tag + i);
	KUNIT_EXPECT_EQ(test, err, 0);
}

static enum svm_verdict map_serve(struct map_mock *m, unsigned int i, bool write,
				  struct svm_interval *win)
{
	const struct svm_fault f = {
		.page = m->page + i, .ts = MAP_TS, .not_present = true, .retry = true,
		.write = write,
	};

	return svm_fault_service(&m->node, &m->p, &f, win);
}

/*
 * Serve a fault at page @i. The fault has to map the granule of this page, cut at the pages @first
 * and @last. Sets *@win to these pages, as numbers of pages of the mock.
 */
static void map_fault(struct kunit *test, struct map_mock *m, unsigned int i, bool write,
		      unsigned int first, unsigned int last, struct svm_interval *win)
{
	unsigned long start = ALIGN_DOWN(m->page + i, MAP_GRANULE);

	KUNIT_EXPECT_EQ(test, map_serve(m, i, write, win), SVM_FAULT_REPAIRED);
	KUNIT_EXPECT_EQ(test, win->first, max(start, m->page + first));
	KUNIT_EXPECT_EQ(test, win->last, min(start + MAP_GRANULE - 1, m->page + last));
	win->first -= m->page;
	win->last -= m->page;
}

/*
 * Check the entry of page @i: its flags are @flags, and the memory to which it points begins with
 * @word. A writable page has to be dirty.
 */
static void map_check(struct kunit *test, struct map_mock *m, unsigned int i, u64 flags, u32 word)
{
	unsigned long page = m->page + i;
	u64 pte = vgpu_vm_read_pte(&m->vm->vm.base, page);
	phys_addr_t phys = pte & VGPU_PTE_ADDR;

	KUNIT_EXPECT_EQ_MSG(test, pte & MAP_RW, flags, "page %u", i);
	if (!(pte & VGPU_PTE_VALID))
		return;
	/* If memory happens to be contiguous, a leaf may map all pages of a PTB. */
	if (FIELD_GET(VGPU_PTE_FRAG, pte))
		phys += page % VGPU_PT_ENTRIES << PAGE_SHIFT;
	KUNIT_EXPECT_EQ_MSG(test, *(u32 *)phys_to_virt(phys), word, "page %u", i);
	if (flags & VGPU_PTE_WRITEABLE)
		KUNIT_EXPECT_TRUE_MSG(test,
				      folio_test_dirty(page_folio(pfn_to_page(PHYS_PFN(phys)))),
				      "page %u", i);
}

/*
 * The CPU has touched six of seven pages. A read fault maps these pages for writes, too, and the
 * zero page for reads only. A write fault then makes all pages writable. Catches: pages of one kind
 * get the flags of the other kind; an entry points to another page's memory; pages outside of the
 * granule are mapped; a page that the GPU may write stays clean.
 */
static void map_mixed(struct kunit *test)
{
	struct map_mock *m = map_mock_new(test, MAP_PAGES);
	struct svm_interval win;
	unsigned int i;

	map_touch(test, m, 1, false);
	map_fault(test, m, MAP_FAULT, false, 0, MAP_PAGES - 1, &win);
	for (i = 0; i < MAP_PAGES; i++)
		map_check(test, m, i,
			  !svm_interval_has(win, i) ? 0 : map_touched(i) ? MAP_RW : MAP_RO,
			  map_touched(i) ? 1 + i : 0);

	map_fault(test, m, MAP_FAULT, true, 0, MAP_PAGES - 1, &win);
	/* The CPU and the entries must use the same pages. */
	map_touch(test, m, 5000, true);
	for (i = 0; i < MAP_PAGES; i++)
		map_check(test, m, i, svm_interval_has(win, i) ? MAP_RW : 0, 5000 + i);
	map_mock_end(m);
}

/*
 * Holes leave a part of a granule before them, a single page between them, and a part after them.
 * Catches: a fault maps pages beyond a hole, or fails because of one.
 */
static void map_parts(struct kunit *test)
{
	static const unsigned int holes[] = { MAP_FAULT - 1, MAP_FAULT + 1 };
	struct map_mock *m = map_mock_new(test, MAP_PAGES);
	struct svm_interval before, one, after;
	unsigned int i;

	map_touch(test, m, 1, true);
	for (i = 0; i < ARRAY_SIZE(holes); i++)
		KUNIT_EXPECT_EQ(test, vm_munmap((m->page + holes[i]) << PAGE_SHIFT, PAGE_SIZE), 0);
	map_fault(test, m, MAP_FAULT, true, MAP_FAULT, MAP_FAULT, &one);
	map_fault(test, m, MAP_FAULT - 2, true, 0, MAP_FAULT - 2, &before);
	map_fault(test, m, MAP_FAULT + 2, false, MAP_FAULT + 2, MAP_PAGES - 1, &after);
	for (i = 0; i < MAP_PAGES; i++)
		map_check(test, m, i,
			  svm_interval_has(before, i) || svm_interval_has(one, i) ||
			  svm_interval_has(after, i) ? MAP_RW : 0, 1 + i);
	map_mock_end(m);
}

/*
 * Let the worker of the process serve a write fault at page @i, and wait for the worker. The caller
 * has initialised m->p.ref and BAR 2.
 */
static void map_serve_by_worker(struct map_mock *m, unsigned int i)
{
	struct svm_fault_queue *q = &m->p.svms->gpus[0].faults;
	struct svm_fault *f = &m->sn.slots[0];

	*f = (struct svm_fault){
		.page = m->page + i, .ts = MAP_TS, .not_present = true, .retry = true,
		.write = true,
	};
	kref_get(&m->p.ref);	/* the worker drops it */
	spin_lock_irq(&m->sn.fault_lock);
	list_add_tail(&f->link, &q->pending);
	q->scheduled = true;
	spin_unlock_irq(&m->sn.fault_lock);
	queue_work(q->wq, &q->work);
	svm_fault_flush(m->p.svms);
}

/*
 * Catches: after a repair, the worker does not allocate the table and the DMA slots that the next
 * repair may need; the next repair allocates others nevertheless, or writes wrong entries into the
 * table.
 */
static void map_prepared(struct kunit *test)
{
	struct map_mock *m = map_mock_new(test, MAP_PAGES);
	struct svm_gpu *g = &m->p.svms->gpus[0];
	struct svm_dma_chunk *chunk;
	struct svm_interval win;
	u32 *doorbells;

	doorbells = kunit_kzalloc(test, VGPU_DOORBELL_BAR_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, doorbells);
	m->vm->hw.doorbell = (void __iomem __force *)doorbells;
	kref_init(&m->p.ref);
	map_touch(test, m, 1, true);
	map_serve_by_worker(m, MAP_FAULT);
	KUNIT_EXPECT_EQ(test, kref_read(&m->p.ref), 1);
	map_check(test, m, MAP_FAULT, MAP_RW, 1 + MAP_FAULT);
	chunk = g->dma_spare;
	KUNIT_EXPECT_NOT_NULL(test, chunk);
	KUNIT_EXPECT_NOT_NULL(test, m->vm->vm.pt.spare);

	/* Page 0 lies in another granule. */
	map_fault(test, m, 0, true, 0, MAP_PAGES - 1, &win);
	KUNIT_EXPECT_NULL(test, g->dma_spare);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&g->dma, m->page >> SVM_CHUNK_ORDER), chunk);
	KUNIT_EXPECT_NULL(test, m->vm->vm.pt.spare);
	map_check(test, m, 0, MAP_RW, 1);
	map_check(test, m, win.last, MAP_RW, 1 + win.last);
	map_check(test, m, MAP_FAULT, MAP_RW, 1 + MAP_FAULT);
	map_mock_end(m);
}

static struct svm_interval ahead_win(unsigned long granule)
{
	unsigned long first = MAP_GRANULE * granule;

	return (struct svm_interval){ first, first + MAP_GRANULE - 1 };
}

/*
 * Check how far to map ahead after faults on granules. Catches: memory is mapped ahead of faults
 * that go through it in another order, or after a single fault; the distance grows without limit; a
 * fault on pages that are mapped ahead ends the stream.
 */
static void ahead_note(struct kunit *test)
{
	struct svm_interval part = { 20 * MAP_GRANULE, 20 * MAP_GRANULE + 10 };
	struct svm_ahead a = { };
	unsigned long granule;

	svm_ahead_note(&a, 3 * MAP_GRANULE, SVM_FAULT_REPAIRED, ahead_win(3));
	KUNIT_EXPECT_EQ(test, a.next, 4 * MAP_GRANULE);
	KUNIT_EXPECT_EQ(test, a.until, a.next);
	svm_ahead_note(&a, 4 * MAP_GRANULE + 9, SVM_FAULT_REPAIRED, ahead_win(4));
	KUNIT_EXPECT_EQ(test, a.next, 5 * MAP_GRANULE);
	KUNIT_EXPECT_EQ(test, a.until, 6 * MAP_GRANULE);
	/* Granule 5 has been mapped ahead, but the engine has faulted there before. */
	a.next = 6 * MAP_GRANULE;
	svm_ahead_note(&a, 5 * MAP_GRANULE + 1, SVM_FAULT_STALE, part);
	KUNIT_EXPECT_EQ(test, a.until, 8 * MAP_GRANULE);
	/* Other faults do not change the stream. */
	svm_ahead_note(&a, 6 * MAP_GRANULE, SVM_FAULT_STALE, part);
	svm_ahead_note(&a, 4 * MAP_GRANULE, SVM_FAULT_STALE, part);
	svm_ahead_note(&a, 5 * MAP_GRANULE, SVM_FAULT_DENIED, part);
	KUNIT_EXPECT_EQ(test, a.next, 6 * MAP_GRANULE);
	KUNIT_EXPECT_EQ(test, a.until, 8 * MAP_GRANULE);
	for (granule = 6; granule < 16; granule++)
		svm_ahead_note(&a, MAP_GRANULE * granule, SVM_FAULT_REPAIRED, ahead_win(granule));
	KUNIT_EXPECT_EQ(test, a.until - a.next, MAP_GRANULE << (SVM_AHEAD_RUN - 1));

	svm_ahead_note(&a, 10 * MAP_GRANULE, SVM_FAULT_REPAIRED, ahead_win(10));
	KUNIT_EXPECT_EQ(test, a.until, a.next);
	svm_ahead_note(&a, 19 * MAP_GRANULE, SVM_FAULT_REPAIRED, ahead_win(19));
	svm_ahead_note(&a, part.first, SVM_FAULT_REPAIRED, part);
	KUNIT_EXPECT_EQ(test, a.next, part.last + 1);
	KUNIT_EXPECT_EQ(test, a.until, a.next);
}

/**
 * struct ahead_mock - a process whose memory has one range that prefers system memory
 */
struct ahead_mock {
	/** @m: process, with AHEAD_PAGES pages */
	struct map_mock *m;
	/** @r: range of all pages */
	struct svm_range *r;
	/** @q: queue of the process's faults */
	struct svm_fault_queue *q;
	/** @start: first page of the first whole granule */
	unsigned int start;
};

static void ahead_mock_init(struct kunit *test, struct ahead_mock *ah)
{
	struct svm_attrs attrs = {
		.preferred_loc = KFD_IOCTL_SVM_LOCATION_SYSMEM,
		.prefetch_loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED,
		.granularity = SVM_CHUNK_ORDER,
	};
	struct svm_range_list *svms;
	struct svm_interval all;
	unsigned int i, hole;
	int err = 0;

	ah->m = map_mock_new(test, AHEAD_PAGES);
	svms = ah->m->p.svms;
	ah->q = &svms->gpus[0].faults;
	ah->start = ALIGN(ah->m->page, MAP_GRANULE) - ah->m->page;
	hole = ah->start + AHEAD_PARTIAL * MAP_GRANULE + 100;
	for (i = 0; i < AHEAD_PAGES; i++)
		if (i != hole)
			err |= map_put(ah->m, i, i);
	KUNIT_EXPECT_EQ(test, err, 0);

	__set_bit(0, attrs.bitmap_access);
	all.first = ah->m->page;
	all.last = all.first + AHEAD_PAGES - 1;
	mmap_write_lock(ah->m->p.mm);
	mutex_lock(&svms->lock);
	ah->r = svm_range_create(svms, all, &attrs);
	mutex_unlock(&svms->lock);
	mmap_write_unlock(ah->m->p.mm);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ah->r));
}

/* Return the number of page @page of whole granule @granule. */
static unsigned int ahead_page(struct ahead_mock *ah, unsigned int granule, unsigned int page)
{
	return ah->start + MAP_GRANULE * granule + page;
}

/* Check that the first @n whole granules are mapped, and no others. */
static void ahead_expect(struct kunit *test, struct ahead_mock *ah, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < AHEAD_GRANULES; k++) {
		unsigned int first = ahead_page(ah, k, 0), last = ahead_page(ah, k + 1, 0) - 1;

		map_check(test, ah->m, first, k < n ? MAP_RW : 0, first);
		map_check(test, ah->m, last, k < n ? MAP_RW : 0, last);
	}
}

/* Serve a read fault, then map ahead, as the worker does. */
static void ahead_fault(struct kunit *test, struct ahead_mock *ah, unsigned int i,
			enum svm_verdict want)
{
	struct svm_interval win;

	KUNIT_EXPECT_EQ(test, map_serve(ah->m, i, false, &win), want);
	svm_fault_ahead(ah->q);
}

/*
 * Catches: nothing is mapped ahead; the wrong pages are mapped; a granule is mapped although the
 * CPU does not have all of its pages; a fault that is stale because of its page was mapped ahead
 * does not continue the stream.
 */
static void ahead_stream(struct kunit *test)
{
	struct ahead_mock ah;

	ahead_mock_init(test, &ah);
	ahead_fault(test, &ah, ahead_page(&ah, 0, 0), SVM_FAULT_REPAIRED);
	ahead_expect(test, &ah, 1);
	ahead_fault(test, &ah, ahead_page(&ah, 1, 3), SVM_FAULT_REPAIRED);
	ahead_expect(test, &ah, 3);
	ahead_fault(test, &ah, ahead_page(&ah, 2, 0), SVM_FAULT_STALE);
	ahead_expect(test, &ah, AHEAD_PARTIAL);
	/* The fault itself maps all pages of the granule. */
	ahead_fault(test, &ah, ahead_page(&ah, AHEAD_PARTIAL, 0), SVM_FAULT_REPAIRED);
	ahead_expect(test, &ah, AHEAD_GRANULES);
	map_mock_end(ah.m);
}

/* Let the stream of reads or writes want granule 0 to be mapped ahead, and try. */
static void ahead_try(struct ahead_mock *ah, bool write)
{
	struct svm_ahead *a = &ah->m->p.svms->gpus[0].ahead[write];

	a->next = ah->m->page + ahead_page(ah, 0, 0);
	a->until = a->next + MAP_GRANULE;
	svm_fault_ahead(ah->q);
}

/*
 * Change the attributes of the range, one after the other, so that no page may be mapped ahead.
 * Then switch XNACK off. Catches: a page is mapped that a fault would have moved to VRAM, or to
 * which the GPU has no access; the adaptive policy misses a fault that it would have counted; a
 * granule that is not a chunk is mapped ahead, so that a later fault would replace valid entries; a
 * page is mapped although no fault would be repaired.
 */
static void ahead_attributes(struct kunit *test)
{
	struct svm_attrs *attrs;
	struct ahead_mock ah;

	ahead_mock_init(test, &ah);
	attrs = &ah.r->attrs;
	attrs->preferred_loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	ah.m->p.svms->policy = SVM_POLICY_AMDGPU;
	ahead_try(&ah, false);
	__set_bit(0, attrs->bitmap_aip);
	ah.m->p.svms->policy = SVM_POLICY_ADAPTIVE;
	ahead_try(&ah, false);
	attrs->preferred_loc = KFD_IOCTL_SVM_LOCATION_SYSMEM;
	ahead_try(&ah, false);
	ah.m->p.svms->policy = SVM_POLICY_AMDGPU;
	attrs->granularity = SVM_CHUNK_ORDER - 1;
	ahead_try(&ah, false);
	attrs->granularity = SVM_CHUNK_ORDER + 1;
	ahead_try(&ah, false);
	attrs->granularity = SVM_CHUNK_ORDER;
	attrs->flags = KFD_IOCTL_SVM_FLAG_GPU_RO;
	ahead_try(&ah, true);
	attrs->flags = 0;
	__clear_bit(0, attrs->bitmap_aip);
	__clear_bit(0, attrs->bitmap_access);
	ahead_try(&ah, false);
	__set_bit(0, attrs->bitmap_access);
	ah.m->p.xnack_enabled = false;
	ahead_try(&ah, false);
	ah.m->p.xnack_enabled = true;
	ahead_expect(test, &ah, 0);

	ahead_try(&ah, true);
	ahead_expect(test, &ah, 1);
	map_mock_end(ah.m);
}

/*
 * Catches: memory is mapped ahead while a fault waits, or for a process that exits; the worker
 * waits for a lock that another thread may hold for a long time, so that the test hangs.
 */
static void ahead_yields(struct kunit *test)
{
	struct svm_fault waiting = { .retry = true };
	struct svm_range_list *svms;
	struct ahead_mock ah;

	ahead_mock_init(test, &ah);
	svms = ah.m->p.svms;
	list_add_tail(&waiting.link, &ah.q->pending);
	ahead_try(&ah, false);
	list_del(&waiting.link);
	mmap_write_lock(ah.m->p.mm);
	ahead_try(&ah, false);
	mmap_write_unlock(ah.m->p.mm);
	mutex_lock(&svms->lock);
	ahead_try(&ah, false);
	mutex_unlock(&svms->lock);
	mutex_lock(&ah.m->vm->vm.alloc_lock);
	ahead_try(&ah, false);
	mutex_unlock(&ah.m->vm->vm.alloc_lock);
	atomic_set(&svms->drain_pagefaults, 1);
	ahead_try(&ah, false);
	atomic_set(&svms->drain_pagefaults, 0);
	ahead_expect(test, &ah, 0);

	ahead_try(&ah, false);
	ahead_expect(test, &ah, 1);
	map_mock_end(ah.m);
}

static struct kunit_case map_cases[] = {
	KUNIT_CASE(map_mixed),
	KUNIT_CASE(map_parts),
	KUNIT_CASE(map_prepared),
	KUNIT_CASE(ahead_note),
	KUNIT_CASE(ahead_stream),
	KUNIT_CASE(ahead_attributes),
	KUNIT_CASE(ahead_yields),
	{}
};

static struct kunit_suite map_suite = {
	.name = "svm_map",
	.test_cases = map_cases,
};

kunit_test_suite(map_suite);
