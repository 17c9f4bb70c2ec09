// SPDX-License-Identifier: GPL-2.0
/*
 * Mock of an address space; documented in vgpu_vm_mock.h. BOs are system memory at invented bus
 * addresses. Registers are plain memory; the invalidation engine acknowledges immediately.
 */
#include <linux/bitfield.h>
#include <drm/drm_exec.h>

#include "vgpu/gmc.h"
#include "vgpu/pci.h"
#include "vm/vgpu_vm_job.h"
#include "vgpu_vm_mock.h"

#define ENGINE		17
#define TT_FLAGS	(VM_MOCK_RW | VGPU_PTE_VALID | VGPU_PTE_SYSTEM | \
			 VGPU_PTE_SNOOPED)

static int mock_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	struct vm_mock *m = container_of(pt, struct vm_mock, vm.pt);

	unsigned int i = find_first_zero_bit(m->used, VM_MOCK_TABLES);

	if (i >= m->limit)
		return -ENOMEM;
	__set_bit(i, m->used);
	mem->entries = (__le64 __iomem __force *)m->tables[i];
	mem->addr = i * (u64)VGPU_PAGE_SIZE;
	return 0;
}

static void mock_free(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem)
{
	struct vm_mock *m = container_of(pt, struct vm_mock, vm.pt);

	WARN_ON(memchr_inv((void __force *)mem->entries, 0, VGPU_PAGE_SIZE));
	WARN_ON(!__test_and_clear_bit(mem->addr / VGPU_PAGE_SIZE, m->used));
}

static void vm_mock_fini(void *arg)
{
	struct vm_mock *m = arg;
	unsigned int i;

	mutex_lock(&m->vm.base.va_lock);
	for (i = 0; i < VM_MOCK_BOS; i++) {
		struct dma_resv *resv = &m->bos[i].bo.tbo.base._resv;

		dma_resv_lock(resv, NULL);
		vgpu_vm_bo_unmap_all(&m->vm.base, &m->bos[i].bo);
		dma_resv_unlock(resv);
		dma_resv_fini(resv);
	}
	mutex_unlock(&m->vm.base.va_lock);
	vgpu_vm_teardown(&m->vm.base);
	kvfree(m->vm.job);
}

/*
 * Choose new bus addresses for a BO: contiguous runs of random length at random addresses. BO 0 is
 * a single run, which is mapped by leaves of 2 MiB.
 */
static void bo_place(struct vm_mock *m, struct mock_bo *b)
{
	u64 addr = 0;
	unsigned int i;

	for (i = 0; i < VM_MOCK_BO_PAGES; i++) {
		if (!i || (b != m->bos && !(prandom_u32_state(&m->rnd) % 64)))
			addr = (u64)prandom_u32_state(&m->rnd) <<
			       VGPU_PAGE_SHIFT;
		if (!i && b == m->bos)
			addr = ALIGN_DOWN(addr, SZ_2M) +
			       ((VM_MOCK_FIRST << VGPU_PAGE_SHIFT) & (SZ_2M - 1));
		b->pages[i] = addr;
		addr += VGPU_PAGE_SIZE;
	}
}

static void bo_init(struct vm_mock *m, struct mock_bo *b)
{
	struct ttm_buffer_object *tbo = &b->bo.tbo;

	b->bo.vdev = m->vdev;
	INIT_LIST_HEAD(&b->bo.vm_mappings);
	kref_init(&tbo->base.refcount);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	tbo->base.size = VM_MOCK_BO_PAGES << VGPU_PAGE_SHIFT;
	tbo->resource = &b->res;
	tbo->ttm = &b->tt;
	b->res.mem_type = TTM_PL_TT;
	b->res.size = tbo->base.size;
	b->tt.dma_address = b->pages;
	bo_place(m, b);
}

/* Set up SDMA engines that are not ready, so that the driver executes SDMA packets by the CPU. */
static void mock_sdma(struct kunit *test, struct vm_mock *m, u32 *mmio)
{
	struct vgpu_hw_state *hw = &m->hw;
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		mutex_init(&hw->sdma[i].lock);
	mmio[VGPU_MAGIC] = VGPU_MAGIC_VALUE;
	hw->base.fb_base = BIT_ULL(40);
	hw->base.vram = (void __iomem __force *)m->tables;
	hw->base.vram_size = VM_MOCK_TABLES * sizeof(*m->tables);
	m->vm.job = vgpu_vm_job_new(VGPU_SDMA_MAX_JOB_DWORDS);
	KUNIT_ASSERT_NOT_NULL(test, m->vm.job);
}

