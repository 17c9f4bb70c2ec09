// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-svm-loop copy|exchange|truncate: until stdin ends, queues access memory that CPU and GPU
 * share (SVM), and the program checks the bytes. Modes:
 * - copy: queues copy to pages that were freed.
 * - exchange: a queue reads two pages before and after an exchange of their addresses.
 * - truncate: queues copy from a file, which is then truncated.
 * Meanwhile, tests inject errors into the device's faults and invalidations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vg.h"

#define QUEUES	2
#define SIZE	(64 * VG_PAGE)
#define PIECE	1500
#define LATE_US	40000

struct loop {
	struct vg vg;
	struct vg_queue q[QUEUES];
	struct vg_bo out;
	char *src, *dst, *page, *file;
	int fd;
};

/* Set attributes so that each page faults separately and stays in system memory. */
static int lone_pages(struct loop *l, void *p, uint64_t size)
{
	int ret = vg_svm_set1(&l->vg, p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY,
			      0);

	return ret ? ret : vg_svm_set1(&l->vg, p, size,
				       KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
				       KFD_IOCTL_SVM_LOCATION_SYSMEM);
}

static int open_all(struct loop *l)
{
	struct vg_gpu *gpu = &l->vg.gpu[0];
	int i, ret;

	ret = vg_open_xnack(&l->vg);
	for (i = 0; ret >= 0 && i < QUEUES; i++)
		ret = vg_queue_create(&l->vg, gpu, 64 * VG_KIB, &l->q[i]);
	if (ret >= 0)
		ret = vg_bo_create(&l->vg, gpu, SIZE, VG_GTT, &l->out);
	if (ret < 0)
		return ret;
	l->src = vg_map_anon(SIZE);
	l->dst = vg_map_anon(SIZE);
	/*
	 * exchange() swaps the addresses of the first two pages. During the swap, the third address
	 * is the temporary place of one page.
	 */
	l->page = vg_map_anon(3 * VG_PAGE);
	l->fd = memfd_create("vgpu-svm-loop", 0);
	l->file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd,
		       0);
	if (!l->src || !l->dst || !l->page || l->file == MAP_FAILED)
		return vg_fail(-ENOMEM, "mmap");
	ret = lone_pages(l, l->src, SIZE);
	return ret ? ret : lone_pages(l, l->dst, SIZE);
}

/*
 * Copy SIZE bytes in pieces of @piece bytes. The pieces are distributed to the queues in turn, so
 * that all queues copy at the same time.
 */
static int copy_by_all(struct loop *l, const void *dst, const void *src,
		       uint64_t piece)
{
	uint64_t at, n;
	uint32_t seq[QUEUES];
	int i, ret = 0;

	for (at = 0, i = 0; !ret && at < SIZE; at += n, i++) {
		n = SIZE - at < piece ? SIZE - at : piece;
		ret = vg_emit_copy(&l->q[i % QUEUES], (uintptr_t)dst + at,
				   (uintptr_t)src + at, n);
	}
	for (i = 0; !ret && i < QUEUES; i++)
		ret = vg_emit_fence(&l->q[i], &seq[i]);
	for (i = 0; !ret && i < QUEUES; i++)
		vg_queue_submit(&l->q[i]);
	for (i = 0; !ret && i < QUEUES; i++)
		ret = vg_wait(&l->q[i], seq[i], VG_TIMEOUT_MS);
	return ret;
}

/*
 * Copy a pattern to pages that were freed, and compare the copy with the pattern. copy_by_all()
 * gives pieces of PIECE bytes, less than a page, to the queues in turn. So both queues access each
 * page.
 */
static int copy(void *arg, uint64_t round)
{
	struct loop *l = arg;
	int ret;

	vg_pattern_fill(l->src, SIZE, round, 0);
	if (madvise(l->dst, SIZE, MADV_DONTNEED))
		return vg_fail(-errno, "madvise");
	ret = copy_by_all(l, l->dst, l->src, PIECE);
	return ret ? ret : vg_pattern_check(l->dst, SIZE, round, 0);
}

/*
 * Wait until the driver has taken and acknowledged every retry fault that the device
 * reported. Return 0 or -errno.
 */
