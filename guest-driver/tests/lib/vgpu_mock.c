// SPDX-License-Identifier: GPL-2.0
/* Mock of a device; documented in vgpu_mock.h. */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <kunit/static_stub.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_mock.h"

#define NUM_REUSED		64u

static u64 seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of all random numbers (0 = a new one)");

void vgpu_test_rnd(struct kunit *test, struct rnd_state *rnd)
{
	if (!seed)
		seed = get_random_u64() | 1;
	kunit_info(test, "seed=%#llx\n", seed);
	prandom_seed_state(rnd, seed);
}

u64 vgpu_test_random(struct rnd_state *rnd, u64 bound)
{
	u64 value = (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);

	return value % bound;
}

void vgpu_test_start_elsewhere(struct kunit *test, int (*fn)(void *arg), void *arg)
{
	struct task_struct *thread = kthread_create(fn, arg, "vgpu_test");

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	migrate_disable();
	kthread_bind(thread, cpumask_any_but(cpu_online_mask,
					     smp_processor_id()));
	wake_up_process(thread);
}

void vgpu_test_reuse(struct kunit *test, size_t size, gfp_t gfp)
{
	unsigned int i;
	void *object;

	for (i = 0; i < NUM_REUSED; i++) {
		object = kunit_kmalloc(test, size, gfp);
		KUNIT_ASSERT_NOT_NULL(test, object);
		memset(object, 0xff, size);
	}
}

static void vgpu_mock_fini(void *arg)
{
	struct vgpu_mock *mock = arg;

	vgpu_gtt_mgr_fini(&mock->vdev);
	vgpu_vram_mgr_fini(&mock->vdev);
}

struct vgpu_mock *vgpu_mock_new(struct kunit *test)
{
	struct vgpu_mock *mock;
	struct ttm_device *bdev;

	mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock);
	vgpu_test_rnd(test, &mock->rnd);
	mock->hw.vdev = &mock->vdev;
	vgpu_io_init(&mock->hw);
	vgpu_gmc_inv_init(&mock->hw);
	mock->vdev.hw = &mock->hw.base;
	mock->mman.vdev = &mock->vdev;
	mock->vdev.mman = &mock->mman;
	mock->vdev.vmm = &mock->vmm;
	mock->vdev.sched = &mock->sched;

	/* Resource managers need only these fields of the TTM device to be initialised. */
	bdev = &mock->vdev.mman->bdev;
	spin_lock_init(&bdev->lru_lock);
	INIT_LIST_HEAD(&bdev->pinned);
	mock->bo.base.vdev = &mock->vdev;
	mock->bo.base.tbo.bdev = bdev;
	mock->hw.gart.pages = VGPU_MOCK_GART_PAGES;

	KUNIT_ASSERT_EQ(test, vgpu_vram_mgr_init(&mock->vdev, VGPU_MOCK_VRAM),
			0);
	KUNIT_ASSERT_EQ(test, vgpu_gtt_mgr_init(&mock->vdev, VGPU_MOCK_GTT), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vgpu_mock_fini,
							mock), 0);
	return mock;
}

static u32 mock_rreg(struct vgpu_device *vdev, u32 reg)
{
	struct vgpu_mock *mock = container_of(vdev, struct vgpu_mock, vdev);
	unsigned int hub, engine;

	mock->clock++;
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		engine = reg - HUB(hub) - VM_INVALIDATE_ENG_ACK(0);
		if (engine < VGPU_NUM_INV_ENGINES &&
		    BIT(engine) & VGPU_INV_ENGINES)
			return mock->inv_ack[hub];
	}
	if (reg == ATC_VMID_PASID_MAPPING_UPDATE_STATUS)
		return U32_MAX;
	if (reg >= VGPU_COUNTER(0) && reg < VGPU_COUNTER(VGPU_NUM_COUNTERS) &&
	    (reg - VGPU_COUNTER(0)) % 2 == 0) {
		u64 *counter = &mock->counters[(reg - VGPU_COUNTER(0)) / 2];

		mock->regs[reg] = lower_32_bits(*counter);
		mock->regs[reg + 1] = upper_32_bits(*counter);
		++*counter;
	}
	return mock->regs[reg];
}

static void mock_wreg(struct vgpu_device *vdev, u32 reg, u32 value)
{
	struct vgpu_mock *mock = container_of(vdev, struct vgpu_mock, vdev);

	mock->clock++;
	mock->writes[reg]++;
	mock->regs[reg] = value;
	if (reg == RLC_CAPTURE_GPU_CLOCK_COUNT && value) {
		mock->regs[RLC_GPU_CLOCK_COUNT_LSB] =
			lower_32_bits(mock->clock);
		mock->regs[RLC_GPU_CLOCK_COUNT_MSB] =
			upper_32_bits(mock->clock);
	}
}