struct vm_mock *vm_mock_new(struct kunit *test, bool sdma)
{
	struct vm_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int hub, i;
	u32 *mmio;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->vdev = kunit_kzalloc(test, sizeof(*m->vdev), GFP_KERNEL);
	m->tables = kunit_kcalloc(test, VM_MOCK_TABLES, sizeof(*m->tables), GFP_KERNEL);
	m->bos = kunit_kcalloc(test, VM_MOCK_BOS, sizeof(*m->bos), GFP_KERNEL);
	mmio = kunit_kzalloc(test, VGPU_MMIO_BAR_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, m->vdev && m->tables && m->bos && mmio);
	m->hw.vdev = m->vdev;
	vgpu_io_init(&m->hw);
	vgpu_gmc_inv_init(&m->hw);
	m->vdev->hw = &m->hw.base;
	m->vdev->vmm = &m->vmm;
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		mmio[HUB(hub) + VM_INVALIDATE_ENG_ACK(ENGINE)] =
			VM_INVALIDATE_ENG_ACK__PER_VMID;
	to_hw_state(m->vdev)->mmio = (void __iomem __force *)mmio;
	m->limit = VM_MOCK_TABLES;
	m->ops = vgpu_vm_pt_ops;
	m->ops.alloc = mock_alloc;
	m->ops.free = mock_free;
	if (sdma)
		mock_sdma(test, m, mmio);
	vgpu_test_rnd(test, &m->rnd);
	KUNIT_ASSERT_EQ(test, vgpu_vm_setup(&m->vm.base, m->vdev, &m->ops), 0);
	/* Disable the trim work, because tests call vm_mock_trim() instead. */
	disable_delayed_work_sync(&m->vm.trim_work);
	m->vm.base.vmid = 1;
	for (i = 0; i < VM_MOCK_BOS; i++)
		bo_init(m, &m->bos[i]);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vm_mock_fini, m),
			0);
	return m;
}

/* Return the number of flushes so far. A flush invalidates both hubs. */
u64 vm_mock_flushes(struct vm_mock *m)
{
	return vgpu_stat_read(m->vdev, VGPU_STAT_INVALIDATIONS) /
	       VGPU_NUM_HUBS;
}

u64 vm_mock_va(unsigned int i)
{
	return (VM_MOCK_FIRST + i) << VGPU_PAGE_SHIFT;
}

u64 vm_mock_bytes(unsigned int n)
{
	return (u64)n << VGPU_PAGE_SHIFT;
}

void mock_bo_lock(struct mock_bo *b)
{
	dma_resv_lock(b->bo.tbo.base.resv, NULL);
}

void mock_bo_unlock(struct mock_bo *b)
{
	dma_resv_unlock(b->bo.tbo.base.resv);
}

unsigned int vm_mock_tables(struct vm_mock *m)
{
	return bitmap_weight(m->used, VM_MOCK_TABLES);
}

void vm_mock_trim(struct vm_mock *m)
{
	mutex_lock(&m->vm.alloc_lock);
	vgpu_vm_trim(&m->vm.base);
	mutex_unlock(&m->vm.alloc_lock);
}

/*
 * Each of the following functions does the work of an ioctl, and updates vm_mock.owner and
 * vm_mock.at, which are the expected mappings.
 */

int vm_mock_add(struct vm_mock *m, unsigned int k, unsigned int i,
		unsigned int from, unsigned int n)
{
	unsigned int j;
	int ret;

	mutex_lock(&m->vm.base.va_lock);
	mock_bo_lock(&m->bos[k]);
	ret = vgpu_vm_bo_add(&m->vm.base, &m->bos[k].bo, vm_mock_va(i), vm_mock_bytes(from),
			     vm_mock_bytes(n), VM_MOCK_RW);
	mock_bo_unlock(&m->bos[k]);
	mutex_unlock(&m->vm.base.va_lock);
	for (j = 0; !ret && j < n; j++) {
		m->owner[i + j] = k + 1;
		m->at[i + j] = from + j;
	}
	return ret;
}

int vm_mock_prt(struct vm_mock *m, unsigned int i, unsigned int n)
{
	int ret;

	mutex_lock(&m->vm.base.va_lock);
	ret = vgpu_vm_map_prt(&m->vm.base, vm_mock_va(i), vm_mock_bytes(n));
	mutex_unlock(&m->vm.base.va_lock);
	if (!ret)
		memset(m->owner + i, VM_MOCK_BOS + 1, n);
	return ret;
}

