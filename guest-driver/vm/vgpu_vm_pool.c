// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates the VRAM of page tables. BOs are divided into pieces of 4 KiB, one for each table.
 * A free piece contains zeros.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>

#include "hw/vgpu_io.h"
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

/*
 * Number of pieces in the first BO of an address space. The first mapping needs at least 4: one
 * for a table of each level.
 */
#define POOL_PIECES_FIRST	16u
/* Number of pieces in each later BO of an address space. */
#define POOL_PIECES		64u

/**
 * struct vgpu_vm_pool - a BO divided into pieces
 * @link: in vgpu_vm_state.pool; BOs with a free piece come first
 * @bo: the memory, pinned
 * @cpu: CPU mapping of @bo
 * @pieces: number of pieces
 * @used: bitmap of the pieces that hold tables
 */
struct vgpu_vm_pool {
	struct list_head link;
	struct vgpu_bo *bo;
	void __iomem *cpu;
	unsigned int pieces;
	DECLARE_BITMAP(used, POOL_PIECES);
};

static struct vgpu_vm_pool *vm_pool_new(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool;
	void *cpu;
	int ret;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->pieces = list_empty(&vs->pool) ? POOL_PIECES_FIRST : POOL_PIECES;
	ret = vgpu_bo_create_kernel(vm->vdev, pool->pieces * VGPU_PAGE_SIZE,
				    AMDGPU_GEM_DOMAIN_VRAM, &pool->bo, NULL,
				    &cpu);
	if (ret) {
		kfree(pool);
		return ERR_PTR(ret);
	}
	pool->cpu = (void __iomem __force *)cpu;
	list_add(&pool->link, &vs->pool);
	return pool;
}

static void vm_pool_delete(struct vgpu_vm_pool *pool)
{
	vgpu_bo_free_kernel(&pool->bo);
	kfree(pool);
}

static bool vm_pool_full(const struct vgpu_vm_pool *pool)
{
	return bitmap_full(pool->used, pool->pieces);
}

/**
 * vgpu_vm_pool_has_room() - whether a table can be allocated without a new BO
 * @vm: address space, alloc_lock held
 *
 * Return: true if a piece is free.
 */
bool vgpu_vm_pool_has_room(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool;

	lockdep_assert_held(&vs->alloc_lock);

	pool = list_first_entry_or_null(&vs->pool, struct vgpu_vm_pool, link);
	return pool && !vm_pool_full(pool);
}

/**
 * vgpu_vm_pool_alloc() - allocate memory for a table
 * @vm: address space, alloc_lock held
 * @mem: receives the memory, which contains zeros
 *
 * Return: 0, -ENOMEM, or another error of vgpu_bo_create_kernel().
 */
int vgpu_vm_pool_alloc(struct vgpu_vm *vm, struct vgpu_pt_mem *mem)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool;
	unsigned int piece;

	if (vgpu_vm_pool_has_room(vm)) {
		pool = list_first_entry(&vs->pool, struct vgpu_vm_pool, link);
	} else {
		pool = vs->pool_only ? ERR_PTR(-ENOMEM) : vm_pool_new(vm);
		if (IS_ERR(pool))
			return PTR_ERR(pool);
	}
	piece = find_first_zero_bit(pool->used, pool->pieces);
	__set_bit(piece, pool->used);
	if (vm_pool_full(pool))
		list_move_tail(&pool->link, &vs->pool);
	mem->entries = pool->cpu + piece * VGPU_PAGE_SIZE;
	mem->addr = vgpu_bo_vram_offset(pool->bo) + piece * VGPU_PAGE_SIZE;
	mem->owner = pool;
	return 0;
}

/**
 * vgpu_vm_pool_free() - free the memory of a table
 * @vm: address space, alloc_lock held
 * @mem: memory, which contains zeros
 */
void vgpu_vm_pool_free(struct vgpu_vm *vm, const struct vgpu_pt_mem *mem)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool = mem->owner;

	lockdep_assert_held(&vs->alloc_lock);

	__clear_bit(((void __iomem *)mem->entries - pool->cpu) / VGPU_PAGE_SIZE,
		    pool->used);
	list_move(&pool->link, &vs->pool);
}

/**
 * vgpu_vm_pool_zero() - zero the memory of all tables, after a loss of VRAM
 * @vm: address space, alloc_lock held; no hardware walks the tables
 *
 * Free pieces are zeroed, too, because vgpu_vm_pool_alloc() does not clear a piece.
 */
void vgpu_vm_pool_zero(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool;

	lockdep_assert_held(&vs->alloc_lock);

	vgpu_io_begin(vm->vdev);
	list_for_each_entry(pool, &vs->pool, link)
		memset_io(pool->cpu, 0, pool->pieces * VGPU_PAGE_SIZE);
	vgpu_io_end(vm->vdev);
}

/**
 * vgpu_vm_pool_take_idle() - take BOs that hold no tables out of the pool
 * @vm: address space, alloc_lock held
 * @idle: list that receives the BOs, for vgpu_vm_pool_delete()
 */
void vgpu_vm_pool_take_idle(struct vgpu_vm *vm, struct list_head *idle)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool, *next;

	lockdep_assert_held(&vs->alloc_lock);

	list_for_each_entry_safe(pool, next, &vs->pool, link)
		if (bitmap_empty(pool->used, pool->pieces))
			list_move(&pool->link, idle);
}

/**
 * vgpu_vm_pool_delete() - free BOs that were allocated for page tables
 * @idle: list of struct vgpu_vm_pool, one for each BO: the list from vgpu_vm_pool_take_idle(), or
 *        vgpu_vm_state.pool if no hardware walks the tables any more
 *
 * Context: takes the BOs' reservations.
 */
void vgpu_vm_pool_delete(struct list_head *idle)
{
	struct vgpu_vm_pool *pool, *next;

	list_for_each_entry_safe(pool, next, idle, link)
		vm_pool_delete(pool);
	INIT_LIST_HEAD(idle);
}

/**
 * vgpu_vm_table_bytes() - get the amount of VRAM that the page tables take
 * @vm: address space
 *
 * Context: takes alloc_lock.
 *
 * Return: bytes of tables in use and of free pieces.
 */
u64 vgpu_vm_table_bytes(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_pool *pool;
	u64 bytes = 0;

	mutex_lock(&vs->alloc_lock);
	list_for_each_entry(pool, &vs->pool, link)
		bytes += pool->pieces * VGPU_PAGE_SIZE;
	mutex_unlock(&vs->alloc_lock);
	return bytes;
}
