// SPDX-License-Identifier: GPL-2.0
/*
 * Executes the packets of a kernel job on the CPU if the engine is down, or has failed in the job
 * repeatedly. The packets may be copies, fills and page-table writes.
 */
#include <linux/highmem.h>
#include <linux/iommu.h>
#include <linux/sched.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

#define CPU_BOUNCE	256u

/**
 * struct cpu_span - contiguous memory to which cpu_translate() has translated an address
 */
struct cpu_span {
	/** @io: address in the CPU mapping of VRAM, or NULL for system memory */
	void __iomem *io;
	/** @page: page in system memory, if @io is NULL */
	struct page *page;
	/** @offset: byte offset in @page, if @io is NULL */
	u32 offset;
	/** @bytes: number of contiguous bytes from @io, or from @offset in @page */
	u32 bytes;
};

/*
 * Translate @mc as for VMID 0: VRAM to BAR 0, system memory through gart.shadow, which is a copy of
 * the GART's table. Returns 0, or -EFAULT if the CPU cannot access @mc.
 */
static int cpu_translate(struct vgpu_device *vdev, u64 mc, u64 bytes,
			 struct cpu_span *span)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	u64 page = (mc - hw->gart.start) >> VGPU_PAGE_SHIFT;
	struct iommu_domain *domain;
	phys_addr_t phys;
	u64 pte;

	if (mc >= hw->base.fb_base && mc - hw->base.fb_base < hw->base.vram_size) {
		span->io = hw->base.vram + (mc - hw->base.fb_base);
		bytes = min(bytes, hw->base.vram_size - (mc - hw->base.fb_base));
		span->bytes = min_t(u64, bytes, SZ_2M);
		return 0;
	}
	if (mc < hw->gart.start || page >= hw->gart.total)
		return -EFAULT;

	pte = READ_ONCE(hw->gart.shadow[page]);
	if (!(pte & VGPU_PTE_VALID))
		return -EFAULT;
	domain = iommu_get_domain_for_dev(&vdev->pdev->dev);
	phys = pte & VGPU_PTE_ADDR;
	if (domain)
		phys = iommu_iova_to_phys(domain, phys);
	/* An address in another GPU's BAR has no struct page, so the CPU cannot access it here. */
	if (!phys || !pfn_valid(PHYS_PFN(phys)))
		return -EFAULT;
	span->io = NULL;
	span->page = pfn_to_page(PHYS_PFN(phys));
	span->offset = offset_in_page(mc);
	span->bytes = min_t(u64, bytes, PAGE_SIZE - span->offset);
	return 0;
}

static void cpu_read(const struct cpu_span *span, u32 at, void *buf, u32 bytes)
{
	if (span->io)
		memcpy_fromio(buf, span->io + at, bytes);
	else
		memcpy_from_page(buf, span->page, span->offset + at, bytes);
}

static void cpu_write(const struct cpu_span *span, u32 at, const void *buf,
		      u32 bytes)
{
	if (span->io)
		memcpy_toio(span->io + at, buf, bytes);
	else
		memcpy_to_page(span->page, span->offset + at, buf, bytes);
}

static int cpu_copy(struct vgpu_device *vdev, u64 src, u64 dst, u64 bytes)
{
	u8 buf[CPU_BOUNCE];

	while (bytes) {
		struct cpu_span from, to;
		u32 at, n, len;
		int ret;

		ret = cpu_translate(vdev, src, bytes, &from);
		if (!ret)
			ret = cpu_translate(vdev, dst, bytes, &to);
		if (ret)
			return ret;
		len = min(from.bytes, to.bytes);
		for (at = 0; at < len; at += n) {
			n = min(len - at, CPU_BOUNCE);
			cpu_read(&from, at, buf, n);
			cpu_write(&to, at, buf, n);
		}
		src += len;
		dst += len;
		bytes -= len;
		cond_resched();
	}
	return 0;
}

static int cpu_fill(struct vgpu_device *vdev, u64 dst, u32 value, u64 bytes)
{
	u32 buf[CPU_BOUNCE / 4];

	memset32(buf, value, ARRAY_SIZE(buf));
	while (bytes) {
		struct cpu_span to;
		u32 at, n;
		int ret;

		ret = cpu_translate(vdev, dst, bytes, &to);
		if (ret)
			return ret;
		for (at = 0; at < to.bytes; at += n) {
			n = min(to.bytes - at, CPU_BOUNCE);
			cpu_write(&to, at, buf, n);
		}
		dst += to.bytes;
		bytes -= to.bytes;
		cond_resched();
	}
	return 0;
}

static u64 dw64(const u32 *dw)
{
	return dw[0] | (u64)dw[1] << 32;
}

/*
 * Write @n page-table entries to VRAM at @dst. Entry i is element i of @data or, without @data,
 * @value + i * @step, each ORed with @flags.
 */
static int cpu_entries(struct vgpu_device *vdev, u64 dst, u64 n,
		       const u32 *data, u64 flags, u64 value, u64 step)
{
	for (; n; n--, dst += sizeof(u64), value += step) {
		struct cpu_span to;
		int ret;

		ret = cpu_translate(vdev, dst, sizeof(u64), &to);
		if (ret)
			return ret;
		if (!to.io || to.bytes < sizeof(u64))
			return -EFAULT;
		if (data) {
			value = dw64(data);
			data += 2;
		}
		/*
		 * If the entry belongs to a transfer window, also store it in gart.shadow: the CPU
		 * translates the addresses of later packets through gart.shadow.
		 */
		vgpu_gart_note(vdev, to.io, value | flags);
		writeq(value | flags, to.io);
	}
	return 0;
}

