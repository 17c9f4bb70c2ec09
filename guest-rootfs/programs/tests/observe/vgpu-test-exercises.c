// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run the debugging commands of docs/founding-documents.md in the shell. Catches: a command fails,
 * or its output lacks what the document describes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

#define TEXT	(256 * VG_KIB)
#define PAGES	4

static struct vg vg;
static char text[TEXT];

/*
 * Run @command in the shell, and store its output in text[]. Return the shell's wait status (in a
 * pipeline, that of the last command).
 */
static int shell(const char *command)
{
	FILE *f = popen(command, "re");
	size_t n;

	CHECK(f, "%s: %s", command, strerror(errno));
	n = fread(text, 1, TEXT - 1, f);
	text[n] = 0;
	return pclose(f);
}

static void run(const char *command)
{
	int status = shell(command);

	CHECK(!status, "'%s' ended with status %#x: %s", command, status, text);
}

/* Map PAGES pages, and make them one SVM range by setting an attribute. Return the address. */
static char *range(void)
{
	char *p = tap_anon(PAGES * VG_PAGE);

	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY,
		       4));
	return p;
}

/*
 * Read dri/<minor>/kfd/proc/<pid>/svm in debugfs for minor 0 and for the minor of each GPU. Each
 * output must contain the process and its SVM range.
 */
static void ranges(void)
{
	char command[96], want[32];
	int i;

	tap_open(&vg, 1);
	snprintf(want, sizeof(want), "\n%#lx-", (uintptr_t)range());
	for (i = -1; i < vg.n_gpus; i++) {
		snprintf(command, sizeof(command),
			 "cat /sys/kernel/debug/dri/%d/kfd/proc/%d/svm",
			 i < 0 ? 0 : vg.gpu[i].minor, getpid());
		run(command);
		CHECK(!strncmp(text, "pasid 0x", 8), "%s: no process in '%s'",
		      command, text);
		CHECK(strstr(text, want), "%s: no range at%s in %s", command,
		      want, text);
	}
}

static unsigned int lines(void)
{
	unsigned int n = 0;
	const char *at;

	for (at = text; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

/* The command must print one line of the kernel log for each probe of a GPU at boot. */
static void supported(void)
{
	/*
	 * This program must be the first of its line in tests.list: messages of earlier programs
	 * could push the probe lines out of the log buffer.
	 */
	static const char command[] = "dmesg | grep \"SVM.*supported\"";
	char name[VG_PCI_NAME], want[VG_PCI_NAME + 32];
	unsigned int n;
	int i;

	OK(vg_open_bare(&vg));
	run(command);
	for (i = 0; i < vg.n_gpus; i++) {
		OK(vg_pci_name(&vg.gpu[i], name));
		snprintf(want, sizeof(want), "%s: [drm] SVM supported\n", name);
		CHECK(strstr(text, want), "no '%s' in %s", want, text);
	}
	n = lines();
	run("dmesg | grep \"KFD node, GPU id\"");
	CHECK(n == lines(), "%u lines for %u probes", n, lines());
}

static uint64_t gtt(const char *what)
{
	char command[96];

	snprintf(command, sizeof(command),
		 "cat /sys/class/drm/card0/device/mem_info_gtt_%s", what);
	run(command);
	return strtoull(text, NULL, 10);
}

/* Read the files mem_info_gtt_total and mem_info_gtt_used of card0 with the command cat. */
static void gtt_files(void)
{
	struct vg_bo bo = { 0 };
	uint64_t total, used;

	tap_open(&vg, -1);
	/*
	 * The commands in docs/founding-documents.md name card0, so the first GPU must be the
	 * one with card0 and renderD128.
	 */
	CHECK(vg.gpu[0].minor == 128, "the first GPU is renderD%d",
	      vg.gpu[0].minor);
	total = gtt("total");
	used = gtt("used");
	CHECK(total >= used + 2 * VG_MIB, "%lu of %lu bytes are in use", used,
	      total);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], 2 * VG_MIB, VG_GTT, &bo));
	CHECK(gtt("used") == used + 2 * VG_MIB, "%lu bytes are in use, before: %lu",
	      gtt("used"), used);
	CHECK(gtt("total") == total, "the total is %lu, before: %lu",
	      gtt("total"), total);
	OK(vg_bo_free(&bo));
}

/* Body of a child: create an SVM range, and exit without removing it. */
static void range_alone(void *arg)
{
	(void)arg;
	tap_open(&vg, -1);
	range();
}

/*
 * With the debug prints of SVM range lists on, create a range in a child. Each of steps[] must be
 * printed once, in this order.
 */
static void debug_prints(void)
{
	static const char * const steps[] = {
		"range list created: pasid ",
		"faults are acknowledged, not repaired\n",
		/* The teardown runs after the child has ended. */
		"range list teardown begins\n",
		"no work item of the range list runs\n",
		"ranges removed: 1\n",
		"range list freed\n",
	};
	const unsigned int n = sizeof(steps) / sizeof(steps[0]);
	uint64_t end = vg_deadline();
	char command[64];
	const char *at;
	unsigned int i;
	pid_t pid;

	run("echo 'file svm_*.c +p' > /proc/dynamic_debug/control");
	pid = tap_in_child(range_alone, NULL);
	snprintf(command, sizeof(command), "dmesg | grep 'vgpu_kfd: pid %d: '",
		 pid);
	/*
	 * While the log has no matching line, grep fails and shell() returns a status other
	 * than 0.
	 */
	while ((shell(command) || !strstr(text, steps[n - 1])) &&
	       vg_now() < end)
		vg_sleep_us(10000);
	/* Switch the debug prints off for the later programs of this guest. */
	run("echo 'file svm_*.c -p' > /proc/dynamic_debug/control");
	run(command);
	CHECK(lines() == n, "%u lines and not %u:\n%s", lines(), n, text);
	for (i = 0, at = text; i < n; i++, at = strchr(at, '\n') + 1) {
		const char *step = strstr(at, steps[i]);

		CHECK(step && step < strchr(at, '\n'), "line %u is not '%s':\n%s",
		      i, steps[i], text);
	}
}

static const struct tap_case cases[] = {
	{ "ranges of a process, in the folder of a GPU", ranges, 1 },
	{ "GPUs that support SVM", supported, 1 },
	{ "size and use of GTT", gtt_files, 1 },
	{ "debug prints of a range list", debug_prints, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
