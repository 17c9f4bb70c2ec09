// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-slot-off: switch off the power of the GPU's PCIe slot while a child process reads a register
 * of the GPU and writes a doorbell. QEMU unplugs the GPU when the slot's power goes off. An access
 * that the child has begun by then must not reach the unplugged device.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/pci_regs.h>

#include "vg.h"
#include "vgpu/ih.h"
#include "vgpu/pci.h"

/* Number of accesses that the child makes before and after the power goes off. */
#define ACCESSES	2000

struct slot {
	/* name of the GPU on the PCI bus */
	char gpu[VG_PCI_NAME];
	/* file of the configuration space of the port above the GPU */
	int port;
	/* offset of the Slot Control register in @port */
	off_t control;
	volatile uint32_t *mmio;
	volatile uint32_t *doorbell;
	volatile struct {
		/* number of accesses that the child has made */
		uint64_t count;
		/* value of IH_STATUS in the child's last access */
		uint32_t status;
	} *child;
};

static void *map_bar(const struct slot *s, int bar, size_t size)
{
	char path[96];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%d", s->gpu, bar);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		vg_fail(-errno, "cannot open %s", path);
		return NULL;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		vg_fail(-errno, "cannot map %s", path);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static int open_port(struct slot *s)
{
	char path[96], *real;
	int err = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", s->gpu);
	real = realpath(path, NULL);
	if (!real)
		return vg_fail(-errno, "cannot follow %s", path);
	snprintf(path, sizeof(path), "%s/config", dirname(real));
	s->port = open(path, O_RDWR | O_CLOEXEC);
	if (s->port < 0)
		err = vg_fail(-errno, "cannot open %s", path);
	free(real);
	return err;
}

/* Find the Slot Control register in the PCI Express capability of the port. */
static int find_control(struct slot *s)
{
	uint8_t config[PCI_CFG_SPACE_SIZE], at;
	unsigned int n;

	if (pread(s->port, config, sizeof(config), 0) != sizeof(config))
		return vg_fail(-EIO, "cannot read the configuration space of the port");
	at = config[PCI_CAPABILITY_LIST];
	/* There are at most 48 capabilities, because each takes 4 bytes or more. */
	for (n = 0; n < 48 && at >= PCI_STD_HEADER_SIZEOF && at < 0xfc; n++) {
		if (config[at + PCI_CAP_LIST_ID] == PCI_CAP_ID_EXP) {
			s->control = at + PCI_EXP_SLTCTL;
			return 0;
		}
		at = config[at + PCI_CAP_LIST_NEXT];
	}
	return vg_fail(-ENODEV, "the port has no PCI Express capability");
}

/* Unbind the driver, and map the BARs. */
static int open_slot(struct slot *s)
{
	static struct vg vg;
	char path[96];
	int err = vg_open(&vg);

	if (err)
		return err;
	err = vg_pci_name(&vg.gpu[0], s->gpu);
	vg_close(&vg);
	if (!err)
		err = vg_pci_unbind(s->gpu);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", s->gpu);
	if (!err)
		err = vg_put(path, "1");
	if (!err)
		err = open_port(s);
	if (!err)
		err = find_control(s);
	if (err)
		return err;
	s->mmio = map_bar(s, VGPU_BAR_MMIO, VGPU_MMIO_BAR_SIZE);
	s->doorbell = map_bar(s, VGPU_BAR_DOORBELL, VGPU_DOORBELL_BAR_SIZE);
	s->child = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s->mmio && s->doorbell && s->child != MAP_FAILED ? 0 : -ENODEV;
}

/* The child: access the BARs until the parent ends, kills the child, or the kernel unmaps them. */
static void access_bars(const struct slot *s)
{
	for (;;) {
		s->child->status = s->mmio[IH_STATUS];
		s->doorbell[0] = 0;
		s->child->count++;
	}
}

/*
 * Wait until the child has made ACCESSES accesses more, or has ended. Store its status in @status,
 * or 0 if it runs. Return 0 or -errno.
 */
static int wait_for_accesses(const struct slot *s, pid_t child, int *status)
{
	uint64_t end = vg_deadline(), from = s->child->count;

	*status = 0;
	while (s->child->count - from < ACCESSES) {
		pid_t pid = waitpid(child, status, WNOHANG);

		if (pid < 0)
			return vg_fail(-errno, "waitpid");
		if (pid == child)
			return 0;
		if (vg_now() > end)
			return vg_fail(-ETIME, "the child makes no accesses");
		sched_yield();
	}
	return 0;
}

static int switch_off(const struct slot *s)
{
	uint16_t control;

	if (pread(s->port, &control, sizeof(control), s->control) != sizeof(control))
		return vg_fail(-EIO, "cannot read Slot Control");
	control &= ~PCI_EXP_SLTCTL_PIC;
	control |= PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PWR_OFF;
	if (pwrite(s->port, &control, sizeof(control), s->control) != sizeof(control))
		return vg_fail(-EIO, "cannot write Slot Control");
	return 0;
}

static int run(struct slot *s)
{
	pid_t parent = getpid(), child = fork();
	int status = 0, err;

	if (child < 0)
		return vg_fail(-errno, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			access_bars(s);
		_exit(1);
	}
	err = wait_for_accesses(s, child, &status);
	if (!err && status)
		err = vg_fail(-EIO, "the child has ended with status 0x%x", status);
	if (!err)
		err = switch_off(s);
	if (!err)
		err = wait_for_accesses(s, child, &status);
	if (!status) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	} else if (!err && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)) {
		/* The kernel may have removed the device; then the access raises SIGBUS. */
		err = vg_fail(-EIO, "the child has ended with status 0x%x", status);
	}
	if (!err && !status && s->child->status == IH_STATUS__IDLE)
		err = vg_fail(-EIO, "the GPU still answers");
	return err;
}

int main(void)
{
	static struct slot s;
	int err = open_slot(&s);

	if (!err)
		err = run(&s);
	if (err)
		fprintf(stderr, "vgpu-slot-off: %s\n", vg_error());
	else
		puts("the GPU is gone");
	return err ? 1 : 0;
}
