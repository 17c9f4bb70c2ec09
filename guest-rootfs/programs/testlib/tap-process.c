// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of tap.h for the child processes of a case: kill a child at work, let two processes
 * alternate, wait until all processes have reached a barrier, reap all children.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

void tap_kill_at_work(void (*fn)(void *), unsigned int us)
{
	int fd[2], status;
	pid_t pid;
	char go;

	CHECK(!pipe(fd), "pipe: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		fn(&fd[1]);
	/* Close the write end, so that read() returns even if the child fails. */
	close(fd[1]);
	CHECK(read(fd[0], &go, 1) == 1, "the child did not start");
	vg_sleep_us(us);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGKILL, "status 0x%x", status);
	close(fd[0]);
}

void tap_step(const int *fds)
{
	CHECK(write(fds[1], "", 1) == 1, "write: %s", strerror(errno));
}

void tap_await(const int *fds)
{
	char c;
	ssize_t n;

	do
		n = read(fds[0], &c, 1);
	while (n < 0 && errno == EINTR);
	CHECK(n == 1, "the other process has ended");
}

void tap_meet(uint32_t *here, uint32_t n)
{
	uint64_t end = vg_deadline();

	__atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(here, __ATOMIC_SEQ_CST) < n) {
		CHECK(vg_now() < end, "%u of %u processes got here", *here, n);
		vg_sleep_us(1000);
	}
}

void *tap_shared_page(void)
{
	void *p = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

void tap_reap(const pid_t *pids, int n)
{
	int i, k, status;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = waitpid(-1, &status, 0);
		CHECK(pid > 0, "waitpid: %s", strerror(errno));
		for (k = 0; k < n && pids[k] != pid; k++)
			;
		CHECK(k < n, "process %d is none of the %d", pid, n);
		CHECK(!status, "process %d of %d ended with status 0x%x", k, n,
		      status);
	}
}
