// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that all parts of the benchmark use: print samples, wait, end the program after an
 * error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench.h"

/* Well above the time in which the agent forwards the 1,000 lines of the longest measurement. */
#define QUIET_US	200000

void sample(const char *name, uint64_t bytes, double value, const char *unit)
{
	printf("{\"name\": \"%s\", \"bytes\": %lu, \"value\": %.9g, \"unit\": \"%s\"}\n",
	       name, bytes, value, unit);
	fflush(stdout);
}

void samples_us(const char *name, uint64_t bytes, const uint64_t *ns,
		unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		sample(name, bytes, (double)ns[i] / 1e3, "us");
}

void await_quiet(void)
{
	vg_sleep_us(QUIET_US);
}

void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "vgpu-bench: %s: %s\n", what, vg_error());
	exit(1);
}

void await_fence(const struct vg_bo *ptrs, uint32_t seq, unsigned int poll_us,
		 uint64_t deadline)
{
	volatile uint32_t *fence =
		(void *)((char *)ptrs->cpu + VG_QUEUE_FENCE);

	while (*fence != seq) {
		must(vg_now() > deadline ?
		     vg_fail(-ETIMEDOUT, "value %u, not %u", *fence, seq) : 0,
		     "fence");
		vg_sleep_us(poll_us);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void *must_map(uint64_t bytes)
{
	void *p = vg_map_anon(bytes);

	must(p ? 0 : -1, "mapping memory");
	return p;
}

void *must_reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		       MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	must(p == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "memory");
	return p;
}
