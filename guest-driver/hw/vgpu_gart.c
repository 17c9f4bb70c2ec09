// SPDX-License-Identifier: GPL-2.0
/*
 * GART: the flat page table of VMID 0, in reserved VRAM.
 *
 * No lock protects the table. The GTT manager writes the entries of BOs, and hw/ all others.
 */
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "hw/sdma/vgpu_sdma.h"
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

#define GART_PTE_FLAGS \
	(VGPU_PTE_VALID | VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED | \
	 VGPU_PTE_EXECUTABLE | VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE)

/**
 * vgpu_gart_init() - set the layout of the GART and allocate its shadow
 * @vdev: device. The caller has set vgpu_hw.vram_reserved, and has filled the table in VRAM with
 *        zeros
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_gart_init(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	struct vgpu_gart *gart = &hw->gart;

	gart->start = VGPU_GART_START;
	gart->total = VGPU_GART_PAGES;
	gart->pages = gart->total;
	gart->windows = VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS;
	gart->table_vram = hw->base.vram_size - hw->base.vram_reserved;
	gart->table = hw->base.vram + gart->table_vram;
	gart->shadow = kvcalloc(gart->total, sizeof(*gart->shadow), GFP_KERNEL);
	return gart->shadow ? 0 : -ENOMEM;
}

/**
 * vgpu_gart_start() - get the MC address of the GART
 * @vdev: device
 *
 * Context: any.
 *
 * Return: address of the first page.
 */
u64 vgpu_gart_start(const struct vgpu_device *vdev)
{
	return to_hw_state(vdev)->gart.start;
}

/**
 * vgpu_gart_pages() - get the number of GART pages that are not reserved
 * @vdev: device
 *
 * Context: any.
 *
 * Return: number of pages. The transfer windows are the first of these pages. The GTT manager may
 * use the rest.
 */
u64 vgpu_gart_pages(const struct vgpu_device *vdev)
{
	return to_hw_state(vdev)->gart.pages;
}

/**
 * vgpu_gart_size() - get the size of the GART
 * @vdev: device
 *
 * Context: any.
 *
 * Return: bytes of all pages. The pages of the kernel's rings are included.
 */
u64 vgpu_gart_size(const struct vgpu_device *vdev)
{
	return to_hw_state(vdev)->gart.total << VGPU_PAGE_SHIFT;
}

/**
 * vgpu_gart_fini() - undo vgpu_gart_init()
 * @vdev: device
 */
void vgpu_gart_fini(struct vgpu_device *vdev)
{
	kvfree(to_hw_state(vdev)->gart.shadow);
	to_hw_state(vdev)->gart.shadow = NULL;
}

/*
 * Change an entry: write the shadow first, then the table. A concurrent vgpu_gart_rewrite() may
 * overwrite the new entry in the table with the old one. But vgpu_gart_rewrite() reads the shadow
 * again after each write, and repeats the write if the shadow has changed.
 */
static void gart_write(struct vgpu_gart *gart, u64 page, u64 pte)
{
	WRITE_ONCE(gart->shadow[page], pte);
	writeq(pte, &gart->table[page]);
}

static u64 gart_pte(dma_addr_t addr)
{
	return (addr & VGPU_PTE_ADDR) | GART_PTE_FLAGS;
}

static bool gart_range_ok(const struct vgpu_gart *gart, u64 page, u64 npages)
{
	return page <= gart->total && npages <= gart->total - page;
}

/**
 * vgpu_gart_bind() - point entries at system memory
 * @vdev: device
 * @page: first entry
 * @npages: number of entries
 * @addrs: bus address of each page, page aligned
 *
 * The device uses the new entries after vgpu_gart_flush().
 *
 * Context: any.
 */
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	u64 i;

	if (WARN_ON_ONCE(!gart_range_ok(gart, page, npages)))
		return;

	for (i = 0; i < npages; i++)
		gart_write(gart, page + i, gart_pte(addrs[i]));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_bind);

