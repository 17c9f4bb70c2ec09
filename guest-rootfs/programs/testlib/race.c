// SPDX-License-Identifier: GPL-2.0-or-later
/* Race two calls against each other: implementation of race.h. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "race.h"
#include "tap.h"

static uint64_t rng;
static int (*opponent)(void);
static int result;
static uint64_t call_ns, delay_ns;
static sem_t go, done;
static pthread_t thread;
static bool stormy;

void race_seed(void)
{
	const char *seed = getenv("VGPU_TEST_SEED");

	rng = seed ? strtoull(seed, NULL, 0) : vg_now() | 1;
	tap_diag("VGPU_TEST_SEED=%#lx", rng);
}

void race_salt(uint64_t salt)
{
	rng ^= (salt + 1) * 0x9e3779b97f4a7c15ull;
	rng |= !rng;
}

uint64_t race_below(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

static void *oppose(void *arg)
{
	struct timespec at;
	sigset_t alarms;
	uint64_t ns;

	(void)arg;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	for (;;) {
		while (sem_wait(&go))
			;
		if (!opponent)
			return NULL;
		ns = vg_now() + delay_ns;
		at = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
					.tv_nsec = (long)(ns % 1000000000) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		result = opponent();
		sem_post(&done);
	}
}

static void pin(pthread_t who, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* If the guest has no CPU @cpu, the call fails and the thread stays on CPU 0. */
	pthread_setaffinity_np(who, sizeof(set), &set);
}

void race_begin(void)
{
	struct sched_param first = { .sched_priority = 1 };
	pthread_attr_t attr;

	if (!rng)
		race_seed();
	call_ns = 1000000;
	CHECK(!sem_init(&go, 0, 0) && !sem_init(&done, 0, 0), "semaphores");
	pin(pthread_self(), 0);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &first);
	CHECK(!pthread_create(&thread, &attr, oppose, NULL), "no thread");
	race_apart(false);
}

void race_end(void)
{
	opponent = NULL;
	sem_post(&go);
	pthread_join(thread, NULL);
}

void race_apart(bool apart)
{
	pin(thread, apart);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Send SIGALRM to this process every @us microseconds, or stop if @us is 0. The handler has no
 * SA_RESTART, so that an interrupted call returns to its caller.
 */
static void set_alarm(suseconds_t us)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval timer = {
		.it_interval.tv_usec = us, .it_value.tv_usec = us,
	};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

void race_storm(bool storm)
{
	stormy = storm;
}

int race(int (*call)(void), int (*other)(void), int *theirs)
{
	uint64_t start, took;
	int r;

	/*
	 * call_ns is about twice the duration of a call, so a random delay of at most call_ns
	 * starts the opponent during the call or shortly after it.
	 */
	opponent = other;
	delay_ns = race_below(call_ns + 1);
	start = vg_now();
	if (stormy)
		set_alarm(20 + (suseconds_t)race_below(call_ns / 1000 + 1));
	sem_post(&go);
	r = call();
	if (stormy)
		set_alarm(0);
	took = vg_now() - start;
	call_ns = (7 * call_ns + 2 * (took < 4000000 ? took : 4000000)) / 8;
	while (sem_wait(&done))
		;
	if (theirs)
		*theirs = result;
	return r;
}

pid_t race_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	return pid;
}

