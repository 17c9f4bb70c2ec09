// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Anchors: costs of the machine. ./vgpu bench compares figures of the GPU with the anchors of the
 * same run:
 *
 * - a read of a disk without contents: the cost of any PCI device that wakes a sleeping task. gpu.c
 *   measures such reads in turn with faults, so that both see the same machine;
 * - two wake-ups between processes;
 * - a read of a GPU register: the cost of one access to a device, without a wake-up.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/device_info.h>
#include <vgpu/pci.h>

#include "bench.h"

/* Serial number of the disk; measure.py starts the guest with such a disk. */
#define NULL_DISK	"vgpu-null"

enum {
	ROUNDS = 1000,
	UNMEASURED = 20,	/* rounds before these, which fill caches */
	REGISTER_READS = 10000,	/* in a sample */
};

static bool is_null_disk(const char *disk)
{
	char path[NAME_MAX + 32], serial[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/serial", disk);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%31s", serial) != 1)
		serial[0] = 0;
	fclose(f);
	return !strcmp(serial, NULL_DISK);
}

/* Return a descriptor of the disk NULL_DISK, or -1 if there is no such disk. */
static int find_null_disk(void)
{
	DIR *disks = opendir("/sys/block");
	char path[NAME_MAX + 32] = "";
	struct dirent *entry;
	int fd;

	must(disks ? 0 : vg_fail(-errno, "/sys/block"), "disk-read");
	while (!path[0] && (entry = readdir(disks)))
		if (is_null_disk(entry->d_name))
			snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
	closedir(disks);
	if (!path[0])
		return -1;
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	must(fd < 0 ? vg_fail(-errno, "%s", path) : 0, "disk-read");
	return fd;
}

bool null_disk_open(struct null_disk *disk)
{
	disk->fd = find_null_disk();
	if (disk->fd < 0) {
		fprintf(stderr,
			"vgpu-bench: disk-read is not measured: no disk has the serial number %s; start the guest with --qemu-args \"-drive if=none,id=null,driver=null-co,size=1G,read-zeroes=on -device virtio-blk-pci,drive=null,serial=%s\"\n",
			NULL_DISK, NULL_DISK);
		return false;
	}
	disk->page = must_map(VG_PAGE);
	memset(disk->page, 1, VG_PAGE);
	return true;
}

uint64_t null_disk_read(const struct null_disk *disk)
{
	uint64_t ns, start = vg_now();
	ssize_t n = pread(disk->fd, disk->page, VG_PAGE, 0);

	ns = vg_now() - start;
	must(n == (ssize_t)VG_PAGE ? 0 :
	     vg_fail(n < 0 ? -errno : -EIO, "pread"), "disk-read");
	return ns;
}

void null_disk_close(struct null_disk *disk)
{
	vg_unmap_anon(disk->page, VG_PAGE);
	close(disk->fd);
}

/*
 * Measure reads of VGPU_MAGIC. The device returns a constant for this register, and takes no lock
 * of its own.
 */
void bench_registers(struct bench *b)
{
	const uint64_t offset = VGPU_MAGIC * 4ull;
	char name[VG_PCI_NAME], path[64];
	volatile const uint32_t *reg;
	unsigned int i, s;
	bool wrong = false;
	char *page;
	int fd;

	must(vg_pci_name(b->gpu, name), "register-read");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%d", name,
		 VGPU_BAR_MMIO);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd < 0 ? vg_fail(-errno, "%s", path) : 0, "register-read");
	page = mmap(NULL, VG_PAGE, PROT_READ, MAP_SHARED, fd,
		    (off_t)(offset & ~(VG_PAGE - 1)));
	must(page == MAP_FAILED ? vg_fail(-errno, "mmap of %s", path) : 0,
	     "register-read");
	reg = (volatile const uint32_t *)(page + offset % VG_PAGE);
	for (s = 0; s <= SAMPLES; s++) {
		uint64_t start = vg_now(), ns;

		for (i = 0; i < REGISTER_READS; i++)
			wrong |= *reg != VGPU_MAGIC_VALUE;
		ns = vg_now() - start;
		must(wrong ? vg_fail(-EIO, "%s: not the magic number", path) :
		     0, "register-read");
		/* The first round prints no sample, because it maps the page. */
		if (s)
			sample("register-read", 0,
			       (double)ns / 1e3 / REGISTER_READS, "us");
	}
	munmap(page, VG_PAGE);
	close(fd);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set) ?
	     vg_fail(-errno, "sched_setaffinity") : 0, "pipe-round-trip");
}

/* Answer each byte of @from with a byte to @to, until the other side closes its end. */
static void echo(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
}

static void round_trips(int to, int from)
{
	static uint64_t ns[ROUNDS];
	char byte = 0;
	int i;

	await_quiet();
	for (i = -UNMEASURED; i < ROUNDS; i++) {
		uint64_t start = vg_now();
		bool ok = write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1;

		if (i >= 0)
			ns[i] = vg_now() - start;
		must(ok ? 0 : vg_fail(-EPIPE, "no answer"), "pipe-round-trip");
	}
	samples_us("pipe-round-trip", 0, ns, ROUNDS);
}

void bench_pipes(void)
{
	int there[2], back[2], i, first = -1, last = -1, status;
	cpu_set_t all;
	pid_t pid;

	must(pipe(there) || pipe(back) ||
	     sched_getaffinity(0, sizeof(all), &all) ?
	     vg_fail(-errno, "pipes") : 0, "pipe-round-trip");
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			first = first < 0 ? i : first;
			last = i;
		}
	pid = fork();
	must(pid < 0 ? vg_fail(-errno, "fork") : 0, "pipe-round-trip");
	/*
	 * The processes run on different CPUs, so that each byte wakes a halted virtual CPU. The
	 * scheduler could place both on one CPU.
	 */
	if (!pid) {
		close(there[1]);
		close(back[0]);
		pin(last);
		echo(there[0], back[1]);
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	pin(first);
	round_trips(there[1], back[0]);
	close(there[1]);
	close(back[0]);
	must(waitpid(pid, &status, 0) != pid || status ?
	     vg_fail(-EIO, "the other process failed") : 0, "pipe-round-trip");
	must(sched_setaffinity(0, sizeof(all), &all) ?
	     vg_fail(-errno, "sched_setaffinity") : 0, "pipe-round-trip");
}
