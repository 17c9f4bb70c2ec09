// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up the two VM hubs: apertures, contexts, faults, PASIDs, ranges of the invalidation
 * engines. Specification: docs/hardware.md and include/vgpu/gmc.h.
 *
 * Both hubs always get the same values, so an address means the same for every engine.
 */
#include <linux/bitops.h>
#include <linux/dma-mapping.h>
#include <linux/random.h>
#include <kunit/visibility.h>

#include "vgpu_hw_priv.h"
#include "vgpu_vmid.h"

/* Redirect every class of no-retry fault to the default page. */
#define FAULT_CNTL_DEFAULTS \
	(VM_L2_PROTECTION_FAULT_CNTL__RANGE_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__PDE0_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__PDE1_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__PDE2_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__TF_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__NACK_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__DUMMY_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__VALID_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__READ_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__WRITE_DEFAULT | \
	 VM_L2_PROTECTION_FAULT_CNTL__EXECUTE_DEFAULT)

/*
 * Value of the register field PAGE_TABLE_DEPTH: two levels below the root PDB2, namely PDB1 and
 * PDB0. PTBs do not count as a level, because only some entries of PDB0 lead to a PTB (those with
 * VGPU_PTE_TF).
 */
#define CONTEXT_DEPTH		2
#define CONTEXT_BLOCK_SIZE	9

#define LAST_PAGE		(BIT_ULL(VGPU_VA_BITS - VGPU_PAGE_SHIFT) - 1)

static void hub_wreg64(struct vgpu_device *vdev, unsigned int hub, u32 lo,
		       u64 value)
{
	vgpu_wreg(vdev, HUB(hub) + lo, lower_32_bits(value));
	vgpu_wreg(vdev, HUB(hub) + lo + 1, upper_32_bits(value));
}

static void hub_set_root(struct vgpu_device *vdev, unsigned int hub,
			 unsigned int vmid, u64 pde)
{
	hub_wreg64(vdev, hub, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid), pde);
}

static void hub_set_range(struct vgpu_device *vdev, unsigned int hub,
			  unsigned int vmid, u64 first, u64 last)
{
	hub_wreg64(vdev, hub, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid),
		   first);
	hub_wreg64(vdev, hub, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid), last);
}

static u64 vram_pde(struct vgpu_device *vdev, u64 vram_offset)
{
	return (vram_offset + vdev->hw->fb_offset) | VGPU_PDE_VALID;
}

static void hub_init_apertures(struct vgpu_device *vdev, unsigned int hub)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	/*
	 * MC address of node 0's VRAM, where the hive's VRAM starts. If the device is in no
	 * hive, it is the address of the device's own VRAM.
	 */
	u64 fb_first = hw->base.fb_base - vgpu_xgmi_base(vdev);
	u64 fb_last = hw->base.fb_base + hw->base.vram_size - 1;
	u64 scratch = hw->gart.table_vram + VGPU_GART_TABLE_BYTES +
		      hw->base.fb_offset;

	vgpu_wreg(vdev, HUB(hub) + MC_VM_FB_LOCATION_BASE, fb_first >> 24);
	vgpu_wreg(vdev, HUB(hub) + MC_VM_FB_LOCATION_TOP, fb_last >> 24);

	/* Disable the AGP aperture: its bottom is above its top. */
	vgpu_wreg(vdev, HUB(hub) + MC_VM_AGP_BASE, 0);
	vgpu_wreg(vdev, HUB(hub) + MC_VM_AGP_BOT, 0xffffff);
	vgpu_wreg(vdev, HUB(hub) + MC_VM_AGP_TOP, 0);

	/*
	 * Limit the addresses that VMID 0 can access without page tables: from the start of
	 * the hive's VRAM to the end of this node's VRAM.
	 */
	vgpu_wreg(vdev, HUB(hub) + MC_VM_SYSTEM_APERTURE_LOW_ADDR,
		  fb_first >> 18);
	vgpu_wreg(vdev, HUB(hub) + MC_VM_SYSTEM_APERTURE_HIGH_ADDR,
		  fb_last >> 18);
	/*
	 * Accesses in the aperture that hit no VRAM go to the page at @scratch. This page is in
	 * VRAM, directly behind the GART table.
	 */
	hub_wreg64(vdev, hub, MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB,
		   scratch >> VGPU_PAGE_SHIFT);

	hub_wreg64(vdev, hub, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
		   hw->default_page_dma >> VGPU_PAGE_SHIFT);
}

