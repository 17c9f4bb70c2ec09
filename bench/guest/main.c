// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-bench: measure in the guest, and print each sample as a line with a JSON object that
 * has name, bytes, value and unit. ./vgpu bench compares the values. "curve" measures for
 * ./vgpu bench-curves, whose lines curves.c describes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"

static void open_gpu(struct bench *b)
{
	must(vg_open(&b->vg), "opening KFD");
	b->gpu = &b->vg.gpu[0];
	must(vg_set_xnack(&b->vg, 1), "XNACK");
	must(vg_mem_info(b->gpu, &b->mem), "mem_info");
	must(vg_queue_create(&b->vg, b->gpu, 64 * VG_KIB, &b->queue), "queue");
}

/*
 * The parts that an argument can name. Without an argument, main() runs the anchors and the parts
 * that are not in this table.
 */
static const struct {
	const char *name;
	void (*bare)(void);		/* called before this program opens KFD */
	void (*fn)(struct bench *b);
} parts[] = {
	{ "boot", bench_boot, NULL },		/* the boot, in a guest without disks */
	{ "anchors", bench_pipes, bench_registers },	/* anchors, except the disk's reads */
	{ "cpu-faults", bench_cpu_faults, NULL },	/* faults of the CPU on untouched memory */
	/* lone faults; a second argument is their number */
	{ "fault-single", NULL, bench_single_faults },
	/* the same in turn with reads of a disk; needs the disk, see anchors.c */
	{ "fault-and-read", NULL, bench_faults_and_reads },
	/* memory manager; needs 5 GiB of RAM and 2 GiB of VRAM */
	{ "memory", bench_tables, bench_memory },
	{ "evict", NULL, bench_evict },		/* only the evictions of "memory" */
	{ "kfd", NULL, bench_kfd },		/* KFD's calls */
	{ "crowd", bench_crowd, NULL },		/* many processes with queues */
	{ "fault-crowd", bench_fault_crowd, NULL },	/* faults of many queues, on up to 4 GPUs */
	{ "peers", NULL, bench_peers },		/* mappings on several GPUs */
	/* shared virtual memory (SVM); needs 5 GiB of RAM and 2 GiB of VRAM */
	{ "svm", bench_svm_bare, bench_svm },
	{ "svm-gpus", NULL, bench_svm_gpus },	/* faults of several GPUs in SVM */
};

/* Run a part. @count is the second argument of the program, or NULL. */
static int run_part(const char *name, const char *count)
{
	static struct bench b;
	unsigned long n = count ? strtoul(count, NULL, 10) : 0;
	unsigned int i;

	if (count && (!n || n > MAX_COUNT)) {
		fprintf(stderr, "vgpu-bench: %s: want a number from 1 to %d\n", count, MAX_COUNT);
		return 2;
	}
	b.count = (unsigned int)n;
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(name, parts[i].name))
			continue;
		if (parts[i].bare)
			parts[i].bare();
		if (parts[i].fn) {
			open_gpu(&b);
			parts[i].fn(&b);
			must(vg_queue_destroy(&b.queue), "queue");
		}
		return 0;
	}
	fprintf(stderr, "vgpu-bench: no part %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	static struct bench b;
	int status;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "curve"))
		return bench_curve(argc - 2, argv + 2);
	if (argc > 2 && !strcmp(argv[1], "vram-load"))
		return bench_vram_load(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "overcommit"))
		return bench_overcommit(argc > 2 ? argv[2] : NULL);
	if (argc > 1)
		return run_part(argv[1], argc > 2 ? argv[2] : NULL);
	bench_cpu();
	bench_pipes();
	/*
	 * Run bench_hmm() in a child, because the MMU notifier that test_hmm registers would
	 * slow down the parts after it.
	 */
	pid = fork();
	if (!pid) {
		bench_hmm();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fprintf(stderr, "vgpu-bench: test_hmm could not be measured\n");
	bench_load();
	open_gpu(&b);
	bench_copy(&b);
	bench_faults(&b);
	bench_registers(&b);
	bench_migration(&b);
	must(vg_queue_destroy(&b.queue), "queue");
	return 0;
}
