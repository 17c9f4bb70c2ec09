// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program checks the trace events of known actions, and their order. Catches: an event is
 * missing, comes twice or before its action, or names the wrong BO or domain; the events of one
 * fault have different serial numbers.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "tap.h"

#define TRACEFS	"/sys/kernel/tracing"
#define TEXT	(4 * VG_MIB)

static struct vg vg;
static struct vg_gpu *gpu;
static char text[TEXT];

static void spill(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	ssize_t n;

	CHECK(file >= 0, "%s: %s", path, strerror(errno));
	/*
	 * @value may contain several names. A write() to set_event accepts only the first
	 * name, so write the rest until no name is left.
	 */
	for (; *value; value += n) {
		n = write(file, value, strlen(value));
		CHECK(n > 0, "%s to %s: %s", value, path, strerror(errno));
	}
	close(file);
}

static void trace_on(const char *events)
{
	spill(TRACEFS "/tracing_on", "0");
	spill(TRACEFS "/set_event", events);
	spill(TRACEFS "/trace", "");
	spill(TRACEFS "/tracing_on", "1");
}

static void trace_off(void)
{
	spill(TRACEFS "/tracing_on", "0");
	tap_read(TRACEFS "/trace", text, TEXT);
	spill(TRACEFS "/set_event", "");
}

/*
 * Search the trace from @from on for event @name. Return the first such event that has @what in
 * its line, or NULL.
 */
static const char *event(const char *from, const char *name, const char *what)
{
	static char line[1024];
	const char *at, *end;

	for (at = strstr(from, name); at; at = strstr(at + 1, name)) {
		end = strchr(at, '\n');
		if (!end || (size_t)(end - at) >= sizeof(line))
			continue;
		memcpy(line, at, (size_t)(end - at));
		line[end - at] = 0;
		if (strstr(line, what))
			return at;
	}
	return NULL;
}

/* Copy the value of field @key of the event at @at to @word. */
static void field(const char *at, const char *key, char *word, size_t size)
{
	const char *value = strstr(at, key);
	size_t n = 0;

	CHECK(value && value < strchr(at, '\n'), "no %s in %.100s", key, at);
	value += strlen(key);
	while (n + 1 < size && !isspace(value[n])) {
		word[n] = value[n];
		n++;
	}
	word[n] = 0;
}

/* Create, evict and destroy a BO: the events must name the same BO. */
static void trace_bo(void)
{
	const uint64_t odd = 4 * VG_MIB + 3 * VG_PAGE;
	char name[64], want[160], size[64];
	struct vg_mem_info info;
	const char *at;
	uint32_t first;
	uint64_t i;
	int file;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &info));
	if (info.vram_total > 128 * VG_MIB)
		tap_skip("VRAM is too large to fill: run with --vram 64M");
	file = tap_open_render(gpu);
	trace_on("vgpu:*");
	/* The size identifies this BO in the trace, because no other BO has this size. */
	first = tap_gem_create(file, odd, AMDGPU_GEM_DOMAIN_VRAM, 0);
	for (i = 0; i < info.vram_total / (4 * VG_MIB) + 1; i++)
		tap_gem_create(file, 4 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0);
	tap_gem_close(file, first);
	/* Wait for the destroy event: TTM frees the BO after the engine has finished with it. */
	for (i = 0; i < (uint64_t)VG_TIMEOUT_MS; i++) {
		tap_read(TRACEFS "/trace", text, TEXT);
		snprintf(size, sizeof(size), "size=%lu", odd);
		if (event(text, "vgpu_bo_destroy:", size))
			break;
		vg_sleep_us(1000);
	}
	trace_off();

	at = event(text, "vgpu_bo_create:", size);
	CHECK(at, "no vgpu_bo_create event");
	CHECK(strstr(at, " in vram "), "not created in VRAM: %.120s", at);
	field(at, "bo=", name, sizeof(name));
	snprintf(want, sizeof(want), "bo=%s size=%lu in vram", name, odd);
	at = event(at, "vgpu_bo_evict:", want);
	CHECK(at, "no vgpu_bo_evict %s", want);
	snprintf(want, sizeof(want), "bo=%s size=%lu from vram to gtt evicted",
		 name, odd);
	at = event(at, "vgpu_bo_move:", want);
	CHECK(at, "no vgpu_bo_move %s", want);
	snprintf(want, sizeof(want), "bo=%s size=%lu", name, odd);
	CHECK(event(at, "vgpu_bo_destroy:", want), "no vgpu_bo_destroy %s",
	      want);
}

/*
 * Map and unmap a BO: the events must show that page table entries are written and then
 * the TLB is flushed.
 */
