// SPDX-License-Identifier: GPL-2.0
/* Prints the engines' rings and fences for debugfs. */
#include <drm/drm_print.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

/**
 * vgpu_sdma_print_fences() - print the sequence numbers of the jobs in each kernel ring
 * @vdev: device
 * @p: output
 *
 * For each ring, prints the last finished job, the last submitted job, how many jobs are pending,
 * and the first and the last of the pending jobs.
 */
void vgpu_sdma_print_fences(struct vgpu_device *vdev, struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[i];
		struct vgpu_sdma_fence *fence;
		u64 first = 0, last = 0, n = 0;

		spin_lock_irq(&ring->fence_lock);
		list_for_each_entry(fence, &ring->pending, link) {
			if (!n++)
				first = fence->base.seqno;
			last = fence->base.seqno;
		}
		spin_unlock_irq(&ring->fence_lock);

		drm_printf(p, "--- ring %u (sdma%u) ---\n", i, i);
		drm_printf(p, "Last signaled fence 0x%08x\n",
			   le32_to_cpu(READ_ONCE(*ring->fence_wb)));
		drm_printf(p, "Last emitted        0x%08x\n",
			   lower_32_bits(READ_ONCE(ring->fence_seqno)));
		drm_printf(p, "Pending             %llu [%llu %llu]\n", n,
			   first, last);
	}
}

static void print_ring(struct vgpu_sdma_ring *ring, struct drm_printer *p)
{
	u64 submitted, done, rptr;
	bool ready, frozen;

	spin_lock_irq(&ring->fence_lock);
	submitted = ring->submitted;
	done = ring->done;
	ready = ring->ready;
	frozen = ring->frozen;
	spin_unlock_irq(&ring->fence_lock);

	vgpu_io_begin(ring->vdev);
	rptr = vgpu_sdma_ring_rptr(ring);
	vgpu_io_end(ring->vdev);

	drm_printf(p, " %s%s submitted=%llu done=%llu rptr=%llu",
		   ready ? "ready" : "down", frozen ? " recovering" : "",
		   submitted, done, rptr);
}

/**
 * vgpu_sdma_print_rings() - print the state of the engines
 * @vdev: device; its hardware has not been removed
 * @p: output
 *
 * Pointers of the kernel's ring are printed as bytes since creation. User queues are
 * printed as bitmaps: bit n stands for hardware queue n of the engine.
 *
 * Context: sleeps.
 */
void vgpu_sdma_print_rings(struct vgpu_device *vdev, struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[i];

		drm_printf(p, "sdma%u", i);
		if (vgpu_sdma_is_kernels(ring))
			print_ring(ring, p);
		mutex_lock(&ring->rlc_lock);
		drm_printf(p, " queues=%#lx stuck=%#lx resets=%u\n",
			   ring->rlc_loaded, ring->rlc_stuck,
			   READ_ONCE(ring->resets));
		mutex_unlock(&ring->rlc_lock);
	}
}
