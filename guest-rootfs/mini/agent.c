// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The launcher's agent in the guest, process 1: runs one command for the launcher. The agent and
 * the launcher exchange frames over the virtio-serial port "vgpu.agent". The agent is also the
 * first program of the mini root file system, /init (init.c).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/random.h>

#include "agent.h"

/*
 * Kinds of frames. A frame is one byte of kind, four bytes with the length of the payload (little
 * endian), and the payload, which tools/vgpu_tools/guest/agent.py describes.
 */
enum frame {
	/*
	 * to the host: state of the driver. "waiting" means that the driver is not loaded yet.
	 * "restored" means the same in a guest that was restored from a snapshot.
	 */
	FRAME_HELLO = 'H',
	/* to the guest: struct run, then the command and its arguments, each ended by NUL */
	FRAME_RUN = 'R',
	FRAME_STDIN = 'I',	/* to the guest: bytes of standard input; no bytes: end of input */
	FRAME_SIZE = 'W',	/* to the guest: number of rows and of columns of the terminal */
	FRAME_DUMP = 'D',	/* to the guest: print running and blocked tasks on the console */
	/* to a guest that was restored from a snapshot: random bytes for the kernel */
	FRAME_SEED = 'S',
	/* to the guest, after FRAME_SEED: time of day; the agent then loads the driver */
	FRAME_TIME = 'T',
	FRAME_STDOUT = 'O',	/* to the host: bytes of standard output */
	FRAME_STDERR = 'E',	/* to the host: bytes of standard error */
	FRAME_EXIT = 'X',	/* to the host: exit status, as a shell reports it */
};

#define RUN_TERMINAL	0x01	/* run the command on a new terminal */
#define RUN_LEAKS	0x02	/* look for leaked kernel memory after the command */

struct run {
	uint8_t flags;
	uint16_t rows, columns;
} __attribute__((packed));

#define MAX_PAYLOAD	65536
/*
 * Capacity of a pipe: after the command has ended, the pipe holds at most this much of its output.
 */
#define MAX_PIPE	(1 << 20)
#define LEAKS		"/sys/kernel/debug/kmemleak"
#define LEAK_AGE_MS	5000	/* kmemleak does not report objects younger than this */
/*
 * Deferred work may still allocate memory until LEAK_LATE_MS ms after the end of a command. Leaks
 * of such memory have to be reported, too.
 */
#define LEAK_LATE_MS	500

struct command {
	pid_t pid;		/* 0 before the command has started and after it has ended */
	int status;		/* exit status for the host, valid after the command has ended */
	bool leaks;
	int input;		/* write end of standard input, or -1 after it was closed */
	const char *unread;	/* bytes from the launcher that the command has not read yet */
	uint32_t left;		/* number of bytes at unread; no frames are read until left is 0 */
	/* Read ends of standard output and error, or -1 after end of file. */
	int output[2];
};

static int port = -1;

/*
 * If the kernel's command line has vgpu_agent_delay=KINDS, delay the first three frames whose kind
 * is a letter of KINDS by 0.3 s each.
 */
static void be_late(enum frame kind)
{
	const char *kinds = getenv("vgpu_agent_delay");
	static int left = 3;

	if (kinds && left && strchr(kinds, kind)) {
		left--;
		usleep(300000);
	}
}

void die(const char *what)
{
	fprintf(stderr, "vgpu-agent: %s: %m\n", what);
	sync();
	reboot(RB_POWER_OFF);
	exit(1);
}

static void write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t done = write(fd, at, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			die("cannot write to the launcher");
		at += done;
		size -= done;
	}
}

static void send_frame(enum frame kind, const void *data, uint32_t size)
{
	char header[5] = { kind };
	uint32_t length = htole32(size);

	memcpy(header + 1, &length, sizeof(length));
	be_late(kind);
	write_all(port, header, sizeof(header));
	write_all(port, data, size);
}

/* Read @size bytes. Return false if the launcher has closed the port. */
static bool read_all(void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t done = read(port, at, size);

		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done <= 0)
			return false;
		at += done;
		size -= done;
	}
	return true;
}

/*
 * Open the virtio-serial port to the launcher. Return -1 if no port has the expected name yet, or
 * if the port cannot be opened.
 */
static int find_port(void)
{
	const char *folder = "/sys/class/virtio-ports";
	DIR *ports = opendir(folder);
	struct dirent *entry;
	char path[300], name[32];
	int found = -1;

	while (ports && found < 0 && (entry = readdir(ports))) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/name", folder, entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strcmp(name, "vgpu.agent\n")) {
			snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
			found = open(path, O_RDWR | O_CLOEXEC);
		}
		fclose(file);
	}
	if (ports)
		closedir(ports);
	return found;
}

/*
 * Open the port to the launcher. The kernel sends a uevent when QEMU has named the port, so search
 * again after each uevent.
 */
