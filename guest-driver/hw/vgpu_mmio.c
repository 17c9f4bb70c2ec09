// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses registers (BAR 5) and doorbells (BAR 2). Also implements the operations that need
 * more than one register access: reads of counters and of the clock, and the HDP flush.
 */
#include <linux/delay.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/nbio.h"
#include "vgpu/pci.h"
#include "vgpu_hw_priv.h"

/**
 * vgpu_rreg() - read a register
 * @vdev: device
 * @reg: dword offset in BAR 5, one of include/vgpu
 *
 * Context: any.
 *
 * Return: value of the register; all ones if the device is lost.
 */
u32 vgpu_rreg(struct vgpu_device *vdev, u32 reg)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_rreg, vdev, reg);
	if (WARN_ON_ONCE(reg >= VGPU_MMIO_DWORDS))
		return 0;
	if (unlikely(READ_ONCE(to_hw_state(vdev)->lost)))
		return U32_MAX;
	return readl(to_hw_state(vdev)->mmio + 4 * reg);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_rreg);

/**
 * vgpu_wreg() - write a register
 * @vdev: device
 * @reg: dword offset in BAR 5, one of include/vgpu
 * @value: value to write; dropped if the device is lost
 *
 * Context: any.
 */
void vgpu_wreg(struct vgpu_device *vdev, u32 reg, u32 value)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_wreg, vdev, reg, value);
	if (WARN_ON_ONCE(reg >= VGPU_MMIO_DWORDS))
		return;
	if (likely(!READ_ONCE(to_hw_state(vdev)->lost)))
		writel(value, to_hw_state(vdev)->mmio + 4 * reg);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_wreg);

/**
 * vgpu_hw_poll_for() - wait until a field of a register has a value, with a time limit
 * @vdev: device
 * @reg: register
 * @mask: bits to compare
 * @want: value to wait for, within @mask
 * @limit_us: time limit in microseconds
 *
 * Spins for VGPU_HW_SPIN_US, then sleeps between two reads.
 *
 * Context: sleeps; does not allocate.
 *
 * Return: true, or false if the field has another value after @limit_us.
 */
bool vgpu_hw_poll_for(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want,
		      unsigned long limit_us)
{
	ktime_t start = ktime_get();
	s64 us;

	might_sleep();
	for (;;) {
		/*
		 * Take the time before the read, so that the last read is after the time limit,
		 * even if the task is preempted in between.
		 */
		us = ktime_us_delta(ktime_get(), start);
		if ((vgpu_rreg(vdev, reg) & mask) == want)
			return true;
		if (us > (s64)limit_us)
			return false;
		if (us < VGPU_HW_SPIN_US)
			cpu_relax();
		else
			usleep_range(VGPU_HW_POLL_US / 2, VGPU_HW_POLL_US);
	}
}

/**
 * vgpu_hw_poll() - wait until a field of a register has a value
 * @vdev: device
 * @reg: register
 * @mask: bits to compare
 * @want: value to wait for, within @mask
 *
 * Context: sleeps; does not allocate.
 *
 * Return: true, or false if the field has another value after VGPU_HW_TIMEOUT_US.
 */
bool vgpu_hw_poll(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want)
{
	return vgpu_hw_poll_for(vdev, reg, mask, want, VGPU_HW_TIMEOUT_US);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hw_poll);

/**
 * vgpu_counter_read() - read one of the model's counters
 * @vdev: device
 * @index: VGPU_CNT_*
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: value of the counter.
 */
u64 vgpu_counter_read(struct vgpu_device *vdev, unsigned int index)
{
	unsigned long flags;
	u64 value;

	if (WARN_ON_ONCE(index >= VGPU_NUM_COUNTERS))
		return 0;

	vgpu_io_begin(vdev);
	/* A read of the low half latches the high half: allow no other read between the two. */
	spin_lock_irqsave(&to_hw_state(vdev)->latch_lock, flags);
	value = vgpu_rreg(vdev, VGPU_COUNTER(index));
	value |= (u64)vgpu_rreg(vdev, VGPU_COUNTER(index) + 1) << 32;
	spin_unlock_irqrestore(&to_hw_state(vdev)->latch_lock, flags);
	vgpu_io_end(vdev);
	return value;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_counter_read);

/**
 * vgpu_clock_read() - read the GPU clock
 * @vdev: device
 *
 * The times in interrupt entries, TIMESTAMP packets and GET_CLOCK_COUNTERS are times of
 * this clock.
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: ticks of 1 / VGPU_CLOCK_HZ s.
 */
u64 vgpu_clock_read(struct vgpu_device *vdev)
{
	unsigned long flags;
	u64 value;

	vgpu_io_begin(vdev);
	spin_lock_irqsave(&to_hw_state(vdev)->latch_lock, flags);
	vgpu_wreg(vdev, RLC_CAPTURE_GPU_CLOCK_COUNT, 1);
	value = vgpu_rreg(vdev, RLC_GPU_CLOCK_COUNT_LSB);
	value |= (u64)vgpu_rreg(vdev, RLC_GPU_CLOCK_COUNT_MSB) << 32;
	spin_unlock_irqrestore(&to_hw_state(vdev)->latch_lock, flags);
	vgpu_io_end(vdev);
	return value;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_clock_read);

/**
 * vgpu_hdp_flush() - make earlier CPU writes to VRAM visible to the engines
 * @vdev: device
 *
 * Context: any.
 */
void vgpu_hdp_flush(struct vgpu_device *vdev)
{
	/* Drain the write-combining buffers of this CPU before the flush. */
	wmb();
	vgpu_wreg(vdev, VGPU_REMAP_PAGE / 4, 0);
	/*
	 * The register write is posted. Read a register: the read completes after the write
	 * has arrived.
	 */
	vgpu_rreg(vdev, BIF_FB_EN);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hdp_flush);

/**
 * vgpu_wdoorbell32() - ring a 32-bit doorbell
 * @vdev: device
 * @dword: dword index in BAR 2
 * @value: value to write
 *
 * The doorbell write is ordered after the caller's earlier writes to memory.
 *
 * Context: any.
 */
void vgpu_wdoorbell32(struct vgpu_device *vdev, u32 dword, u32 value)
{
	if (WARN_ON_ONCE(dword >= VGPU_DOORBELL_BAR_SIZE / 4))
		return;
	writel(value, to_hw_state(vdev)->doorbell + 4 * dword);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_wdoorbell32);

/**
 * vgpu_wdoorbell64() - ring a 64-bit doorbell
 * @vdev: device
 * @byte_offset: byte offset in BAR 2, a multiple of 8
 * @value: value to write
 *
 * Ordering and context as vgpu_wdoorbell32().
 */
void vgpu_wdoorbell64(struct vgpu_device *vdev, u32 byte_offset, u64 value)
{
	if (WARN_ON_ONCE(byte_offset >= VGPU_DOORBELL_BAR_SIZE ||
			 byte_offset % 8))
		return;
	writeq(value, to_hw_state(vdev)->doorbell + byte_offset);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_wdoorbell64);