static void hub_init_caches(struct vgpu_device *vdev, unsigned int hub)
{
	vgpu_wreg(vdev, HUB(hub) + MC_VM_MX_L1_TLB_CNTL,
		  MC_VM_MX_L1_TLB_CNTL__ENABLE_L1_TLB |
		  VGPU_PREP(MC_VM_MX_L1_TLB_CNTL__SYSTEM_ACCESS_MODE, 3u) |
		  MC_VM_MX_L1_TLB_CNTL__ENABLE_ADVANCED_DRIVER_MODEL);
	vgpu_wreg(vdev, HUB(hub) + VM_L2_CNTL,
		  VM_L2_CNTL__ENABLE_L2_CACHE |
		  VM_L2_CNTL__ENABLE_L2_FRAGMENT_PROCESSING |
		  VM_L2_CNTL__ENABLE_DEFAULT_PAGE_OUT_TO_SYSTEM_MEMORY);
	vgpu_wreg(vdev, HUB(hub) + VM_L2_CNTL2,
		  VM_L2_CNTL2__INVALIDATE_ALL_L1_TLBS |
		  VM_L2_CNTL2__INVALIDATE_L2_CACHE);
}

static void hub_init_contexts(struct vgpu_device *vdev, unsigned int hub)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	u64 first = gart->start >> VGPU_PAGE_SHIFT;
	unsigned int vmid;

	hub_set_root(vdev, hub, 0, vram_pde(vdev, gart->table_vram));
	hub_set_range(vdev, hub, 0, first, first + gart->total - 1);
	/* No retry flag: the device would ignore the flag for VMID 0. */
	vgpu_wreg(vdev, HUB(hub) + VM_CONTEXT_CNTL(0),
		  VM_CONTEXT_CNTL__ENABLE_CONTEXT |
		  VM_CONTEXT_CNTL__ALL_INTERRUPTS |
		  VM_CONTEXT_CNTL__ALL_DEFAULTS);

	/*
	 * Only KFD's queues retry faults. A retry by a job of the render node would block the
	 * kernel's ring.
	 */
	for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
		u32 retry = vmid < VGPU_FIRST_KFD_VMID ? 0 :
			VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID;

		/* root_pde[] is 0, an invalid root, for each VMID that no process uses. */
		hub_set_root(vdev, hub, vmid, to_hw_state(vdev)->root_pde[vmid]);
		hub_set_range(vdev, hub, vmid, 0, LAST_PAGE);
		vgpu_wreg(vdev, HUB(hub) + VM_CONTEXT_CNTL(vmid),
			  VM_CONTEXT_CNTL__ENABLE_CONTEXT |
			  VGPU_PREP(VM_CONTEXT_CNTL__PAGE_TABLE_DEPTH,
				    CONTEXT_DEPTH) |
			  VGPU_PREP(VM_CONTEXT_CNTL__PAGE_TABLE_BLOCK_SIZE,
				    CONTEXT_BLOCK_SIZE) |
			  retry | VM_CONTEXT_CNTL__ALL_INTERRUPTS |
			  VM_CONTEXT_CNTL__ALL_DEFAULTS);
	}
	vgpu_wreg(vdev, HUB(hub) + VM_CONTEXTS_DISABLE, 0);
}

/*
 * Set the range of an invalidation engine: @npages pages from page @first. @npages is a power of
 * two and at least 2. @first is a multiple of @npages.
 */
static void hub_set_inv_range(struct vgpu_device *vdev, unsigned int hub,
			      unsigned int engine, u64 first, u64 npages)
{
	u64 page = first | (npages / 2 - 1);

	hub_wreg64(vdev, hub, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(engine),
		   VM_INVALIDATE_ENG_ADDR_RANGE__S |
		   VGPU_PREP(VM_INVALIDATE_ENG_ADDR_RANGE__PAGE, page));
}

/* The GTT windows meet the conditions of hub_set_inv_range() for @npages and @first. */
static_assert(!(VGPU_GTT_WINDOW_PAGES & (VGPU_GTT_WINDOW_PAGES - 1)));
static_assert(!((VGPU_GART_START >> VGPU_PAGE_SHIFT) % VGPU_GTT_WINDOW_PAGES));

static void hub_init_invalidation(struct vgpu_device *vdev, unsigned int hub)
{
	u64 window = to_hw_state(vdev)->gart.start >> VGPU_PAGE_SHIFT;
	const unsigned long all = VGPU_INV_ENGINES;
	unsigned int i;

	for_each_set_bit(i, &all, VGPU_NUM_INV_ENGINES)
		hub_wreg64(vdev, hub, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(i),
			   LAST_PAGE);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		hub_set_inv_range(vdev, hub, VGPU_INV_ENGINE_SDMA(i), window,
				  VGPU_GTT_WINDOW_PAGES);
		window += VGPU_GTT_WINDOW_PAGES;
	}
}