/**
 * vgpu_gart_unbind() - make entries invalid
 * @vdev: device
 * @page: first entry
 * @npages: number of entries
 *
 * The caller may free the pages after vgpu_gart_flush().
 *
 * Context: any.
 */
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;

	if (WARN_ON_ONCE(!gart_range_ok(gart, page, npages)))
		return;

	memset(gart->shadow + page, 0, npages * sizeof(*gart->shadow));
	/*
	 * Write the shadow before the table: otherwise a concurrent vgpu_gart_rewrite() could copy
	 * an old entry of the shadow over a new entry of the table.
	 */
	wmb();
	memset_io(&gart->table[page], 0, npages * sizeof(*gart->table));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_unbind);

/**
 * vgpu_gart_flush() - make changes of the table effective
 * @vdev: device
 *
 * Context: sleeps. Called neither in the recovery's worker nor with a lock that a reset of the
 * device takes: see vgpu_gmc_flush_tlb().
 */
void vgpu_gart_flush(struct vgpu_device *vdev)
{
	vgpu_hdp_flush(vdev);
	vgpu_gmc_flush_tlb(vdev, BIT(0));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_flush);

/**
 * vgpu_gart_try_flush() - as vgpu_gart_flush(), but without waiting for a recovery
 * @vdev: device
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: 0, or -ETIMEDOUT if a hub does not acknowledge or no invalidation engine becomes
 * free.
 */
int vgpu_gart_try_flush(struct vgpu_device *vdev)
{
	vgpu_hdp_flush(vdev);
	return vgpu_gmc_try_flush(vdev, BIT(0));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_try_flush);

/**
 * vgpu_gart_rewrite() - write the table from its shadow, except the windows
 * @vdev: device
 *
 * The caller flushes the TLB afterwards. Entries may be bound and unbound concurrently.
 *
 * Context: sleeps.
 *
 * Return: number of entries that differed from the shadow; an entry that is being changed may be
 * counted.
 */
u64 vgpu_gart_rewrite(struct vgpu_device *vdev)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	u64 i, pte, wrong = 0;

	for (i = gart->windows; i < gart->total; i++) {
		wrong += readq(&gart->table[i]) != READ_ONCE(gart->shadow[i]);
		/*
		 * A concurrent change writes the shadow first, then the table. This loop may
		 * overwrite the new entry in the table, so repeat if the shadow has changed.
		 */
		do {
			pte = READ_ONCE(gart->shadow[i]);
			writeq(pte, &gart->table[i]);
			mb();	/* pairs with barriers in gart_write() and vgpu_gart_unbind() */
		} while (pte != READ_ONCE(gart->shadow[i]));
		if (!(i % SZ_4K))
			cond_resched();
	}
	return wrong;
}

/**
 * vgpu_gart_restore() - write the table from its shadow, and log wrong entries
 * @vdev: device
 *
 * Calls vgpu_gart_rewrite(), and adds the number of wrong entries to VGPU_STAT_GART_WRONG. Used
 * after a reset and after a fault of VMID 0. The caller flushes the TLB afterwards.
 *
 * Context: sleeps.
 *
 * Return: number of entries that differed from the shadow.
 */
u64 vgpu_gart_restore(struct vgpu_device *vdev)
{
	u64 wrong = vgpu_gart_rewrite(vdev);

	if (wrong)
		drm_err(&vdev->drm, "GART: %llu entries were wrong\n", wrong);
	vgpu_stat_add(vdev, VGPU_STAT_GART_WRONG, wrong);
	return wrong;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_restore);

/**
 * vgpu_gart_bind_reserved() - reserve entries, and point them at memory
 * @vdev: device; its GTT manager (in mm/) has not been initialised
 * @addr: bus address of the memory, page aligned
 * @bytes: length, whole pages
 *
 * Takes the last entries that are not reserved, so vgpu_gart_pages() decreases.
 *
 * Return: the MC address of the memory.
 */
