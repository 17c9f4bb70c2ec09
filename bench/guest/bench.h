/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-bench: what the pieces share.
 */
#ifndef BENCH_H
#define BENCH_H

#include "vg.h"

/* How often each thing is measured; every sample is a line, ./vgpu bench takes medians. */
#define SAMPLES		5
#define SWEEP		(64 * VG_MIB)

/**
 * struct bench - the GPU under measurement
 */
struct bench {
	struct vg vg;
	struct vg_gpu *gpu;
	struct vg_queue queue;
	struct vg_mem_info mem;
};

/* sample.c */

/* One sample as a JSON line; @bytes 0 if size means nothing here. */
void sample(const char *name, uint64_t bytes, double value, const char *unit);
/* Ends the program with vg_error() if @r is an error. */
void must(int r, const char *what);
/* As vg_map_anon(), but never NULL. */
void *must_map(uint64_t bytes);

/* The parts, which main.c runs. */

void bench_boot(void);
void bench_cpu(void);
void bench_copy(struct bench *b);
void bench_faults(struct bench *b);
void bench_migration(struct bench *b);
void bench_hmm(void);
/* Unloads and loads the driver: nobody uses it. */
void bench_load(void);
void bench_memory(struct bench *b);
void bench_evict(struct bench *b);
void bench_tables(void);
/* KFD's calls; @b->queue is destroyed and made anew on the way. */
void bench_kfd(struct bench *b);
/* For a guest with several GPUs. */
void bench_peers(struct bench *b);
/* Before this process opens KFD. */
void bench_crowd(void);
void bench_svm_bare(void);
/* Shared virtual memory, 1 GiB of it: wants a larger guest. */
void bench_svm(struct bench *b);
/* For a guest with several GPUs. */
void bench_svm_gpus(struct bench *b);

#endif /* BENCH_H */
