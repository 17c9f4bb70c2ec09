// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the state of the hardware at a failure as text for the kernel's devcoredump
 * (/sys/class/devcoredump). Content that user space wrote (rings of user queues, BOs) is left
 * out.
 */
#include <linux/devcoredump.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

#define DUMP_BYTES	SZ_64K
/* A ring is dumped twice, this many dwords each: from its oldest pending job and from rptr. */
#define DUMP_RING_DW	64u
#define DUMP_IH		16u	/* newest interrupt entries that are dumped */
#define DUMP_AROUND	4u	/* page-table entries dumped before and after the faulting one */

static __printf(2, 3) void say(struct vgpu_dump *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	d->len += vscnprintf(d->text + d->len, DUMP_BYTES - d->len, fmt, args);
	va_end(args);
}

static void dump_queue(struct vgpu_device *vdev, unsigned int engine,
		       unsigned int queue)
{
	static const struct {
		const char *name;
		u32 reg;
	} regs[] = {
		{ "rb_cntl", SDMA_RB_CNTL },
		{ "rb_base", SDMA_RB_BASE },
		{ "rb_base_hi", SDMA_RB_BASE_HI },
		{ "rptr", SDMA_RB_RPTR },
		{ "rptr_hi", SDMA_RB_RPTR_HI },
		{ "wptr", SDMA_RB_WPTR },
		{ "wptr_hi", SDMA_RB_WPTR_HI },
		{ "status", SDMA_CONTEXT_STATUS },
		{ "doorbell", SDMA_DOORBELL },
		{ "doorbell_offset", SDMA_DOORBELL_OFFSET },
	};
	u32 base = SDMA_ENGINE(engine) + SDMA_QUEUE(queue);
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	unsigned int i;

	/* Skip a queue with RB_CNTL 0. It was taken down, or not set up since the last reset. */
	if (!vgpu_rreg(vdev, base + SDMA_RB_CNTL))
		return;
	say(d, "sdma%u queue %u:", engine, queue);
	for (i = 0; i < ARRAY_SIZE(regs); i++)
		say(d, " %s %#x", regs[i].name, vgpu_rreg(vdev, base + regs[i].reg));
	say(d, "\n");
}

static void dump_packets(struct vgpu_dump *d, const struct vgpu_sdma_ring *ring,
			 const char *what, u64 from)
{
	unsigned int i;

	say(d, "sdma%u ring from %s:", ring->engine, what);
	for (i = 0; i < DUMP_RING_DW; i++) {
		if (!(i % 8))
			say(d, "\n  %#llx:", from + i * 4);
		say(d, " %08x", le32_to_cpu(ring->ring[(from / 4 + i) %
						       SDMA_RING_DWORDS]));
	}
	say(d, "\n");
}

static void dump_engine(struct vgpu_device *vdev, unsigned int engine)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	struct vgpu_sdma_fence *oldest;
	u64 first = 0, done, jobs;
	unsigned int q;

	spin_lock_irq(&ring->fence_lock);
	jobs = list_count_nodes(&ring->pending);
	oldest = list_first_entry_or_null(&ring->pending,
					  struct vgpu_sdma_fence, link);
	if (oldest)
		first = oldest->base.seqno;
	done = ring->done;
	spin_unlock_irq(&ring->fence_lock);

	say(d, "\nsdma%u: f32_cntl %#x status %#x\n", engine,
	    vgpu_rreg(vdev, SDMA_ENGINE(engine) + SDMA_F32_CNTL),
	    vgpu_rreg(vdev, SDMA_ENGINE(engine) + SDMA_STATUS_REG));
	if (vgpu_sdma_is_kernels(ring)) {
		say(d, "sdma%u jobs: %llu pending from %llu on, in memory %u",
		    engine, jobs, first,
		    le32_to_cpu(READ_ONCE(*ring->fence_wb)));
		say(d, "; done %#llx submitted %#llx\n", done,
		    READ_ONCE(ring->submitted));
	}
	for (q = 0; q < SDMA_NUM_QUEUES; q++)
		dump_queue(vdev, engine, q);
	if (jobs) {
		dump_packets(d, ring, "the oldest job", done);
		dump_packets(d, ring, "rptr", vgpu_sdma_ring_rptr(ring));
	}
}

