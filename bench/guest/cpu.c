// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measurements to compare with those of the GPU:
 *
 * - the time of the boot;
 * - memcpy() and page faults on the guest's CPU;
 * - migrations by the kernel module test_hmm, which copies pages with the CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static double seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Measure the time from the boot until /dev/kfd appeared: the wall time at which the file was
 * created in devtmpfs, minus the wall time of the boot.
 */
void bench_boot(void)
{
	double boot = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME), born;
	struct statx st;

	if (statx(AT_FDCWD, "/dev/kfd", 0, STATX_BTIME | STATX_CTIME, &st)) {
		vg_fail(-errno, "statx /dev/kfd");
		must(-1, "boot");
	}
	born = st.stx_mask & STATX_BTIME ?
	       (double)st.stx_btime.tv_sec + st.stx_btime.tv_nsec / 1e9 :
	       (double)st.stx_ctime.tv_sec + st.stx_ctime.tv_nsec / 1e9;
	sample("boot-to-kfd", 0, (born - boot) * 1e3, "ms");
}

static void cpu_memcpy(void)
{
	static const uint64_t sizes[] = { 4 * VG_KIB, 64 * VG_KIB, VG_MIB,
					  16 * VG_MIB, 64 * VG_MIB };
	char *src = must_map(SWEEP), *dst = must_map(SWEEP);
	unsigned int i, k, s;

	memset(src, 1, SWEEP);
	memset(dst, 2, SWEEP);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (s = 0; s < SAMPLES; s++) {
			unsigned int n = SWEEP / sizes[i] / 4;
			uint64_t start;

			n = n < 1 ? 1 : n > 256 ? 256 : n;
			start = vg_now();
			for (k = 0; k < n; k++) {
				memcpy(dst, src, sizes[i]);
				/* Keep the compiler from optimizing away a copy. */
				__asm__ volatile("" ::: "memory");
			}
			sample("guest-memcpy", sizes[i],
			       (double)(n * sizes[i]) /
			       (double)(vg_now() - start), "GB/s");
		}
	vg_unmap_anon(src, SWEEP);
	vg_unmap_anon(dst, SWEEP);
}

void bench_cpu_faults(void)
{
	unsigned int s;

	for (s = 0; s < SAMPLES; s++) {
		volatile char *p = must_map(SWEEP);
		uint64_t i, start = vg_now();

		for (i = 0; i < SWEEP; i += VG_PAGE)
			p[i] = 1;
		sample("cpu-minor-fault", SWEEP,
		       (double)(vg_now() - start) / 1e3 /
		       (double)(SWEEP / VG_PAGE), "us/page");
		vg_unmap_anon((void *)p, SWEEP);
	}
}

void bench_cpu(void)
{
	cpu_memcpy();
	bench_cpu_faults();
}

/*
 * Request structure of the kernel's lib/test_hmm.c. DMIRROR_TO_DEVICE (command 2) migrates pages to
 * the device.
 */
struct dmirror_request {
	uint64_t addr, buffer, pages, pages_done, faults;
};

#define DMIRROR_TO_DEVICE _IOWR('H', 2, struct dmirror_request)
#define DMIRROR_BYTES	  (16 * VG_MIB)

void bench_hmm(void)
{
	char *p, *copy = must_map(DMIRROR_BYTES);
	struct dmirror_request req;
	unsigned int s;
	int fd;

	if (system("modprobe test_hmm 2>/dev/null"))
		must(vg_fail(-ENODEV, "modprobe test_hmm"), "test_hmm");
	fd = open("/dev/hmm_dmirror0", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		must(vg_fail(-errno, "/dev/hmm_dmirror0"), "test_hmm");
	memset(copy, 0, DMIRROR_BYTES);
	/* The first round prints no sample, because test_hmm then also creates its device pages. */
	for (s = 0; s <= SAMPLES; s++) {
		const double pages = (double)(DMIRROR_BYTES / VG_PAGE);
		uint64_t i, start;
		double ns;

		p = must_map(DMIRROR_BYTES);
		memset(p, (int)s + 1, DMIRROR_BYTES);
		req = (struct dmirror_request) {
			.addr = (uintptr_t)p, .buffer = (uintptr_t)copy,
			.pages = DMIRROR_BYTES / VG_PAGE,
		};
		start = vg_now();
		if (ioctl(fd, DMIRROR_TO_DEVICE, &req))
			must(vg_fail(-errno, "ioctl"), "test_hmm");
		ns = (double)(vg_now() - start);
		if (s) {
			sample("test-hmm-to-device", DMIRROR_BYTES,
			       ns / 1e3 / pages, "us/page");
			sample("test-hmm-to-device", DMIRROR_BYTES,
			       (double)DMIRROR_BYTES / ns, "GB/s");
		}
		start = vg_now();
		for (i = 0; i < DMIRROR_BYTES; i += VG_PAGE)
			p[i]++;
		ns = (double)(vg_now() - start);
		if (s)
			sample("test-hmm-touch-back", DMIRROR_BYTES,
			       ns / 1e3 / pages, "us/page");
		vg_unmap_anon(p, DMIRROR_BYTES);
	}
	close(fd);
	vg_unmap_anon(copy, DMIRROR_BYTES);
}
