// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measure KFD's calls:
 *
 * - the calls that allocate, map, unmap and free a BO (also on the render node, as a comparison);
 * - the creation and destruction of queues;
 * - events;
 * - mappings on several GPUs;
 * - how the cost of queues and of mappings grows with their number (curves.h).
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"
#include "render.h"

#define LIFE_BYTES	(2 * VG_MIB)
#define RING_BYTES	(64 * VG_KIB)
#define SMALL_RING	(4 * VG_KIB)	/* ring of one of many queues */

enum { LIVES = 200, QUEUES = 20, TRIPS = 2000 };

static double us_each(uint64_t start, unsigned int n)
{
	return (double)(vg_now() - start) / 1e3 / n;
}

/*
 * Measure the ioctls that allocate, map, unmap and free a BO. The address @va is already
 * reserved, so no reservation is measured.
 */
static void lives_by_kfd(struct bench *b, uint64_t va)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = va,
		.size = LIFE_BYTES,
		.gpu_id = b->gpu->gpu_id,
		.flags = VG_VRAM,
	};
	struct kfd_ioctl_free_memory_of_gpu_args end;
	uint64_t start = vg_now();
	struct vg_bo bo;
	int n;

	for (n = 0; n < LIVES; n++) {
		args.mmap_offset = 0;
		must(vg_ioctl(&b->vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args),
		     "ALLOC_MEMORY_OF_GPU");
		bo = (struct vg_bo) {
			.vg = &b->vg, .gpu = b->gpu, .va = va,
			.handle = args.handle,
		};
		must(vg_bo_map_gpu(&bo), "life");
		must(vg_bo_unmap_gpu(&bo), "life");
		end.handle = args.handle;
		must(vg_ioctl(&b->vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &end),
		     "FREE_MEMORY_OF_GPU");
	}
	sample("kfd-life", LIFE_BYTES, us_each(start, LIVES), "us");
}

static void lives_by_drm(int fd, uint64_t va, unsigned int lives)
{
	uint32_t handle;
	unsigned int n;

	for (n = 0; n < lives; n++) {
		must(vr_gem_create(fd, LIFE_BYTES, AMDGPU_GEM_DOMAIN_VRAM,
				   AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED,
				   &handle), "GEM_CREATE");
		must(vr_gem_va(fd, handle, AMDGPU_VA_OP_MAP, VR_MAP_RW, va, 0,
			       LIFE_BYTES), "GEM_VA map");
		must(vr_gem_va(fd, handle, AMDGPU_VA_OP_UNMAP, 0, va, 0,
			       LIFE_BYTES), "GEM_VA unmap");
		must(vr_gem_close(fd, handle), "GEM_CLOSE");
	}
}

/*
 * Measure lives_by_drm() and lives_by_kfd(). The process has a queue of KFD during all loops, so
 * that KFD keeps the process's BOs resident.
 */
static void bench_lives(struct bench *b)
{
	struct vg_bo place;
	uint64_t start;
	int s, fd = vr_open(b->gpu);

	must(fd < 0 ? vg_fail(fd, "render node") : 0, "life");
	/* The loops map their BOs at the address range that this BO reserves. */
	must(vg_bo_alloc(&b->vg, b->gpu, LIFE_BYTES, VG_GTT, &place), "life");
	/*
	 * The first access to a page of VRAM costs a fault on the host. So first run unmeasured
	 * loops. Together they allocate twice the size of VRAM, because some loops may reuse
	 * memory of earlier loops.
	 */
	lives_by_drm(fd, place.va, 2 * b->mem.vram_total / LIFE_BYTES);
	/*
	 * Run DRM's loops first. KFD clears freed memory, so after KFD's loops new BOs of DRM
	 * would need less clearing.
	 */
	for (s = 0; s < SAMPLES; s++) {
		start = vg_now();
		lives_by_drm(fd, place.va, LIVES);
		sample("drm-life", LIFE_BYTES, us_each(start, LIVES), "us");
	}
	for (s = 0; s < SAMPLES; s++)
		lives_by_kfd(b, place.va);
	must(vg_bo_free(&place), "life");
	close(fd);
}