void vgpu_mock_regs(struct kunit *test, struct vgpu_mock *mock)
{
	struct vgpu_hw_state *hw = &mock->hw;
	unsigned int hub;

	mock->regs = kunit_kcalloc(test, VGPU_MMIO_DWORDS, sizeof(u32),
				   GFP_KERNEL);
	mock->writes = kunit_kcalloc(test, VGPU_MMIO_DWORDS, sizeof(u32),
				     GFP_KERNEL);
	mock->doorbells = kunit_kzalloc(test, VGPU_DOORBELL_BAR_SIZE,
					GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, mock->regs && mock->writes && mock->doorbells);
	mock->regs[VGPU_MAGIC] = VGPU_MAGIC_VALUE;
	mock->regs[IH_STATUS] = IH_STATUS__IDLE;
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		mock->inv_ack[hub] = VM_INVALIDATE_ENG_ACK__PER_VMID;
	mock->vdev.pdev = kunit_kzalloc(test, sizeof(*mock->vdev.pdev),
					GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock->vdev.pdev);
	spin_lock_init(&hw->latch_lock);
	spin_lock_init(&hw->gate_lock);
	hw->doorbell = (void __iomem __force *)mock->doorbells;
	kunit_activate_static_stub(test, vgpu_rreg, mock_rreg);
	kunit_activate_static_stub(test, vgpu_wreg, mock_wreg);
}

u64 vgpu_mock_random(struct vgpu_mock *mock, u64 bound)
{
	return vgpu_test_random(&mock->rnd, bound);
}

int vgpu_mock_alloc(struct vgpu_mock *mock, u64 pages, u32 align,
		    const struct ttm_place *place, struct ttm_resource **res)
{
	struct ttm_resource_manager *man;

	man = ttm_manager_type(&mock->vdev.mman->bdev, place->mem_type);
	mock->bo.base.tbo.base.size = pages << PAGE_SHIFT;
	mock->bo.base.tbo.page_alignment = align;
	return man->func->alloc(man, &mock->bo.base.tbo, place, res);
}

void vgpu_mock_free(struct vgpu_mock *mock, struct ttm_resource *res)
{
	struct ttm_resource_manager *man;

	man = ttm_manager_type(&mock->vdev.mman->bdev, res->mem_type);
	man->func->free(man, res);
}

u64 vgpu_mock_usage(struct vgpu_mock *mock, u32 mem_type)
{
	struct ttm_device *bdev = &mock->vdev.mman->bdev;

	return ttm_resource_manager_usage(ttm_manager_type(bdev, mem_type));
}

u64 vgpu_mock_vram_pages(struct vgpu_mock *mock, struct ttm_resource *res,
			 u64 *pages)
{
	struct vgpu_vram_resource *vres = to_vgpu_vram_resource(res);
	struct gpu_buddy_block *block;
	u64 n = 0, total = PFN_UP(res->size);

	list_for_each_entry(block, &vres->blocks, link) {
		u64 at = gpu_buddy_block_offset(block);
		u64 left = gpu_buddy_block_size(&mock->vdev.mman->vram.mm,
						block);

		for (; left && n < total; left -= PAGE_SIZE, at += PAGE_SIZE)
			pages[n++] = at;
	}
	return n;
}

void vgpu_mock_engines(struct vgpu_mock *mock)
{
	struct vgpu_cp *cp = &mock->hw.cp;
	unsigned int i;

	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		struct vgpu_sdma_ring *ring = &mock->hw.sdma[i];

		ring->vdev = &mock->vdev;
		ring->engine = i;
		mutex_init(&ring->end_lock);
		mutex_init(&ring->rlc_lock);
		spin_lock_init(&ring->fence_lock);
		INIT_LIST_HEAD(&ring->pending);
		init_waitqueue_head(&ring->space);
		init_waitqueue_head(&ring->rlc_reset);
		ring->rlc_off = true;
	}
	mutex_init(&cp->lock);
	init_waitqueue_head(&cp->reset);
	cp->off = true;
}

static void mock_no_watchdog(struct work_struct *work)
{
}

static void mock_ring_fini(void *arg)
{
	struct vgpu_sdma_fence *fence, *next;
	struct vgpu_sdma_ring *ring = arg;

	cancel_delayed_work_sync(&ring->watchdog);
	list_for_each_entry_safe(fence, next, &ring->pending, link) {
		list_del(&fence->link);
		dma_fence_signal(&fence->base);
		dma_fence_put(&fence->base);	/* reference of the list */
	}
	mutex_destroy(&ring->end_lock);
	mutex_destroy(&ring->lock);
}

struct vgpu_sdma_ring *vgpu_mock_ring(struct kunit *test, struct vgpu_mock *mock,
				      __le32 *fence_wb, u64 fence_mc)
{
	struct vgpu_sdma_ring *ring = &mock->hw.sdma[0];

	ring->vdev = &mock->vdev;
	mutex_init(&ring->lock);
	mutex_init(&ring->end_lock);
	spin_lock_init(&ring->fence_lock);
	INIT_LIST_HEAD(&ring->pending);
	ring->ended_ops = vgpu_sdma_ended_ops();
	init_waitqueue_head(&ring->space);
	INIT_DELAYED_WORK(&ring->watchdog, mock_no_watchdog);
	ring->ring = kunit_kzalloc(test, SDMA_RING_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring->ring);
	ring->fence_wb = fence_wb;
	ring->fence_mc = fence_mc;
	ring->fence_context = dma_fence_context_alloc(1);
	ring->ready = true;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mock_ring_fini,
							ring), 0);
	return ring;
}

MODULE_DESCRIPTION("vgpu-kfd: unit tests");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
#else
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
#endif
