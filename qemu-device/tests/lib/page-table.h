/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: builds page tables and GPU address spaces. */
#ifndef VGPU_TEST_PAGE_TABLE_H
#define VGPU_TEST_PAGE_TABLE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

/* A GPU address space: one of the VMIDs 1-15 and its page tables. */
typedef struct QVGPUSpace {
    QVGPU *v;
    unsigned vmid;
    QVGPUKind tables;           /* kind of memory for new tables */
    uint64_t root;              /* CPU address of the root table */
    uint64_t next_va;           /* next address for qvgpu_space_place() */
} QVGPUSpace;

/*
 * Return the GPU address, in VMID 0, of CPU address @addr: in the FB aperture
 * for VRAM, in the AGP window for guest RAM.
 */
uint64_t qvgpu_mc(QVGPU *v, uint64_t addr);
/*
 * Return a page-table entry for CPU address @addr with the flags @flags. An
 * entry for guest RAM also has SYSTEM and SNOOPED.
 */
uint64_t qvgpu_entry(QVGPU *v, uint64_t addr, uint64_t flags);
/*
 * Access a 64-bit register pair of the MM hub. @lo is the offset of the
 * register for the low half.
 */
void qvgpu_mm_wr64(QVGPU *v, uint32_t lo, uint64_t val);
uint64_t qvgpu_mm_rd64(QVGPU *v, uint32_t lo);

/*
 * Set up an empty address space in VMID @vmid, with retry faults. @tables is
 * the kind of memory for the page tables.
 */
void qvgpu_space_init(QVGPUSpace *s, QVGPU *v, unsigned vmid,
                      QVGPUKind tables);
/* Select retry or no-retry faults for the VMID. */
void qvgpu_space_set_retry(QVGPUSpace *s, bool retry);
/*
 * Return the CPU address of the page-table entry of @va at @level. Allocates
 * the table that contains this entry, and the tables above it, if missing.
 */
uint64_t qvgpu_space_slot(QVGPUSpace *s, uint64_t va, unsigned level);
/*
 * Write @entry unchanged as the page-table entry of @va at @level. Does not
 * invalidate the TLB.
 */
void qvgpu_space_set(QVGPUSpace *s, uint64_t va, unsigned level,
                     uint64_t entry);
/*
 * Map GPU address @va to the @len bytes at CPU address @addr, in whole pages,
 * readable and writable. Maps the last page first. Does not invalidate the TLB.
 */
void qvgpu_space_map(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len);
/*
 * Map memory at an address that the function chooses, outside of the addresses
 * that tests choose. Returns the GPU address.
 */
uint64_t qvgpu_space_place(QVGPUSpace *s, uint64_t addr, uint64_t len);
/*
 * Invalidate the translations of the VMIDs in bit mask @vmids in the MM hub,
 * and wait for the acknowledge. @vmids may contain further bits of
 * VM_INVALIDATE_ENG_REQ.
 */
void qvgpu_invalidate(QVGPU *v, uint32_t vmids);
/*
 * As qvgpu_invalidate(), for the 1 << @order pages at @va, which is aligned to
 * their total size.
 */
void qvgpu_invalidate_range(QVGPU *v, uint32_t vmids, uint64_t va,
                            unsigned order);

#endif /* VGPU_TEST_PAGE_TABLE_H */
