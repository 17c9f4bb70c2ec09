/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: page tables, GPU address spaces. */
#ifndef VGPU_TEST_PAGE_TABLE_H
#define VGPU_TEST_PAGE_TABLE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

/* A GPU address space: one of the VMIDs 1-15 and its tables. */
typedef struct QVGPUSpace {
    QVGPU *v;
    unsigned vmid;
    QVGPUKind tables;           /* where new tables are put */
    uint64_t root;
    uint64_t next_va;           /* for qvgpu_space_place() */
} QVGPUSpace;

/* Address of @addr in VMID 0 without GART: FB aperture or AGP window. */
uint64_t qvgpu_mc(QVGPU *v, uint64_t addr);
/* Entry bits that lead to @addr: @flags, S for RAM, the address. */
uint64_t qvgpu_entry(QVGPU *v, uint64_t addr, uint64_t flags);
/* Write the two halves of a 64-bit hub register pair (LO32's offset). */
void qvgpu_mm_wr64(QVGPU *v, uint32_t lo, uint64_t val);
uint64_t qvgpu_mm_rd64(QVGPU *v, uint32_t lo);

/* An empty space in VMID @vmid; its faults are retryable. */
void qvgpu_space_init(QVGPUSpace *s, QVGPU *v, unsigned vmid,
                      QVGPUKind tables);
void qvgpu_space_set_retry(QVGPUSpace *s, bool retry);
/* CPU address of @va's entry at @level; makes the tables above it. */
uint64_t qvgpu_space_slot(QVGPUSpace *s, uint64_t va, unsigned level);
/* Write that entry, as it stands. No invalidation. */
void qvgpu_space_set(QVGPUSpace *s, uint64_t va, unsigned level,
                     uint64_t entry);
/* Map whole pages, readable and writable, last one first. No invalidation. */
void qvgpu_space_map(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len);
/* Map at an address of the helper's choice, away from the tests'. */
uint64_t qvgpu_space_place(QVGPUSpace *s, uint64_t addr, uint64_t len);
/*
 * Drop the VMIDs' translations and wait for the acknowledge. @vmids may have
 * more bits of VM_INVALIDATE_ENG_REQ.
 */
void qvgpu_invalidate(QVGPU *v, uint32_t vmids);
/* The same of the 1 << @order pages at @va, which is aligned to them. */
void qvgpu_invalidate_range(QVGPU *v, uint32_t vmids, uint64_t va,
                            unsigned order);

#endif /* VGPU_TEST_PAGE_TABLE_H */