u64 vgpu_gart_bind_reserved(struct vgpu_device *vdev, dma_addr_t addr,
			    size_t bytes)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	u64 npages = bytes >> VGPU_PAGE_SHIFT;
	u64 i;

	gart->pages -= npages;
	for (i = 0; i < npages; i++) {
		dma_addr_t page = addr + (i << VGPU_PAGE_SHIFT);

		vgpu_gart_bind(vdev, gart->pages + i, 1, &page);
	}
	vgpu_gart_flush(vdev);
	return gart->start + (gart->pages << VGPU_PAGE_SHIFT);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_bind_reserved);

/**
 * vgpu_gart_close_windows() - make the windows' entries invalid
 * @vdev: device, its engines parked
 *
 * Called after a reset. No entry has to be kept, since each job writes the entries that it
 * needs. The caller calls vgpu_gart_flush() next.
 */
void vgpu_gart_close_windows(struct vgpu_device *vdev)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;

	memset_io(gart->table, 0, gart->windows * sizeof(*gart->table));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_close_windows);

/**
 * vgpu_gart_note() - store an entry of a transfer window in vgpu_gart.shadow
 * @vdev: device
 * @entry: address of the entry, in the CPU mapping of VRAM; ignored outside of the windows
 * @pte: the entry
 *
 * Called when the CPU, in place of an SDMA engine, executes a packet that writes the entry. For
 * later packets that use the window, the CPU reads the entry from the shadow, because a reset may
 * destroy the table in VRAM.
 */
void vgpu_gart_note(struct vgpu_device *vdev, const void __iomem *entry, u64 pte)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	const __le64 __iomem *at = entry;

	if (at >= gart->table && at < gart->table + gart->windows)
		WRITE_ONCE(gart->shadow[at - gart->table], pte);
}

/* Returns how many of the @npages pages, counted from the first, are contiguous on the bus. */
static u64 gart_run(const dma_addr_t *addrs, u64 npages)
{
	u64 n = 1;

	while (n < npages && addrs[n] == addrs[n - 1] + VGPU_PAGE_SIZE)
		n++;
	return n;
}

/*
 * Minimum number of contiguous pages for a PTEPDE packet. A PTEPDE packet ends the WRITE packet
 * before it, so the next WRITE packet costs a new header. For fewer pages, 2 dwords of WRITE data
 * per page are shorter than the PTEPDE packet and this header.
 */
#define GART_RUN_MIN	((SDMA_PTEPDE_DWORDS + SDMA_WRITE_LINEAR_DWORDS) / 2)

/**
 * vgpu_gart_emit_bind() - emit packets that point window entries at system memory
 * @vdev: device
 * @dw: buffer for the packets
 * @room: dwords free at @dw; 4 + 2 * @npages are enough
 * @page: first entry
 * @npages: number of entries
 * @addrs: page-aligned bus addresses
 * @bound: receives the number of entries that fitted
 *
 * Next, emit vgpu_gart_emit_flush_tlb().
 *
 * Return: number of dwords written.
 */
unsigned int vgpu_gart_emit_bind(struct vgpu_device *vdev, u32 *dw,
				 unsigned int room, u64 page, u64 npages,
				 const dma_addr_t *addrs, u64 *bound)
{
	u64 table = vdev->hw->fb_base + to_hw_state(vdev)->gart.table_vram;
	unsigned int ndw = 0;
	u32 *data = NULL;	/* WRITE packet to which entries are appended, or NULL */
	u64 i, n;

	/*
	 * The engine executes jobs in order, so an earlier job does not use the window any more
	 * when these packets run.
	 */
	for (i = 0; i < npages; i += n) {
		u64 mc = table + (page + i) * sizeof(u64);
		u64 pte = gart_pte(addrs[i]);

		n = gart_run(addrs + i, npages - i);
		if (n >= GART_RUN_MIN) {
			if (ndw + SDMA_PTEPDE_DWORDS > room)
				break;
			ndw += vgpu_sdma_emit_ptepde(dw + ndw, mc,
						     pte & ~VGPU_PTE_ADDR,
						     pte & VGPU_PTE_ADDR,
						     VGPU_PAGE_SIZE, n);
			data = NULL;
			continue;
		}
		n = 1;
		if (ndw + (data ? 0 : SDMA_WRITE_LINEAR_DWORDS) + 2 > room)
			break;
		if (!data) {
			data = dw + ndw;
			data[0] = SDMA_PKT(SDMA_OP_WRITE,
					   SDMA_SUBOP_WRITE_LINEAR);
			data[1] = lower_32_bits(mc);
			data[2] = upper_32_bits(mc);
			ndw += SDMA_WRITE_LINEAR_DWORDS;
		}
		dw[ndw++] = lower_32_bits(pte);
		dw[ndw++] = upper_32_bits(pte);
		data[3] = VGPU_PREP(SDMA_WRITE_LINEAR_DW3__COUNT,
				    dw + ndw - data -
				    SDMA_WRITE_LINEAR_DWORDS - 1);
	}
	*bound = i;
	return ndw;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_emit_bind);