static void dump_hubs(struct vgpu_device *vdev)
{
	static const char * const names[] = { "gfx", "mm" };
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	unsigned int h, vmid;

	say(d, "\nfaults:\n");
	for (h = 0; h < VGPU_NUM_HUBS; h++)
		say(d, "%s hub: status %#x address %#x%08x\n", names[h],
		    vgpu_rreg(vdev, HUB(h) + VM_L2_PROTECTION_FAULT_STATUS),
		    vgpu_rreg(vdev, HUB(h) + VM_L2_PROTECTION_FAULT_ADDR_HI32),
		    vgpu_rreg(vdev, HUB(h) + VM_L2_PROTECTION_FAULT_ADDR_LO32));
	say(d, "gate %#lx\n", READ_ONCE(to_hw_state(vdev)->gate));
	for (vmid = 0; vmid < VGPU_NUM_VMIDS; vmid++)
		if (READ_ONCE(to_hw_state(vdev)->root_pde[vmid]))
			say(d, "vmid %u: pasid %u root %#llx\n", vmid,
			    READ_ONCE(to_hw_state(vdev)->pasid[vmid]),
			    READ_ONCE(to_hw_state(vdev)->root_pde[vmid]));
}

static void dump_interrupts(struct vgpu_device *vdev)
{
	struct vgpu_ih *ih = &to_hw_state(vdev)->ih;
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	u32 wptr = vgpu_rreg(vdev, IH_RB_WPTR);
	unsigned int i, k;

	say(d, "\ninterrupt ring: rptr %#x (driver %#x) wptr %#x; last entries:\n",
	    vgpu_rreg(vdev, IH_RB_RPTR), READ_ONCE(ih->rptr), wptr);
	for (i = DUMP_IH; i; i--) {
		u32 at = (wptr - i * IH_ENTRY_BYTES) & IH_RING_MASK;

		say(d, " ");
		for (k = 0; k < IH_ENTRY_BYTES / 4; k++)
			say(d, " %08x", le32_to_cpu(ih->ring[at / 4 + k]));
		say(d, "\n");
	}
}

/*
 * Dump the entries around @index of a table of @count entries at offset @at in VRAM.
 * @shadow has the intended entries, or is NULL. Returns the entry at @index.
 */
static u64 dump_entries(struct vgpu_device *vdev, const char *name, u64 at,
			u64 index, u64 count, const u64 *shadow)
{
	u64 i, first = index - min_t(u64, index, DUMP_AROUND);
	u64 last = min_t(u64, index + DUMP_AROUND, count - 1);
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	u64 pte, wanted = 0;

	for (i = first; i <= last; i++) {
		pte = readq(vdev->hw->vram + at + i * sizeof(pte));
		say(d, "%c %s[%llu] %016llx", i == index ? '>' : ' ', name, i,
		    pte);
		if (shadow && READ_ONCE(shadow[i]) != pte)
			say(d, ", should be %016llx", READ_ONCE(shadow[i]));
		say(d, "\n");
		if (i == index)
			wanted = pte;
	}
	return wanted;
}

static void dump_gart(struct vgpu_device *vdev, u64 va)
{
	struct vgpu_gart *gart = &to_hw_state(vdev)->gart;
	u64 page = (va - gart->start) >> VGPU_PAGE_SHIFT;

	if (va < gart->start || page >= gart->total)
		say(&to_hw_state(vdev)->dump, "  not in the GART\n");
	else
		dump_entries(vdev, "gart", gart->table_vram, page, gart->total,
			     page < gart->windows ? NULL : gart->shadow);
}

/*
 * In each level of the page tables, dump the entry for @va and its neighbours. Concurrent changes
 * cause wrong entries at most, no read outside VRAM.
 */
static void dump_walk(struct vgpu_device *vdev, unsigned int vmid, u64 va)
{
	static const char * const names[] = { "ptb", "pdb0", "pdb1", "pdb2" };
	u64 pde = READ_ONCE(to_hw_state(vdev)->root_pde[vmid]);
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	int level;

	if (va >> VGPU_VA_BITS)
		return;
	for (level = VGPU_LEVEL_PDB2; level >= VGPU_LEVEL_PTB; level--) {
		u64 at = (pde & VGPU_PDE_ADDR) - hw->base.fb_offset;

		if (!(pde & VGPU_PDE_VALID) || pde & VGPU_PDE_SYSTEM ||
		    at > hw->base.vram_size - VGPU_PAGE_SIZE || at % sizeof(pde))
			break;
		pde = dump_entries(vdev, names[level], at,
				   (va >> VGPU_LEVEL_SHIFT(level)) %
				   VGPU_PT_ENTRIES, VGPU_PT_ENTRIES, NULL);
		if (pde & VGPU_PDE_PTE ||
		    (level == VGPU_LEVEL_PDB0 && !(pde & VGPU_PTE_TF)))
			break;
	}
}

