// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug processes by DBG_TRAP. Catches: debugging without permission; a target that stays blocked
 * or suspended after its debugger has ended; a lost, repeated or misdirected exception; memory
 * overwritten because of a wrong size or count; a wrong errno.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "race.h"
#include "tap.h"

#define EC(code)	KFD_EC_MASK(EC_##code)
#define EVERYTHING	(~0ull)
#define RING		4096
#define R_DEBUG		0x123456789abcull
#define DEAD_VA		0x123456789000ull	/* no memory is mapped at this address */
#define INVALID		((uint32_t)KFD_DBG_QUEUE_INVALID_MASK)

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_bo save;
/* The debugger's pipe, to which the driver writes when there is an event. */
static int news[2] = { -1, -1 };

static void start(void)
{
	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	CHECK(!pipe2(news, O_CLOEXEC | O_NONBLOCK), "pipe");
}

static int trap(pid_t pid, uint32_t op, struct kfd_ioctl_dbg_trap_args *args)
{
	int r;

	args->pid = (uint32_t)pid;
	args->op = op;
	r = ioctl(vg.kfd, AMDKFD_IOC_DBG_TRAP, args);
	return r < 0 ? -errno : r;
}
#define TRAP(pid, op, ...)						\
	trap(pid, KFD_IOC_DBG_TRAP_##op,				\
	     &(struct kfd_ioctl_dbg_trap_args){ __VA_ARGS__ })

static int attach_by(pid_t pid, uint64_t mask, int fd)
{
	struct kfd_runtime_info info;

	return TRAP(pid, ENABLE, .enable = {
		.exception_mask = mask, .rinfo_ptr = (uintptr_t)&info,
		.rinfo_size = sizeof(info), .dbg_fd = (uint32_t)fd });
}

static int attach(pid_t pid, uint64_t mask)
{
	return attach_by(pid, mask, news[1]);
}

static int runtime(uint32_t mode)
{
	struct kfd_ioctl_runtime_enable_args args = {
		.r_debug = mode ? R_DEBUG : 0, .mode_mask = mode,
	};

	return tap_ioctl(vg.kfd, AMDKFD_IOC_RUNTIME_ENABLE, &args);
}

#define RUNTIME_ON	(KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK | \
			 KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK)

static int answer(pid_t pid)
{
	return TRAP(pid, SEND_RUNTIME_EVENT, .send_runtime_event = {
		.exception_mask = EC(PROCESS_RUNTIME) });
}

/* Wait until the driver signals an event, and read the pipe. */
static void hear(void)
{
	struct pollfd p = { .fd = news[0], .events = POLLIN };
	char dots[64];

	CHECK(poll(&p, 1, VG_TIMEOUT_MS) == 1, "the debugger is not signalled");
	CHECK(read(news[0], dots, sizeof(dots)) > 0 && *dots == '.',
	      "the debugger's pipe has no '.'");
}

/* Query the next event and clear the exceptions @clear. Return 0 or -errno. */
static int query(pid_t pid, uint64_t clear,
		 struct kfd_ioctl_dbg_trap_query_debug_event_args *ev)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.query_debug_event = { .exception_mask = clear,
				       .gpu_id = 7, .queue_id = 7 },
	};
	int r = trap(pid, KFD_IOC_DBG_TRAP_QUERY_DEBUG_EVENT, &args);

	*ev = args.query_debug_event;
	return r;
}

/*
 * Query the next event and clear its exceptions. The event must have exactly the exceptions @mask,
 * and come from queue @queue_id of GPU @gpu_id.
 */
static void expect(pid_t pid, uint64_t mask, uint32_t gpu_id, uint32_t queue_id)
{
	struct kfd_ioctl_dbg_trap_query_debug_event_args ev;

	ERRNO(0, query(pid, EVERYTHING, &ev));
	CHECK(ev.exception_mask == mask && ev.gpu_id == gpu_id &&
	      ev.queue_id == queue_id,
	      "exceptions 0x%llx of GPU %u, queue %u; should be 0x%lx, %u, %u",
	      ev.exception_mask, ev.gpu_id, ev.queue_id, mask, gpu_id,
	      queue_id);
}

static void expect_none(pid_t pid)
{
	struct kfd_ioctl_dbg_trap_query_debug_event_args ev;

	ERRNO(EAGAIN, query(pid, 0, &ev));
	CHECK(!ev.exception_mask && !ev.gpu_id && !ev.queue_id, "not zero");
}

static int info(pid_t pid, uint32_t code, uint32_t source, void *buf,
		uint32_t *size, bool clear)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.query_exception_info = {
			.info_ptr = (uintptr_t)buf, .info_size = *size,
			.source_id = source, .exception_code = code,
			.clear_exception = clear },
	};
	int r = trap(pid, KFD_IOC_DBG_TRAP_QUERY_EXCEPTION_INFO, &args);

	*size = args.query_exception_info.info_size;
	return r;
}

