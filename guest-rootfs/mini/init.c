// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's part as /init, the first program of the mini root file system: mounts file systems
 * and loads the driver. A shell script would start a program for each of these mounts, and each
 * start takes several ms in a guest under TCG.
 *
 * If vgpu_wait= is on the kernel's command line, the driver is not loaded. The agent then runs
 * vgpu-devices after the guest has been restored from a snapshot. If vgpu_root= is there, the
 * script vgpu-root loads the driver, and changes to the root on that disk. (The kernel passes
 * unknown words NAME=VALUE of its command line to the first program as environment variables.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

#define DEVICES	"/sbin/vgpu-devices"
#define ROOT	"/sbin/vgpu-root"

void attach_devices(char *state, size_t size)
{
	size_t used = 0;
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		die("cannot make pipes");
	pid = fork();
	if (pid < 0)
		die("cannot start " DEVICES);
	if (pid == 0) {
		unblock_signals();
		dup2(out[1], 1);
		execl(DEVICES, DEVICES, NULL);
		_exit(127);
	}
	close(out[1]);
	while (used < size - 1) {
		ssize_t done = read(out[0], state + used, size - 1 - used);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			break;
		used += done;
	}
	close(out[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	state[used] = '\0';
	state[strcspn(state, "\n")] = '\0';
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		fprintf(stderr, "vgpu-agent: cannot create %s: %m\n", path);
}

static void make_link(const char *target, const char *path)
{
	if (symlink(target, path))
		fprintf(stderr, "vgpu-agent: cannot create %s: %m\n", path);
}

/* Mount a file system that has no disk. Like a shell script, go on without it after an error. */
static void mount_at(const char *type, const char *path)
{
	if (mount(type, path, type, 0, NULL))
		fprintf(stderr, "vgpu-agent: cannot mount %s at %s: %m\n", type, path);
}

static void mount_all(void)
{
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("devtmpfs", "/dev");
	make_folder("/dev/pts");
	make_folder("/dev/shm");
	make_link("/proc/self/fd", "/dev/fd");
	make_link("/proc/self/fd/0", "/dev/stdin");
	make_link("/proc/self/fd/1", "/dev/stdout");
	make_link("/proc/self/fd/2", "/dev/stderr");
	mount_at("devpts", "/dev/pts");
	mount_at("tmpfs", "/dev/shm");
	mount_at("tmpfs", "/tmp");
	mount_at("debugfs", "/sys/kernel/debug");
	mount_at("tracefs", "/sys/kernel/tracing");
}

void boot(char *state, size_t size)
{
	const char *root = getenv("vgpu_root"), *waiting = getenv("vgpu_wait");

	prctl(PR_SET_NAME, "vgpu-agent");
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
	setenv("HOME", "/root", 1);
	mount_all();
	if (waiting && *waiting) {
		snprintf(state, size, "waiting");
	} else if (root && *root) {
		execl(ROOT, ROOT, NULL);
		die(ROOT);
	} else {
		attach_devices(state, size);
	}
}
