// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ops that fork a child, which does not use the GPU. t_lives_start() is different: its processes
 * use the GPU and end during copies.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture.h"

#define LIFE_BYTES	(2 * VG_MIB)
#define LIFE_PAUSE_MS	4000

/*
 * Fork. The child of a process with several threads must take no lock: another thread may have held
 * the lock at the fork.
 */
static pid_t child(struct t_thread *t)
{
	pid_t pid = fork();

	T_CHECK(t, pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static int wait_for(struct t_thread *t, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		T_CHECK(t, errno == EINTR, "waitpid: %s", strerror(errno));
	return status;
}

/* For a child: change one byte of every page, so that the child gets its own copy of the page. */
static void scribble(char *at, uint64_t bytes)
{
	uint64_t i;

	/* The parent may have protected the memory at the time of the fork. */
	mprotect(at, bytes, PROT_READ | PROT_WRITE);
	for (i = 0; i < bytes; i += VG_PAGE)
		at[i + i / VG_PAGE % VG_PAGE] ^= 0x55;
}

/*
 * Catches: a child reads other contents than the memory had at the fork; the child's
 * writes reach the parent.
 */
bool t_op_fork(struct t_thread *t)
{
	struct t_slot *s = t_pick(t);
	struct t_piece p;
	int status;
	pid_t pid;

	t_lock_map(t, s, false);
	t_lock_parts(s, false);
	t_any_pages(t, s, &p);
	t_note(t, &p);
	pid = child(t);
	if (!pid) {
		if (memcmp(s->at, s->shadow, s->size))
			_exit(2);
		if (s->kind != T_SHARED)
			scribble(s->at + p.off, p.bytes);
		_exit(0);
	}
	if (t_below(t, 2))
		t_check_slot(t, s);
	status = wait_for(t, pid);
	T_CHECK(t, !status, "a child has other bytes than its parent: 0x%x",
		status);
	t_check_slot(t, s);
	t_unlock_parts(s);
	t_unlock_map(s);
	return true;
}

/* The child changes its copy-on-write memory while the GPU may copy into the parent's slot. */
bool t_op_scribble(struct t_thread *t)
{
	struct t_slot *s = t_pick(t);
	int status, how = (int)t_below(t, 3);
	struct t_piece p;
	bool ok;
	pid_t pid;

	/*
	 * Lock the slot's map, but not its parts. Other threads may therefore change the bytes, so
	 * this op compares no bytes.
	 */
	t_lock_map(t, s, false);
	ok = s->kind != T_SHARED;
	if (ok) {
		t_any_pages(t, s, &p);
		t_note(t, &p);
		pid = child(t);
		if (!pid) {
			if (how == 0)
				munmap(s->at + p.off, p.bytes);
			else if (how == 1)
				madvise(s->at + p.off, p.bytes, MADV_DONTNEED);
			if (how)
				scribble(s->at, s->size);
			_exit(0);
		}
		status = wait_for(t, pid);
		T_CHECK(t, !status, "a child: 0x%x", status);
	}
	t_unlock_map(s);
	return ok;
}

/*
 * Catches: the child's exec() frees or changes memory of the parent. Later ops compare the parent's
 * memory.
 */
bool t_op_exec(struct t_thread *t)
{
	static char *const argv[] = { "true", NULL };
	struct t_slot *s = t_pick(t);
	const struct t_piece all = { s, 0, 0, s->size };
	int status;
	pid_t pid;

	t_lock_map(t, s, false);
	t_note(t, &all);
	pid = child(t);
	if (!pid) {
		if (s->kind != T_SHARED)
			scribble(s->at, s->size);
		execv("/bin/true", argv);
		_exit(127);
	}
	status = wait_for(t, pid);
	T_CHECK(t, !status, "/bin/true: 0x%x", status);
	t_unlock_map(s);
	return true;
}

/* Number of times that poke() reads and writes a word of the stopped child. */
#define POKES 16

static void poke(struct t_thread *t, const struct t_piece *p, pid_t pid)
{
	struct t_slot *s = p->s;
	int i;

	for (i = 0; i < POKES; i++) {
		uint64_t off = p->off + t_below(t, p->bytes / 8) * 8;
		char *at = s->at + off;
		long want, got;

		memcpy(&want, s->shadow + off, sizeof(want));
		errno = 0;
		got = ptrace(PTRACE_PEEKDATA, pid, at, NULL);
		T_CHECK(t, !errno, "PEEKDATA: %s", strerror(errno));
		/* An earlier iteration may have inverted the same word. */
		T_CHECK(t, got == want || got == ~want,
			"slot %d, 0x%lx, of a child: %#lx, should be %#lx",
			s->index, off, got, want);
		T_CHECK(t, !ptrace(PTRACE_POKEDATA, pid, at, (void *)~want),
			"POKEDATA: %s", strerror(errno));
		T_CHECK(t, ptrace(PTRACE_PEEKDATA, pid, at, NULL) == ~want,
			"slot %d, 0x%lx: the poked word has another value",
			s->index, off);
	}
}

bool t_op_ptrace(struct t_thread *t)
{
	struct t_slot *s = t_pick(t);
	struct t_piece p;
	int status;
	bool ok;
	pid_t pid;

	t_lock_map(t, s, false);
	t_lock_parts(s, false);
	ok = s->kind != T_SHARED;
	if (ok) {
		t_any_pages(t, s, &p);
		t_note(t, &p);
		pid = child(t);
		if (!pid) {
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			raise(SIGSTOP);
			_exit(0);
		}
		status = wait_for(t, pid);
		T_CHECK(t, WIFSTOPPED(status), "a child to be traced: 0x%x",
			status);
		poke(t, &p, pid);
		kill(pid, SIGKILL);
		wait_for(t, pid);
		t_check_slot(t, s);
	}
	t_unlock_parts(s);
	t_unlock_map(s);
	return ok;
}

/* A child writes to the parent's memory by process_vm_writev(). */
bool t_op_remote(struct t_thread *t)
{
	struct t_piece p;
	int status;
	pid_t pid;

	t_lock_part(t, &p, true);
	t_some_bytes(t, &p, T_STAGE);
	t_note(t, &p);
	t_fresh(t, &p);
	pid = child(t);
	if (!pid) {
		struct iovec ours = { p.s->shadow + p.off, p.bytes };
		struct iovec theirs = { p.s->at + p.off, p.bytes };

		_exit(process_vm_writev(getppid(), &ours, 1, &theirs, 1, 0) !=
		      (ssize_t)p.bytes);
	}
	status = wait_for(t, pid);
	T_CHECK(t, !status, "process_vm_writev of a child: 0x%x", status);
	t_check_part(t, &p);
	t_unlock_part(&p);
	return true;
}

/*
 * State of t_lives_start(). The process lives_pid starts further processes, one after
 * the other, until lives_pipe is closed. *lives, in shared memory, counts the further
 * processes that have ended.
 */
static int lives_pipe;
static pid_t lives_pid;
static atomic_ulong *lives;

/*
 * Body of a child that lives_main() forks. Use the GPU. During the last copy, call execv(), exit,
 * or die by SIGKILL.
 */
static void life(struct t_thread *t)
{
	static char *const argv[] = { "true", NULL };
	const uint64_t seed = t->rng;
	struct vg_queue q;
	char *src, *dst;
	struct vg vg;

	tap_open(&vg, (int)t_below(t, 2));
	OK(vg_queue_create(&vg, &vg.gpu[0], 16 * VG_KIB, &q));
	src = tap_anon(LIFE_BYTES);
	dst = tap_anon(LIFE_BYTES);
	vg_pattern_fill(src, LIFE_BYTES, seed, 0);
	OK(vg_svm_set1(&vg, src, LIFE_BYTES, KFD_IOCTL_SVM_ATTR_ACCESS,
		       vg.gpu[0].gpu_id));
	OK(vg_svm_set1(&vg, dst, LIFE_BYTES, KFD_IOCTL_SVM_ATTR_ACCESS,
		       vg.gpu[0].gpu_id));
	if (t_below(t, 2))
		OK(vg_svm_prefetch(&vg, src, LIFE_BYTES, vg.gpu[0].gpu_id));
	OK(vg_copy(&q, dst, src, LIFE_BYTES / 4));
	OK(vg_pattern_check(dst, LIFE_BYTES / 4, seed, 0));
	/* This copy is the GPU's first access to the last three quarters of src[] and dst[]. */
	OK(vg_emit_copy(&q, (uintptr_t)dst, (uintptr_t)src, LIFE_BYTES));
	vg_queue_submit(&q);
	vg_sleep_us((unsigned int)t_below(t, 2000));
	switch (t_below(t, 3)) {
	case 0:
		kill(getpid(), SIGKILL);
		/* fallthrough */
	case 1:
		execv("/bin/true", argv);
		/* fallthrough */
	default:
		_exit(0);
	}
}

static void lives_main(int stop)
{
	struct pollfd ended = { .fd = stop, .events = POLLIN };
	struct t_thread t = { .id = 100 };
	int status;
	pid_t pid;

	for (;; t.nth++) {
		t_begin_op(&t, NULL);
		if (poll(&ended, 1, (int)t_below(&t, LIFE_PAUSE_MS)))
			_exit(0);
		pid = child(&t);
		if (!pid) {
			life(&t);
			_exit(1);
		}
		status = wait_for(&t, pid);
		CHECK(!status || (WIFSIGNALED(status) &&
				  WTERMSIG(status) == SIGKILL),
		      "life %lu ended with 0x%x", t.nth, status);
		atomic_fetch_add(lives, 1);
	}
}

void t_lives_start(void)
{
	int fd[2];

	lives = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(lives != MAP_FAILED && !pipe2(fd, O_CLOEXEC), "pipe");
	lives_pid = fork();
	CHECK(lives_pid >= 0, "fork");
	if (!lives_pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[1]);
		lives_main(fd[0]);
	}
	close(fd[0]);
	lives_pipe = fd[1];
}

void t_lives_end(void)
{
	int status;

	close(lives_pipe);
	CHECK(waitpid(lives_pid, &status, 0) == lives_pid && !status,
	      "the processes beside: 0x%x", status);
}

unsigned long t_lives(void)
{
	return atomic_load(lives);
}