static void dump_fault(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		       const char *whose)
{
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	u64 va = (u64)iv->data[0] << VGPU_PAGE_SHIFT |
		 (u64)VGPU_GET(iv->data[1], IH_FAULT_D1__VA_HI) << 44;

	if (!iv->timestamp)
		return;
	say(d, "\nlast fault of %s: %s of %#llx, vmid %u pasid %u, %s, serial %u, GPU clock %llu\n",
	    whose, iv->data[1] & IH_FAULT_D1__WRITE ? "write" : "read", va,
	    iv->vmid, iv->pasid,
	    iv->data[1] & IH_FAULT_D1__RETRY ? "retry" : "no retry",
	    iv->data[3], iv->timestamp);
	if (iv->vmid)
		dump_walk(vdev, iv->vmid, va);
	else
		dump_gart(vdev, va);
}

/**
 * vgpu_dump_note_fault() - store a fault for the next dump
 * @vdev: device
 * @iv: interrupt entry of a fault in the MM hub
 *
 * Context: hard interrupt.
 */
void vgpu_dump_note_fault(struct vgpu_device *vdev,
			  const struct vgpu_iv_entry *iv)
{
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;

	spin_lock(&d->lock);
	d->fault[iv->vmid ? 1 : 0] = *iv;
	spin_unlock(&d->lock);
}

/**
 * vgpu_dump_take() - write the state of the hardware into the dump
 * @vdev: device; the recovery has not reset or repaired anything yet
 * @why: what failed, as text
 *
 * Does nothing while the work item of an earlier dump is pending.
 *
 * Context: the recovery's worker; does not allocate.
 */
void vgpu_dump_take(struct vgpu_device *vdev, const char *why)
{
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;
	struct vgpu_iv_entry fault[2];
	unsigned int i;

	if (test_and_set_bit(0, &d->busy))
		return;
	spin_lock_irq(&d->lock);
	memcpy(fault, d->fault, sizeof(fault));
	spin_unlock_irq(&d->lock);

	d->len = 0;
	say(d, "vgpu-kfd device dump\nkernel: %s\ndevice: %s\nreason: %s\nGPU clock: %llu\n",
	    utsname()->release, dev_name(vdev->drm.dev), why,
	    vgpu_clock_read(vdev));
	dump_hubs(vdev);
	dump_fault(vdev, &fault[0], "the kernel");
	dump_fault(vdev, &fault[1], "users");
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		dump_engine(vdev, i);
	dump_interrupts(vdev);
	queue_work(system_unbound_wq, &d->work);
}

static void dump_work(struct work_struct *work)
{
	struct vgpu_dump *d = container_of(work, struct vgpu_dump, work);
	void *copy = vmalloc(d->len);

	if (copy) {
		memcpy(copy, d->text, d->len);
		/*
		 * dev_coredumpv() takes over the copy, and frees it at once if an earlier dump
		 * exists. A dump exists until user space deletes it, at most 5 minutes.
		 */
		dev_coredumpv(d->dev, copy, d->len, GFP_KERNEL);
	}
	clear_bit_unlock(0, &d->busy);
}

/**
 * vgpu_dump_init() - allocate the buffer of the dump, since vgpu_dump_take() must not allocate
 * @vdev: device
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_dump_init(struct vgpu_device *vdev)
{
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;

	spin_lock_init(&d->lock);
	INIT_WORK(&d->work, dump_work);
	d->dev = vdev->drm.dev;
	d->text = vmalloc(DUMP_BYTES);
	return d->text ? 0 : -ENOMEM;
}

/**
 * vgpu_dump_fini() - undo vgpu_dump_init()
 * @vdev: device; vgpu_dump_take() is not called any more
 *
 * Dumps that were handed to devcoredump remain.
 */
void vgpu_dump_fini(struct vgpu_device *vdev)
{
	struct vgpu_dump *d = &to_hw_state(vdev)->dump;

	cancel_work_sync(&d->work);
	vfree(d->text);
}