static void atc_map_pasid(struct vgpu_device *vdev, unsigned int index,
			  u32 mapping)
{
	vgpu_wreg(vdev, ATC_VMID_PASID_MAPPING(index), mapping);
	if (!vgpu_hw_poll(vdev, ATC_VMID_PASID_MAPPING_UPDATE_STATUS,
			  BIT(index), BIT(index)))
		drm_err_ratelimited(&vdev->drm,
				    "ATC mapping %u was not updated\n", index);
	vgpu_wreg(vdev, ATC_VMID_PASID_MAPPING_UPDATE_STATUS, BIT(index));
}

static void gmc_write_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid)
{
	u32 mapping = pasid ? pasid | ATC_VMID_PASID_MAPPING__VALID : 0;

	/* The first half of the ATC's table belongs to the GFX hub, the second to the MM hub. */
	atc_map_pasid(vdev, vmid, mapping);
	atc_map_pasid(vdev, vmid + VGPU_NUM_VMIDS, mapping);
	vgpu_wreg(vdev, IH_VMID_LUT(vmid), pasid);
	vgpu_wreg(vdev, IH_VMID_LUT_MM(vmid), pasid);
}

static void hub_init_faults(struct vgpu_device *vdev, unsigned int hub)
{
	vgpu_wreg(vdev, HUB(hub) + VM_L2_PROTECTION_FAULT_CNTL2,
		  VM_L2_PROTECTION_FAULT_CNTL2__ENABLE_RETRY_INTERRUPT);
	vgpu_wreg(vdev, HUB(hub) + VM_L2_PROTECTION_FAULT_CNTL,
		  FAULT_CNTL_DEFAULTS |
		  VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
	vgpu_wreg(vdev, HUB(hub) + VM_L2_PROTECTION_FAULT_CNTL,
		  FAULT_CNTL_DEFAULTS);
}

/**
 * vgpu_gmc_start() - write the registers of both hubs
 * @vdev: device; vgpu_gmc_init() has initialised its state
 *
 * After a reset, VMIDs get the page tables and PASIDs that they had before.
 *
 * Context: bring-up, or io_lock held for writing.
 *
 * Return: 0, or -ENODEV if the hubs do not work.
 */
int vgpu_gmc_start(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int hub, vmid;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		hub_init_apertures(vdev, hub);
		hub_init_caches(vdev, hub);
		hub_init_contexts(vdev, hub);
		hub_init_faults(vdev, hub);
		hub_init_invalidation(vdev, hub);
	}
	/* A reset drops requests in flight, so afterwards all invalidation engines are free. */
	WRITE_ONCE(hw->inv_free, VGPU_INV_ENGINES);
	WRITE_ONCE(hw->inv_stuck, false);

	vgpu_wreg(vdev, VGPU_GATE_REG, 0);
	for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++)
		gmc_write_pasid(vdev, vmid, hw->pasid[vmid]);

	if (vgpu_gmc_invalidate(vdev, GENMASK(VGPU_NUM_VMIDS - 1, 0)))
		return -ENODEV;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_start);

/**
 * vgpu_gmc_clear_fault() - clear the latched fault of the MM hub
 * @vdev: device
 *
 * Context: any.
 */
void vgpu_gmc_clear_fault(struct vgpu_device *vdev)
{
	vgpu_wreg(vdev, HUB(VGPU_HUB_MM) + VM_L2_PROTECTION_FAULT_CNTL,
		  FAULT_CNTL_DEFAULTS |
		  VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
}

/**
 * vgpu_gmc_init() - initialise both hubs
 * @vdev: device; vram_size is set
 *
 * Reads the MC address of VRAM. Clears the GART's table and the default page of the system
 * aperture, both in the reserved part of VRAM.
 *
 * Return: 0, -ENODEV if registers are inconsistent or the hubs do not work, -ENOMEM.
 */
int vgpu_gmc_init(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	int ret;

	vgpu_gmc_inv_init(hw);

	ret = vgpu_xgmi_init(vdev);
	if (ret)
		return ret;
	hw->base.fb_base = ((u64)vgpu_rreg(vdev, HUB(VGPU_HUB_MM) +
					   MC_VM_FB_LOCATION_BASE) << 24) +
			   vgpu_xgmi_base(vdev);
	hw->base.fb_offset = ((u64)vgpu_rreg(vdev, HUB(VGPU_HUB_MM) +
					     MC_VM_FB_OFFSET) << 24) +
			     vgpu_xgmi_base(vdev);
	if (hw->base.fb_base - vgpu_xgmi_base(vdev) <
	    VGPU_GART_START + VGPU_GART_SIZE) {
		drm_err(&vdev->drm, "VRAM at MC address %#llx is in the GART\n",
			hw->base.fb_base);
		return -ENODEV;
	}

	hw->default_page = dma_alloc_coherent(&vdev->pdev->dev, PAGE_SIZE,
					      &hw->default_page_dma,
					      GFP_KERNEL);
	if (!hw->default_page)
		return -ENOMEM;

	hw->base.vram_reserved = VGPU_VRAM_RESERVED;
	memset_io(hw->base.vram + hw->base.vram_size - hw->base.vram_reserved, 0,
		  VGPU_GART_TABLE_BYTES + VGPU_PAGE_SIZE);
	ret = vgpu_gart_init(vdev);
	if (ret) {
		dma_free_coherent(&vdev->pdev->dev, PAGE_SIZE,
				  hw->default_page, hw->default_page_dma);
		return ret;
	}
	get_random_bytes(hw->vram_magic, sizeof(hw->vram_magic));
	memcpy_toio(hw->base.vram + VGPU_VRAM_MAGIC_AT(hw), hw->vram_magic,
		    sizeof(hw->vram_magic));
	vgpu_hdp_flush(vdev);

	ret = vgpu_gmc_start(vdev);
	if (ret)
		vgpu_gmc_fini(vdev);
	return ret;
}

/**
 * vgpu_gmc_fini() - disable all contexts
 * @vdev: device, its engines stopped
 */
void vgpu_gmc_fini(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int hub, vmid;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		for (vmid = 0; vmid < VGPU_NUM_VMIDS; vmid++)
			vgpu_wreg(vdev, HUB(hub) + VM_CONTEXT_CNTL(vmid), 0);
		vgpu_wreg(vdev, HUB(hub) + MC_VM_MX_L1_TLB_CNTL, 0);
		vgpu_wreg(vdev, HUB(hub) + VM_L2_CNTL, 0);
		hub_wreg64(vdev, hub, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
			   0);
	}
	vgpu_gart_fini(vdev);
	dma_free_coherent(&vdev->pdev->dev, PAGE_SIZE, hw->default_page,
			  hw->default_page_dma);
}

