/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Map anonymous memory, and fill and check memory with the patterns that verify a copy. */
#ifndef VG_PATTERN_H
#define VG_PATTERN_H

#include <stdint.h>

/*
 * Map @size bytes of anonymous memory between two inaccessible pages. Return NULL on an error.
 */
void *vg_map_anon(uint64_t size);
void vg_unmap_anon(void *p, uint64_t size);
/*
 * Fill @bytes bytes at @p with a pattern, beginning at byte @offset of the pattern. @seed selects
 * the pattern.
 */
void vg_pattern_fill(void *p, uint64_t bytes, uint64_t seed, uint64_t offset);
/*
 * Compare @bytes bytes at @p with the pattern of vg_pattern_fill(). Return 0, or -EILSEQ if a
 * byte differs (vg_error() describes the first).
 */
int vg_pattern_check(const void *p, uint64_t bytes, uint64_t seed,
		     uint64_t offset);
/* Check that @bytes bytes at @p repeat the dword @value. Return as vg_pattern_check(). */
int vg_fill_check(const void *p, uint64_t bytes, uint32_t value);

#endif /* VG_PATTERN_H */
