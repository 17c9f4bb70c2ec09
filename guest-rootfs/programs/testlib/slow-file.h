/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file whose page reads complete when the test allows it: the test serves its file
 * system (FUSE). A task that accesses a page sleeps in the kernel until then and holds
 * the mmap_lock of a page-in.
 */
#ifndef SLOW_FILE_H
#define SLOW_FILE_H

#include "tap.h"

/**
 * struct slow_file - the file, as its server sees it
 * @dev: /dev/fuse
 * @size: bytes, whole pages
 * @seed: the content is vg_pattern_fill() with this seed, from offset 0
 * @unique: FUSE number of the pending read; 0: none
 * @offset: first byte of that read
 * @bytes: length of that read
 */
struct slow_file {
	int dev;
	uint64_t size, seed;
	uint64_t unique, offset;
	uint32_t bytes;
};

/*
 * Make the file, which exists for the calling process (the server) and children forked
 * later. The mount ends with the last of them. Call it once in a case.
 */
void slow_file_make(struct slow_file *f, uint64_t size, uint64_t seed);
/*
 * Call this in a child before anything else: it closes /dev/fuse, so that accesses to
 * the file fail instead of waiting when the server has ended.
 */
void slow_file_leave(struct slow_file *f);
/* In a child: slow_file_leave(), then map the file read-only. */
char *slow_file_map(struct slow_file *f);
/*
 * Server: reply to all requests until a read arrives. The case ends if no request
 * arrives within VG_TIMEOUT_MS.
 */
void slow_file_await_read(struct slow_file *f);
/* Server: complete that read. */
void slow_file_answer(struct slow_file *f);

#endif /* SLOW_FILE_H */
