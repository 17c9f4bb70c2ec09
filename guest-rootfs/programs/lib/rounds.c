// SPDX-License-Identifier: GPL-2.0-or-later
/* Run the rounds of a workload until the host closes the workload's standard input. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "rounds.h"

int vg_rounds(int (*fn)(void *arg, uint64_t round), void *arg)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	uint64_t round;
	int ret;

	for (round = 1; poll(&in, 1, 0) <= 0; round++) {
		ret = fn(arg, round);
		if (ret < 0)
			return ret;
		printf("round %lu\n", (unsigned long)round);
		fflush(stdout);
	}
	return 0;
}
