/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg: a thin library over the raw KFD and DRM uAPI (linux/kfd_ioctl.h,
 * drm/amdgpu_drm.h), for the demo, the guest tests and the benchmarks. No
 * libhsakmt, no libdrm: what goes to the kernel is seen here.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and leave
 * a sentence about a failure in vg_error(). A BO's CPU and GPU address are
 * the same, as ROCm has it. Nothing here is safe for two threads on one
 * object; different queues may be driven by different threads.
 */
#ifndef VG_H
#define VG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#define VG_MAX_GPUS	8
#define VG_PAGE		4096ul
#define VG_KIB		1024ul
#define VG_MIB		(1024 * VG_KIB)
#define VG_GIB		(1024 * VG_MIB)

/* A tick of the GPU clock: 100 MHz (docs/hardware.md). */
#define VG_CLOCK_NS	10

/**
 * struct vg_gpu - one GPU node of the topology
 * @gpu_id: what KFD's ioctls call it
 * @node: index of its folder in the topology
 * @minor: DRM render minor (128...)
 * @fd: the render node; KFD holds the VM that came with it
 * @aperture: from GET_PROCESS_APERTURES_NEW
 */
struct vg_gpu {
	uint32_t gpu_id;
	int node;
	int minor;
	int fd;
	struct kfd_process_device_apertures aperture;
};

/**
 * struct vg - an open KFD with every GPU's VM acquired
 * @kfd: /dev/kfd
 * @major, @minor: what GET_VERSION said
 */
struct vg {
	int kfd;
	uint32_t major, minor;
	int n_gpus;
	struct vg_gpu gpu[VG_MAX_GPUS];
};

/* device.c */

/*
 * Opens /dev/kfd, finds the GPUs in the topology, opens their render nodes,
 * acquires the VMs and sets the default memory policy.
 */
int vg_open(struct vg *vg);
/* The same without ACQUIRE_VM and SET_MEMORY_POLICY: for tests of these. */
int vg_open_bare(struct vg *vg);
void vg_close(struct vg *vg);
int vg_acquire_vm(struct vg *vg, struct vg_gpu *gpu);
int vg_set_memory_policy(struct vg *vg, struct vg_gpu *gpu);
/* @mode 0, 1, or -1 to ask. Returns the mode now in force, or -errno. */
int vg_set_xnack(struct vg *vg, int mode);
/* ioctl() on /dev/kfd that restarts after signals; 0 or -errno. */
int vg_ioctl(const struct vg *vg, unsigned long request, void *arg);
/* Folders in the topology, or -errno. */
int vg_topology_nodes(void);
/* Value of line @name in a node's properties; @fallback if there is none. */
uint64_t vg_node_property(int node, const char *name, uint64_t fallback);
/* GPU clock (ticks of VG_CLOCK_NS), 0 on error. */
uint64_t vg_gpu_clock(struct vg *vg, struct vg_gpu *gpu);

/* The last failure of this thread, as a sentence. Never NULL. */
const char *vg_error(void);
/* Records a failure, with errno's text unless @err is 0; returns @err. */
int vg_fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* bo.c */

#define VG_VRAM		(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | VG_BO_ACCESS)
#define VG_GTT		(KFD_IOC_ALLOC_MEM_FLAGS_GTT | \
			 KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | VG_BO_ACCESS)
#define VG_DOORBELL	(KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | VG_BO_ACCESS)
#define VG_BO_ACCESS	((uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
			 KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | \
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)
#define VG_MMIO_REMAP	(KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | VG_BO_ACCESS)
#define VG_DOORBELL_SLICE 8192ul

/**
 * struct vg_bo - a buffer of AMDKFD_IOC_ALLOC_MEMORY_OF_GPU
 * @va: its address on CPU and GPU
 * @size: bytes, a multiple of the page
 * @cpu: CPU mapping at @va, or NULL
 * @mapped: mapped on @gpu
 */
struct vg_bo {
	struct vg *vg;
	struct vg_gpu *gpu;
	uint64_t va, size, handle, mmap_offset;
	uint32_t flags;
	void *cpu;
	bool mapped;
};

/* Reserves an address range and allocates; neither CPU nor GPU mapping yet. */
int vg_bo_alloc(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		uint32_t flags, struct vg_bo *bo);
int vg_bo_map_cpu(struct vg_bo *bo);
int vg_bo_unmap_cpu(struct vg_bo *bo);
int vg_bo_map_gpu(struct vg_bo *bo);
int vg_bo_unmap_gpu(struct vg_bo *bo);
/* On another GPU; the caller undoes it before vg_bo_free(). */
int vg_bo_map_peer(struct vg_bo *bo, struct vg_gpu *gpu);
int vg_bo_unmap_peer(struct vg_bo *bo, struct vg_gpu *gpu);
/* vg_bo_alloc() and both mappings. */
int vg_bo_create(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		 uint32_t flags, struct vg_bo *bo);
/* Undoes whatever is there; safe on a zeroed structure. */
int vg_bo_free(struct vg_bo *bo);

