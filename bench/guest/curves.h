/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Curves: how a cost grows with a number N, such as the number of ranges of a process. curves.c
 * has the command line and calls the functions curve_*(N), each of which measures a part at one N.
 */
#ifndef CURVES_H
#define CURVES_H

#include <stdint.h>

/*
 * Run "vgpu-bench curve PART SECONDS N...". @argv has the arguments from PART on. Return the exit
 * status of the program.
 */
int bench_curve(int argc, char **argv);

/* Print the value of curve @name at @n as a JSON line. */
void curve_point(const char *name, uint64_t n, double value, const char *unit);
/* Return the time since @start, a value of vg_now(), in ms. */
double curve_ms(uint64_t start);
/*
 * Print a JSON line with @part, @n and @when, then wait for a byte on standard input. Meanwhile the
 * host measures QEMU's memory. Return at once at the end of the input.
 */
void curve_hold(const char *part, uint64_t n, const char *when);
/*
 * Measure the memory that objects take: call curve_memory_begin() before their creation, and
 * curve_memory_end() while they exist. Prints the difference in the kernel's memory as curve
 * "@part-kernel". The host measures QEMU's part, see curve_hold().
 */
void curve_memory_begin(const char *part, uint64_t n);
void curve_memory_end(const char *part, uint64_t n);

/*
 * Parts. Each function runs in a process of its own, which has not opened KFD, and leaves the
 * objects of an exit's measurement to the end of the process.
 */
void curve_ranges(uint64_t n);		/* SVM ranges of a process */
void curve_bos(uint64_t n);		/* BOs of one page in VRAM */
void curve_memory(uint64_t mib);	/* SVM of scattered pages, mapped on the GPU */
void curve_processes(uint64_t n);	/* processes with queues, all at once */
void curve_queues(uint64_t n);		/* compute queues of a process */
void curve_gpus(uint64_t n);		/* GPUs on which one call maps a BO */
void curve_load(uint64_t n);		/* load of the module; the guest has @n GPUs */

#endif /* CURVES_H */
