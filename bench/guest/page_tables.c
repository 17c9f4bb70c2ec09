// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measure how long the CPU and SDMA take to write the page tables of 1 GiB of scattered pages, and
 * how the cost of mapping and unmapping grows with the size.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"

#define TABLES_BYTES	VG_GIB
#define WRITER		"/sys/module/vgpu_kfd/parameters/vm_update_mode"

enum { BY_SDMA = 0, BY_CPU = 3, BY_DEFAULT = -1 };

/* Select the writer of page tables, for address spaces that are created after this call. */
static void set_writer(int mode)
{
	FILE *f = fopen(WRITER, "we");

	must(f && fprintf(f, "%d\n", mode) > 0 && !fclose(f) ? 0 :
	     vg_fail(-1, "cannot write " WRITER), "tables");
}

/*
 * Map memory whose neighbouring pages are far apart in physical memory: touch the pages
 * in a permuted order. @bytes is a power of two.
 */
static char *scattered(uint64_t bytes)
{
	const uint64_t pages = bytes / VG_PAGE;
	char *p = must_map(bytes);
	uint64_t i;

	must(madvise(p, bytes, MADV_NOHUGEPAGE), "madvise");
	/*
	 * The factor is odd and pages is a power of two, so that the loop touches each page
	 * once.
	 */
	for (i = 0; i < pages; i++)
		p[i * 40503 % pages * VG_PAGE] = 1;
	return p;
}

static uint64_t counter(struct bench *b, const char *name)
{
	struct vg_counters c;

	must(vg_driver_counters(b->gpu, &c), "counters");
	return vg_counter(&c, name, NULL);
}

static void map_and_unmap(struct bench *b, char *p, const char *writer)
{
	uint64_t entries = counter(b, "ptes_written");
	uint64_t bytes = counter(b, "pt_bytes");
	uint64_t start = vg_now();
	char name[40];

	must(vg_svm_set1(&b->vg, p, TABLES_BYTES, KFD_IOCTL_SVM_ATTR_ACCESS,
			 b->gpu->gpu_id), "mapping");
	snprintf(name, sizeof(name), "tables-%s", writer);
	sample(name, TABLES_BYTES,
	       (double)(vg_now() - start) / (TABLES_BYTES / VG_PAGE),
	       "ns/page");
	entries = counter(b, "ptes_written") - entries;
	bytes = counter(b, "pt_bytes") - bytes;
	sample(name, TABLES_BYTES, (double)bytes / (double)entries, "B/entry");
	must(vg_svm_set1(&b->vg, p, TABLES_BYTES, KFD_IOCTL_SVM_ATTR_NO_ACCESS,
			 b->gpu->gpu_id), "unmapping");
}

static void measure(int mode, const char *writer)
{
	static struct bench b;
	char *p;
	int s;

	set_writer(mode);
	must(vg_open(&b.vg), "opening KFD");
	set_writer(BY_DEFAULT);
	b.gpu = &b.vg.gpu[0];
	must(vg_set_xnack(&b.vg, 0), "XNACK");
	p = scattered(TABLES_BYTES);
	for (s = 0; s < SAMPLES; s++)
		map_and_unmap(&b, p, writer);
	_exit(0);
}

/*
 * Measure page-table writes by the CPU and by SDMA. Each writer has its own child process,
 * because set_writer() affects only later address spaces.
 */
void bench_tables(void)
{
	static const struct {
		int mode;
		const char *name;
	} writers[] = { { BY_CPU, "cpu" }, { BY_SDMA, "sdma" } };
	int status = 0;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		pid = fork();
		if (!pid)
			measure(writers[i].mode, writers[i].name);
		must(pid < 0 || waitpid(pid, &status, 0) != pid || status ?
		     vg_fail(-1, "tables written by %s", writers[i].name) : 0,
		     "tables");
	}
}

/* Map @bytes at @p on the GPU of @vg, or unmap them, by SET_ATTR with the attribute @type. */
static void set_access(struct vg *vg, char *p, uint64_t bytes, uint32_t type)
{
	must(vg_svm_set1(vg, p, bytes, type, vg->gpu[0].gpu_id), "mapping");
}

/* The driver maps the memory at SET_ATTR and not at a fault, because XNACK is off. */
void curve_memory(uint64_t mib)
{
	const uint64_t bytes = mib * VG_MIB;
	char *p, *other;
	struct vg vg;
	uint64_t start;

	must(mib && !(mib & (mib - 1)) ? 0 :
	     vg_fail(-EINVAL, "%lu MiB is no power of two", mib), "memory");
	must(vg_open(&vg), "opening KFD");
	must(vg_set_xnack(&vg, 0), "XNACK");
	other = must_map(VG_PAGE);
	p = scattered(bytes);
	start = vg_now();
	set_access(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS);
	curve_point("memory-map", mib, curve_ms(start), "ms");
	start = vg_now();
	set_access(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	curve_point("memory-unmap", mib, curve_ms(start), "ms");

	set_access(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS);
	start = vg_now();
	must(munmap(p, bytes) ? vg_fail(-errno, "munmap") : 0, "memory");
	/* This call removes the range, unless the driver's worker has removed it already. */
	set_access(&vg, other, VG_PAGE, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	curve_point("memory-munmap", mib, curve_ms(start), "ms");

	p = scattered(bytes);
	set_access(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS);
}
