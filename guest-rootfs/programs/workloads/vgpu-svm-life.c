// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-svm-life MARKER: create, use and remove two SVM ranges, A and B. The program marks its steps
 * in an ftrace recording, for the pictures of tools/vgpu_tools/trace/life.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "vg.h"

#define SIZE	(16 * VG_PAGE)

struct life {
	struct vg vg;
	struct vg_queue q;
	struct vg_bo out;
	char *a, *b;
	int marker;
};

/*
 * Write "vgpu life @what" to the file MARKER, which is ftrace's trace_marker. Return 0 or a
 * negative errno.
 */
static int step(const struct life *l, const char *what)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "vgpu life %s", what);

	return write(l->marker, line, (size_t)n) == n ? 0 :
		vg_fail(-errno, "trace marker");
}

static int open_all(struct life *l)
{
	int ret = step(l, "opens /dev/kfd");

	if (!ret)
		ret = vg_open_xnack(&l->vg);
	if (!ret)
		ret = vg_queue_create(&l->vg, &l->vg.gpu[0], 64 * VG_KIB, &l->q);
	if (ret >= 0)
		ret = vg_bo_create(&l->vg, &l->vg.gpu[0], SIZE, VG_GTT, &l->out);
	return ret;
}

/* Map memory, write the pattern of @seed to it, and create an SVM range for it. */
static char *create(struct life *l, uint64_t seed, const char *what)
{
	char *p = vg_map_anon(SIZE);

	if (!p)
		return NULL;
	vg_pattern_fill(p, SIZE, seed, 0);
	if (step(l, what) || vg_svm_set1(&l->vg, p, SIZE, KFD_IOCTL_SVM_ATTR_ACCESS,
					 l->vg.gpu[0].gpu_id))
		return NULL;
	return p;
}

/*
 * Copy the range at @p to a buffer, so that the range migrates to VRAM and gets GPU page-table
 * entries. Check every byte of the copy.
 */
static int copy(struct life *l, const char *p, uint64_t seed)
{
	int ret = vg_copy(&l->q, l->out.cpu, p, SIZE);

	return ret ? ret : vg_pattern_check(l->out.cpu, SIZE, seed, 0);
}

static int live(struct life *l)
{
	int ret = open_all(l);

	if (ret < 0)
		return ret;
	l->a = create(l, 1, "SET_ATTR of A");
	l->b = l->a ? create(l, 2, "SET_ATTR of B") : NULL;
	if (!l->b)
		return -ENOMEM;
	ret = step(l, "a queue reads A");
	if (!ret)
		ret = copy(l, l->a, 1);
	if (!ret)
		ret = step(l, "the copy is complete");
	if (!ret)
		ret = copy(l, l->b, 2);
	if (!ret)
		ret = step(l, "munmap of B");
	if (ret)
		return ret;
	vg_unmap_anon(l->b, SIZE);
	/*
	 * Give the driver's deferred_list_work time to remove the range of B before the exit. A is
	 * still mapped at the exit.
	 */
	vg_sleep_us(5000);
	return step(l, "exits");
}

int main(int argc, char **argv)
{
	static struct life l;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: vgpu-svm-life MARKER\n");
		return 2;
	}
	l.marker = open(argv[1], O_WRONLY | O_CLOEXEC);
	ret = l.marker < 0 ? vg_fail(-errno, "%s", argv[1]) : live(&l);
	if (ret < 0)
		fprintf(stderr, "vgpu-svm-life: %s\n", vg_error());
	return ret < 0;
}
