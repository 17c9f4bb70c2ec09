/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file on a FUSE file system that the test itself serves. A read of a page completes only when
 * the test replies to the request, so a task that faults on a page of the file sleeps in the kernel
 * until then.
 */
#ifndef SLOW_FILE_H
#define SLOW_FILE_H

#include "tap.h"

/**
 * struct slow_file - a file on a FUSE file system, and the state of the FUSE server
 */
struct slow_file {
	/** @dev: open file of /dev/fuse */
	int dev;
	/** @size: size of the file in bytes, a multiple of the page size */
	/** @seed: the file contains the pattern of vg_pattern_fill() with this seed */
	uint64_t size, seed;
	/** @unique: FUSE's number of the pending read request, or 0 if no read is pending */
	/** @offset: offset of the pending read in the file, in bytes */
	uint64_t unique, offset;
	/** @bytes: length of the pending read, in bytes */
	uint32_t bytes;
};

/*
 * Make the file and become its FUSE server. Only this process and children forked later see the
 * file. Call slow_file_make() only once in a case.
 */
void slow_file_make(struct slow_file *f, uint64_t size, uint64_t seed);
/*
 * Close a child's inherited /dev/fuse; each child calls this first. Otherwise, after the server's
 * end, accesses to the file would wait forever instead of failing.
 */
void slow_file_leave(struct slow_file *f);
/* For a child: call slow_file_leave(), then map the file read-only. */
char *slow_file_map(struct slow_file *f);
/*
 * For the server: serve FUSE requests until a read request arrives. The read is left pending for
 * slow_file_answer(). The case fails if no request arrives within VG_TIMEOUT_MS.
 */
void slow_file_await_read(struct slow_file *f);
/* For the server: complete the read that slow_file_await_read() received. */
void slow_file_answer(struct slow_file *f);

#endif /* SLOW_FILE_H */
