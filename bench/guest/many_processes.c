// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part "crowd" of vgpu-bench: many processes at once with compute queues. Some processes also
 * have SDMA queues.
 *
 * When all processes have opened KFD, each process creates queues, emits ROUNDS fences on each
 * queue, and destroys the queues.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"

#define RING_BYTES	(4 * VG_KIB)
#define LIMIT_NS	120000000000ull
/*
 * Interval in us at which a process polls for a fence value. A shorter interval does not help,
 * because the CP's time slice for a process is 10 ms.
 */
#define POLL_US		2000

/*
 * Only the first WITH_SDMA processes have SDMA queues: a device has only 16 hardware queues for the
 * queue type KFD_IOC_QUEUE_TYPE_SDMA.
 */
enum { PROCESSES = 100, QUEUES = 8, ROUNDS = 20, WITH_SDMA = 8, SDMA = 2 };

/**
 * struct crowd - state shared by the processes
 */
struct crowd {
	/** @processes: number of processes, at most PROCESSES */
	int processes;
	/**
	 * @save: dma-buf of the context save area. All queues use the same area, because the
	 * device saves no waves.
	 */
	int save;
	uint64_t save_bytes;
	/** @ready: pipe to which each process writes a byte when it is ready */
	/** @gate: pipe; the parent closes its write end when all processes are ready */
	int ready[2], gate[2];
	/** @ns: array in shared memory with the duration of each process in ns */
	uint64_t *ns;
};

/**
 * struct member - what one process uses: KFD, its import of crowd.save, its queues
 */
struct member {
	struct vg vg;
	struct vg_bo save;
	unsigned int n_sdma, n_cq;
	struct vg_queue sdma[SDMA];
	struct vg_cq cq[QUEUES];
};

/* Allocate the save area that all processes use, and export it. */
static int export_save_area(struct vg *vg, struct vg_bo *bo)
{
	struct kfd_ioctl_export_dmabuf_args args = { 0 };

	must(vg_save_area(vg, &vg->gpu[0], KFD_IOC_ALLOC_MEM_FLAGS_VRAM, bo),
	     "save area");
	args.handle = bo->handle;
	must(vg_ioctl(vg, AMDKFD_IOC_EXPORT_DMABUF, &args), "EXPORT_DMABUF");
	return (int)args.dmabuf_fd;
}

static void import_save_area(struct member *m, const struct crowd *c)
{
	struct kfd_ioctl_import_dmabuf_args args = {
		.va_addr = (uintptr_t)mmap(NULL, c->save_bytes, PROT_NONE,
					   MAP_PRIVATE | MAP_ANONYMOUS |
					   MAP_NORESERVE, -1, 0),
		.gpu_id = m->vg.gpu[0].gpu_id,
		.dmabuf_fd = (uint32_t)c->save,
	};

	must(args.va_addr == (uintptr_t)MAP_FAILED ?
	     vg_fail(-errno, "mmap") : 0, "save area");
	must(vg_ioctl(&m->vg, AMDKFD_IOC_IMPORT_DMABUF, &args),
	     "IMPORT_DMABUF");
	m->save = (struct vg_bo) {
		.vg = &m->vg, .gpu = &m->vg.gpu[0], .va = args.va_addr,
		.size = c->save_bytes, .handle = args.handle,
	};
	must(vg_bo_map_gpu(&m->save), "save area");
}

/* Submit a fence to every queue of @m, then wait for all these fences. */
static void run_round(struct member *m, uint64_t deadline)
{
	unsigned int i;
	uint32_t seq;

	for (i = 0; i < m->n_sdma; i++) {
		must(vg_emit_fence(&m->sdma[i], &seq), "crowd");
		vg_queue_submit(&m->sdma[i]);
	}
	for (i = 0; i < m->n_cq; i++) {
		must(vg_cq_emit_fence(&m->cq[i]), "crowd");
		vg_cq_submit(&m->cq[i]);
	}
	for (i = 0; i < m->n_sdma; i++)
		await_fence(&m->sdma[i].ptrs, m->sdma[i].seq, POLL_US,
			    deadline);
	for (i = 0; i < m->n_cq; i++)
		await_fence(&m->cq[i].ptrs, m->cq[i].seq, POLL_US, deadline);
}