static void *nowhere(void)
{
	return mmap(NULL, VG_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}

/* Debugged processes */

/**
 * struct target - a traced child that runs a C function (its script), in step with its parent
 * @pid: process
 * @up: pipe from the child
 * @down: pipe to the child
 * @s: results of the child, in memory that it shares with its parent
 */
struct target {
	pid_t pid;
	int up[2], down[2];
	volatile struct {
		uint32_t queue;
		int done, result;
	} *s;
};

static void make_target(struct target *t, void (*script)(struct target *))
{
	CHECK(!pipe2(t->up, O_CLOEXEC) && !pipe2(t->down, O_CLOEXEC), "pipe");
	t->s = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(t->s != MAP_FAILED, "mmap");
	fflush(stdout);
	t->pid = fork();
	CHECK(t->pid >= 0, "fork");
	if (!t->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(t->up[0]);
		close(t->down[1]);
		tap_await(t->down);	/* wait until the parent traces this process */
		script(t);
		_exit(0);
	}
	close(t->up[1]);
	close(t->down[0]);
}

static void trace(pid_t pid)
{
	CHECK(!ptrace(PTRACE_SEIZE, pid, NULL, NULL), "ptrace: %s",
	      strerror(errno));
}

/*
 * Start a target, which is traced by ptrace but has no DBG_TRAP session when its script begins.
 * attach_early() starts a target that has a session.
 */
static void start_target(struct target *t, void (*script)(struct target *))
{
	make_target(t, script);
	trace(t->pid);
	tap_step(t->down);
}

/*
 * Start a target, and begin the DBG_TRAP session before the script opens KFD, so that the script's
 * RUNTIME_ENABLE finds the session.
 */
static void attach_early(struct target *t, void (*script)(struct target *),
			 uint64_t mask)
{
	make_target(t, script);
	trace(t->pid);
	ERRNO(0, attach(t->pid, mask));
	tap_step(t->down);
}

static void end_target(struct target *t)
{
	int status;

	CHECK(waitpid(t->pid, &status, 0) == t->pid && !status,
	      "the debugged process ended with 0x%x", status);
}

static void kill_target(struct target *t)
{
	int status;

	kill(t->pid, SIGKILL);
	do
		CHECK(waitpid(t->pid, &status, 0) == t->pid, "waitpid");
	while (WIFSTOPPED(status));
}

/* Permissions. */

static const uint32_t all_ops[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
				    13, 14, 15, 99, ~0u };
#define N_OPS (sizeof(all_ops) / sizeof(*all_ops))

/* Check that each operation of all_ops[], from index @first on, fails with -@want. */
static void all_fail(pid_t pid, int want, unsigned int first)
{
	unsigned int i;

	for (i = first; i < N_OPS; i++) {
		struct kfd_ioctl_dbg_trap_args args = {
			.enable = { .dbg_fd = (uint32_t)news[1] },
		};
		int r = trap(pid, all_ops[i], &args);

		CHECK(r == -want, "operation %u of %d: %d, should be %d",
		      all_ops[i], pid, r, -want);
	}
}

static void open_and_wait(struct target *t)
{
	tap_open(&vg, 0);
	tap_step(t->up);
	tap_await(t->down);
}

static void idle(struct target *t)
{
	tap_step(t->up);
	tap_await(t->down);
}

static void who_may(void)
{
	struct target t, other;
	pid_t dead;

	start();
	dead = fork();
	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	all_fail(dead, ESRCH, 0);
	all_fail(0, ESRCH, 0);
	all_fail(-1, ESRCH, 0);
	all_fail(0x7fffffff, ESRCH, 0);
	all_fail(2, ESRCH, 0);			/* a kernel thread */
	all_fail(1, ESRCH, 0);			/* a process that does not use KFD */
	all_fail(getpid(), EINVAL, 1);		/* a process that is not debugged */

	/*
	 * For a process that uses KFD and that the caller does not trace, all operations must
	 * fail.
	 */
	make_target(&t, open_and_wait);
	tap_step(t.down);
	tap_await(t.up);
	all_fail(t.pid, EPERM, 0);
	trace(t.pid);
	all_fail(t.pid, EINVAL, 1);
	ERRNO(0, attach(t.pid, 0));
	ERRNO(EALREADY, attach(t.pid, 0));
	/* The session must continue after PTRACE_DETACH. */
	CHECK(!ptrace(PTRACE_INTERRUPT, t.pid, NULL, NULL) &&
	      waitpid(t.pid, NULL, 0) == t.pid &&
	      !ptrace(PTRACE_DETACH, t.pid, NULL, NULL), "detach");
	expect_none(t.pid);
	ERRNO(0, TRAP(t.pid, DISABLE));
	all_fail(t.pid, EPERM, 0);
	tap_step(t.down);
	end_target(&t);

	/* ENABLE must create the KFD process of a traced process that has not opened KFD. */
	start_target(&other, idle);
	tap_await(other.up);
	all_fail(other.pid, ESRCH, 1);
	ERRNO(0, attach(other.pid, 0));
	expect_none(other.pid);
	kill_target(&other);
	all_fail(other.pid, ESRCH, 0);
}

/*
 * Script of a third process. @arg is a target that another process debugs, so all operations on
 * @arg must fail.
 */
static void third_party(void *arg)
{
	struct target *t = arg;

	vg_close(&vg);
	start();
	all_fail(t->pid, EPERM, 0);
}

static void enable(void)
{
	struct kfd_runtime_info ri[2];
	struct kfd_ioctl_dbg_trap_args args;
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600), sock[2];
	struct target t;
	unsigned int i;
	pid_t me;

	start();
	me = getpid();
	ERRNO(EBADF, attach_by(me, 0, -1));
	ERRNO(EBADF, attach_by(me, 0, 1000));
	ERRNO(EBADF, attach_by(me, 0, news[0]));
	ERRNO(EBADF, attach_by(me, 0, file));
	ERRNO(EBADF, attach_by(me, 0, vg.kfd));
	for (i = 0; i <= sizeof(ri[0]); i++) {
		uint32_t size = i == sizeof(ri[0]) ? ~0u : i;

		memset(ri, 0xaa, sizeof(ri));
		args.enable = (struct kfd_ioctl_dbg_trap_enable_args) {
			.rinfo_ptr = (uintptr_t)&ri, .rinfo_size = size,
			.dbg_fd = (uint32_t)news[1],
		};
		ERRNO(0, trap(me, KFD_IOC_DBG_TRAP_ENABLE, &args));
		CHECK(args.enable.rinfo_size == sizeof(ri[0]), "size %u",
		      args.enable.rinfo_size);
		CHECK(!i || !ri[0].r_debug || i < 8, "r_debug is set without a runtime");
		CHECK(((unsigned char *)ri)[i] == 0xaa, "%u bytes overflow", i);
		ERRNO(EALREADY, attach_by(me, 0, -1));
		ERRNO(0, TRAP(me, DISABLE));
		ERRNO(EINVAL, TRAP(me, DISABLE));
	}
	args.enable = (struct kfd_ioctl_dbg_trap_enable_args) {
		.rinfo_ptr = (uintptr_t)nowhere(), .rinfo_size = 16,
		.dbg_fd = (uint32_t)news[1],
	};
	ERRNO(EFAULT, trap(me, KFD_IOC_DBG_TRAP_ENABLE, &args));
	ERRNO(EINVAL, TRAP(me, DISABLE));
	ERRNO(EFAULT, tap_ioctl(vg.kfd, AMDKFD_IOC_DBG_TRAP, (void *)8));

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock), "socketpair");
	ERRNO(0, attach_by(me, 0, sock[0]));
	ERRNO(0, TRAP(me, DISABLE));

	start_target(&t, open_and_wait);
	tap_await(t.up);
	ERRNO(0, attach(t.pid, 0));
	tap_in_child(third_party, &t);
	/* Operations on the hardware must fail if the runtime is not enabled. */
	for (i = 4; i <= 10; i++)
		ERRNO(EPERM, trap(t.pid, i, &args));
	tap_step(t.down);
	end_target(&t);
}

/*
 * The device runs no waves. So an operation on waves must return the same value as on a GPU without
 * support for this operation.
 */
