// SPDX-License-Identifier: GPL-2.0-or-later
/* Set up a swap device for the guest tests. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/swap.h>
#include <unistd.h>

#include "tap.h"

/* Write the header that mkswap writes, then call swapon(). */
void tap_swap_on(void)
{
	static union {
		struct {
			char boot[1024];
			uint32_t version, last_page, bad_pages;
		} info;
		char magic[VG_PAGE];
	} head;
	uint64_t bytes = 0;
	char text[512];
	int fd;

	tap_read("/proc/swaps", text, sizeof(text));
	if (strstr(text, TAP_SWAP))
		return;
	fd = open(TAP_SWAP, O_RDWR | O_SYNC | O_CLOEXEC);
	CHECK(fd >= 0 && !ioctl(fd, BLKGETSIZE64, &bytes),
	      TAP_SWAP ", see tests.list: %s", strerror(errno));
	head.info.version = 1;
	head.info.last_page = (uint32_t)(bytes / VG_PAGE - 1);
	memcpy(head.magic + VG_PAGE - 10, "SWAPSPACE2", 10);
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head), TAP_SWAP);
	close(fd);
	CHECK(!swapon(TAP_SWAP, 0), "swapon: %s", strerror(errno));
}