static void member_run(struct member *m)
{
	uint64_t deadline = vg_now() + LIMIT_NS;
	struct vg_gpu *gpu = &m->vg.gpu[0];
	unsigned int i;

	for (i = 0; i < m->n_sdma; i++)
		must(vg_queue_create(&m->vg, gpu, RING_BYTES, &m->sdma[i]),
		     "SDMA queue");
	for (i = 0; i < m->n_cq; i++)
		must(vg_cq_create(&m->vg, gpu, &m->save, RING_BYTES, false,
				  &m->cq[i]), "compute queue");
	for (i = 0; i < ROUNDS; i++)
		run_round(m, deadline);
	for (i = 0; i < m->n_sdma; i++)
		must(vg_queue_destroy(&m->sdma[i]), "SDMA queue");
	for (i = 0; i < m->n_cq; i++)
		must(vg_cq_destroy(&m->cq[i]), "compute queue");
}

static void member_main(const struct crowd *c, int index)
{
	static struct member m;
	uint64_t start;
	char byte = 0;

	/* If a time limit ends the parent, this process would disturb later measurements. */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL) ? vg_fail(-errno, "prctl") : 0,
	     "crowd");
	close(c->ready[0]);
	close(c->gate[1]);
	m.n_sdma = index < WITH_SDMA ? SDMA : 0;
	m.n_cq = QUEUES - m.n_sdma;
	must(vg_open(&m.vg), "opening KFD");
	import_save_area(&m, c);
	must(write(c->ready[1], &byte, 1) == 1 ? 0 : vg_fail(-errno, "pipe"),
	     "crowd");
	close(c->ready[1]);
	must(read(c->gate[0], &byte, 1) ? vg_fail(-errno, "gate") : 0, "crowd");
	start = vg_now();
	member_run(&m);
	c->ns[index] = vg_now() - start;
	_exit(0);
}

static void start_all(struct crowd *c, pid_t *pids)
{
	char byte;
	int i;

	must(pipe(c->ready) || pipe(c->gate) ? vg_fail(-errno, "pipe") : 0,
	     "crowd");
	for (i = 0; i < c->processes; i++) {
		pids[i] = fork();
		must(pids[i] < 0 ? vg_fail(-errno, "fork") : 0, "crowd");
		if (!pids[i])
			member_main(c, i);
	}
	close(c->ready[1]);
	close(c->gate[0]);
	/*
	 * Processes that are ready or have ended hold no write end of c->ready. So if a process
	 * ends too early, read() finally returns 0.
	 */
	for (i = 0; i < c->processes; i++)
		must(read(c->ready[0], &byte, 1) == 1 ? 0 :
		     vg_fail(-EPIPE, "%d of %d are ready", i, c->processes),
		     "crowd");
}

/*
 * Run @processes processes. Return the mean of their durations in ms, and store the longest in
 * *@slowest.
 */
static double run_crowd(int processes, double *slowest)
{
	struct crowd c = { .processes = processes };
	pid_t pids[PROCESSES];
	static struct vg vg;
	struct vg_bo save;
	double sum = 0;
	int i, status;

	*slowest = 0;
	must(vg_open(&vg), "opening KFD");
	c.save = export_save_area(&vg, &save);
	c.save_bytes = save.size;
	c.ns = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(c.ns == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "crowd");
	start_all(&c, pids);
	close(c.gate[1]);
	for (i = 0; i < processes; i++) {
		must(waitpid(pids[i], &status, 0) != pids[i] || status ?
		     vg_fail(-EIO, "process %d: status 0x%x", i, status) : 0,
		     "crowd");
		sum += (double)c.ns[i] / 1e6;
		if ((double)c.ns[i] / 1e6 > *slowest)
			*slowest = (double)c.ns[i] / 1e6;
	}
	must(vg_bo_free(&save), "free");
	vg_close(&vg);
	return sum / processes;
}

/* Run the processes, and print the mean and the longest of their durations. */
void bench_crowd(void)
{
	double slowest, mean = run_crowd(PROCESSES, &slowest);

	sample("crowd-mean", 0, mean, "ms");
	sample("crowd-slowest", 0, slowest, "ms");
}

void curve_processes(uint64_t n)
{
	double slowest;

	must(n && n <= PROCESSES ? 0 :
	     vg_fail(-E2BIG, "%lu processes", n), "crowd");
	run_crowd((int)n, &slowest);
	curve_point("processes-all", n, slowest, "ms");
}