static void no_waves(void)
{
	struct kfd_ioctl_dbg_trap_args args;
	uint32_t id;
	pid_t me;
	int i;

	start();
	me = getpid();
	ERRNO(0, runtime(RUNTIME_ON));
	ERRNO(0, attach(me, 0));
	for (i = 0; i < 2; i++) {
		args.launch_override =
		(struct kfd_ioctl_dbg_trap_set_wave_launch_override_args) {
			.override_mode = (uint32_t)i, .enable_mask = ~0u,
			.support_request_mask = 1,
		};
		ERRNO(EACCES, trap(me, 4, &args));
		CHECK(!args.launch_override.support_request_mask, "supported");
		ERRNO(0, trap(me, 4, &args));
		CHECK(!args.launch_override.enable_mask, "enabled");
	}
	ERRNO(EPERM, TRAP(me, SET_WAVE_LAUNCH_OVERRIDE,
			  .launch_override = { .override_mode = 2 }));
	ERRNO(0, TRAP(me, SET_WAVE_LAUNCH_MODE));
	ERRNO(ENODEV, TRAP(me, SET_WAVE_LAUNCH_MODE, .launch_mode = { 1, 0 }));
	ERRNO(EINVAL, TRAP(me, SET_WAVE_LAUNCH_MODE, .launch_mode = { 2, 0 }));
	ERRNO(ENODEV, TRAP(me, SET_WAVE_LAUNCH_MODE, .launch_mode = { 3, 0 }));
	ERRNO(EINVAL, TRAP(me, SET_WAVE_LAUNCH_MODE,
			   .launch_mode = { 256, 0 }));
	for (id = 0; id < 2; id++) {
		uint32_t g = id ? gpu->gpu_id : gpu->gpu_id ^ 0x10000;

		ERRNO(id ? ENOMEM : ENODEV,
		      TRAP(me, SET_NODE_ADDRESS_WATCH,
			   .set_node_address_watch = { .gpu_id = g }));
		ERRNO(id ? EINVAL : ENODEV,
		      TRAP(me, CLEAR_NODE_ADDRESS_WATCH,
			   .clear_node_address_watch = { .gpu_id = g }));
	}
	ERRNO(0, TRAP(me, SET_FLAGS));
	for (i = 0; i < 32; i++) {
		args.set_flags.flags = 1u << i;
		ERRNO(EACCES, trap(me, KFD_IOC_DBG_TRAP_SET_FLAGS, &args));
		CHECK(!args.set_flags.flags, "flags were set");
	}
	ERRNO(0, TRAP(me, DISABLE));
}

/* The runtime */

static void on_off(struct target *t)
{
	tap_open(&vg, 0);
	ERRNO(0, runtime(RUNTIME_ON));
	t->s->done = 1;
	tap_step(t->up);
	tap_await(t->down);
	ERRNO(0, runtime(0));
	t->s->done = 2;
	tap_step(t->up);
	tap_await(t->down);
}

static void expect_runtime(pid_t pid, uint32_t state)
{
	struct kfd_runtime_info ri[2];
	uint32_t size = 4;

	/*
	 * The first two queries must leave the exception set, because the first does not request
	 * the clear, and the second fails. The third query clears the exception.
	 */
	ERRNO(0, info(pid, EC_PROCESS_RUNTIME, 0, ri, &size, false));
	CHECK(size == sizeof(ri[0]), "size %u", size);
	size = 16;
	ERRNO(EFAULT, info(pid, EC_PROCESS_RUNTIME, 0, nowhere(), &size, true));
	size = sizeof(ri);
	ERRNO(0, info(pid, EC_PROCESS_RUNTIME, 0, ri, &size, true));
	CHECK(size == sizeof(ri[0]) && ri[0].runtime_state == state &&
	      ri[0].r_debug == (state ? R_DEBUG : 0) &&
	      ri[0].ttmp_setup == !!state, "state %u, r_debug 0x%llx, ttmp %u",
	      ri[0].runtime_state, ri[0].r_debug, ri[0].ttmp_setup);
	ERRNO(ENODATA, info(pid, EC_PROCESS_RUNTIME, 0, ri, &size, true));
}

/* Calls that enable or disable the runtime must wait for the debugger's answer. */
static void handshake(void)
{
	struct target t;

	start();
	attach_early(&t, on_off, EC(PROCESS_RUNTIME));
	hear();
	CHECK(!t.s->done, "the call did not wait");
	expect_runtime(t.pid, DEBUG_RUNTIME_STATE_ENABLED);
	CHECK(!t.s->done, "the call did not wait");
	ERRNO(0, answer(t.pid));
	tap_await(t.up);
	/*
	 * An answer that the debugger sends before the target's next call must not end the
	 * wait of that call.
	 */
	ERRNO(0, answer(t.pid));
	tap_step(t.down);
	hear();
	CHECK(t.s->done == 1, "the call did not wait");
	expect(t.pid, EC(PROCESS_RUNTIME), 0, 0);
	ERRNO(0, answer(t.pid));
	tap_await(t.up);
	expect_none(t.pid);
	tap_step(t.down);
	end_target(&t);
}

/*
 * Wait until exception @code of the process is raised. QUERY_EXCEPTION_INFO finds the exception
 * even if the session's mask excludes it.
 */
static void await_exception(pid_t pid, uint32_t code)
{
	uint64_t deadline = vg_deadline();
	struct kfd_runtime_info ri;
	uint32_t size;
	int r;

	for (;;) {
		size = sizeof(ri);
		r = info(pid, code, 0, &ri, &size, false);
		if (r != -ENODATA)
			break;
		CHECK(vg_now() < deadline, "exception %u is not raised", code);
		vg_sleep_us(1000);
	}
	ERRNO(0, r);
}

/*
 * An exception raised before the debugger enables it must be reported when the debugger
 * enables it.
 */
static void subscribed_late(void)
{
	struct target t;

	start();
	attach_early(&t, on_off, 0);
	await_exception(t.pid, EC_PROCESS_RUNTIME);
	ERRNO(0, TRAP(t.pid, SET_EXCEPTIONS_ENABLED, .set_exceptions_enabled = {
		      .exception_mask = EC(PROCESS_RUNTIME) }));
	hear();
	CHECK(!t.s->done, "the call did not wait");
	/* The target's RUNTIME_ENABLE must return when the session ends. */
	ERRNO(0, TRAP(t.pid, DISABLE));
	tap_await(t.up);
	kill_target(&t);
}

static void got_signal(int sig)
{
	(void)sig;
}

static void interrupted(struct target *t)
{
	struct sigaction sa = { .sa_handler = got_signal };

	tap_open(&vg, 0);
	CHECK(!sigaction(SIGUSR1, &sa, NULL), "sigaction");
	ERRNO(EINTR, runtime(RUNTIME_ON));
	tap_step(t->up);
	tap_await(t->down);
	/*
	 * Repeat the interrupted RUNTIME_ENABLE. In round 1 of signals(), the debugger has already
	 * answered; in round 0, the answer may come during this call.
	 */
	ERRNO(0, runtime(RUNTIME_ON));
	ERRNO(EBUSY, runtime(RUNTIME_ON));
	t->s->done = 1;
	tap_step(t->up);
	tap_await(t->down);
}