static void sdma_args(const struct vg_queue *q,
		      struct kfd_ioctl_create_queue_args *args)
{
	*args = (struct kfd_ioctl_create_queue_args) {
		.ring_base_address = q->ring.va,
		.ring_size = q->ring.size,
		.read_pointer_address = q->ptrs.va + VG_QUEUE_RPTR,
		.write_pointer_address = q->ptrs.va + VG_QUEUE_WPTR,
		.gpu_id = q->gpu->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_SDMA,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
}

/*
 * Measure only CREATE_QUEUE and DESTROY_QUEUE. The caller has created the queue's buffers, so their
 * creation is not measured.
 */
static void lives_of_queue(struct bench *b, const char *kind,
			   const struct kfd_ioctl_create_queue_args *want)
{
	struct kfd_ioctl_destroy_queue_args end = { 0 };
	struct kfd_ioctl_create_queue_args args;
	char create[40], destroy[40];
	uint64_t start, mid;
	int n;

	snprintf(create, sizeof(create), "queue-create-%s", kind);
	snprintf(destroy, sizeof(destroy), "queue-destroy-%s", kind);
	for (n = 0; n < QUEUES; n++) {
		args = *want;
		start = vg_now();
		must(vg_ioctl(&b->vg, AMDKFD_IOC_CREATE_QUEUE, &args), create);
		mid = vg_now();
		end.queue_id = args.queue_id;
		must(vg_ioctl(&b->vg, AMDKFD_IOC_DESTROY_QUEUE, &end), destroy);
		sample(destroy, 0, (double)(vg_now() - mid) / 1e6, "ms");
		sample(create, 0, (double)(mid - start) / 1e6, "ms");
	}
}

/*
 * Measure CREATE_QUEUE and DESTROY_QUEUE while the process has no other queue. For the first queue
 * of a process, CREATE_QUEUE also validates all mapped BOs. The measured time includes this work.
 */
static void bench_queues(struct bench *b)
{
	struct kfd_ioctl_create_queue_args args;
	struct vg_queue sdma = { .vg = &b->vg, .gpu = b->gpu };
	struct vg_bo save;
	struct vg_cq cq;
	int aql;

	must(vg_bo_create(&b->vg, b->gpu, RING_BYTES, VG_GTT, &sdma.ring),
	     "ring");
	must(vg_bo_create(&b->vg, b->gpu, VG_PAGE, VG_GTT, &sdma.ptrs),
	     "pointers");
	memset(sdma.ptrs.cpu, 0, VG_PAGE);
	sdma_args(&sdma, &args);
	lives_of_queue(b, "sdma", &args);
	must(vg_bo_free(&sdma.ptrs), "free");
	must(vg_bo_free(&sdma.ring), "free");

	must(vg_save_area(&b->vg, b->gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &save),
	     "save area");
	for (aql = 0; aql < 2; aql++) {
		must(vg_cq_prepare(&b->vg, b->gpu, &save, RING_BYTES, aql, &cq),
		     "compute queue");
		vg_cq_args(&cq, &args);
		lives_of_queue(b, aql ? "aql" : "pm4", &args);
		must(vg_cq_release(&cq), "free");
	}
	must(vg_bo_free(&save), "free");
}

/**
 * struct ping - KFD events and eventfds by which two threads wake each other in turn
 */
struct ping {
	/** @vg: the open KFD */
	struct vg *vg;
	/** @event: IDs of KFD events, one for each direction; used in the first measurement */
	uint32_t event[2];
	/** @fd: eventfds, one for each direction; used in the second measurement */
	int fd[2];
};

static void event_set(const struct ping *p, int i)
{
	struct kfd_ioctl_set_event_args args = { .event_id = p->event[i] };

	must(vg_ioctl(p->vg, AMDKFD_IOC_SET_EVENT, &args), "SET_EVENT");
}

static void event_wait(const struct ping *p, int i)
{
	struct kfd_event_data data = { .event_id = p->event[i] };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.timeout = VG_TIMEOUT_MS,
	};

	must(vg_ioctl(p->vg, AMDKFD_IOC_WAIT_EVENTS, &args), "WAIT_EVENTS");
	if (args.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE)
		must(vg_fail(-ETIMEDOUT, "event %u", data.event_id), "events");
}

static void *echo_events(void *arg)
{
	const struct ping *p = arg;
	int n;

	for (n = 0; n < TRIPS; n++) {
		event_wait(p, 0);
		event_set(p, 1);
	}
	return NULL;
}

static void fd_signal(const struct ping *p, int i)
{
	const uint64_t one = 1;

	must(write(p->fd[i], &one, sizeof(one)) == sizeof(one) ? 0 :
	     vg_fail(-errno, "writing an eventfd"), "events");
}

static void fd_wait(const struct ping *p, int i)
{
	uint64_t value;

	must(read(p->fd[i], &value, sizeof(value)) == sizeof(value) ? 0 :
	     vg_fail(-errno, "reading an eventfd"), "events");
}

static void *echo_fds(void *arg)
{
	const struct ping *p = arg;
	int n;

	for (n = 0; n < TRIPS; n++) {
		fd_wait(p, 0);
		fd_signal(p, 1);
	}
	return NULL;
}

