// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module goes and comes. What they would catch: something left
 * registered, running or allocated at unload; a reload that finds the device
 * in a state it does not expect.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define MODULE "vgpu_kfd"

static int unload(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	int status = system("modprobe " MODULE);

	return status ? vg_fail(-EIO, "modprobe " MODULE " ended with 0x%x",
				status) : 0;
}

/* Uses the GPU a little: BOs, SVM with pages in VRAM, a queue. */
static void use(void *arg)
{
	struct vg_bo bo = { 0 };
	struct vg_queue q = { 0 };
	struct vg vg;
	char *p;

	(void)arg;
	tap_open(&vg, 1);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM, &bo));
	p = vg_map_anon(VG_MIB);
	CHECK(p, "%s", vg_error());
	vg_pattern_fill(p, VG_MIB, 1, 0);
	OK(vg_copy(&q, bo.cpu, p, VG_MIB));
	OK(vg_pattern_check(bo.cpu, VG_MIB, 1, 0));
	OK(vg_svm_prefetch(&vg, p, VG_MIB, vg.gpu[0].gpu_id));
	OK(vg_fill(&q, p, 5, VG_MIB));
	OK(vg_fill_check(p, VG_MIB, 5));
}

/* Process teardown may still hold the module for a moment after its exit. */
static int unload_when_idle(void)
{
	uint64_t deadline = vg_now() + 10000000000ull;
	int r;

	do {
		r = unload();
		if (r != -EAGAIN && r != -EBUSY && r != -EWOULDBLOCK)
			break;
		vg_sleep_us(2000);
	} while (vg_now() < deadline);
	return r;
}

static void reload(void)
{
	int i;

	for (i = 0; tap_goes_on(i, 5); i++) {
		tap_in_child(use, NULL);
		ERRNO(0, unload_when_idle());
		CHECK(access("/dev/kfd", F_OK), "/dev/kfd is still there");
		CHECK(access("/sys/class/kfd", F_OK),
		      "/sys/class/kfd is still there");
		OK(load());
		CHECK(!access("/dev/kfd", F_OK), "/dev/kfd is not there");
	}
	tap_in_child(use, NULL);
}

/* In use, it stays, and the user does not notice the attempt. */
static void in_use(void)
{
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, 1);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM, &bo));
	ERRNO(EAGAIN, unload());
	OK(vg_fill(&q, bo.cpu, 3, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 3));
}

static const struct tap_case cases[] = {
	{ "a module in use stays", in_use, 0 },
	{ "unload and load, five times", reload, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
