/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file whose pages come when the test lets them: its file system is served by the
 * test (FUSE). Whoever accesses a page waits in the kernel meanwhile, with the
 * mmap_lock that a page-in has.
 */
#ifndef SLOW_FILE_H
#define SLOW_FILE_H

#include "tap.h"

/**
 * struct slow_file - the file, as its server sees it
 * @dev: /dev/fuse
 * @size: bytes, whole pages
 * @seed: the file holds the pattern of this seed, from offset 0
 * @unique: number of the read that waits, 0: none waits
 * @offset: where it begins
 * @bytes: how much it wants
 */
struct slow_file {
	int dev;
	uint64_t size, seed;
	uint64_t unique, offset;
	uint32_t bytes;
};

/*
 * Makes the file, which is there for the calling process, the server, and children
 * that it forks from then on. It goes with the last of them. Once a case.
 */
void slow_file_make(struct slow_file *f, uint64_t size, uint64_t seed);
/* In a child, before anything else: the file fails, and stalls nobody, without server. */
void slow_file_leave(struct slow_file *f);
/* In a child: slow_file_leave(), then the file, mapped to be read. */
char *slow_file_map(struct slow_file *f);
/*
 * The server: answer all but reads, until a page is read. The case ends if none is read
 * within VG_TIMEOUT_MS.
 */
void slow_file_await_read(struct slow_file *f);
/* The server: let that read go on. */
void slow_file_answer(struct slow_file *f);

#endif /* SLOW_FILE_H */