static int await_acks(struct loop *l)
{
	uint64_t deadline = vg_deadline();
	struct vg_gpu *gpu = &l->vg.gpu[0];
	struct vg_counters device, driver;
	int ret;

	do {
		ret = vg_device_counters(gpu, &device);
		if (!ret)
			ret = vg_driver_counters(gpu, &driver);
		if (ret)
			return ret;
		if (vg_counter(&driver, "faults_retry", NULL) >=
		    vg_counter(&device, "faults_retry", NULL))
			return vg_faults_wait_acked(gpu, 0, VG_TIMEOUT_MS);
		vg_sleep_us(1000);
	} while (vg_now() < deadline);
	return vg_fail(-ETIMEDOUT, "the driver does not take the retry faults");
}

/*
 * Copy from pages of a file, and truncate the file. Then the host injects a spurious fault there,
 * which must not stop the queues.
 */
static int cut_file(void *arg, uint64_t round)
{
	struct loop *l = arg;
	int ret;

	if (ftruncate(l->fd, SIZE))
		return vg_fail(-errno, "ftruncate");
	vg_pattern_fill(l->file, SIZE, round, 0);
	ret = copy_by_all(l, l->out.cpu, l->file, VG_PAGE);
	/*
	 * After a truncation, the driver ignores one fault that it cannot repair, and stops the
	 * queues at a second one (docs/faults.md). The host injects one such fault. A fault left
	 * from the copy would be another, so wait until the driver has served all faults.
	 */
	if (!ret)
		ret = await_acks(l);
	if (ftruncate(l->fd, 0))
		return vg_fail(-errno, "ftruncate");
	/* The host injects a fault during this sleep, while the file has no pages. */
	vg_sleep_us(LATE_US);
	return ret ? ret : vg_pattern_check(l->out.cpu, SIZE, round, 0);
}

/* Read both pages on a queue, and compare them with the patterns @first and @second. */
static int look(struct loop *l, uint64_t first, uint64_t second)
{
	int ret = vg_copy(&l->q[0], l->out.cpu, l->page, 2 * VG_PAGE);

	if (!ret)
		ret = vg_pattern_check(l->out.cpu, VG_PAGE, first, 0);
	return ret ? ret : vg_pattern_check((char *)l->out.cpu + VG_PAGE,
					    VG_PAGE, second, 0);
}

static int move_page(struct loop *l, int from, int to)
{
	void *p = mremap(l->page + from * VG_PAGE, VG_PAGE, VG_PAGE,
			 MREMAP_MAYMOVE | MREMAP_FIXED, l->page + to * VG_PAGE);

	return p == MAP_FAILED ? vg_fail(-errno, "mremap") : 0;
}

/*
 * Exchange the addresses of two pages. The GPU only reads them: a stale translation gives a wrong
 * byte, but a write would damage other memory.
 */
static int exchange(void *arg, uint64_t round)
{
	struct loop *l = arg;
	int ret;

	vg_pattern_fill(l->page, VG_PAGE, round, 0);
	vg_pattern_fill(l->page + VG_PAGE, VG_PAGE, ~round, 0);
	ret = look(l, round, ~round);
	if (!ret)
		ret = move_page(l, 0, 2);
	if (!ret)
		ret = move_page(l, 1, 0);
	if (!ret)
		ret = move_page(l, 2, 1);
	return ret ? ret : look(l, ~round, round);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(void *arg, uint64_t round);
	} turns[] = {
		{ "copy", copy },
		{ "exchange", exchange },
		{ "truncate", cut_file },
	};
	static struct loop l;
	unsigned int i;
	int ret;

	for (i = 0; i < 3 && (argc != 2 || strcmp(argv[1], turns[i].name)); i++)
		;
	if (i == 3) {
		fprintf(stderr, "usage: vgpu-svm-loop copy|exchange|truncate\n");
		return 2;
	}
	ret = open_all(&l);
	if (ret >= 0) {
		/*
		 * In modes "copy" and "truncate", the host injects faults in this address range. In
		 * mode "exchange", the host ignores this line.
		 */
		printf("memory at %p, 0x%lx bytes\n",
		       turns[i].fn == cut_file ? l.file : l.dst, SIZE);
		ret = vg_rounds(turns[i].fn, &l);
	}
	if (ret < 0)
		fprintf(stderr, "vgpu-svm-loop: %s\n", vg_error());
	return ret < 0;
}
