// SPDX-License-Identifier: GPL-2.0-or-later
/* Measures the host's memcpy and prints JSON lines like those of vgpu-bench. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES 5
#define MAX (256ul << 20)

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	char *src = malloc(MAX), *dst = malloc(MAX);
	uint64_t bytes;

	if (!src || !dst) {
		fprintf(stderr, "memcpy: no memory\n");
		return 1;
	}
	memset(src, 1, MAX);
	memset(dst, 2, MAX);
	for (bytes = 4096; bytes <= MAX; bytes *= 4) {
		uint64_t k, n = (64ul << 20) / bytes;
		int s;

		n = n < 1 ? 1 : n > 256 ? 256 : n;
		for (s = 0; s < SAMPLES; s++) {
			double start = now_ns();

			for (k = 0; k < n; k++) {
				memcpy(dst, src, bytes);
				/* Keep the compiler from optimizing away a copy. */
				__asm__ volatile("" ::: "memory");
			}
			printf("{\"name\": \"host-memcpy\", \"bytes\": %lu, \"value\": %.9g, \"unit\": \"GB/s\"}\n",
			       (unsigned long)bytes,
			       (double)(n * bytes) / (now_ns() - start));
		}
	}
	free(src);
	free(dst);
	return 0;
}
