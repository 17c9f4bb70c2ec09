/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: reads interrupts and acknowledges faults. */
#ifndef VGPU_TEST_IH_H
#define VGPU_TEST_IH_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

/* A decoded interrupt entry. */
typedef struct QVGPUIrq {
    unsigned client;
    unsigned source;
    unsigned ring;
    unsigned vmid;
    bool mm_hub;
    uint64_t timestamp;
    unsigned pasid;
    uint32_t data[4];
} QVGPUIrq;

/*
 * Virtual time in ns after which an unacknowledged retry fault is reported
 * again.
 */
#define QVGPU_RESEND_NS         5000000000ll

/*
 * Set up an interrupt ring of 1 << @order dwords in guest RAM. @cntl:
 * additional bits to set in RB_CNTL.
 */
void qvgpu_ih_init(QVGPU *v, unsigned order, uint32_t cntl);
/*
 * Return the write pointer that the device has written to memory, with the
 * overflow bit.
 */
uint32_t qvgpu_ih_writeback(QVGPU *v);
/* Return true if the ring has an entry that the test has not taken. */
bool qvgpu_ih_pending(QVGPU *v);
/* Decode the entry at byte @offset of the ring. */
void qvgpu_ih_decode(QVGPU *v, uint32_t offset, QVGPUIrq *irq);
/* Wait for an entry, take it and advance the read pointer. */
void qvgpu_ih_next(QVGPU *v, QVGPUIrq *irq);
/*
 * Take the next entry, and fail the test unless it is a VM fault of the MM hub
 * with @vmid, @va, @write and @retry. Returns the fault's CAM slot.
 */
unsigned qvgpu_ih_next_fault(QVGPU *v, unsigned vmid, uint64_t va, bool write,
                             bool retry);
/* Free @slot of the retry CAM. Queues that wait for this slot then retry. */
void qvgpu_cam_ack(QVGPU *v, unsigned slot);
/*
 * Return true if an MSI has arrived since the last call. Use this to check that
 * none was sent, after the test has taken all MSIs that are due: a build with
 * delays may send an MSI later than its cause.
 */
bool qvgpu_msi_take(QVGPU *v);
/* Wait for an MSI, and take it. */
void qvgpu_msi_wait(QVGPU *v);

#endif /* VGPU_TEST_IH_H */