/**
 * vgpu_gmc_root_pde() - get the root PDE of page tables, as context registers hold it
 * @vdev: device
 * @root_vram_offset: offset in VRAM of the root directory (PDB2), page aligned
 *
 * Context: any.
 *
 * Return: the PDE.
 */
u64 vgpu_gmc_root_pde(struct vgpu_device *vdev, u64 root_vram_offset)
{
	return vram_pde(vdev, root_vram_offset);
}

/* Set the root PDE in both hubs, and store it for vgpu_gmc_start() after a reset. */
static void gmc_set_root(struct vgpu_device *vdev, unsigned int vmid, u64 pde)
{
	unsigned int hub;

	vgpu_io_begin(vdev);
	WRITE_ONCE(to_hw_state(vdev)->root_pde[vmid], pde);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		hub_set_root(vdev, hub, vmid, pde);
	vgpu_io_end(vdev);
}

/**
 * vgpu_gmc_set_context() - set the page tables of a VMID
 * @vdev: device
 * @vmid: 1 to 15
 * @root_vram_offset: offset in VRAM of the root directory (PDB2), page aligned
 *
 * Flushes the VMID's translations.
 *
 * Context: sleeps; not in the recovery's worker, and not with a lock that a reset of the device
 * takes (see vgpu_gmc_flush_tlb()).
 */
void vgpu_gmc_set_context(struct vgpu_device *vdev, unsigned int vmid,
			  u64 root_vram_offset)
{
	if (WARN_ON_ONCE(!vmid || vmid >= VGPU_NUM_VMIDS))
		return;

	gmc_set_root(vdev, vmid, vram_pde(vdev, root_vram_offset));
	vgpu_gmc_flush_tlb(vdev, BIT(vmid));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_set_context);

/**
 * vgpu_gmc_clear_context() - remove the page tables of a VMID
 * @vdev: device
 * @vmid: 1 to 15; no queue uses it any more
 *
 * Flushes the VMID's translations. The caller may free the tables afterwards.
 *
 * Context: sleeps; not in the recovery's worker, and not with a lock that a reset of the device
 * takes (see vgpu_gmc_flush_tlb()).
 */
void vgpu_gmc_clear_context(struct vgpu_device *vdev, unsigned int vmid)
{
	if (WARN_ON_ONCE(!vmid || vmid >= VGPU_NUM_VMIDS))
		return;

	gmc_set_root(vdev, vmid, 0);
	vgpu_gmc_flush_tlb(vdev, BIT(vmid));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_clear_context);

/**
 * vgpu_gmc_set_pasid() - bind a VMID to a process
 * @vdev: device
 * @vmid: 1 to 15
 * @pasid: PASID that the VMID's faults and interrupts carry; 0 unbinds
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker. One caller at a time for a VMID.
 */
void vgpu_gmc_set_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid)
{
	if (WARN_ON_ONCE(!vmid || vmid >= VGPU_NUM_VMIDS))
		return;

	vgpu_io_begin(vdev);
	WRITE_ONCE(to_hw_state(vdev)->pasid[vmid], pasid);
	gmc_write_pasid(vdev, vmid, pasid);
	vgpu_io_end(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_set_pasid);
