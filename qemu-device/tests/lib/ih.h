/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: interrupts, acknowledges of faults. */
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

/* Virtual time from a retry fault's entry to the same one again. */
#define QVGPU_RESEND_NS         5000000000ll

/* Give the device a ring of 1 << @order dwords; @cntl: more RB_CNTL bits. */
void qvgpu_ih_init(QVGPU *v, unsigned order, uint32_t cntl);
/* Pointer of the write-back, with the overflow bit. */
uint32_t qvgpu_ih_writeback(QVGPU *v);
bool qvgpu_ih_pending(QVGPU *v);
/* Decode the entry at byte @offset of the ring. */
void qvgpu_ih_decode(QVGPU *v, uint32_t offset, QVGPUIrq *irq);
/* Wait for an entry and take it. */
void qvgpu_ih_next(QVGPU *v, QVGPUIrq *irq);
/* The next entry is this VM fault. Returns the CAM slot. */
unsigned qvgpu_ih_next_fault(QVGPU *v, unsigned vmid, uint64_t va, bool write,
                             bool retry);
void qvgpu_cam_ack(QVGPU *v, unsigned slot);
/* Return whether an MSI came, and clear it. */
bool qvgpu_msi_take(QVGPU *v);

#endif /* VGPU_TEST_IH_H */
