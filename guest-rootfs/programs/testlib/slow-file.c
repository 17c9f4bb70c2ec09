// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The FUSE server of slow-file.h. The root of the file system is not a directory, but the served
 * file. Therefore the mount point must be a file.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/fuse.h>

#include "slow-file.h"

#define PLACE		"/tmp/vgpu-slow-file"
/*
 * Size of the buffer for reads of /dev/fuse. FUSE requires at least 8 KiB, and space for the
 * longest write request.
 */
#define REQUEST_BYTES	(16 * VG_KIB)
/* A read request asks for at most one page, because max_readahead is 0. */
#define READ_BYTES	VG_PAGE

void slow_file_make(struct slow_file *f, uint64_t size, uint64_t seed)
{
	char options[80];
	int fd;

	*f = (struct slow_file){ .size = size, .seed = seed };
	/*
	 * Use a private mount namespace, so that the mount ends with the processes of
	 * the case.
	 */
	CHECK(!unshare(CLONE_NEWNS), "unshare: %s", strerror(errno));
	fd = open(PLACE, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0, "%s: %s", PLACE, strerror(errno));
	close(fd);
	f->dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	CHECK(f->dev >= 0, "/dev/fuse: %s", strerror(errno));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=%o,user_id=0,group_id=0", f->dev, S_IFREG);
	CHECK(!mount("vgpu-slow-file", PLACE, "fuse", MS_NOSUID | MS_NODEV,
		     options), "mount: %s", strerror(errno));
}

void slow_file_leave(struct slow_file *f)
{
	close(f->dev);
	f->dev = -1;
}

char *slow_file_map(struct slow_file *f)
{
	struct stat st;
	char *p;
	int fd;

	slow_file_leave(f);
	fd = open(PLACE, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0, "%s: %s", PLACE, strerror(errno));
	/*
	 * fstat() makes the kernel fetch the file's size. Until then the size is 0, and accesses
	 * to the mapping would raise SIGBUS.
	 */
	CHECK(!fstat(fd, &st) && (uint64_t)st.st_size == f->size,
	      "%s has %lld bytes, not %lu", PLACE, (long long)st.st_size,
	      f->size);
	p = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	return p;
}

static void reply(const struct slow_file *f, uint64_t unique, int error,
		  const void *data, size_t bytes)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes),
		.error = -error,
		.unique = unique,
	};
	struct iovec iov[] = {
		{ &head, sizeof(head) },
		{ (void *)data, bytes },
	};

	CHECK(writev(f->dev, iov, 2) == (ssize_t)head.len, "/dev/fuse: %s",
	      strerror(errno));
}

static void reply_init(const struct slow_file *f, uint64_t unique)
{
	const struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 0,
		.max_write = READ_BYTES,
		.time_gran = 1,
	};

	reply(f, unique, 0, &out, sizeof(out));
}

static void reply_attr(const struct slow_file *f, uint64_t unique)
{
	const struct fuse_attr_out out = {
		.attr_valid = UINT32_MAX,
		.attr = {
			.ino = FUSE_ROOT_ID,
			.size = f->size,
			.blocks = f->size / 512,
			.mode = S_IFREG | 0400,
			.nlink = 1,
			.blksize = VG_PAGE,
		},
	};

	reply(f, unique, 0, &out, sizeof(out));
}

static void reply_open(const struct slow_file *f, uint64_t unique)
{
	/* With FOPEN_NOFLUSH, close() sends no request and does not wait for the server. */
	const struct fuse_open_out out = { .open_flags = FOPEN_NOFLUSH };

	reply(f, unique, 0, &out, sizeof(out));
}

static void note_read(struct slow_file *f, uint64_t unique,
		      const struct fuse_read_in *in)
{
	CHECK(in->size <= READ_BYTES && in->offset + in->size <= f->size,
	      "%u bytes are read at %lu", in->size, in->offset);
	f->unique = unique;
	f->offset = in->offset;
	f->bytes = in->size;
}

/* Serve one request. The case fails if no request arrives within VG_TIMEOUT_MS. */
static void serve(struct slow_file *f)
{
	static union {
		struct fuse_in_header head;
		char bytes[REQUEST_BYTES];
	} request;
	struct pollfd p = { .fd = f->dev, .events = POLLIN };
	const struct fuse_in_header *head = &request.head;
	ssize_t n;

	CHECK(poll(&p, 1, VG_TIMEOUT_MS) == 1, "no request for the file");
	n = read(f->dev, &request, sizeof(request));
	/* read() fails with ENOENT if the kernel aborted the request. */
	if (n < 0 && errno == ENOENT)
		return;
	CHECK(n >= (ssize_t)sizeof(*head) && n == (ssize_t)head->len,
	      "/dev/fuse: %s", strerror(errno));

	switch (head->opcode) {
	case FUSE_INIT:
		reply_init(f, head->unique);
		break;
	case FUSE_GETATTR:
		reply_attr(f, head->unique);
		break;
	case FUSE_OPEN:
		reply_open(f, head->unique);
		break;
	case FUSE_READ:
		note_read(f, head->unique, (const void *)(head + 1));
		break;
	case FUSE_RELEASE:
		reply(f, head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(f, head->unique, ENOSYS, NULL, 0);
		break;
	}
}

void slow_file_await_read(struct slow_file *f)
{
	while (!f->unique)
		serve(f);
}

void slow_file_answer(struct slow_file *f)
{
	static char page[READ_BYTES];
	uint64_t unique = f->unique;

	vg_pattern_fill(page, f->bytes, f->seed, f->offset);
	f->unique = 0;
	reply(f, unique, 0, page, f->bytes);
}
