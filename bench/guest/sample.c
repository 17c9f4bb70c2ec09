// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that all parts of the benchmark use: print a sample, end the program after an error. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

void sample(const char *name, uint64_t bytes, double value, const char *unit)
{
	printf("{\"name\": \"%s\", \"bytes\": %lu, \"value\": %.9g, \"unit\": \"%s\"}\n",
	       name, bytes, value, unit);
	fflush(stdout);
}

void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "vgpu-bench: %s: %s\n", what, vg_error());
	exit(1);
}

void *must_map(uint64_t bytes)
{
	void *p = vg_map_anon(bytes);

	must(p ? 0 : -1, "mapping memory");
	return p;
}