/*
 * A signal must interrupt RUNTIME_ENABLE, and a repeated call must work. SIGKILL must
 * end a target that waits for the debugger's answer.
 */
static void signals(void)
{
	struct target t;
	int status, i;

	start();
	for (i = 0; i < 3; i++) {
		attach_early(&t, interrupted, EC(PROCESS_RUNTIME));
		hear();
		if (i == 2) {
			kill_target(&t);
			all_fail(t.pid, ESRCH, 0);
			break;
		}
		kill(t.pid, SIGUSR1);
		CHECK(waitpid(t.pid, &status, 0) == t.pid &&
		      WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1,
		      "status 0x%x", status);
		CHECK(!ptrace(PTRACE_CONT, t.pid, NULL, SIGUSR1), "continue");
		tap_await(t.up);
		if (i)
			ERRNO(0, answer(t.pid));
		tap_step(t.down);
		if (!i)
			ERRNO(0, answer(t.pid));
		tap_await(t.up);
		expect(t.pid, EC(PROCESS_RUNTIME), 0, 0);
		tap_step(t.down);
		end_target(&t);
	}
}

/*
 * Script of a target that calls exec(). The new program is this test program again: with the
 * argument --sleep, it only sleeps.
 */
static void exec_sleep(struct target *t)
{
	tap_open(&vg, 0);
	tap_step(t->up);
	tap_await(t->down);
	execl("/proc/self/exe", "vgpu-test-dbg", "--sleep", NULL);
	_exit(1);
}

/*
 * exec() must end the target's KFD process and its session: operations must fail with ESRCH, and
 * a new session must be possible.
 */
static void after_exec(void)
{
	struct target t;
	char c;

	start();
	start_target(&t, exec_sleep);
	tap_await(t.up);
	ERRNO(0, attach(t.pid, EVERYTHING));
	tap_step(t.down);
	CHECK(read(t.up[0], &c, 1) == 0, "no exec()");
	all_fail(t.pid, ESRCH, 1);
	ERRNO(0, attach(t.pid, EVERYTHING));
	kill_target(&t);
}

/* Queues. */

static void start_queues(void)
{
	start();
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT |
			KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC, &save));
	OK(vg_bo_map_cpu(&save));
}

static int snapshot(pid_t pid, uint64_t clear, void *buf, uint32_t *n,
		    uint32_t *size)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.queue_snapshot = {
			.exception_mask = clear,
			.snapshot_buf_ptr = (uintptr_t)buf,
			.num_queues = *n, .entry_size = *size },
	};
	int r = trap(pid, KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT, &args);

	*n = args.queue_snapshot.num_queues;
	*size = args.queue_snapshot.entry_size;
	return r;
}

/* Clear the exception QUEUE_NEW of all queues, as a debugger does when it has read the snapshot. */
static void seen(pid_t pid)
{
	struct kfd_queue_snapshot_entry e[64];
	uint32_t n = 64, size = sizeof(e[0]);

	ERRNO(0, snapshot(pid, EC(QUEUE_NEW), e, &n, &size));
	CHECK(n <= 64, "%u queues", n);
}

static void snapshots(void)
{
	struct { struct kfd_queue_snapshot_entry e; char pad[24]; } wide[4];
	struct kfd_queue_snapshot_entry e[4];
	struct vg_cq pm4, aql;
	struct vg_queue sdma;
	uint32_t n, size, i;
	pid_t me;

	start_queues();
	me = getpid();
	ERRNO(0, attach(me, 0));
	n = 0, size = sizeof(e[0]);
	ERRNO(0, snapshot(me, 0, NULL, &n, &size));
	CHECK(!n, "%u queues", n);
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	OK(vg_cq_create(&vg, gpu, &save, 2 * RING, false, &pm4));
	OK(vg_cq_create(&vg, gpu, &save, RING, true, &aql));

	n = 4, size = 0;
	ERRNO(EINVAL, snapshot(me, 0, e, &n, &size));
	n = 4, size = sizeof(e[0]);
	ERRNO(EFAULT, snapshot(me, 0, nowhere(), &n, &size));
	n = 4, size = sizeof(e[0]);
	ERRNO(EFAULT, snapshot(me, 0, NULL, &n, &size));
	/*
	 * Entry i is written to byte i * size of the buffer. With a size of almost 4 GiB (~0u), the
	 * second entry is at an unmapped address.
	 */
	n = ~0u, size = ~0u;
	ERRNO(EFAULT, snapshot(me, 0, e, &n, &size));
	n = 0, size = 1;
	ERRNO(0, snapshot(me, EVERYTHING, NULL, &n, &size));
	CHECK(n == 3 && size == 1, "%u queues, %u bytes", n, size);

	memset(e, 0xaa, sizeof(e));
	n = 1, size = sizeof(e[0]);
	ERRNO(0, snapshot(me, 0, e, &n, &size));
	CHECK(n == 3 && size == sizeof(e[0]) && e[0].queue_id == sdma.id &&
	      e[1].queue_id == 0xaaaaaaaa, "one of %u queues", n);
	memset(wide, 0xaa, sizeof(wide));
	n = 4, size = sizeof(wide[0]);
	ERRNO(0, snapshot(me, EC(QUEUE_NEW), wide, &n, &size));
	CHECK(n == 3 && size == sizeof(e[0]), "%u queues, %u bytes", n, size);
	for (i = 0; i < 3; i++) {
		struct vg_bo *ring = i ? i == 1 ? &pm4.ring : &aql.ring :
				     &sdma.ring;
		struct vg_bo *ptrs = i ? i == 1 ? &pm4.ptrs : &aql.ptrs :
				     &sdma.ptrs;
		static const uint32_t type[] = {
			KFD_IOC_QUEUE_TYPE_SDMA, KFD_IOC_QUEUE_TYPE_COMPUTE,
			KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		};

		e[0] = wide[i].e;
		CHECK(e[0].exception_status == EC(QUEUE_NEW) &&
		      e[0].ring_base_address == ring->va &&
		      e[0].ring_size == ring->size &&
		      e[0].write_pointer_address == ptrs->va + VG_QUEUE_WPTR &&
		      e[0].read_pointer_address == ptrs->va + VG_QUEUE_RPTR &&
		      e[0].gpu_id == gpu->gpu_id &&
		      e[0].queue_type == type[i] &&
		      e[0].ctx_save_restore_address == (i ? save.va : 0) &&
		      !e[0].reserved, "queue %u of the snapshot", i);
		CHECK((unsigned char)wide[i].pad[0] == 0xaa, "entry %u: overflow",
		      i);
	}
	n = 4, size = sizeof(e[0]);
	ERRNO(0, snapshot(me, 0, e, &n, &size));
	CHECK(!e[0].exception_status && !e[2].exception_status,
	      "a cleared exception is reported");
	OK(vg_cq_destroy(&aql));
	OK(vg_cq_destroy(&pm4));
	OK(vg_queue_destroy(&sdma));
	OK(vg_bo_free(&save));
}

