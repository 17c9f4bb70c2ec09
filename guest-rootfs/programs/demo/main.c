// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-demo: demonstrate the GPU's memory system in five parts, and check every byte. The exit
 * status is 0 only if every step passed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

/* Return the size of a transfer in bytes, a multiple of 2 MiB. */
static uint64_t transfer_size(uint64_t vram)
{
	return vram / 8 < 64 * VG_MIB ? vram / 8 & ~(2 * VG_MIB - 1) :
	       64 * VG_MIB;
}

static int setup(struct demo *d, struct vg_counters *dev,
		 struct vg_counters *drv)
{
	int r;

	vg_tally();
	r = vg_open(&d->vg);
	if (r)
		return r;
	d->gpu = &d->vg.gpu[0];
	r = vg_mem_info(d->gpu, &d->mem) ?: vg_device_counters(d->gpu, dev) ?:
	    vg_driver_counters(d->gpu, drv);
	if (r)
		return r;
	d->xfer = transfer_size(d->mem.vram_total);
	/* The XNACK mode can change only while the process has no queue. */
	r = vg_set_xnack(&d->vg, 1);
	if (r < 0)
		return r;
	return vg_queue_create(&d->vg, d->gpu, 64 * VG_KIB, &d->queue);
}

int main(void)
{
	static struct demo d;
	static struct vg_counters dev, drv;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setup(&d, &dev, &drv)) {
		fprintf(stderr, "vgpu-demo: cannot start: %s\n", vg_error());
		return 2;
	}
	report_open(&d);
	part_copy(&d);
	part_pressure(&d);
	part_fault_and_migrate(&d);
	part_no_retry(&d);
	if (vg_queue_destroy(&d.queue)) {
		d.failures++;
		printf("│ the demo's queue cannot be destroyed: %s\n",
		       vg_error());
	}
	report_close(&d);
	report_usage(&d);
	report_agreement(&d, &dev, &drv);
	vg_close(&d.vg);
	if (d.failures) {
		printf("vgpu-demo: %d checks did NOT hold\n", d.failures);
		return 1;
	}
	printf("vgpu-demo: every check held\n");
	return 0;
}