/* sdma_queue.c */

/**
 * struct vg_queue - a user-mode SDMA queue
 * @ring: GTT BO, a power of two bytes
 * @ptrs: one page of GTT: rptr, wptr, fence and timestamps (VG_QUEUE_*)
 * @id: KFD's
 * @doorbell: 64-bit doorbell
 * @wptr: bytes written so far, submitted or not
 * @seq: last fence value emitted
 */
struct vg_queue {
	struct vg *vg;
	struct vg_gpu *gpu;
	struct vg_bo ring, ptrs;
	uint32_t id;
	void *doorbell_page;
	volatile uint64_t *doorbell;
	uint64_t wptr;
	uint32_t seq;
};

/* Byte offsets in @ptrs. */
#define VG_QUEUE_RPTR		0x000
#define VG_QUEUE_WPTR		0x040
#define VG_QUEUE_FENCE		0x080
#define VG_QUEUE_TIMES		0x100	/* VG_QUEUE_NUM_TIMES of 8 bytes */
#define VG_QUEUE_NUM_TIMES	128

int vg_queue_create(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		    struct vg_queue *q);
/* The same of another type, KFD_IOC_QUEUE_TYPE_SDMA_*; @engine: of _BY_ENG_ID. */
int vg_queue_create_on(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		       uint32_t type, uint32_t engine, struct vg_queue *q);
/* Also frees its BOs; safe on a zeroed structure. First error is returned. */
int vg_queue_destroy(struct vg_queue *q);

/*
 * Of queues of any type. The doorbell at @offset as CREATE_QUEUE told it, or
 * NULL; @page is what vg_queue_end() unmaps when it destroys queue @id.
 */
void *vg_doorbell_map(struct vg *vg, uint64_t offset, void **page);
int vg_queue_end(struct vg *vg, uint32_t id, void *page);

/*
 * Space for a packet of @dwords in one piece (the end of the ring is filled
 * with NOPs if need be), with the pointer moved on. Submits and waits when
 * the ring is full; NULL when that takes too long.
 */
uint32_t *vg_queue_reserve(struct vg_queue *q, unsigned int dwords);
/* Makes what was emitted visible to the engine: wptr, then doorbell. */
void vg_queue_submit(struct vg_queue *q);
uint64_t vg_queue_rptr(const struct vg_queue *q);
uint32_t vg_queue_fence_value(const struct vg_queue *q);

/* Packets. Sizes in bytes; large ones are split. 0 or -errno. */
int vg_emit_copy(struct vg_queue *q, uint64_t dst, uint64_t src,
		 uint64_t bytes);
/* @value is a dword, @dst and @bytes multiples of 4. */
int vg_emit_fill(struct vg_queue *q, uint64_t dst, uint32_t value,
		 uint64_t bytes);
int vg_emit_write(struct vg_queue *q, uint64_t dst, const uint32_t *data,
		  unsigned int dwords);
int vg_emit_atomic_add(struct vg_queue *q, uint64_t addr, uint64_t value);
/* Stores the GPU clock in time slot @slot. */
int vg_emit_timestamp(struct vg_queue *q, unsigned int slot);
uint64_t vg_timestamp(const struct vg_queue *q, unsigned int slot);
/* Emits the next fence value; returns it in @seq. */
int vg_emit_fence(struct vg_queue *q, uint32_t *seq);

/* Waits until fence @seq is in memory: 0 or -ETIMEDOUT. */
int vg_wait(struct vg_queue *q, uint32_t seq, unsigned int timeout_ms);
/* Fence, submit, wait. */
int vg_queue_finish(struct vg_queue *q, unsigned int timeout_ms);
/* Copy, fence, submit, wait with VG_TIMEOUT_MS. */
int vg_copy(struct vg_queue *q, void *dst, const void *src, uint64_t bytes);
int vg_fill(struct vg_queue *q, void *dst, uint32_t value, uint64_t bytes);

/* compute_queue.c */

/**
 * struct vg_cq - a user-mode compute queue
 * @ring: GTT BO, a power of two bytes
 * @ptrs: one page of GTT: rptr, wptr, fence (VG_QUEUE_*)
 * @eop: end-of-pipe buffer
 * @save: context save area; queues may share one, as nothing is saved
 * @aql: packets are AQL's, else PM4
 * @id: KFD's
 * @doorbell: 64-bit doorbell
 * @wptr: dwords written so far, submitted or not; AQL: packets
 * @seq: last fence value emitted
 */
