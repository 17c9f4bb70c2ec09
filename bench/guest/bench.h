/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-bench: declarations that its source files share. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "vg.h"

/*
 * Number of samples of a measurement. Each sample is a line of output; ./vgpu bench prints the
 * median of the samples.
 */
#define SAMPLES		5
#define SWEEP		(64 * VG_MIB)
/* Number of lone faults; and the largest number that an argument may give. */
#define SINGLE_FAULTS	208
#define MAX_COUNT	1024

/**
 * struct bench - the GPU under measurement
 * @vg: the open KFD
 * @gpu: first GPU
 * @queue: SDMA queue on @gpu
 * @mem: size and usage of the memory of @gpu before the measurements
 * @count: number of samples that an argument gives, at most MAX_COUNT; 0: no such argument
 */
struct bench {
	struct vg vg;
	struct vg_gpu *gpu;
	struct vg_queue queue;
	struct vg_mem_info mem;
	unsigned int count;
};

/**
 * struct null_disk - the disk without contents
 * @fd: the disk, opened with O_DIRECT
 * @page: memory for the bytes that are read
 */
struct null_disk {
	int fd;
	char *page;
};

/* anchors.c */

/* Open the disk. If the guest has no such disk, print a message and return false. */
bool null_disk_open(struct null_disk *disk);
/*
 * Read 4 KiB. O_DIRECT makes the read a request to the disk, during which the task sleeps. Return
 * the time in ns.
 */
uint64_t null_disk_read(const struct null_disk *disk);
void null_disk_close(struct null_disk *disk);

/* sample.c */

/* Print one sample as a JSON line; @bytes is 0 if no size applies. */
void sample(const char *name, uint64_t bytes, double value, const char *unit);
/*
 * Print @n samples in us, from the times in ns that a loop has stored in @ns. Such a loop prints
 * nothing itself, because the agent that forwards the output would keep a virtual CPU awake.
 */
void samples_us(const char *name, uint64_t bytes, const uint64_t *ns,
		unsigned int n);
/* Sleep for long enough that the agent has forwarded all samples printed before the call. */
void await_quiet(void);
/* If @r is an error, print vg_error() with @what and end the program. */
void must(int r, const char *what);
/*
 * Wait until the fence value in a queue's page @ptrs is @seq. If it is not, sleep @poll_us before
 * the next look at the value. End the program if the value is not there at the time @deadline, in
 * ns of vg_now().
 */
void await_fence(const struct vg_bo *ptrs, uint32_t seq, unsigned int poll_us,
		 uint64_t deadline);
/* Call vg_map_anon(); a failure ends the program. */
void *must_map(uint64_t bytes);
/* Map @bytes of anonymous memory without touching it; a failure ends the program. */
void *must_reserve(uint64_t bytes);

/* Parts of the benchmark. main.c calls each function. */

/*
 * Measure the boot. The guest has no disk, because the kernel would find the disk before it starts
 * the program that loads the driver.
 */
void bench_boot(void);
void bench_cpu(void);
/* Measure only the page faults of bench_cpu(). */
void bench_cpu_faults(void);
/*
 * Measure wake-ups between two processes. The caller has not opened KFD: the MMU notifiers of a
 * process that uses KFD run at a fork.
 */
void bench_pipes(void);
/* Measure reads of a GPU register. */
void bench_registers(struct bench *b);
void bench_copy(struct bench *b);
/* Measure faults: sweeps, then lone faults as bench_faults_and_reads() does. */
void bench_faults(struct bench *b);
/* Measure @b->count lone faults, without reads of the disk in between. */
void bench_single_faults(struct bench *b);
/*
 * Measure @b->count lone faults in turn with reads of the disk without contents. If the guest has
 * no such disk, print a message, and measure the faults only.
 */
void bench_faults_and_reads(struct bench *b);
void bench_migration(struct bench *b);
void bench_hmm(void);
/*
 * Unload the driver's kernel module and load it again, several times. Measure how long each load
 * takes. The caller has closed KFD and the render nodes.
 */
void bench_load(void);
void bench_memory(struct bench *b);
void bench_evict(struct bench *b);
void bench_tables(void);
/* Measure KFD's calls. The function destroys @b->queue and creates it again. */
void bench_kfd(struct bench *b);
/* Measure mappings on several GPUs. With one GPU, end the program with an error. */
void bench_peers(struct bench *b);
/* Measure many processes with queues at once. The caller has not opened KFD. */
void bench_crowd(void);
/* Measure faults of many queues at once. The caller has not opened KFD. */
void bench_fault_crowd(void);
/*
 * Measure the progress of processes that need more memory than there is, for a number of seconds,
 * or for 30 if @seconds is NULL. Changes TTM's limit meanwhile. The caller has not opened KFD.
 * Return the exit status of the program.
 */
int bench_overcommit(const char *seconds);
/* Measure munmap in a process without KFD. The caller has not opened KFD. */
void bench_svm_bare(void);
/* Measure shared virtual memory of 1 GiB. The guest needs more memory than the default size. */
void bench_svm(struct bench *b);
/* Measure faults of several GPUs at once. With one GPU, end the program with an error. */
void bench_svm_gpus(struct bench *b);
/*
 * Load VRAM for a measurement of migration. @kind is "idle" or "busy". The caller has not opened
 * KFD. Return the exit status of the program.
 */
int bench_vram_load(const char *kind);

#endif /* BENCH_H */