static void thread_start(pthread_t *t, void *(*fn)(void *), struct ping *p)
{
	int r = pthread_create(t, NULL, fn, p);

	must(r ? vg_fail(-r, "pthread_create") : 0, "events");
}

static void pings(struct ping *p)
{
	uint64_t start;
	pthread_t t;
	int n;

	thread_start(&t, echo_events, p);
	start = vg_now();
	for (n = 0; n < TRIPS; n++) {
		event_set(p, 0);
		event_wait(p, 1);
	}
	sample("event-round-trip", 0, us_each(start, TRIPS), "us");
	pthread_join(t, NULL);

	thread_start(&t, echo_fds, p);
	start = vg_now();
	for (n = 0; n < TRIPS; n++) {
		fd_signal(p, 0);
		fd_wait(p, 1);
	}
	sample("eventfd-round-trip", 0, us_each(start, TRIPS), "us");
	pthread_join(t, NULL);
}

static void bench_events(struct bench *b)
{
	struct kfd_ioctl_create_event_args args;
	struct ping p = { .vg = &b->vg };
	int i, s;

	for (i = 0; i < 2; i++) {
		args = (struct kfd_ioctl_create_event_args) {
			.event_type = KFD_IOC_EVENT_SIGNAL,
			.auto_reset = 1,
		};
		must(vg_ioctl(&b->vg, AMDKFD_IOC_CREATE_EVENT, &args),
		     "CREATE_EVENT");
		p.event[i] = args.event_id;
		p.fd[i] = eventfd(0, EFD_CLOEXEC);
		must(p.fd[i] < 0 ? vg_fail(-errno, "eventfd") : 0, "events");
	}
	for (s = 0; s < SAMPLES; s++)
		pings(&p);
	close(p.fd[0]);
	close(p.fd[1]);
}

void bench_kfd(struct bench *b)
{
	bench_lives(b);
	must(vg_queue_destroy(&b->queue), "queue");
	bench_queues(b);
	bench_events(b);
	must(vg_queue_create(&b->vg, b->gpu, RING_BYTES, &b->queue), "queue");
}

/*
 * Return the microseconds of one call that maps a GTT BO on @n GPUs. The first call for a BO may
 * also allocate page tables.
 */
static double map_us(struct bench *b, struct vg_bo *bo, const uint32_t *ids,
		     uint32_t n)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.handle = bo->handle,
		.device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = n,
	};
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.handle = bo->handle,
		.device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = n,
	};
	uint64_t start = vg_now();
	double us;

	must(vg_ioctl(&b->vg, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map), "map");
	us = us_each(start, 1);
	must(map.n_success == n ? 0 : vg_fail(-EPROTO, "%u of %u mapped",
					      map.n_success, n), "map");
	/*
	 * The driver keeps empty page tables for up to 100 ms after the unmap, so the next call of
	 * map_us() mostly uses them again.
	 */
	must(vg_ioctl(&b->vg, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap),
	     "unmap");
	return us;
}

void bench_peers(struct bench *b)
{
	static const uint64_t sizes[] = { VG_PAGE, 2 * VG_MIB, 16 * VG_MIB };
	uint32_t ids[VG_MAX_GPUS];
	struct vg_bo bo;
	unsigned int i;
	char name[40];
	int s;

	must(b->vg.n_gpus > 1 ? 0 : vg_fail(-ENODEV, "one GPU"), "peers");
	for (s = 0; s < b->vg.n_gpus; s++)
		ids[s] = b->vg.gpu[s].gpu_id;
	snprintf(name, sizeof(name), "map-gtt-%d", b->vg.n_gpus);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		must(vg_bo_alloc(&b->vg, b->gpu, sizes[i], VG_GTT, &bo),
		     "peers");
		map_us(b, &bo, ids, (uint32_t)b->vg.n_gpus);
		for (s = 0; s < 4 * SAMPLES; s++) {
			sample("map-gtt-1", sizes[i], map_us(b, &bo, ids, 1),
			       "us");
			sample(name, sizes[i],
			       map_us(b, &bo, ids, (uint32_t)b->vg.n_gpus),
			       "us");
		}
		must(vg_bo_free(&bo), "peers");
	}
}