struct vg_cq {
	struct vg *vg;
	struct vg_gpu *gpu;
	struct vg_bo ring, ptrs, eop, *save;
	bool aql;
	uint32_t id;
	void *doorbell_page;
	volatile uint64_t *doorbell;
	uint64_t wptr;
	uint32_t seq;
};

/*
 * A context save area of the size that KFD asks for, mapped. @kind:
 * KFD_IOC_ALLOC_MEM_FLAGS_VRAM or _GTT.
 */
int vg_save_area(struct vg *vg, struct vg_gpu *gpu, uint32_t kind,
		 struct vg_bo *bo);
int vg_cq_create(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		 uint32_t ring_bytes, bool aql, struct vg_cq *q);
/* Also frees its BOs, but @save; safe on a zeroed structure. */
int vg_cq_destroy(struct vg_cq *q);
/* The BOs only, and what CREATE_QUEUE is to be asked for. */
int vg_cq_prepare(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		  uint32_t ring_bytes, bool aql, struct vg_cq *q);
int vg_cq_release(struct vg_cq *q);
void vg_cq_args(struct vg_cq *q, struct kfd_ioctl_create_queue_args *args);
/* UPDATE_QUEUE; without @ring it stops. */
int vg_cq_update(struct vg_cq *q, const struct vg_bo *ring,
		 uint32_t percentage);
/*
 * Space for a PM4 packet of @dwords in one piece, or for an AQL packet, which is
 * INVALID and zero: its first dword is to be written last. As
 * vg_queue_reserve().
 */
uint32_t *vg_cq_reserve(struct vg_cq *q, unsigned int dwords);
void vg_cq_submit(struct vg_cq *q);
/* Dwords in the ring; AQL: packets done. */
uint64_t vg_cq_rptr(const struct vg_cq *q);

/* PM4 packets. */
int vg_pm4_write(struct vg_cq *q, uint64_t dst, const uint32_t *data,
		 unsigned int dwords);
/* The queue waits until the dword at @at is @value. */
int vg_pm4_wait(struct vg_cq *q, uint64_t at, uint32_t value);
/* @data_sel, @int_sel: PM4_DATA_*, PM4_INT_* */
int vg_pm4_release(struct vg_cq *q, uint64_t dst, uint64_t data,
		   unsigned int data_sel, unsigned int int_sel, uint32_t ctxid);
int vg_cq_emit_fence(struct vg_cq *q);
/* Until the last fence is in memory. 0 or -ETIMEDOUT. */
int vg_cq_wait(struct vg_cq *q, unsigned int timeout_ms);
int vg_cq_finish(struct vg_cq *q, unsigned int timeout_ms);
/* Until a dword of memory is @value. 0 or -ETIMEDOUT. */
int vg_wait_word(volatile void *word, uint32_t value, unsigned int timeout_ms);

/* svm.c */