static void devices(void)
{
	struct kfd_dbg_device_info_entry e[VG_MAX_GPUS + 1];
	struct kfd_ioctl_dbg_trap_args args = { 0 };
	uint32_t i;
	pid_t me;

	start();
	me = getpid();
	ERRNO(0, attach(me, 0));
	args.device_snapshot.num_devices = 9;
	ERRNO(EINVAL, trap(me, 14, &args));
	args.device_snapshot.snapshot_buf_ptr = (uintptr_t)nowhere();
	args.device_snapshot.entry_size = sizeof(e[0]);
	ERRNO(EFAULT, trap(me, 14, &args));
	args.device_snapshot.num_devices = 0;
	ERRNO(0, trap(me, 14, &args));
	CHECK(args.device_snapshot.num_devices == (uint32_t)vg.n_gpus,
	      "%u devices", args.device_snapshot.num_devices);
	memset(e, 0xaa, sizeof(e));
	args.device_snapshot.snapshot_buf_ptr = (uintptr_t)e;
	args.device_snapshot.num_devices = ~0u;
	ERRNO(0, trap(me, 14, &args));
	for (i = 0; i < (uint32_t)vg.n_gpus; i++) {
		int node = vg.gpu[i].node;

		CHECK(e[i].gpu_id == vg.gpu[i].gpu_id &&
		      e[i].gpuvm_base == vg.gpu[i].aperture.gpuvm_base &&
		      e[i].gpuvm_limit == vg.gpu[i].aperture.gpuvm_limit &&
		      e[i].lds_base == vg.gpu[i].aperture.lds_base &&
		      e[i].lds_limit == vg.gpu[i].aperture.lds_limit &&
		      e[i].scratch_base == vg.gpu[i].aperture.scratch_base &&
		      e[i].scratch_limit == vg.gpu[i].aperture.scratch_limit &&
		      !e[i].exception_status, "device %u", i);
#define SAME(field)							\
		CHECK(e[i].field == vg_node_property(node, #field, ~0ull), \
		      #field " is %u", e[i].field)
		SAME(location_id);
		SAME(vendor_id);
		SAME(device_id);
		SAME(fw_version);
		SAME(gfx_target_version);
		SAME(simd_count);
		SAME(max_waves_per_simd);
		SAME(array_count);
		SAME(simd_arrays_per_engine);
		SAME(num_xcc);
		SAME(capability);
		SAME(debug_prop);
	}
	CHECK(e[i].gpu_id == 0xaaaaaaaa, "overflow");
}

static int suspend(pid_t pid, uint32_t *ids, uint32_t n, uint64_t clear)
{
	return TRAP(pid, SUSPEND_QUEUES, .suspend_queues = {
		.exception_mask = clear, .queue_array_ptr = (uintptr_t)ids,
		.num_queues = n });
}

static int resume(pid_t pid, uint32_t *ids, uint32_t n)
{
	return TRAP(pid, RESUME_QUEUES, .resume_queues = {
		.queue_array_ptr = (uintptr_t)ids, .num_queues = n });
}

/* Submit a fence to both queues. A suspended queue does not write its fence to memory. */
static void work(struct vg_cq *cq, struct vg_queue *sdma, uint32_t *seq)
{
	OK(vg_cq_emit_fence(cq));
	vg_cq_submit(cq);
	OK(vg_emit_fence(sdma, seq));
	vg_queue_submit(sdma);
}

static void suspended(void)
{
	struct kfd_context_save_area_header *header;
	struct kfd_context_save_area_header state = { 0 };
	struct kfd_ioctl_get_queue_wave_state_args ws = {
		.ctl_stack_address = (uintptr_t)&state,
	};
	uint32_t ids[6], seq, *many;
	struct vg_queue sdma;
	struct vg_cq cq;
	pid_t me;

	start_queues();
	me = getpid();
	ERRNO(0, runtime(RUNTIME_ON));
	ERRNO(0, attach(me, 0));
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &cq));
	many = calloc(1025, sizeof(*many));
	ERRNO(0, suspend(me, NULL, 0, 0));
	ERRNO(EINVAL, suspend(me, NULL, 1, 0));
	ERRNO(EINVAL, suspend(me, many, 1025, 0));
	ERRNO(EINVAL, suspend(me, many, ~0u, 0));
	ERRNO(EINVAL, resume(me, many, 1025));
	ERRNO(EINVAL, resume(me, many, 1u << 30));
	ERRNO(EFAULT, suspend(me, nowhere(), 1, 0));
	ERRNO(EFAULT, resume(me, nowhere(), 1));
	CHECK(resume(me, NULL, ~0u) == 2, "all of them");

	/*
	 * SUSPEND_QUEUES must not suspend a queue that is still marked as new (QUEUE_NEW). The
	 * ioctl must mark the ids of new queues, and ids that no queue has, as invalid.
	 */
	ids[0] = cq.id, ids[1] = sdma.id, ids[2] = 900, ids[3] = ~0u;
	ERRNO(0, suspend(me, ids, 4, EVERYTHING));
	CHECK(ids[0] == (cq.id | INVALID) && ids[1] == (sdma.id | INVALID) &&
	      ids[2] == (900 | INVALID) && ids[3] == ~0u, "0x%x 0x%x 0x%x 0x%x",
	      ids[0], ids[1], ids[2], ids[3]);
	work(&cq, &sdma, &seq);
	OK(vg_cq_wait(&cq, VG_TIMEOUT_MS));
	OK(vg_wait(&sdma, seq, VG_TIMEOUT_MS));

	seen(me);
	header = save.cpu;
	memset(header, 0xaa, sizeof(*header));
	ids[0] = sdma.id, ids[1] = cq.id, ids[2] = 900, ids[3] = cq.id;
	CHECK(suspend(me, ids, 4, 0) == 2, "suspend");
	CHECK(ids[0] == sdma.id && ids[1] == cq.id && ids[2] == (900 | INVALID) &&
	      ids[3] == (cq.id | INVALID), "0x%x 0x%x 0x%x 0x%x", ids[0],
	      ids[1], ids[2], ids[3]);
	ws.queue_id = cq.id;
	OK(vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &ws));
	CHECK(!memcmp(header, &state, sizeof(state.wave_state)) &&
	      header->debug_offset == 0xaaaaaaaa, "the save area's header");
	work(&cq, &sdma, &seq);
	/* An UPDATE_QUEUE of the process must not resume a suspended queue. */
	OK(vg_cq_update(&cq, &cq.ring, 100));
	ERRNO(ETIMEDOUT, vg_cq_wait(&cq, 100));
	ERRNO(ETIMEDOUT, vg_wait(&sdma, seq, 0));
	CHECK(suspend(me, ids, 2, 0) == 2, "again");
	ids[0] = cq.id;
	CHECK(resume(me, ids, 1) == 1 && ids[0] == cq.id, "resume");
	OK(vg_cq_wait(&cq, VG_TIMEOUT_MS));
	ERRNO(ETIMEDOUT, vg_wait(&sdma, seq, 0));
	CHECK(resume(me, NULL, 0) == 2, "resume all");
	OK(vg_wait(&sdma, seq, VG_TIMEOUT_MS));

	/* The end of the session must resume the queues. */
	ids[0] = cq.id, ids[1] = sdma.id;
	CHECK(suspend(me, ids, 2, 0) == 2, "suspend");
	work(&cq, &sdma, &seq);
	ERRNO(0, TRAP(me, DISABLE));
	OK(vg_cq_wait(&cq, VG_TIMEOUT_MS));
	OK(vg_wait(&sdma, seq, VG_TIMEOUT_MS));
	OK(vg_cq_destroy(&cq));
	OK(vg_queue_destroy(&sdma));
	OK(vg_bo_free(&save));
}