static const char *const kinds[] = {
	"vmids", "pasids", "doorbell_bytes", "kfd_processes",
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

void race_use(const struct vg_gpu *gpu, struct race_use *use)
{
	unsigned int i;

	OK(vg_mem_info(gpu, &use->mem));
	OK(vg_in_use(gpu, &use->held));
	for (i = 0; i < KINDS; i++) {
		bool found;

		vg_counter(&use->held, kinds[i], &found);
		CHECK(found, "no %s", kinds[i]);
	}
}

static bool same(const struct vg_counters *base, const struct vg_counters *now)
{
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		if (vg_counter(base, kinds[i], NULL) !=
		    vg_counter(now, kinds[i], NULL))
			return false;
	return true;
}

void race_wait_released(const struct vg_gpu *gpu,
			const struct race_use *before)
{
	uint64_t until = vg_deadline();
	const struct vg_counters *base = &before->held;
	struct vg_counters now;
	unsigned int i;

	OK(vg_mem_wait_freed(gpu, &before->mem, VG_TIMEOUT_MS));
	for (;;) {
		OK(vg_in_use(gpu, &now));
		if (same(base, &now))
			return;
		if (vg_now() > until)
			break;
		vg_sleep_us(2000);
	}
	for (i = 0; i < KINDS; i++)
		tap_diag("%s %lu, at first %lu", kinds[i],
			 vg_counter(&now, kinds[i], NULL),
			 vg_counter(base, kinds[i], NULL));
	CHECK(false, "something was left");
}

void race_reap_killed(const pid_t *pids, int n)
{
	int i, status;

	for (i = 0; i < n; i++)
		CHECK(waitpid(pids[i], &status, 0) == pids[i] &&
		      WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "a process ended with %#x", status);
}

void race_kill(const struct vg_gpu *gpu, void (*round)(void), int rounds)
{
	uint64_t start, round_us = 200000;
	struct vg_mem_info base;
	int i, status, killed = 0;
	pid_t pid;

	OK(vg_mem_info(gpu, &base));
	for (i = 0; tap_goes_on(i, rounds); i++) {
		pid = race_child();
		if (!pid) {
			race_salt((uint64_t)i);
			round();
			_exit(0);
		}
		start = vg_now();
		if (i)
			vg_sleep_us((unsigned int)race_below(round_us));
		if (i)
			kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
		CHECK(!status || (WIFSIGNALED(status) &&
				  WTERMSIG(status) == SIGKILL),
		      "the child ended with %#x", status);
		/* Measure the duration of a round with the first child, which is not killed. */
		if (!i)
			round_us = (vg_now() - start) / 1000 + 1;
		killed += WIFSIGNALED(status);
		OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	}
	tap_diag("%d of %d processes were killed", killed, i);
}

static char pci_name[VG_PCI_NAME];

static int unbind(void)
{
	return vg_pci_unbind(pci_name);
}

/* Run the calls of one round of race_unbind(). A child process calls this function. */
static void without_gpu(const struct race_calls *calls)
{
	race_call *next;
	int i, r;

	calls->start();
	race_apart(race_below(2));
	for (i = (int)race_below(4); i; i--)
		calls->choose()();
	do {
		next = calls->choose();
	} while (next == calls->bound_only);
	race(next, unbind, &r);
	OK(r);
	for (i = 0; i < 8; i++) {
		next = calls->choose();
		if (next != calls->bound_only)
			next();
	}
	race_end();
}

void race_unbind(const struct race_calls *calls, int rounds)
{
	struct vg vg;
	int i, status;
	bool gone;
	pid_t pid;

	race_seed();
	for (i = 0; tap_goes_on(i, rounds); i++) {
		OK(vg_open_bare(&vg));
		CHECK(vg.n_gpus > 0, "no GPU in round %d", i);
		OK(vg_pci_name(&vg.gpu[0], pci_name));
		vg_close(&vg);
		pid = race_child();
		if (!pid) {
			race_salt((uint64_t)i);
			without_gpu(calls);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
		/* Bind the GPU again for later cases, even if the child has failed. */
		gone = !vg_pci_bound(pci_name);
		OK(gone ? vg_pci_bind(pci_name) : 0);
		CHECK(!status, "the child ended with %#x", status);
		CHECK(gone, "the GPU is still bound");
	}
	tap_diag("%d rounds", i);
}

int race_read(const char *path)
{
	static __thread char text[16384];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (file < 0)
		return -errno;
	while ((n = read(file, text, sizeof(text))) > 0)
		;
	close(file);
	return n < 0 ? -errno : 0;
}

static int read_debugfs(const struct vg_gpu *gpu, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s",
		 gpu->minor, name);
	return race_read(path);
}

int race_read_debugfs(const struct vg_gpu *gpu)
{
	static const char *const names[] = {
		"amdgpu_vm_info", "vram_mm", "gtt_mm", "amdgpu_fence_info",
		"vgpu_rings", "gem_names", "clients", "vgpu_counters",
	};

	return read_debugfs(gpu, names[race_below(sizeof(names) /
						  sizeof(names[0]))]);
}

int race_evict(const struct vg_gpu *gpu)
{
	return read_debugfs(gpu, race_below(2) ? "amdgpu_evict_vram" :
						 "amdgpu_evict_gtt");
}

int race_touch(void *p, uint64_t bytes)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int r = read(zero, p, bytes) < 0 ? -errno : 0;

	close(zero);
	return r;
}
