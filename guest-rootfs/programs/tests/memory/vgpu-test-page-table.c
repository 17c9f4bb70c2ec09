// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of page tables. Catches: a page table is freed only when its process ends; an engine uses
 * an entry that SDMA has not written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tap.h"

#define MODE "/sys/module/vgpu_kfd/parameters/vm_update_mode"

enum { BY_SDMA = 0, BY_CPU = 3 };

/*
 * Size of a mapping. The 32 page tables of the mapping do not fit into the first page table BO of
 * an address space, so the driver allocates another BO.
 */
#define TABLES_BYTES (64 * VG_MIB)

/*
 * Select the writer of page tables (@mode: BY_SDMA or BY_CPU) for address spaces that are created
 * after this call. Return the mode that was set before.
 */
static int set_writer(int mode)
{
	FILE *f = fopen(MODE, "r+");
	int was;

	CHECK(f && fscanf(f, "%d", &was) == 1, "cannot read " MODE);
	rewind(f);
	CHECK(fprintf(f, "%d\n", mode) > 0 && !fclose(f),
	      "cannot write " MODE);
	return was;
}

/* Map memory for the CPU. Its 4 KiB pages are scattered in physical memory. */
static uint32_t *scattered(size_t pages)
{
	uint32_t *p = vg_map_anon(pages * VG_PAGE), *order, k, t;
	size_t i;

	CHECK(p, "%s", vg_error());
	CHECK(!madvise(p, pages * VG_PAGE, MADV_NOHUGEPAGE), "madvise");
	order = malloc(pages * sizeof(*order));
	CHECK(order, "no memory");
	srand(1);
	for (i = 0; i < pages; i++)
		order[i] = i;
	for (i = pages - 1; i; i--) {
		k = rand() % (i + 1);
		t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
	for (i = 0; i < pages; i++)
		vg_pattern_fill(p + order[i] * (VG_PAGE / 4), VG_PAGE, 7,
				order[i] * VG_PAGE);
	free(order);
	return p;
}

/*
 * Map scattered pages for the GPU, and check what the GPU reads from these pages. @writer (BY_SDMA
 * or BY_CPU) writes the page table entries.
 */
static void map_scattered(int writer)
{
	size_t pages = getenv("VGPU_TEST_SECONDS") ? 262144 : 8192, i;
	const uint64_t chunk = 4 * VG_MIB;
	uint64_t entries, bytes, start, ns;
	struct vg_bo bo = { 0 };
	struct vg_queue q = { 0 };
	struct vg_gpu *gpu;
	struct vg vg;
	uint32_t *p;
	int was;

	was = set_writer(writer);
	tap_open(&vg, 0);
	set_writer(was);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 65536, &q));
	OK(vg_bo_create(&vg, gpu, chunk, VG_GTT, &bo));
	p = scattered(pages);

	entries = tap_driver_counter(gpu, "ptes_written");
	bytes = tap_driver_counter(gpu, "pt_bytes");
	start = vg_now();
	OK(vg_svm_set1(&vg, p, pages * VG_PAGE, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	ns = vg_now() - start;
	entries = tap_driver_counter(gpu, "ptes_written") - entries;
	bytes = tap_driver_counter(gpu, "pt_bytes") - bytes;
	tap_diag("%zu pages: %llu entries, %.3f bytes each, %llu ns a page",
		 pages, (unsigned long long)entries, (double)bytes / entries,
		 (unsigned long long)(ns / pages));
	CHECK(entries >= pages && entries <= pages + pages / 100 + 64,
	      "%llu entries for %zu pages", (unsigned long long)entries, pages);
	/* Catches: the driver writes more than 8.4 bytes an entry. (An entry has 8 bytes.) */
	CHECK(bytes * 100 <= entries * 8 * 105, "%llu bytes for %llu entries",
	      (unsigned long long)bytes, (unsigned long long)entries);
	/*
	 * SDMA packets have headers, so the byte count shows whether SDMA wrote the
	 * entries.
	 */
	CHECK((bytes == entries * 8) == (writer == BY_CPU),
	      "%llu bytes for %llu entries: the wrong writer",
	      (unsigned long long)bytes, (unsigned long long)entries);

	for (i = 0; i < pages * VG_PAGE; i += chunk) {
		OK(vg_copy(&q, bo.cpu, (char *)p + i, chunk));
		OK(vg_pattern_check(bo.cpu, chunk, 7, i));
	}
	vg_unmap_anon(p, pages * VG_PAGE);
	OK(vg_bo_free(&bo));
	OK(vg_queue_destroy(&q));
	vg_close(&vg);
}

static void scattered_by_cpu(void)
{
	map_scattered(BY_CPU);
}

static void scattered_by_sdma(void)
{
	map_scattered(BY_SDMA);
}

/*
 * When an ioctl unmaps a BO, the VRAM of the BO's page tables must be freed although the
 * process continues.
 */
static void tables_of_bos_go(void)
{
	struct vg_mem_info base, now;
	struct vg_bo bo = { 0 };
	struct vg vg;
	int i;

	tap_open(&vg, 1);
	OK(vg_mem_info(&vg.gpu[0], &base));
	for (i = 0; i < 2; i++) {
		OK(vg_bo_alloc(&vg, &vg.gpu[0], TABLES_BYTES, VG_GTT, &bo));
		OK(vg_bo_map_gpu(&bo));
		OK(vg_mem_info(&vg.gpu[0], &now));
		/*
		 * The 32 page tables need more than the first page table BO (16 pages), so the
		 * driver allocates another BO of 64 pages.
		 */
		CHECK(now.vram_used >= base.vram_used + 64 * VG_PAGE,
		      "%llu bytes for the tables of 64 MiB",
		      (unsigned long long)(now.vram_used - base.vram_used));
		OK(vg_bo_free(&bo));
		OK(vg_mem_wait_freed(&vg.gpu[0], &base, VG_TIMEOUT_MS));
	}
	vg_close(&vg);
}

/*
 * When an MMU notifier unmaps SVM memory, the VRAM of the memory's page tables must be
 * freed.
 */
static void tables_of_svm_go(void)
{
	struct vg_mem_info base, now;
	struct vg vg;
	char *p;
	int i;

	tap_open(&vg, 0);
	OK(vg_mem_info(&vg.gpu[0], &base));
	for (i = 0; i < 2; i++) {
		p = vg_map_anon(TABLES_BYTES);
		CHECK(p, "%s", vg_error());
		OK(vg_svm_set1(&vg, p, TABLES_BYTES, KFD_IOCTL_SVM_ATTR_ACCESS,
			       vg.gpu[0].gpu_id));
		OK(vg_mem_info(&vg.gpu[0], &now));
		CHECK(now.vram_used >= base.vram_used + 64 * VG_PAGE,
		      "%llu bytes for the tables of 64 MiB",
		      (unsigned long long)(now.vram_used - base.vram_used));
		vg_unmap_anon(p, TABLES_BYTES);
		OK(vg_mem_wait_freed(&vg.gpu[0], &base, VG_TIMEOUT_MS));
	}
	vg_close(&vg);
}

static const struct tap_case cases[] = {
	{ "tables of BOs go when they are unmapped", tables_of_bos_go, 0 },
	{ "tables of SVM go when it is unmapped", tables_of_svm_go, 0 },
	{ "scattered pages, tables written by the CPU", scattered_by_cpu, 0 },
	{ "scattered pages, tables written by SDMA", scattered_by_sdma, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