static volatile int destroyed;

static void *destroy(void *arg)
{
	int r = vg_cq_destroy(arg);

	destroyed = 1;
	return (void *)(intptr_t)r;
}

/* The destruction of a suspended queue must wait until the queue is resumed. */
static void destroy_waits(void)
{
	pthread_t thread;
	uint32_t id, i;
	struct vg_cq q;
	void *r;
	pid_t me;

	start_queues();
	me = getpid();
	ERRNO(0, runtime(RUNTIME_ON));
	for (i = 0; i < 2; i++) {
		ERRNO(0, attach(me, EC(DEVICE_QUEUE_DELETE)));
		OK(vg_cq_create(&vg, gpu, &save, RING, true, &q));
		id = q.id;
		seen(me);
		CHECK(suspend(me, &id, 1, 0) == 1, "suspend");
		destroyed = 0;
		CHECK(!pthread_create(&thread, NULL, destroy, &q), "thread");
		/* After this time, the thread is usually in DESTROY_QUEUE. */
		vg_sleep_us(20000);
		CHECK(!destroyed, "the call did not wait");
		if (i)
			CHECK(resume(me, &id, 1) == 1, "resume");
		else
			ERRNO(0, TRAP(me, DISABLE));
		pthread_join(thread, &r);
		CHECK(!r, "destroy: %ld", (long)r);
		if (i) {
			hear();
			expect(me, EC(DEVICE_QUEUE_DELETE), gpu->gpu_id, 0);
		}
	}
	OK(vg_bo_free(&save));
}

static void queue_events(void)
{
	uint32_t size = 0, codes[] = { 0, 7, 24, 37, 50, 64, 65, ~0u }, i, *p;
	struct vg_cq q;
	char buf[64];
	pid_t me;

	start_queues();
	me = getpid();
	ERRNO(0, attach(me, EC(QUEUE_NEW) | EC(QUEUE_PACKET_RESERVED)));
	expect_none(me);
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
	hear();
	ERRNO(0, info(me, EC_QUEUE_NEW, q.id, buf, &size, false));
	ERRNO(EINVAL, info(me, EC_QUEUE_NEW, q.id, NULL, &size, false));
	ERRNO(EINVAL, info(me, EC_QUEUE_NEW, q.id + 1, buf, &size, false));
	ERRNO(ENODATA, info(me, EC_QUEUE_PACKET_RESERVED, q.id, buf, &size,
			    false));
	ERRNO(EINVAL, info(me, EC_DEVICE_NEW, gpu->gpu_id + 1, buf, &size,
			   false));
	ERRNO(ENODATA, info(me, EC_DEVICE_NEW, gpu->gpu_id, buf, &size, false));
	ERRNO(ENODATA, info(me, EC_PROCESS_RUNTIME, 0, buf, &size, false));
	for (i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		ERRNO(EINVAL, info(me, codes[i], q.id, buf, &size, false));
	expect(me, EC(QUEUE_NEW), gpu->gpu_id, q.id);
	expect_none(me);

	p = vg_cq_reserve(&q, 1);
	CHECK(p, "%s", vg_error());
	*p = 0;		/* packet type 0, which is reserved */
	vg_cq_submit(&q);
	hear();
	expect(me, EC(QUEUE_PACKET_RESERVED), gpu->gpu_id, q.id);
	expect_none(me);
	OK(vg_cq_destroy(&q));
	expect_none(me);	/* DEVICE_QUEUE_DELETE is not enabled yet */
	ERRNO(0, TRAP(me, SET_EXCEPTIONS_ENABLED, .set_exceptions_enabled = {
		      .exception_mask = EC(DEVICE_QUEUE_DELETE) }));
	hear();
	expect(me, EC(DEVICE_QUEUE_DELETE), gpu->gpu_id, 0);
	OK(vg_bo_free(&save));
}

/* Return true if the event is set within @ms, and store its data in *@data. */
static bool event_received(uint32_t event, uint32_t ms,
			   struct kfd_event_data *data)
{
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)data, .num_events = 1, .timeout = ms,
	};

	*data = (struct kfd_event_data) { .event_id = event };
	OK(vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &args));
	return args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

static void fault(struct vg_queue *q)
{
	OK(vg_queue_create(&vg, gpu, RING, q));
	OK(vg_emit_fill(q, DEAD_VA, 1, 4096));
	vg_queue_submit(q);
}

static void send_fault(uint32_t gpu_id, int want)
{
	ERRNO(want, TRAP(getpid(), SEND_RUNTIME_EVENT, .send_runtime_event = {
		.exception_mask = EC(DEVICE_MEMORY_VIOLATION),
		.gpu_id = gpu_id }));
}

/*
 * The driver must report a fault to the debugger first. The process must get its memory event only
 * when the debugger passes the fault on or ends the session.
 */