/*
 * Poll interval in GPU clocks: 50 us. The hub acknowledges only after each engine has finished its
 * current chunk of up to 2 MiB.
 */
#define GART_POLL_CLOCKS	5000u

/**
 * vgpu_gart_emit_flush_tlb() - emit packets that invalidate the hub's TLB for VMID 0
 * @engine: engine of the job, 0 to VGPU_NUM_SDMA - 1
 * @dw: buffer for VGPU_GART_FLUSH_TLB_DWORDS dwords
 *
 * In a job, these packets stand between those of vgpu_gart_emit_bind() and the first access
 * through the bound entries.
 *
 * Return: number of dwords written.
 */
unsigned int vgpu_gart_emit_flush_tlb(unsigned int engine, u32 *dw)
{
	unsigned int inv = VGPU_INV_ENGINE_SDMA(engine);

	dw[0] = SDMA_OP_SRBM_WRITE | SDMA_SRBM_WRITE__BYTE_EN;
	dw[1] = VGPU_PREP(SDMA_SRBM_WRITE_DW1__REG,
			  HUB(VGPU_HUB_MM) + VM_INVALIDATE_ENG_REQ(inv));
	dw[2] = VGPU_PREP(VM_INVALIDATE_ENG_REQ__PER_VMID, BIT(0)) |
		VM_INVALIDATE_ENG_REQ__L2_PTES |
		VM_INVALIDATE_ENG_REQ__L1_PTES;
	vgpu_sdma_emit_poll(dw + SDMA_SRBM_WRITE_DWORDS,
			    HUB(VGPU_HUB_MM) + VM_INVALIDATE_ENG_ACK(inv),
			    BIT(0), BIT(0), GART_POLL_CLOCKS);
	return VGPU_GART_FLUSH_TLB_DWORDS;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gart_emit_flush_tlb);

/**
 * vgpu_gart_is_flush_tlb() - whether a packet is one that vgpu_gart_emit_flush_tlb() emits
 * @dw: packet, at least its header
 * @ndw: number of dwords at @dw
 *
 * Return: the length of the packet in dwords, or 0 if it is another packet.
 */
unsigned int vgpu_gart_is_flush_tlb(const u32 *dw, unsigned int ndw)
{
	u32 flush[VGPU_GART_FLUSH_TLB_DWORDS];
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		const u32 *poll = flush + SDMA_SRBM_WRITE_DWORDS;

		vgpu_gart_emit_flush_tlb(i, flush);
		if (ndw >= SDMA_SRBM_WRITE_DWORDS &&
		    !memcmp(dw, flush, SDMA_SRBM_WRITE_DWORDS * sizeof(u32)))
			return SDMA_SRBM_WRITE_DWORDS;
		if (ndw >= SDMA_POLL_REGMEM_DWORDS &&
		    !memcmp(dw, poll, SDMA_POLL_REGMEM_DWORDS * sizeof(u32)))
			return SDMA_POLL_REGMEM_DWORDS;
	}
	return 0;
}