/*
 * Returns the length in dwords of the packet at the start of @dw, or 0 if the CPU cannot
 * execute it.
 */
static unsigned int packet_dwords(const u32 *dw, unsigned int ndw)
{
	unsigned int len = 0;

	if (dw[0] == SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR))
		len = SDMA_COPY_LINEAR_DWORDS;
	else if (dw[0] == (SDMA_OP_CONST_FILL |
			   VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u)))
		len = SDMA_CONST_FILL_DWORDS;
	else if (dw[0] == SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR) &&
		 ndw >= SDMA_WRITE_LINEAR_DWORDS && dw[3] & 1)
		/*
		 * The payload is COUNT + 1 dwords. COUNT must be odd, because the payload is 64-bit
		 * PTEs.
		 */
		len = SDMA_WRITE_LINEAR_DWORDS + 1 +
		      VGPU_GET(dw[3], SDMA_WRITE_LINEAR_DW3__COUNT);
	else if (dw[0] == SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN))
		len = SDMA_PTEPDE_DWORDS;
	else if (dw[0] == SDMA_OP_NOP)
		len = 1;
	else
		len = vgpu_gart_is_flush_tlb(dw, ndw);
	return len <= ndw ? len : 0;
}

/**
 * vgpu_sdma_cpu_can() - whether the CPU can execute a job
 * @dw: packets
 * @ndw: number of dwords
 *
 * If an engine hangs or stops in a job, the job runs again only if this function returns true. The
 * second run, on the engine or the CPU, writes the same data: the kernel's jobs do not overwrite
 * the memory that they read, and no later job has started.
 *
 * Context: any.
 *
 * Return: true if all packets are NOPs, plain copies, fills, page-table writes, or TLB flushes of a
 * transfer window (vgpu_gart.c).
 */
bool vgpu_sdma_cpu_can(const u32 *dw, unsigned int ndw)
{
	unsigned int n;

	for (; ndw; dw += n, ndw -= n) {
		n = packet_dwords(dw, ndw);
		if (!n)
			return false;
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_cpu_can);

static int cpu_packet(struct vgpu_device *vdev, const u32 *dw, unsigned int ndw)
{
	switch (VGPU_GET(dw[0], SDMA_PKT__OP)) {
	case SDMA_OP_COPY:
		return cpu_copy(vdev, dw64(dw + 3), dw64(dw + 5),
				VGPU_GET(dw[1], SDMA_COPY_LINEAR_DW1__COUNT) +
					1ull);
	case SDMA_OP_CONST_FILL:
		return cpu_fill(vdev, dw64(dw + 1), dw[3],
				VGPU_GET(dw[4], SDMA_CONST_FILL_DW4__COUNT) +
					1ull);
	case SDMA_OP_WRITE:
		return cpu_entries(vdev, dw64(dw + 1),
				   (ndw - SDMA_WRITE_LINEAR_DWORDS) / 2,
				   dw + SDMA_WRITE_LINEAR_DWORDS, 0, 0, 0);
	case SDMA_OP_PTEPDE:
		return cpu_entries(vdev, dw64(dw + 1),
				   VGPU_GET(dw[9], SDMA_PTEPDE_DW9__COUNT) +
					   1ull,
				   NULL, dw64(dw + 3), dw64(dw + 5),
				   dw64(dw + 7));
	default:
		return 0;	/* NOP or TLB flush: the CPU does not use the GPU's TLB */
	}
}

/**
 * vgpu_sdma_cpu_run() - execute a job by the CPU
 * @vdev: device
 * @dw: packets
 * @ndw: number of dwords
 *
 * The caller must ensure that no engine works on the same memory.
 *
 * After an error, the packets before the failed packet have been executed.
 *
 * Context: sleeps, does not allocate.
 *
 * Return:
 * * 0
 * * -EOPNOTSUPP: vgpu_sdma_cpu_can() is false
 * * -ENODEV: the device does not answer
 * * -EFAULT: inaccessible address, or page-table entry outside VRAM
 */
int vgpu_sdma_cpu_run(struct vgpu_device *vdev, const u32 *dw, unsigned int ndw)
{
	unsigned int n;
	int ret = 0;

	if (!vgpu_sdma_cpu_can(dw, ndw))
		return -EOPNOTSUPP;
	if (vgpu_rreg_sync(vdev, VGPU_MAGIC) != VGPU_MAGIC_VALUE)
		return -ENODEV;

	/*
	 * After a reset between two packets, the earlier packets need not run again: either VRAM
	 * keeps what they wrote, or the driver handles the loss of all data in VRAM.
	 */
	for (; ndw && !ret; dw += n, ndw -= n) {
		n = packet_dwords(dw, ndw);
		vgpu_io_begin(vdev);
		ret = cpu_packet(vdev, dw, n);
		vgpu_io_end(vdev);
	}
	vgpu_hdp_flush(vdev);
	if (!ret)
		vgpu_stat_add(vdev, VGPU_STAT_JOBS_BY_CPU, 1);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_cpu_run);