static void faults(void)
{
	struct kfd_ioctl_create_event_args ev = {
		.event_type = KFD_IOC_EVENT_MEMORY, .auto_reset = 1,
	};
	struct kfd_hsa_memory_exception_data d[2];
	struct kfd_event_data data;
	struct vg_queue q;
	uint32_t size, i;
	pid_t me;

	start();
	me = getpid();
	OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &ev));
	for (i = 0; i < 3; i++) {
		ERRNO(0, attach(me, i ? EC(DEVICE_MEMORY_VIOLATION) : 0));
		fault(&q);
		if (!i) {
			/* Round 0: the driver must report the fault to the process directly. */
			CHECK(event_received(ev.event_id, VG_TIMEOUT_MS, &data),
			      "the process gets no event");
			ERRNO(0, TRAP(me, DISABLE));
			OK(vg_queue_destroy(&q));
			continue;
		}
		hear();
		CHECK(!event_received(ev.event_id, 0, &data),
		      "the process has the event already");
		send_fault(gpu->gpu_id + 1, ENODEV);
		memset(d, 0xaa, sizeof(d));
		size = sizeof(d);
		ERRNO(0, info(me, EC_DEVICE_MEMORY_VIOLATION, gpu->gpu_id, d,
			      &size, false));
		CHECK(size == sizeof(d[0]) && d[0].va == DEAD_VA &&
		      d[0].gpu_id == gpu->gpu_id && d[0].failure.NotPresent &&
		      ((unsigned char *)d)[size] == 0xaa, "%u bytes, va 0x%llx",
		      size, d[0].va);
		size = sizeof(d[0]);
		ERRNO(EFAULT, info(me, EC_DEVICE_MEMORY_VIOLATION,
				   gpu->gpu_id, nowhere(), &size, true));
		/* The debugger passes the fault on in round 1, and ends the session in round 2. */
		if (i == 1)
			send_fault(gpu->gpu_id, 0);
		else
			ERRNO(0, TRAP(me, DISABLE));
		CHECK(event_received(ev.event_id, VG_TIMEOUT_MS, &data),
		      "the process gets no event");
		CHECK(data.memory_exception_data.va == DEAD_VA &&
		      data.memory_exception_data.gpu_id == gpu->gpu_id,
		      "va 0x%llx", data.memory_exception_data.va);
		if (i == 1) {
			expect(me, EC(DEVICE_MEMORY_VIOLATION), gpu->gpu_id, 0);
			ERRNO(0, TRAP(me, DISABLE));
		}
		CHECK(!event_received(ev.event_id, 0, &data), "a second event");
		OK(vg_queue_destroy(&q));
	}
}

/* Cases in which a debugger or a target ends */

/*
 * Script of a target that has one queue. The debugger suspends the queue; then the debugger or
 * the target is killed.
 */
static void one_queue(struct target *t)
{
	struct vg_cq q;

	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &save));
	ERRNO(0, runtime(RUNTIME_ON));
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
	t->s->queue = q.id;
	tap_step(t->up);
	tap_await(t->down);
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	/*
	 * The queue has been resumed, by the debugger or because the debugger was killed. So
	 * DESTROY_QUEUE must not wait.
	 */
	OK(vg_cq_destroy(&q));
	ERRNO(0, runtime(0));
	t->s->done = 1;
	OK(vg_bo_free(&save));
}

static void debugger_dies(void)
{
	struct target t;
	int up[2], i, status;
	uint32_t id;
	pid_t pid;

	start();
	for (i = 0; i < 2; i++) {
		make_target(&t, one_queue);
		tap_step(t.down);
		tap_await(t.up);
		CHECK(!pipe2(up, O_CLOEXEC), "pipe");
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			vg_close(&vg);
			start();
			trace(t.pid);
			ERRNO(0, attach(t.pid, EC(PROCESS_RUNTIME)));
			seen(t.pid);
			id = t.s->queue;
			CHECK(suspend(t.pid, &id, 1, 0) == 1, "suspend");
			if (i) {
				CHECK(resume(t.pid, &id, 1) == 1, "resume");
				tap_step(t.down);
				hear();
			}
			tap_step(up);
			pause();
		}
		close(up[1]);
		tap_await(up);
		if (i)
			CHECK(!t.s->done, "the call did not wait");
		else
			tap_step(t.down);
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
		      "the debugger ended with 0x%x", status);
		end_target(&t);
		CHECK(t.s->done, "it did not get so far");
	}
}

static void target_dies(void)
{
	struct target t;
	uint32_t id;

	start();
	start_target(&t, one_queue);
	tap_await(t.up);
	ERRNO(0, attach(t.pid, EVERYTHING));
	seen(t.pid);
	id = t.s->queue;
	CHECK(suspend(t.pid, &id, 1, 0) == 1 && id == t.s->queue, "suspend");
	kill_target(&t);
	all_fail(t.pid, ESRCH, 0);
}

/*
 * The debugger does not read its pipe: in round 0 the pipe is full, in round 1 its read end is
 * closed. In both rounds, queries must report the events.
 */
static void nobody_reads(void)
{
	struct vg_cq q;
	pid_t me;
	int i, fd[2];

	start_queues();
	me = getpid();
	CHECK(!pipe2(fd, O_CLOEXEC), "pipe");
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	while (write(fd[1], "full", 4) > 0)
		;
	fcntl(fd[1], F_SETFL, 0);
	for (i = 0; i < 2; i++) {
		ERRNO(0, attach_by(me, EVERYTHING, fd[1]));
		OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
		OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
		expect(me, EC(QUEUE_NEW), gpu->gpu_id, q.id);
		OK(vg_cq_destroy(&q));
		expect(me, EC(DEVICE_QUEUE_DELETE), gpu->gpu_id, 0);
		ERRNO(0, TRAP(me, DISABLE));
		close(fd[0]);
	}
	OK(vg_bo_free(&save));
}

static void *turn_on(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)runtime(RUNTIME_ON);
}

/*
 * Unbind the GPU while RUNTIME_ENABLE waits for the debugger. The ioctl must fail, and the debugger
 * must get an event.
 */
static void unplugged(void)
{
	char name[VG_PCI_NAME];
	pthread_t thread;
	void *r;

	start();
	OK(vg_pci_name(gpu, name));
	ERRNO(0, attach(getpid(), EVERYTHING));
	CHECK(!pthread_create(&thread, NULL, turn_on, NULL), "thread");
	hear();
	OK(vg_pci_unbind(name));
	pthread_join(thread, &r);
	CHECK((intptr_t)r == -ENODEV, "RUNTIME_ENABLE: %ld", (long)r);
	hear();		/* the unbind raises EC_PROCESS_DEVICE_REMOVE */
	all_fail(getpid(), ENODEV, 0);
	OK(vg_pci_bind(name));
}

/*
 * Unload the module while a process is debugged and neither the debugger nor the target has a file
 * of KFD open.
 */
