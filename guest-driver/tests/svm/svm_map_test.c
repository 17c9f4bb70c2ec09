// SPDX-License-Identifier: GPL-2.0
/*
 * Serve faults on memory of a real address space (svm/svm_map.c). Compare the GPU's entries with
 * the CPU's pages, by the content of the memory to which the entries point.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_fault.h"
#include "svm/svm_fault_entry.h"
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

/**
 * struct map_mock - a process on one GPU, with MAP_PAGES pages of anonymous memory
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

static struct map_mock *map_mock_new(struct kunit *test)
{
	struct map_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, m);
	/* The test's thread has no mm. kunit_vm_mmap() attaches an mm to the thread. */
	addr = kunit_vm_mmap(test, NULL, 0, MAP_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
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

/* Write @tag + i to page i, for all pages if @all is true, otherwise for those of map_touched(). */
static void map_touch(struct kunit *test, struct map_mock *m, u32 tag, bool all)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < MAP_PAGES; i++)
		if (all || map_touched(i))
			err |= put_user(tag + i, (u32 __user *)((m->page + i) << PAGE_SHIFT));
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
 * Half of the test's memory is touched by the CPU. A read fault maps touched pages for writes, too,
 * and the zero page for reads only. A write fault then makes all pages writable. Catches: pages of
 * one kind get the flags of the other kind; an entry points to another page's memory; pages outside
 * of the granule are mapped; a page that the GPU may write stays clean.
 */
static void map_mixed(struct kunit *test)
{
	struct map_mock *m = map_mock_new(test);
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
	struct map_mock *m = map_mock_new(test);
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

static struct kunit_case map_cases[] = {
	KUNIT_CASE(map_mixed),
	KUNIT_CASE(map_parts),
	{}
};

static struct kunit_suite map_suite = {
	.name = "svm_map",
	.test_cases = map_cases,
};

kunit_test_suite(map_suite);