/* Measure one call that maps a GTT BO of 2 MiB on @n GPUs. */
void curve_gpus(uint64_t n)
{
	static struct bench b;
	uint32_t ids[VG_MAX_GPUS];
	struct vg_bo bo;
	int i;

	must(vg_open_xnack(&b.vg), "opening KFD");
	b.gpu = &b.vg.gpu[0];
	must(n && n <= (uint64_t)b.vg.n_gpus ? 0 :
	     vg_fail(-ENODEV, "%lu GPUs of %d", n, b.vg.n_gpus), "GPUs");
	for (i = 0; i < b.vg.n_gpus; i++)
		ids[i] = b.vg.gpu[i].gpu_id;
	/* With a queue, as in bench_peers(): the driver keeps the BO resident. */
	must(vg_queue_create(&b.vg, b.gpu, RING_BYTES, &b.queue), "queue");
	must(vg_bo_alloc(&b.vg, b.gpu, LIFE_BYTES, VG_GTT, &bo), "GPUs");
	/* The first call also allocates page tables, so it gives no value. */
	map_us(&b, &bo, ids, (uint32_t)n);
	for (i = 0; i < SAMPLES; i++)
		curve_point("gpus-map", n, map_us(&b, &bo, ids, (uint32_t)n),
			    "us");
}

/**
 * struct queues - many compute queues of a process
 */
struct queues {
	/** @vg: the open KFD */
	struct vg vg;
	/** @save: context save area of all queues; they share it, because no waves are saved */
	struct vg_bo save;
	/** @n: number of elements of @cq and @args */
	uint64_t n;
	/** @cq: buffers of the queues, and the queues while they exist */
	struct vg_cq *cq;
	/** @args: arguments of CREATE_QUEUE, which vg_cq_args() takes long to make */
	struct kfd_ioctl_create_queue_args *args;
};

static void queues_prepare(struct queues *all, uint64_t n)
{
	struct vg_gpu *gpu = &all->vg.gpu[0];
	uint64_t i;

	all->n = n;
	all->cq = calloc(n, sizeof(*all->cq));
	all->args = calloc(n, sizeof(*all->args));
	must(n && all->cq && all->args ? 0 :
	     vg_fail(-ENOMEM, "%lu queues", n), "queues");
	must(vg_save_area(&all->vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM,
			  &all->save), "save area");
	for (i = 0; i < n; i++) {
		must(vg_cq_prepare(&all->vg, gpu, &all->save, SMALL_RING, false,
				   &all->cq[i]), "queues");
		vg_cq_args(&all->cq[i], &all->args[i]);
	}
}

/* Create all queues. Return the time of the CREATE_QUEUE calls in ms. */
static double queues_create(struct queues *all)
{
	uint64_t i, start = vg_now();
	int r;

	for (i = 0; i < all->n; i++) {
		r = vg_ioctl(&all->vg, AMDKFD_IOC_CREATE_QUEUE, &all->args[i]);
		must(r ? vg_fail(r, "CREATE_QUEUE %lu", i) : 0, "queues");
	}
	return curve_ms(start);
}

static void queues_map_doorbells(struct queues *all)
{
	uint64_t i;

	for (i = 0; i < all->n; i++) {
		struct vg_cq *q = &all->cq[i];

		q->id = all->args[i].queue_id;
		q->doorbell = vg_doorbell_map(&all->vg,
					      all->args[i].doorbell_offset,
					      &q->doorbell_page);
		must(q->doorbell ? 0 : -ENOMEM, "queues");
	}
}

/* Submit a fence to each queue, then wait for all fences. Return the time in ms. */
static double queues_round(struct queues *all)
{
	uint64_t i, start = vg_now();

	for (i = 0; i < all->n; i++) {
		must(vg_cq_emit_fence(&all->cq[i]), "queues");
		vg_cq_submit(&all->cq[i]);
	}
	for (i = 0; i < all->n; i++)
		must(vg_cq_wait(&all->cq[i], VG_TIMEOUT_MS), "queues");
	return curve_ms(start);
}

/* Destroy all queues, but keep their buffers. Return the time in ms. */
static double queues_destroy(struct queues *all)
{
	uint64_t i, start = vg_now();

	for (i = 0; i < all->n; i++)
		must(vg_queue_end(&all->vg, all->cq[i].id,
				  all->cq[i].doorbell_page), "queues");
	return curve_ms(start);
}

void curve_queues(uint64_t n)
{
	static struct queues all;
	uint64_t i;

	must(vg_open(&all.vg), "opening KFD");
	queues_prepare(&all, n);
	curve_memory_begin("queues", n);
	curve_point("queues-create", n, queues_create(&all), "ms");
	curve_memory_end("queues", n);
	queues_map_doorbells(&all);
	curve_point("queues-round", n, queues_round(&all), "ms");
	curve_point("queues-destroy", n, queues_destroy(&all), "ms");
	/* Clear wptr, so that the new queues do not execute the old packets. */
	for (i = 0; i < n; i++)
		memset(all.cq[i].ptrs.cpu, 0, VG_PAGE);
	queues_create(&all);
}
