// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A child process that receives commands through one pipe and sends results through
 * another.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"

struct reply {
	int result;
	char text[256];
};

static void serve(child_fn fn, void *state, int in, int out)
{
	struct reply reply;
	char command;

	while (read(in, &command, 1) == 1) {
		memset(&reply, 0, sizeof(reply));
		reply.result = fn(state, command);
		if (reply.result)
			snprintf(reply.text, sizeof(reply.text), "%s",
				 vg_error());
		if (write(out, &reply, sizeof(reply)) != sizeof(reply))
			break;
	}
	_exit(0);
}

int child_start(struct child *p, child_fn fn, void *state)
{
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return vg_fail(-errno, "pipe");
	fflush(NULL);
	p->pid = fork();
	if (p->pid < 0)
		return vg_fail(-errno, "fork");
	if (!p->pid) {
		close(down[1]);
		close(up[0]);
		serve(fn, state, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	p->to = down[1];
	p->from = up[0];
	return 0;
}

int child_request(struct child *p, char command)
{
	struct pollfd pfd = { .fd = p->from, .events = POLLIN };
	struct reply reply;

	if (write(p->to, &command, 1) != 1)
		return vg_fail(-errno, "the child does not take commands");
	if (poll(&pfd, 1, 2 * VG_TIMEOUT_MS) != 1)
		return vg_fail(-ETIMEDOUT, "the child does not answer to '%c'",
			       command);
	if (read(p->from, &reply, sizeof(reply)) != sizeof(reply))
		return vg_fail(-EPIPE, "the child died at '%c'", command);
	if (reply.result)
		vg_fail(0, "%s", reply.text);
	return reply.result;
}

int child_stop(struct child *p)
{
	uint64_t deadline = vg_deadline();
	int status;
	pid_t pid;

	close(p->to);
	close(p->from);
	while (!(pid = waitpid(p->pid, &status, WNOHANG)) &&
	       vg_now() < deadline)
		vg_sleep_us(1000);
	if (!pid) {
		kill(p->pid, SIGKILL);
		return vg_fail(-ETIMEDOUT, "the child does not end");
	}
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return vg_fail(-ECHILD, "the child ended with status 0x%x",
			       status);
	return 0;
}