static void attach_bare(void *arg)
{
	struct target *t = arg;
	uint64_t deadline = vg_deadline();
	long r;

	OK(vg_open_bare(&vg));
	CHECK(!pipe2(news, O_CLOEXEC), "pipe");
	trace(t->pid);
	tap_step(t->down);
	tap_await(t->up);
	ERRNO(0, attach(t->pid, EVERYTHING));
	vg_close(&vg);
	/* A process that has just ended may still hold a reference to the module. */
	do
		r = syscall(SYS_delete_module, "vgpu_kfd", O_NONBLOCK);
	while (r && (errno == EAGAIN || errno == EBUSY) && vg_now() < deadline);
	CHECK(!r, "delete_module: %s", strerror(errno));
	hear();		/* the unload raises EC_PROCESS_DEVICE_REMOVE */
	CHECK(!system("modprobe vgpu_kfd"), "modprobe");
	/*
	 * The unload must have ended the session, so after the reload all operations except ENABLE
	 * must fail with ESRCH.
	 */
	OK(vg_open_bare(&vg));
	all_fail(t->pid, ESRCH, 1);
	ERRNO(0, attach(t->pid, EVERYTHING));
	ERRNO(0, TRAP(t->pid, DISABLE));
}

static void unloaded(void)
{
	struct target t;

	make_target(&t, idle);
	tap_in_child(attach_bare, &t);
	kill_target(&t);
}

/*
 * Number of rounds of debug_loop() and runtime_loop(); queue_loop() runs a quarter as many. The
 * threads of chaos() run these loops at the same time.
 */

static int chaos_rounds;

/*
 * Begin and end sessions, answer RUNTIME_ENABLE calls, query events, and suspend and resume queues,
 * in two threads of chaos().
 */
static void *debug_loop(void *arg)
{
	struct kfd_ioctl_dbg_trap_query_debug_event_args ev;
	pid_t me = getpid();
	uint32_t ids[4];
	int i;

	(void)arg;
	for (i = 0; i < chaos_rounds; i++) {
		attach(me, i & 1 ? EVERYTHING : 0);
		answer(me);
		query(me, i & 2 ? EVERYTHING : 0, &ev);
		ids[0] = 0, ids[1] = 1, ids[2] = 2, ids[3] = 3;
		suspend(me, ids, 4, 0);
		if (i % 3 == 0)
			TRAP(me, DISABLE);
		else if (i % 3 == 1)
			resume(me, NULL, 0);
		answer(me);
	}
	/*
	 * Each debug_loop() thread ends the session, because the other debug_loop() thread may
	 * already have ended. If a session remained, no thread would answer RUNTIME_ENABLE, and
	 * runtime_loop() would wait for an answer without end.
	 */
	TRAP(me, DISABLE);
	return NULL;
}

static void *runtime_loop(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < chaos_rounds; i++) {
		runtime(RUNTIME_ON);
		runtime(0);
	}
	return NULL;
}

static void *queue_loop(void *arg)
{
	struct vg_cq q;
	int i;

	(void)arg;
	for (i = 0; i < chaos_rounds / 4 + 1; i++) {
		OK(vg_cq_create(&vg, gpu, &save, RING, i & 1, &q));
		/*
		 * If the queue is suspended, DESTROY_QUEUE waits without a time limit until another
		 * loop resumes the queue, ends the session, or disables the runtime.
		 */
		OK(vg_cq_destroy(&q));
	}
	return NULL;
}

static void chaos(void)
{
	static void *(*const loops[])(void *) = {
		debug_loop, debug_loop, runtime_loop, queue_loop,
	};
	pthread_t thread[4];
	struct vg_cq q;
	int i;

	start_queues();
	chaos_rounds = tap_rounds(40, 4000);
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, loops[i], NULL),
		      "thread");
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

static void all_at_once(void)
{
	chaos();
}

static void killed(void)
{
	race_seed();
	start();
	race_kill(gpu, chaos, 5);
}

/* Call random operations with random arguments, in a process that debugs itself. */
static void hostile(void)
{
	struct kfd_ioctl_dbg_trap_args args;
	unsigned char *byte = (unsigned char *)&args;
	struct vg_cq q;
	int i, k;

	race_seed();
	start_queues();
	ERRNO(0, runtime(RUNTIME_ON));
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
	for (i = 0; i < tap_rounds(4000, 400000); i++) {
		for (k = 0; k < (int)sizeof(args); k++)
			byte[k] = race_below(4) ? (unsigned char)
				(race_below(2) ? 0 : race_below(256)) : 0xff;
		/*
		 * Set a high bit, so that random pointers point to unmapped memory and not to this
		 * program's data.
		 */
		args.query_exception_info.info_ptr |= 1ull << 46;
		args.queue_snapshot.snapshot_buf_ptr |= 1ull << 46;
		if (race_below(2))
			args.query_exception_info.info_ptr =
				(uintptr_t)save.cpu + race_below(VG_PAGE);
		if (!race_below(4))
			args.queue_snapshot.snapshot_buf_ptr =
				(uintptr_t)save.cpu + race_below(VG_PAGE);
		trap(getpid(), (uint32_t)race_below(16), &args);
		if (!race_below(8))
			attach(getpid(), race_below(2) ? EVERYTHING : 0);
	}
	TRAP(getpid(), DISABLE);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		{ "who may debug whom", who_may, 0 },
		{ "sessions begin and end", enable, 0 },
		{ "what needs waves is refused", no_waves, 0 },
		{ "the runtime waits for the debugger", handshake, 0 },
		{ "the debugger asks late, and leaves", subscribed_late, 0 },
		{ "signals and kills while the runtime waits", signals, 0 },
		{ "exec() ends a session", after_exec, 0 },
		{ "queue snapshots", snapshots, 0 },
		{ "device snapshots", devices, 0 },
		{ "suspended queues stand, and go on", suspended, 0 },
		{ "destruction waits for a suspended queue", destroy_waits, 0 },
		{ "queues come, err and go", queue_events, 0 },
		{ "faults are the debugger's to tell", faults, 0 },
		{ "the debugger dies", debugger_dies, 0 },
		{ "the debugged process dies", target_dies, 0 },
		{ "nobody reads the news", nobody_reads, 0 },
		{ "the GPU is taken away", unplugged, 0 },
		{ "the module is unloaded", unloaded, 0 },
		{ "all at once", all_at_once, 0 },
		{ "killed in the middle", killed, 0 },
		{ "hostile arguments", hostile, 0 },
	};

	if (argc > 1 && !strcmp(argv[1], "--sleep")) {
		pause();
		return 0;
	}
	return tap_main(TAP_CASES(cases), argc, argv);
}
