// SPDX-License-Identifier: GPL-2.0-or-later
/* Map anonymous memory, and fill memory with patterns and check it: implementation of pattern.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"
#include "pattern.h"

void *vg_map_anon(uint64_t size)
{
	uint64_t inner = (size + VG_PAGE - 1) & ~(VG_PAGE - 1);
	char *p = mmap(NULL, inner + 2 * VG_PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		vg_fail(-errno, "mmap of %lu bytes", size);
		return NULL;
	}
	if (mprotect(p + VG_PAGE, inner, PROT_READ | PROT_WRITE)) {
		vg_fail(-errno, "mprotect of %lu bytes", size);
		munmap(p, inner + 2 * VG_PAGE);
		return NULL;
	}
	return p + VG_PAGE;
}

void vg_unmap_anon(void *p, uint64_t size)
{
	uint64_t inner = (size + VG_PAGE - 1) & ~(VG_PAGE - 1);

	if (p)
		munmap((char *)p - VG_PAGE, inner + 2 * VG_PAGE);
}

/* Mix @seed and @index, so that neighbouring words of the pattern differ in most bytes. */
static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t x = (index + 1) * 0x9e3779b97f4a7c15ull + seed;

	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9ull;
}

static uint8_t pattern_byte(uint64_t seed, uint64_t pos)
{
	return (uint8_t)(pattern_word(seed, pos / 8) >> (pos % 8 * 8));
}

void vg_pattern_fill(void *buf, uint64_t bytes, uint64_t seed, uint64_t offset)
{
	uint8_t *p = buf;
	uint64_t i = 0;

	for (; i < bytes && (offset + i) % 8; i++)
		p[i] = pattern_byte(seed, offset + i);
	for (; i + 8 <= bytes; i += 8) {
		uint64_t w = pattern_word(seed, (offset + i) / 8);

		memcpy(p + i, &w, 8);
	}
	for (; i < bytes; i++)
		p[i] = pattern_byte(seed, offset + i);
}

static int mismatch(uint64_t at, uint64_t bytes, uint8_t want, uint8_t got)
{
	vg_fail(0, "byte 0x%lx of 0x%lx is 0x%02x, should be 0x%02x", at, bytes,
		got, want);
	return -EILSEQ;
}

int vg_pattern_check(const void *buf, uint64_t bytes, uint64_t seed,
		     uint64_t offset)
{
	const uint8_t *p = buf;
	uint64_t i = 0;

	while (i < bytes) {
		uint64_t w;

		if ((offset + i) % 8 == 0 && i + 8 <= bytes) {
			memcpy(&w, p + i, 8);
			if (w == pattern_word(seed, (offset + i) / 8)) {
				i += 8;
				continue;
			}
		}
		if (p[i] != pattern_byte(seed, offset + i))
			return mismatch(i, bytes, pattern_byte(seed, offset + i),
					p[i]);
		i++;
	}
	return 0;
}

int vg_fill_check(const void *buf, uint64_t bytes, uint32_t value)
{
	const uint8_t *p = buf;
	uint64_t i = 0, w, wide = (uint64_t)value << 32 | value;

	while (i < bytes) {
		uint8_t want = (uint8_t)(value >> (i % 4 * 8));

		if (i % 8 == 0 && i + 8 <= bytes) {
			memcpy(&w, p + i, 8);
			if (w == wide) {
				i += 8;
				continue;
			}
		}
		if (p[i] != want)
			return mismatch(i, bytes, want, p[i]);
		i++;
	}
	return 0;
}