int vm_mock_clear(struct vm_mock *m, unsigned int i, unsigned int n)
{
	struct drm_exec exec;
	int ret = 0;

	mutex_lock(&m->vm.base.va_lock);
	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES, 0);
	drm_exec_until_all_locked(&exec) {
		ret = vgpu_vm_lock_range(&m->vm.base, vm_mock_va(i), vm_mock_bytes(n), &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	if (!ret)
		ret = vgpu_vm_clear_mappings(&m->vm.base, vm_mock_va(i), vm_mock_bytes(n));
	drm_exec_fini(&exec);
	mutex_unlock(&m->vm.base.va_lock);
	if (!ret)
		memset(m->owner + i, 0, n);
	return ret;
}

void vm_mock_update(struct vm_mock *m)
{
	mutex_lock(&m->vm.base.va_lock);
	vgpu_vm_update_moved(&m->vm.base, NULL, true);
	mutex_unlock(&m->vm.base.va_lock);
}

void vm_mock_unmap_all(struct vm_mock *m, unsigned int k)
{
	unsigned int i;

	mutex_lock(&m->vm.base.va_lock);
	mock_bo_lock(&m->bos[k]);
	vgpu_vm_bo_unmap_all(&m->vm.base, &m->bos[k].bo);
	mock_bo_unlock(&m->bos[k]);
	mutex_unlock(&m->vm.base.va_lock);
	for (i = 0; i < VM_MOCK_WINDOW; i++)
		if (m->owner[i] == k + 1)
			m->owner[i] = 0;
}

int vm_mock_unmap_va(struct vm_mock *m, unsigned int k, unsigned int i)
{
	int ret;

	mutex_lock(&m->vm.base.va_lock);
	mock_bo_lock(&m->bos[k]);
	ret = vgpu_vm_bo_unmap_va(&m->vm.base, &m->bos[k].bo, vm_mock_va(i));
	mock_bo_unlock(&m->bos[k]);
	mutex_unlock(&m->vm.base.va_lock);
	return ret;
}

/* Move a BO to @mem_type, at new addresses. */
void vm_mock_move(struct vm_mock *m, unsigned int k, u32 mem_type)
{
	struct mock_bo *b = &m->bos[k];

	mock_bo_lock(b);
	vgpu_vm_bo_move_notify(&b->bo, NULL);
	b->res.mem_type = mem_type;
	bo_place(m, b);
	mock_bo_unlock(b);
}

/*
 * Move a BO, but keep its page-table entries until the next update, for jobs that still use them.
 */
void vm_mock_move_later(struct vm_mock *m, unsigned int k, u32 mem_type)
{
	struct mock_bo *b = &m->bos[k];

	mock_bo_lock(b);
	vgpu_vm_bo_move_later(&b->bo);
	b->res.mem_type = mem_type;
	bo_place(m, b);
	mock_bo_unlock(b);
}

/* Return the expected entry of page @i, without the fragment field. */
static u64 vm_want(struct vm_mock *m, unsigned int i)
{
	unsigned int k = m->owner[i];

	if (!k)
		return 0;
	if (k == VM_MOCK_BOS + 1)
		return VGPU_PTE_PRT;
	if (m->bos[k - 1].res.mem_type != TTM_PL_TT)
		return 0;
	return m->bos[k - 1].pages[m->at[i]] | TT_FLAGS;
}

/*
 * Return the entry of page @i. A leaf of 2 MiB is converted to the entry of one of its 512 pages.
 */
static u64 vm_entry(struct vm_mock *m, unsigned int i)
{
	u64 pte = vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + i);

	/* A 2 MiB leaf has the address of its first page. Add the offset of page @i in the leaf. */
	if (pte & VGPU_PTE_VALID &&
	    FIELD_GET(VGPU_PTE_FRAG, pte) == VGPU_PT_SHIFT &&
	    IS_ALIGNED(pte & VGPU_PTE_ADDR, SZ_2M))
		pte += ((VM_MOCK_FIRST + i) % VGPU_PT_ENTRIES) << VGPU_PAGE_SHIFT;
	return pte;
}

/* Check that all entries of the fragment of page @i map contiguous memory with the same flags. */
static void vm_check_fragment(struct kunit *test, struct vm_mock *m,
			      const u64 *all, unsigned int i)
{
	unsigned int n = 1u << FIELD_GET(VGPU_PTE_FRAG, all[i]), j;
	u64 start = ALIGN_DOWN(VM_MOCK_FIRST + i, n);

	for (j = 0; j < n; j++) {
		u64 want = all[i] + (start + j - (VM_MOCK_FIRST + i)) * VGPU_PAGE_SIZE;

		if (start + j < VM_MOCK_FIRST || start + j >= VM_MOCK_FIRST + VM_MOCK_WINDOW)
			continue;
		KUNIT_ASSERT_EQ_MSG(test, all[start + j - VM_MOCK_FIRST], want,
				    "page %u, fragment of %u", i, n);
	}
}

void vm_mock_check(struct kunit *test, struct vm_mock *m)
{
	u64 *all = kunit_kcalloc(test, VM_MOCK_WINDOW, sizeof(*all), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, all);
	for (i = 0; i < VM_MOCK_WINDOW; i++) {
		all[i] = vm_entry(m, i);
		KUNIT_ASSERT_EQ_MSG(test, all[i] & ~VGPU_PTE_FRAG,
				    vm_want(m, i), "page %u", i);
	}
	for (i = 0; i < VM_MOCK_WINDOW; i++)
		if (FIELD_GET(VGPU_PTE_FRAG, all[i]))
			vm_check_fragment(test, m, all, i);
	kunit_kfree(test, all);
}