static void open_port(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int events = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	char event[8192];

	if (events < 0 || bind(events, (struct sockaddr *)&address, sizeof(address)))
		die("cannot receive uevents");
	while ((port = find_port()) < 0) {
		fprintf(stderr, "vgpu-agent: waiting for the port to the launcher\n");
		if (recv(events, event, sizeof(event), 0) < 0 && errno != EINTR && errno != ENOBUFS)
			die("cannot receive uevents");
	}
	close(events);
}

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "vgpu-agent: %s: %m\n", path);
	close(fd);
}

/*
 * Let kmemleak scan twice, and print the leaks on the console, which the launcher reads. `end` is
 * the time when the command ended.
 */
static void look_for_leaks(const struct timespec *end)
{
	const long wait = LEAK_AGE_MS + LEAK_LATE_MS;
	struct timespec old = { end->tv_sec + wait / 1000, end->tv_nsec + wait % 1000 * 1000000 };
	char line[256];
	FILE *leaks;

	if (access(LEAKS, W_OK))
		return;
	/*
	 * kmemleak compares an object's contents at the ends of two scans, and reports only
	 * unchanged objects. Deferred work has allocated all its objects before the first scan
	 * ends, because a scan takes longer than LEAK_LATE_MS.
	 */
	put_text(LEAKS, "scan");
	if (old.tv_nsec >= 1000000000) {
		old.tv_sec++;
		old.tv_nsec -= 1000000000;
	}
	/*
	 * kmemleak reports no object younger than LEAK_AGE_MS. Deferred work allocates objects
	 * until LEAK_LATE_MS after `end`: wait until these objects are old enough.
	 */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &old, NULL) == EINTR)
		;
	put_text(LEAKS, "scan");
	leaks = fopen(LEAKS, "r");
	while (leaks && fgets(line, sizeof(line), leaks))
		fputs(line, stderr);
	if (leaks)
		fclose(leaks);
}

static void set_size(int terminal, uint16_t rows, uint16_t columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	ioctl(terminal, TIOCSWINSZ, &size);
}

