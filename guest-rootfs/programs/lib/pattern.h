/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the process, and the patterns that prove a copy.
 */
#ifndef VG_PATTERN_H
#define VG_PATTERN_H

#include <stdint.h>

/* Anonymous, page aligned, with an inaccessible page at either end. */
void *vg_map_anon(uint64_t size);
void vg_unmap_anon(void *p, uint64_t size);
/*
 * Fills with a pattern in which every byte depends on @seed and on its
 * distance from the pattern's origin; the buffer begins @offset bytes
 * behind the origin.
 */
void vg_pattern_fill(void *p, uint64_t bytes, uint64_t seed, uint64_t offset);
/*
 * Compares byte for byte. 0, or -EILSEQ with offset, expected and found byte
 * in vg_error().
 */
int vg_pattern_check(const void *p, uint64_t bytes, uint64_t seed,
		     uint64_t offset);
/* Each of @bytes bytes equals the dword @value at that place; as above. */
int vg_fill_check(const void *p, uint64_t bytes, uint32_t value);

#endif /* VG_PATTERN_H */