/* At most 16 attributes. @attrs is written back by get. */
int vg_svm_set(struct vg *vg, const void *addr, uint64_t size,
	       const struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
int vg_svm_get(struct vg *vg, const void *addr, uint64_t size,
	       struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
/* One attribute. */
int vg_svm_set1(struct vg *vg, const void *addr, uint64_t size, uint32_t type,
		uint32_t value);
/* @loc: a gpu_id, or 0 for system memory. Migrates before it returns. */
int vg_svm_prefetch(struct vg *vg, const void *addr, uint64_t size,
		    uint32_t loc);
/*
 * Pages of the range that are in device-private memory (in VRAM, as the
 * kernel's pagemap tells it), or -errno.
 */
long vg_pages_in_vram(const void *addr, uint64_t size);

/* pci.c: by the device's name on the bus, as "0000:01:00.0" */

#define VG_PCI_NAME 16

/* Writes to a file of sysfs, procfs or debugfs, in one piece. */
int vg_put(const char *path, const char *text);
int vg_pci_name(const struct vg_gpu *gpu, char name[VG_PCI_NAME]);
/* The driver lets go of the device, or takes it. */
int vg_pci_unbind(const char *name);
int vg_pci_bind(const char *name);
/* The kernel forgets the device, or looks for new ones. */
int vg_pci_remove(const char *name);
int vg_pci_rescan(void);
bool vg_pci_bound(const char *name);
bool vg_pci_exists(const char *name);

/* pattern.c */

/* Anonymous, page aligned, with an inaccessible page at either end. */
void *vg_map_anon(uint64_t size);
void vg_unmap_anon(void *p, uint64_t size);
/*
 * Fills with a pattern in which every byte depends on @seed and on its
 * distance from the pattern's origin; the buffer begins @offset bytes
 * behind the origin.
 */
void vg_pattern_fill(void *p, uint64_t bytes, uint64_t seed, uint64_t offset);
/*
 * Compares byte for byte. 0, or -EILSEQ with offset, expected and found byte
 * in vg_error().
 */
int vg_pattern_check(const void *p, uint64_t bytes, uint64_t seed,
		     uint64_t offset);
/* Each of @bytes bytes equals the dword @value at that place; as above. */
int vg_fill_check(const void *p, uint64_t bytes, uint32_t value);

/* stats.c */

/**
 * struct vg_mem_info - what sysfs says about a GPU's memory, in bytes
 */
struct vg_mem_info {
	uint64_t vram_total, vram_used, gtt_total, gtt_used;
};

int vg_mem_info(const struct vg_gpu *gpu, struct vg_mem_info *info);
/*
 * Waits until usage is back at (or below) @base: freeing is asynchronous.
 * 0 or -ETIMEDOUT.
 */
int vg_mem_settle(const struct vg_gpu *gpu, const struct vg_mem_info *base,
		  unsigned int timeout_ms);

#define VG_MAX_COUNTERS 48

/**
 * struct vg_counters - `name value` lines of a debugfs file
 */
struct vg_counters {
	int n;
	struct {
		char name[32];
		uint64_t value;
	} c[VG_MAX_COUNTERS];
};

/* The driver's own counts. */
int vg_driver_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/* What the device itself counted (model block). */
int vg_device_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/* VMIDs, PASIDs, doorbells, processes that there are now (vgpu_in_use). */
int vg_in_use(const struct vg_gpu *gpu, struct vg_counters *c);
/* Value of @name; *found (may be NULL) says whether it is there. */
uint64_t vg_counter(const struct vg_counters *c, const char *name, bool *found);

/*
 * Retry-fault entries that the driver has taken from the interrupt ring and not
 * acknowledged yet, in *@open. 0 while no queue faults; negative after the
 * driver has acknowledged slots without an entry (ring overflow, GART recovery).
 * 0, -ENOENT without these counters, or another -errno.
 */
int vg_faults_open(const struct vg_gpu *gpu, int64_t *open);

/* Wait until at most @most are open. 0, -ETIMEDOUT, or as vg_faults_open(). */
int vg_faults_settle(const struct vg_gpu *gpu, int64_t most,
		     unsigned int timeout_ms);

/* Resets the device, as an operator would: amdgpu_gpu_recover in debugfs. */
int vg_gpu_reset(const struct vg_gpu *gpu);

/*
 * Read the devcoredump that appears within @timeout_ms and remove it. The kernel
 * removes a dump in a worker and drops further dumps of the device until then, so
 * the function waits for the removal. 0 (@text is empty without a dump) or
 * -ETIMEDOUT.
 */
int vg_dump_take(char *text, size_t size, unsigned int timeout_ms);

/**
 * struct vg_tally - payload bytes that user queues were asked to move
 */
struct vg_tally {
	uint64_t bytes_copied, bytes_filled;
};

/*
 * Where vg_emit_copy() and vg_emit_fill() count. Shared with children that
 * are forked after its first call. Never NULL.
 */
struct vg_tally *vg_tally(void);

/* timeout.c */

/* Monotonic time in ns. */
uint64_t vg_now(void);
void vg_sleep_us(unsigned int us);

/*
 * A wait that takes longer than this has failed: 30 s on the reference machine
 * times VGPU_TEST_SCALE, which a run of the suites sets to how much slower its
 * host is (1 to 4); 60 s without that.
 */
int vg_timeout_ms(void);
#define VG_TIMEOUT_MS	vg_timeout_ms()
/* The vg_now() at which a wait that begins now has failed (VG_TIMEOUT_MS). */
uint64_t vg_deadline(void);
/*
 * Measure how much slower the machine is at this moment (0.3 s on the reference
 * machine). True: slower than VGPU_TEST_SCALE said; limits that are computed from
 * now on, in this process and its new children, are longer. False without
 * VGPU_TEST_SCALE.
 */
bool vg_scale_again(void);

/* rounds.c */

/*
 * For the loops: calls @fn with 1, 2, ... until standard input ends, or it fails,
 * and prints "round N" after each. 0, or @fn's negative errno.
 */
int vg_rounds(int (*fn)(void *arg, uint64_t round), void *arg);

#endif /* VG_H */