static void trace_vm(void)
{
	static const struct vg_queue none;
	struct vg_queue q = none;
	struct vg_bo bo = { 0 };
	char want[128], pasid[32], pages[64];
	const char *at;

	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	/*
	 * Create a queue. Without a queue, the address space would have no VMID, so there would
	 * be no TLB flush and no event vgpu_vm_flush.
	 */
	OK(vg_queue_create(&vg, gpu, 64 * VG_KIB, &q));
	OK(vg_bo_alloc(&vg, gpu, 3 * VG_MIB, VG_VRAM, &bo));
	snprintf(pages, sizeof(pages), "/proc/self/fdinfo/%d", gpu->fd);
	tap_read(pages, text, TEXT);
	at = strstr(text, "pasid:");
	CHECK(at, "no PASID in fdinfo");
	snprintf(pasid, sizeof(pasid), "pasid=%d ", atoi(at + 6));
	snprintf(pages, sizeof(pages), "[%#lx %#lx]", bo.va / VG_PAGE,
		 (bo.va + bo.size) / VG_PAGE - 1);
	trace_on("vgpu:vgpu_vm_map vgpu:vgpu_vm_update "
		 "vgpu:vgpu_vm_flush vgpu:vgpu_vm_unmap");
	OK(vg_bo_map_gpu(&bo));
	OK(vg_bo_unmap_gpu(&bo));
	trace_off();

	snprintf(want, sizeof(want), "%s%s", pasid, pages);
	at = event(text, "vgpu_vm_map:", want);
	CHECK(at, "no vgpu_vm_map %s in %s", want, text);
	at = event(at, "vgpu_vm_update:", pages);
	CHECK(at, "no vgpu_vm_update %s", pages);
	CHECK(event(at, "vgpu_vm_update:", " in vram"), "the entries are not in VRAM");
	at = event(at, "vgpu_vm_flush:", pasid);
	CHECK(at, "no vgpu_vm_flush %s after the entries", pasid);
	CHECK(event(at, "vgpu_vm_unmap:", want), "no vgpu_vm_unmap %s", want);
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
}

/* Every submitted job must complete without error, and jobs must complete in order. */
static void trace_jobs(void)
{
	unsigned long submitted[2] = { 0 }, done[2] = { 0 }, seqno;
	unsigned int engine, n = 0;
	union drm_amdgpu_gem_wait_idle idle = { 0 };
	char want[64];
	const char *at;
	int i;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	trace_on("vgpu_hw:vgpu_sdma_submit vgpu_hw:vgpu_sdma_done");
	/*
	 * Allocate more VRAM than the driver has already cleared, so that the driver must
	 * submit jobs.
	 */
	for (i = 0; i < 10; i++) {
		memset(&idle, 0, sizeof(idle));
		idle.in.handle = tap_gem_create(gpu->fd, 4 * VG_MIB,
						AMDGPU_GEM_DOMAIN_VRAM, 0);
		idle.in.timeout = INT64_MAX;
		ERRNO(0, tap_ioctl(gpu->fd, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE,
				   &idle));
		CHECK(!idle.out.status, "BO %d is not idle", i);
	}
	trace_off();
	for (at = text; (at = strstr(at, "vgpu_sdma_submit:")); at++) {
		CHECK(sscanf(at, "vgpu_sdma_submit: engine=%u seqno=%lu", &engine,
			     &seqno) == 2 && engine < 2, "%.100s", at);
		CHECK(seqno > submitted[engine], "job %lu after %lu", seqno,
		      submitted[engine]);
		submitted[engine] = seqno;
		snprintf(want, sizeof(want), "engine=%u seqno=%lu error=0",
			 engine, seqno);
		CHECK(event(at, "vgpu_sdma_done:", want),
		      "job %lu does not complete after its submission", seqno);
		n++;
	}
	for (at = text; (at = strstr(at, "vgpu_sdma_done:")); at++) {
		CHECK(sscanf(at, "vgpu_sdma_done: engine=%u seqno=%lu", &engine,
			     &seqno) == 2 && engine < 2, "%.100s", at);
		CHECK(seqno > done[engine], "job %lu completes after %lu", seqno,
		      done[engine]);
		done[engine] = seqno;
	}
	CHECK(n >= 5, "only %u jobs", n);
}

/* A reset must cause a begin event and an end event. Both must name the kind of the reset. */
static void trace_reset(void)
{
	char path[128];
	const char *at;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	trace_on("vgpu:vgpu_reset_begin vgpu:vgpu_reset_end");
	snprintf(path, sizeof(path),
		 "/sys/kernel/debug/dri/%d/amdgpu_gpu_recover", gpu->minor);
	tap_read(path, text, TEXT);
	CHECK(atoi(text) == 0, "no reset: %s", text);
	trace_off();
	at = event(text, "vgpu_reset_begin:", "device");
	CHECK(at, "no beginning in %s", text);
	CHECK(event(at, "vgpu_reset_begin:", "serial="), "no serial");
	CHECK(event(at, "vgpu_reset_end:", "device"), "no end in %s", text);
}

/*
 * The interrupt entry of a fault, its svm_fault event and its svm_service event must
 * have the same serial number. The fault's CAM slot must be acknowledged. A repair must look up
 * the pages by HMM, and then write entries, between the first and the last event of a fault.
 */