void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void exec_command(char **words)
{
	int error;

	unblock_signals();
	if (chdir("/root"))
		fprintf(stderr, "vgpu-agent: /root: %m\n");
	execvp(words[0], words);
	error = errno;
	fprintf(stderr, "%s: %s\n", words[0], error == ENOENT ? "not found in the guest" : strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* Start the command of a FRAME_RUN. `data` is the frame's payload of `size` bytes. */
static void start(struct command *command, char *data, uint32_t size)
{
	struct run run;
	char *at = data + sizeof(run), *end = data + size, *words[1025];
	int count = 0, in[2], out[2], err[2], terminal;

	if (size <= sizeof(run) || end[-1] != '\0' || command->pid)
		die("bad command from the launcher");
	memcpy(&run, data, sizeof(run));
	for (; at < end && count < 1024; at += strlen(at) + 1)
		words[count++] = at;
	words[count] = NULL;
	command->leaks = run.flags & RUN_LEAKS;

	if (run.flags & RUN_TERMINAL) {
		command->pid = forkpty(&terminal, NULL, NULL, NULL);
		if (command->pid == 0)
			exec_command(words);
		if (command->pid < 0)
			die("cannot start the command");
		set_size(terminal, le16toh(run.rows), le16toh(run.columns));
		command->input = terminal;
		command->output[0] = fcntl(terminal, F_DUPFD_CLOEXEC, 0);
	} else {
		if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
			die("cannot make pipes");
		command->pid = fork();
		if (command->pid == 0) {
			setsid();
			dup2(in[0], 0);
			dup2(out[1], 1);
			dup2(err[1], 2);
			exec_command(words);
		}
		if (command->pid < 0)
			die("cannot start the command");
		close(in[0]);
		close(out[1]);
		close(err[1]);
		command->input = in[1];
		command->output[0] = out[0];
		command->output[1] = err[0];
		fcntl(err[0], F_SETFL, O_NONBLOCK);
	}
	fcntl(command->input, F_SETFL, O_NONBLOCK);
	fcntl(command->output[0], F_SETFL, O_NONBLOCK);
}

static void close_input(struct command *command)
{
	if (command->input >= 0)
		close(command->input);
	command->input = -1;
	command->left = 0;
}

/*
 * Write as much input as the command accepts without blocking. Do not wait until the command
 * accepts more, because it may stop reading input until its output is read.
 */
static void feed(struct command *command)
{
	while (command->left) {
		ssize_t done = write(command->input, command->unread, command->left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN)
			return;
		if (done < 0) {
			close_input(command);
			return;
		}
		command->unread += done;
		command->left -= done;
	}
}

/*
 * Seed the kernel's random numbers. Without a seed, all guests restored from the same snapshot
 * could draw the same numbers.
 */
static void add_seed(const char *data, uint32_t size)
{
	struct rand_pool_info *info = malloc(sizeof(*info) + size);
	int random = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	if (!info || random < 0)
		die("/dev/urandom");
	info->entropy_count = size * 8;
	info->buf_size = size;
	memcpy(info->buf, data, size);
	if (ioctl(random, RNDADDENTROPY, info) || ioctl(random, RNDRESEEDCRNG))
		die("cannot seed the random number generator");
	close(random);
	free(info);
}

/*
 * In a restored guest: set the clock to `data`, in nanoseconds since 1970, then run vgpu-devices
 * and report the driver's state, as a guest does after its boot.
 */
static void go_on(const char *data, uint32_t size)
{
	struct timespec now;
	char state[32];
	uint64_t time;

	if (size != sizeof(time))
		die("bad time from the launcher");
	memcpy(&time, data, sizeof(time));
	time = le64toh(time);
	now.tv_sec = time / 1000000000;
	now.tv_nsec = time % 1000000000;
	if (clock_settime(CLOCK_REALTIME, &now))
		die("cannot set the clock");
	attach_devices(state, sizeof(state));
	send_frame(FRAME_HELLO, state, strlen(state));
}

/* Handle one frame from the launcher. Return false if the launcher has closed the port. */
static bool obey(struct command *command)
{
	static char data[MAX_PAYLOAD + 1];
	unsigned char header[5];
	uint16_t size[2];
	uint32_t length;

	if (!read_all(header, sizeof(header)))
		return false;
	memcpy(&length, header + 1, sizeof(length));
	length = le32toh(length);
	if (length > MAX_PAYLOAD)
		die("oversized frame from the launcher");
	if (!read_all(data, length))
		return false;

	be_late(header[0]);
	switch (header[0]) {
	case FRAME_RUN:
		start(command, data, length);
		break;
	case FRAME_STDIN:
		if (!length) {
			close_input(command);
		} else if (command->input >= 0) {
			command->unread = data;
			command->left = length;
			feed(command);
		}
		break;
	case FRAME_SIZE:
		if (length == sizeof(size) && command->input >= 0) {
			memcpy(size, data, sizeof(size));
			set_size(command->input, le16toh(size[0]), le16toh(size[1]));
		}
		break;
	case FRAME_DUMP:
		put_text("/proc/sysrq-trigger", "l");
		put_text("/proc/sysrq-trigger", "w");
		break;
	case FRAME_SEED:
		add_seed(data, length);
		send_frame(FRAME_HELLO, "restored", strlen("restored"));
		break;
	case FRAME_TIME:
		go_on(data, length);
		break;
	}
	return true;
}

/*
 * Forward available output to the launcher; close `*fd` at the end of the output. Return true if
 * more output may be available.
 */
static bool drain(int *fd, enum frame kind)
{
	static char data[MAX_PAYLOAD];
	ssize_t size;

	if (*fd < 0)
		return false;
	size = read(*fd, data, sizeof(data));
	if (size > 0) {
		send_frame(kind, data, size);
		return true;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* After the last process has closed a terminal, read() of the terminal fails with EIO. */
	close(*fd);
	*fd = -1;
	return false;
}

static void reap(struct command *command)
{
	struct timespec end;
	uint32_t word;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command->pid)
			continue;	/* an orphan that process 1 has adopted */
		clock_gettime(CLOCK_MONOTONIC, &end);
		command->pid = 0;
		command->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		/* The launcher expects all output before FRAME_EXIT. */
		for (int i = 0; i < MAX_PIPE / MAX_PAYLOAD && drain(&command->output[0], FRAME_STDOUT); i++)
			;
		for (int i = 0; i < MAX_PIPE / MAX_PAYLOAD && drain(&command->output[1], FRAME_STDERR); i++)
			;
		if (command->leaks)
			look_for_leaks(&end);
		word = htole32(command->status);
		send_frame(FRAME_EXIT, &word, sizeof(word));
	}
}

int main(int argc, char **argv)
{
	struct command command = { .input = -1, .output = { -1, -1 } };
	/*
	 * State of the driver, which the agent only reports to the launcher. "waiting" means that
	 * the driver is not loaded yet. The launcher then takes a snapshot of the guest before it
	 * sends a frame. A guest restored from the snapshot first gets FRAME_SEED and FRAME_TIME.
	 */
	char driver[32] = "absent";
	struct signalfd_siginfo info;
	sigset_t child;
	int signals;

	if (argc > 0 && !strcmp(argv[0], "/init"))
		boot(driver, sizeof(driver));
	else if (argc > 1)
		snprintf(driver, sizeof(driver), "%s", argv[1]);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	open_port();
	send_frame(FRAME_HELLO, driver, strlen(driver));

	for (;;) {
		struct pollfd polls[] = {
			{ command.left ? -1 : port, POLLIN, 0 },
			{ signals, POLLIN, 0 },
			{ command.output[0], POLLIN, 0 },
			{ command.output[1], POLLIN, 0 },
			{ command.left ? command.input : -1, POLLOUT, 0 },
		};

		if (poll(polls, 5, -1) < 0 && errno != EINTR)
			die("poll");
		if (polls[2].revents)
			drain(&command.output[0], FRAME_STDOUT);
		if (polls[3].revents)
			drain(&command.output[1], FRAME_STDERR);
		if (polls[1].revents && read(signals, &info, sizeof(info)) > 0)
			reap(&command);
		if (polls[4].revents)
			feed(&command);
		if (polls[0].revents && !obey(&command))
			break;
	}
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