static void trace_fault(void)
{
	static const char * const repair[] = {
		"svm_fault:", "svm_hmm_begin:", "svm_hmm_end:",
		"vgpu_vm_write:", "svm_service:",
	};
	static const struct vg_queue none;
	struct vg_queue q = none;
	char serial[32], cam[32], want[64];
	const char *at, *line;
	unsigned int data3 = 0, n = 0, i;
	struct vg_bo bo = { 0 };
	uint8_t *p;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 64 * VG_KIB, &q));
	OK(vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &bo));
	p = vg_map_anon(VG_MIB);
	CHECK(p, "%s", vg_error());
	vg_pattern_fill(p, VG_MIB, 7, 0);
	OK(vg_svm_set1(&vg, p, VG_MIB, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	trace_on("vgpu_svm:* vgpu_hw:vgpu_ih_entry vgpu_hw:vgpu_cam_ack "
		 "vgpu:vgpu_vm_write");
	OK(vg_copy(&q, bo.cpu, p, VG_MIB));
	trace_off();

	for (at = text; (at = strstr(at, "svm_fault:")); at++, n++) {
		field(at, "serial=", serial, sizeof(serial));
		field(at, "cam=", cam, sizeof(cam));
		/* The fault's interrupt entry must precede this svm_fault event in the trace. */
		for (line = text; (line = event(line, "vgpu_ih_entry:",
						"source=0 ")); line++) {
			const char *data = strstr(line, "data=");

			if (data && line < at &&
			    sscanf(data, "data=%*x %*x %*x %x", &data3) == 1 &&
			    data3 == strtoul(serial, NULL, 10))
				break;
		}
		CHECK(line, "no interrupt of fault %s", serial);
		snprintf(want, sizeof(want), "serial=%s ", serial);
		CHECK(event(at, "svm_service:", want), "no verdict on fault %s",
		      serial);
		snprintf(want, sizeof(want), "cam=%s", cam);
		CHECK(event(at, "vgpu_cam_ack:", want), "no acknowledgement of fault %s",
		      serial);
	}
	CHECK(n, "no fault");
	for (i = 0, at = text; i < sizeof(repair) / sizeof(repair[0]); i++) {
		at = event(at, repair[i], "");
		CHECK(at, "no %s after the step before it in %s", repair[i],
		      text);
	}
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
}

/* Body of a child that creates an SVM range and ends without removing the range. */
static void range_alone(void *arg)
{
	char *p = tap_anon(VG_PAGE);

	(void)arg;
	tap_open(&vg, -1);
	OK(vg_svm_set1(&vg, p, VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY, 4));
}

/*
 * A child with one range must cause each event of steps[] once, in this order. The
 * teardown, which causes the last events, runs after the child has ended.
 */
static void trace_lists(void)
{
	static const char * const steps[] = {
		"vgpu_process_alloc:", "svm_list_init:", "vgpu_process_hash:",
		"svm_range_insert:", "vgpu_process_unhash:", "svm_list_drain:",
		"svm_list_fini:", "svm_list_idle:", "svm_range_unlink:",
		"svm_list_empty:", "svm_list_free:", "vgpu_process_free:",
	};
	const unsigned int n = sizeof(steps) / sizeof(steps[0]);
	uint64_t end = vg_deadline();
	const char *at = text, *range;
	char want[32], pasid[32];
	unsigned int i;

	trace_on("vgpu:vgpu_process_alloc vgpu:vgpu_process_hash "
		 "vgpu:vgpu_process_unhash vgpu:vgpu_process_free "
		 "vgpu_svm:svm_list_init vgpu_svm:svm_list_drain "
		 "vgpu_svm:svm_list_fini vgpu_svm:svm_list_idle "
		 "vgpu_svm:svm_list_empty vgpu_svm:svm_list_free "
		 "vgpu_svm:svm_range_insert vgpu_svm:svm_range_unlink");
	snprintf(want, sizeof(want), "pid=%d", tap_in_child(range_alone, NULL));
	do {
		vg_sleep_us(10000);
		tap_read(TRACEFS "/trace", text, TEXT);
	} while (!event(text, steps[n - 1], want) && vg_now() < end);
	trace_off();
	range = event(text, "svm_list_init:", want);
	CHECK(range, "no svm_list_init %s in %s", want, text);
	field(range, "pasid=", pasid, sizeof(pasid));
	for (i = 0; i < n; i++, at++) {
		/* Events of a range have only the PASID, and no process ID. */
		bool of_range = !strncmp(steps[i], "svm_range", 9);
		char word[64];

		snprintf(word, sizeof(word), of_range ? "pasid=%s [" : "%s",
			 of_range ? pasid : want);
		at = event(at, steps[i], word);
		CHECK(at, "no %s %s after the step before it in %s", steps[i], word,
		      text);
		CHECK(!event(at + 1, steps[i], word), "%s %s twice", steps[i], word);
	}
}

static const struct tap_case cases[] = {
	{ "a BO's life", trace_bo, 1 },
	{ "a mapping's life", trace_vm, 1 },
	{ "a range list's life", trace_lists, 1 },
	{ "jobs", trace_jobs, 1 },
	{ "reset", trace_reset, 1 },
	{ "a fault, from interrupt to answer", trace_fault, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
