// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * GPUs access each other's VRAM. tests.list has guests with XGMI, with PCIe, and without peer
 * access. Catches: an address is wrong; a translation is stale.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "tap.h"

#define SEED	0x9ee5
#define SIZE	(6 * VG_MIB + 3 * VG_PAGE)

static struct vg vg;
static struct vg_queue q[2];
static struct vg_bo stage[2];	/* BOs in GTT, one for each GPU */

static bool hive(void)
{
	uint64_t id = vg_node_property(vg.gpu[0].node, "hive_id", 0);

	return id && id == vg_node_property(vg.gpu[1].node, "hive_id", 0);
}

static void start(void)
{
	int i;

	tap_open(&vg, 1);
	CHECK(vg.n_gpus >= 2, "%d GPUs", vg.n_gpus);
	for (i = 0; i < 2; i++) {
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_GTT, &stage[i]));
	}
}

static void start_linked(void)
{
	start();
	if (!hive() && !tap_pcie_p2p())
		tap_skip("no way between the GPUs");
}

/* Let GPU @i write the pattern of @seed to @bo. */
static void gpu_write(int i, const struct vg_bo *bo, uint64_t seed)
{
	uint64_t at, n;

	for (at = 0; at < bo->size; at += n) {
		n = bo->size - at < SIZE ? bo->size - at : SIZE;
		vg_pattern_fill(stage[i].cpu, n, seed, at);
		OK(vg_copy(&q[i], (void *)(bo->va + at), stage[i].cpu, n));
	}
}

/* Check that GPU @i reads the pattern of @seed from @bo. */
static void gpu_check(int i, const struct vg_bo *bo, uint64_t seed)
{
	uint64_t at, n;

	for (at = 0; at < bo->size; at += n) {
		n = bo->size - at < SIZE ? bo->size - at : SIZE;
		memset(stage[i].cpu, 0x5a, n);
		OK(vg_copy(&q[i], stage[i].cpu, (void *)(bo->va + at), n));
		OK(vg_pattern_check(stage[i].cpu, n, seed, at));
	}
}

static int map_both(const struct vg_bo *bo, int first, uint32_t *done)
{
	uint32_t ids[2] = { vg.gpu[first].gpu_id, vg.gpu[!first].gpu_id };
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = bo->handle,
		.device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = 2,
	};
	int r = tap_ioctl(vg.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);

	*done = args.n_success;
	return r;
}

#define TOPOLOGY "/sys/class/kfd/kfd/topology/"

/* Return property @name of link @i in the folder @kind ("io_links" or "p2p_links") of @node. */
static uint64_t link_property(int node, const char *kind, int i,
			      const char *name)
{
	char path[96], text[1024], want[48], *line;

	snprintf(path, sizeof(path), TOPOLOGY "nodes/%d/%s/%d/properties",
		 node, kind, i);
	tap_read(path, text, sizeof(text));
	snprintf(want, sizeof(want), "%s ", name);
	line = strstr(text, want);
	CHECK(line, "no %sin %s", want, path);
	return strtoull(line + strlen(want), NULL, 10);
}

/*
 * Return the number of the node's links in the folder @kind. The count in the node's
 * properties must agree with this number.
 */
static int links(int node, const char *kind)
{
	char path[96], name[32];
	int n = 0;

	for (;; n++) {
		snprintf(path, sizeof(path), TOPOLOGY "nodes/%d/%s/%d", node,
			 kind, n);
		if (access(path, F_OK))
			break;
	}
	snprintf(name, sizeof(name), "%s_count", kind);
	CHECK(vg_node_property(node, name, 99) == (uint64_t)n,
	      "node %d: %d %s, the property is %lu", node, n, kind,
	      vg_node_property(node, name, 99));
	return n;
}

static void check_link(int node, const char *kind, int i, uint64_t to,
		       uint64_t type, uint64_t weight, uint64_t engines,
		       uint64_t flags)
{
	const struct {
		const char *name;
		uint64_t want;
	} props[] = {
		{ "type", type }, { "node_from", (uint64_t)node },
		{ "node_to", to }, { "weight", weight },
		{ "recommended_sdma_engine_id_mask", engines },
		{ "flags", flags },
	};
	unsigned int p;

	for (p = 0; p < sizeof(props) / sizeof(props[0]); p++)
		CHECK(link_property(node, kind, i, props[p].name) ==
		      props[p].want, "node %d, %s %d: %s is %lu", node, kind, i,
		      props[p].name,
		      link_property(node, kind, i, props[p].name));
}

static unsigned long generation(void)
{
	char text[32];

	tap_read(TOPOLOGY "generation_id", text, sizeof(text));
	return strtoul(text, NULL, 10);
}

/* Check the links between the GPUs, then unbind one GPU and check the links again. */
static void topology(void)
{
	char name[VG_PCI_NAME];
	unsigned long id;
	int i;

	tap_open(&vg, 1);
	for (i = 0; i < 2; i++) {
		int node = vg.gpu[i].node, other = vg.gpu[!i].node;

		CHECK(vg_node_property(node, "num_sdma_engines", 0) == 2 &&
		      vg_node_property(node, "num_sdma_xgmi_engines", 0) == 3,
		      "node %d: engines", node);
		CHECK(links(node, "io_links") == 1 + hive(), "io_links");
		CHECK(links(node, "p2p_links") == (!hive() && tap_pcie_p2p()),
		      "p2p_links");
		check_link(node, "io_links", 0, 0, 2, 20, 0x3, 1);
		if (hive())
			check_link(node, "io_links", 1, (uint64_t)other, 11,
				   15, 0x1c, 1);
		else if (tap_pcie_p2p())
			check_link(node, "p2p_links", 0, (uint64_t)other, 2,
				   40, 0x3, 3);
	}
	CHECK(links(0, "io_links") == 2, "links of the CPUs");
	id = generation();
	OK(vg_pci_name(&vg.gpu[0], name));
	OK(vg_pci_unbind(name));
	CHECK(generation() != id, "generation_id is the same");
	id = generation();
	CHECK(links(0, "io_links") == 1 && links(1, "io_links") == 1 &&
	      !links(1, "p2p_links"), "a link to what has gone");
	OK(vg_pci_bind(name));
	CHECK(generation() != id, "generation_id is the same");
	CHECK(links(1, "io_links") == 1 + hive() &&
	      links(2, "p2p_links") == (!hive() && tap_pcie_p2p()),
	      "links did not come back");
}

/*
 * Copy to and from the VRAM of either GPU with the engines of both GPUs. Some sizes allow
 * large page table leaves, others do not.
 */
static void copies(void)
{
	static const uint64_t sizes[] = {
		VG_PAGE, 2 * VG_MIB, SIZE, 17 * VG_MIB + VG_PAGE,
	};
	unsigned int s;
	int own;

	start_linked();
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct vg_bo bo[2] = { 0 }, before[2] = { 0 };

		for (own = 0; own < 2; own++) {
			/*
			 * Allocate a small BO first, so that the tested BO is at another
			 * VRAM address than in the previous round.
			 */
			OK(vg_bo_create(&vg, &vg.gpu[own], VG_PAGE * (s + 1),
					VG_VRAM, &before[own]));
			OK(vg_bo_create(&vg, &vg.gpu[own], sizes[s], VG_VRAM,
					&bo[own]));
			OK(vg_bo_map_peer(&bo[own], &vg.gpu[!own]));
		}
		for (own = 0; own < 2; own++) {
			gpu_write(!own, &bo[own], SEED + own);
			OK(vg_pattern_check(bo[own].cpu, sizes[s], SEED + own,
					    0));
			gpu_check(own, &bo[own], SEED + own);
			gpu_write(own, &bo[own], SEED + 2 + own);
			gpu_check(!own, &bo[own], SEED + 2 + own);
		}
		for (own = 0; own < 2; own++) {
			/* Copy from VRAM to VRAM, on the engine of each GPU. */
			OK(vg_copy(&q[own], bo[own].cpu, bo[!own].cpu,
				   sizes[s]));
			OK(vg_pattern_check(bo[own].cpu, sizes[s],
					    SEED + 2 + !own, 0));
			vg_pattern_fill(bo[own].cpu, sizes[s], SEED + 4, s);
			OK(vg_copy(&q[own], bo[!own].cpu, bo[own].cpu,
				   sizes[s]));
			OK(vg_pattern_check(bo[!own].cpu, sizes[s], SEED + 4,
					    s));
			vg_pattern_fill(bo[own].cpu, sizes[s], SEED + 2 + own,
					0);
			vg_pattern_fill(bo[!own].cpu, sizes[s],
					SEED + 2 + !own, 0);
		}
		for (own = 0; own < 2; own++) {
			OK(vg_bo_unmap_peer(&bo[own], &vg.gpu[!own]));
			OK(vg_bo_free(&bo[own]));
			OK(vg_bo_free(&before[own]));
		}
	}
}

/*
 * Map a BO on both GPUs, in either order, and unmap one GPU at a time. Catches: an
 * unmap on one GPU affects the other GPU.
 */
static void map_unmap(void)
{
	struct vg_bo bo = { 0 };
	uint32_t done;
	int i;

	start_linked();
	OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_cpu(&bo));
	for (i = 0; i < 4; i++) {
		ERRNO(0, map_both(&bo, i & 1, &done));
		CHECK(done == 2, "%u GPUs", done);
		ERRNO(0, map_both(&bo, !(i & 1), &done));
		CHECK(done == 2, "%u GPUs the second time", done);
		gpu_write(!(i & 1), &bo, SEED + i);
		gpu_check(i & 1, &bo, SEED + i);
		OK(vg_bo_unmap_peer(&bo, &vg.gpu[i & 1]));
		ERRNO(EBUSY, vg_bo_free(&bo));
		gpu_check(!(i & 1), &bo, SEED + i);
		OK(vg_bo_unmap_peer(&bo, &vg.gpu[!(i & 1)]));
		ERRNO(EINVAL, vg_bo_unmap_peer(&bo, &vg.gpu[1]));
	}
	/*
	 * Map the BO on its owner only: the peer must have no page table or TLB entries of the
	 * BO left.
	 */
	OK(vg_bo_map_gpu(&bo));
	gpu_check(0, &bo, SEED + 3);
	tap_expect_stop(&q[1], stage[1].va, bo.va, VG_PAGE);
}

/* Export a BO, import it in the same process, and map the new handle on the peer only. */
static void imported(void)
{
	struct kfd_ioctl_export_dmabuf_args out = { .flags = O_CLOEXEC };
	struct kfd_ioctl_import_dmabuf_args in = { 0 };
	struct vg_bo bo = { 0 }, again = { 0 };

	start_linked();
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	out.handle = bo.handle;
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_EXPORT_DMABUF, &out));
	in.gpu_id = vg.gpu[0].gpu_id;
	in.dmabuf_fd = out.dmabuf_fd;
	in.va_addr = (uintptr_t)mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE |
				     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_IMPORT_DMABUF, &in));
	close((int)out.dmabuf_fd);
	again = (struct vg_bo) {
		.vg = &vg, .gpu = &vg.gpu[0], .va = in.va_addr, .size = SIZE,
		.handle = in.handle,
	};
	OK(vg_bo_map_peer(&again, &vg.gpu[1]));
	gpu_write(0, &bo, SEED);
	gpu_check(1, &again, SEED);
	OK(vg_bo_free(&bo));
	gpu_check(1, &again, SEED);
	OK(vg_bo_unmap_peer(&again, &vg.gpu[1]));
	OK(vg_bo_free(&again));
}

static void errors(void)
{
	struct vg_bo vram = { 0 }, bar = { 0 }, gtt = { 0 };
	bool linked;
	uint32_t done;

	start();
	linked = hive() || tap_pcie_p2p();
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &vram));
	ERRNO(linked ? 0 : EINVAL, map_both(&vram, 0, &done));
	CHECK(done == (linked ? 2 : 1), "%u GPUs", done);
	gpu_write(0, &vram, SEED);
	gpu_check(0, &vram, SEED);
	if (linked)
		OK(vg_bo_unmap_peer(&vram, &vg.gpu[1]));
	else
		ERRNO(EINVAL, vg_bo_unmap_peer(&vram, &vg.gpu[1]));
	OK(vg_bo_free(&vram));

	/*
	 * With PCIe peer-to-peer, GPU 1 must be able to map registers and doorbells of GPU 0.
	 * Otherwise, even in a hive, this must fail with EINVAL.
	 */
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_MMIO_REMAP, &bar));
	ERRNO(tap_pcie_p2p() ? 0 : EINVAL, vg_bo_map_peer(&bar, &vg.gpu[1]));
	if (tap_pcie_p2p())
		OK(vg_bo_unmap_peer(&bar, &vg.gpu[1]));
	OK(vg_bo_free(&bar));
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_DOORBELL_SLICE, VG_DOORBELL, &bar));
	ERRNO(tap_pcie_p2p() ? 0 : EINVAL, vg_bo_map_peer(&bar, &vg.gpu[1]));
	if (tap_pcie_p2p())
		OK(vg_bo_unmap_peer(&bar, &vg.gpu[1]));
	OK(vg_bo_free(&bar));

	/* The peer must be able to map system memory even without peer access. */
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_GTT, &gtt));
	OK(vg_bo_map_peer(&gtt, &vg.gpu[1]));
	gpu_write(1, &gtt, SEED + 1);
	gpu_check(0, &gtt, SEED + 1);
	OK(vg_bo_unmap_peer(&gtt, &vg.gpu[1]));
	OK(vg_bo_free(&gtt));
}

/* Start a child that runs @fn repeatedly until it is killed. */
static pid_t start_child(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		fn();
}

static void end_child(pid_t pid)
{
	int status;

	CHECK(!waitpid(pid, &status, WNOHANG), "the child ended with 0x%x",
	      status);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static void empty_vram(void)
{
	tap_evict(&vg.gpu[0], "vram");
}

static uint64_t moves_since(uint64_t before)
{
	return tap_driver_counter(&vg.gpu[0], "evictions") - before;
}

/*
 * GPU 1 writes and reads @bo (in VRAM of GPU 0) at least @rounds times. Return the number of moves
 * of BOs out of VRAM.
 */
static uint64_t work(struct vg_bo *bo, bool owner_too, int rounds, bool moves)
{
	uint64_t before = moves_since(0), end = vg_deadline();
	int i;

	/*
	 * With @moves, continue until a BO has moved: the child process that causes the moves may
	 * start late.
	 */
	for (i = 0; i < rounds ||
	     (moves && !moves_since(before) && vg_now() < end); i++) {
		gpu_write(1, bo, SEED + i);
		gpu_check(1, bo, SEED + i);
		/* GPU 0 is the owner of @bo. */
		if (owner_too)
			gpu_check(0, bo, SEED + i);
		OK(vg_pattern_check(bo->cpu, bo->size, SEED + i, 0));
	}
	return moves_since(before);
}

/* Evict and restore the BO while the peer uses it. */
static void evicted(void)
{
	int owner_too, rounds = tap_rounds(6, 200);
	uint64_t moves;
	pid_t pid;

	start_linked();
	for (owner_too = 0; owner_too < 2; owner_too++) {
		struct vg_bo bo = { 0 };

		OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
		OK(vg_bo_map_cpu(&bo));
		if (owner_too)
			OK(vg_bo_map_gpu(&bo));
		OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
		pid = start_child(empty_vram);
		moves = work(&bo, owner_too, rounds, true);
		end_child(pid);
		tap_diag("%lu moves out of VRAM", moves);
		CHECK(moves, "the BO was never moved");
		OK(vg_bo_unmap_peer(&bo, &vg.gpu[1]));
		OK(vg_bo_free(&bo));
	}
}

/*
 * Fill five eighths of the VRAM of GPU 0, so that the BO of pushed_out() (half of VRAM) does not
 * fit at the same time.
 */
static void hog(void)
{
	static struct vg own;
	static struct vg_queue hq;
	static struct vg_bo src;
	struct vg_mem_info info;
	struct vg_bo bo = { 0 };
	uint64_t at;

	if (!own.n_gpus) {
		tap_open(&own, 1);
		OK(vg_queue_create(&own, &own.gpu[0], 4096, &hq));
		OK(vg_bo_create(&own, &own.gpu[0], VG_MIB, VG_GTT, &src));
		vg_pattern_fill(src.cpu, VG_MIB, SEED + 77, 0);
	}
	OK(vg_mem_info(&own.gpu[0], &info));
	OK(vg_bo_create(&own, &own.gpu[0],
			info.vram_total / 8 * 5 & ~(VG_MIB - 1), VG_VRAM, &bo));
	for (at = 0; at < bo.size; at += VG_MIB)
		OK(vg_copy(&hq, (char *)bo.cpu + at, src.cpu, VG_MIB));
	/* Catches: another process writes to this memory. */
	for (at = 0; at < bo.size; at += VG_MIB)
		OK(vg_pattern_check((char *)bo.cpu + at, VG_MIB, SEED + 77, 0));
	OK(vg_bo_free(&bo));
}

/* Two processes together allocate more VRAM than GPU 0 has, so that BOs are evicted. */
static void pushed_out(void)
{
	struct vg_mem_info info;
	struct vg_bo bo = { 0 };
	uint64_t moves = 0, end;
	int i, rounds = tap_rounds(4, 60);
	pid_t pid;

	start_linked();
	OK(vg_mem_info(&vg.gpu[0], &info));
	if (info.vram_total > 256 * VG_MIB)
		tap_skip("%lu MiB of VRAM take too long to fill",
			 info.vram_total / VG_MIB);
	pid = start_child(hog);
	end = vg_deadline();
	for (i = 0; i < rounds || moves < 3; i++) {
		CHECK(i < rounds || vg_now() < end,
		      "the BO moved %lu times only", moves);
		/* Use a new BO, because a BO that was moved out of VRAM stays in GTT. */
		OK(vg_bo_alloc(&vg, &vg.gpu[0],
			       info.vram_total / 2 & ~(VG_MIB - 1), VG_VRAM,
			       &bo));
		OK(vg_bo_map_cpu(&bo));
		OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
		moves += work(&bo, false, 2, false);
		OK(vg_bo_unmap_peer(&bo, &vg.gpu[1]));
		OK(vg_bo_free(&bo));
	}
	end_child(pid);
	tap_diag("%lu moves out of VRAM in %d rounds", moves, i);
}

static void peer_at_work(void *arg)
{
	struct vg_bo bo = { 0 };
	uint32_t seq;
	int i, out = *(int *)arg;
	char done = 0;

	start();
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	for (i = 0;; i++) {
		OK(vg_emit_copy(&q[1], bo.va, stage[1].va, SIZE));
		OK(vg_emit_copy(&q[1], stage[1].va, bo.va, SIZE));
		OK(vg_emit_fence(&q[1], &seq));
		vg_queue_submit(&q[1]);
		if (!i)
			CHECK(write(out, &done, 1) == 1, "write");
		if (i % 4 == 3)
			OK(vg_wait(&q[1], seq, VG_TIMEOUT_MS));
	}
}

/*
 * Kill a process while GPU 1 writes to the process's BO in VRAM of GPU 0. Catches: a new BO has old
 * data or late writes.
 */
static void killed(void)
{
	struct vg_bo bo = { 0 };
	int i;

	start_linked();
	for (i = 0; tap_goes_on(i, 6); i++) {
		tap_kill_at_work(peer_at_work, (unsigned int)i % 8 * 2000);
		OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
		OK(vg_fill_check(bo.cpu, SIZE, 0));
		gpu_write(0, &bo, SEED + i);
		gpu_check(0, &bo, SEED + i);
		OK(vg_bo_free(&bo));
	}
}

/*
 * Reset GPU 0 (the owner) while GPU 1 (the peer) copies into VRAM of GPU 0. Then reset GPU 1. The
 * configuration of the device decides whether a reset keeps or loses VRAM.
 */
static void reset(void)
{
	struct vg_bo bo = { 0 };
	uint64_t lost;
	uint32_t seq;
	int i;

	start_linked();
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	gpu_write(1, &bo, SEED);
	lost = tap_driver_counter(&vg.gpu[0], "vram_lost");
	vg_pattern_fill(stage[1].cpu, SIZE, SEED, 0);
	for (i = 0; i < 20; i++)
		OK(vg_emit_copy(&q[1], bo.va, stage[1].va, SIZE));
	OK(vg_emit_fence(&q[1], &seq));
	vg_queue_submit(&q[1]);
	OK(vg_gpu_reset(&vg.gpu[0]));
	OK(vg_wait(&q[1], seq, VG_TIMEOUT_MS));
	lost = tap_driver_counter(&vg.gpu[0], "vram_lost") - lost;
	tap_diag("VRAM was %s", lost ? "lost" : "kept");
	/*
	 * If VRAM was lost, the BO's contents are unknown: the copies of q[1] may have run before
	 * or after the loss. So write the BO again.
	 */
	gpu_write(1, &bo, SEED + 1);
	gpu_check(1, &bo, SEED + 1);
	OK(vg_pattern_check(bo.cpu, SIZE, SEED + 1, 0));

	OK(vg_gpu_reset(&vg.gpu[1]));
	/*
	 * If resets lose VRAM, the peer's page tables were lost in the reset of the peer, so
	 * the peer can no longer use the BO.
	 */
	if (lost)
		return;
	gpu_check(1, &bo, SEED + 1);
	gpu_write(1, &bo, SEED + 2);
	gpu_check(0, &bo, SEED + 2);
	OK(vg_bo_unmap_peer(&bo, &vg.gpu[1]));
	OK(vg_bo_free(&bo));
}

/*
 * Body of a process that uses both GPUs after one of them was unbound or removed, and added again.
 * New BOs must contain zeros.
 */
static void use(void *arg)
{
	struct vg_bo bo = { 0 };
	int i, round;

	(void)arg;
	start();
	for (i = 0; i < 2; i++) {
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_VRAM, &bo));
		OK(vg_fill_check(bo.cpu, SIZE, 0));
		if (hive() || tap_pcie_p2p())
			OK(vg_bo_map_peer(&bo, &vg.gpu[!i]));
		for (round = 0; round < 3; round++) {
			gpu_write(i, &bo, SEED + round);
			gpu_check(hive() || tap_pcie_p2p() ? !i : i, &bo, SEED + round);
		}
		if (hive() || tap_pcie_p2p())
			OK(vg_bo_unmap_peer(&bo, &vg.gpu[!i]));
		OK(vg_bo_free(&bo));
	}
}

/* Emit a packet that waits without end for a value that the dword at @bo never has. */
static void emit_endless(struct vg_queue *queue, const struct vg_bo *bo)
{
	uint32_t *dw = vg_queue_reserve(queue, SDMA_POLL_REGMEM_DWORDS);
	uint32_t value = *(uint32_t *)bo->cpu + 1;

	CHECK(dw, "%s", vg_error());
	dw[0] = SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REGMEM) |
		VGPU_PREP(SDMA_POLL_REGMEM__FUNC, 3u) | SDMA_POLL_REGMEM__MEM;
	dw[1] = (uint32_t)bo->va;
	dw[2] = (uint32_t)(bo->va >> 32);
	dw[3] = value;
	dw[4] = ~0u;
	dw[5] = VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, 10u) |
		SDMA_POLL_REGMEM_DW5__RETRY;
}

/* Body of a process that runs after the removal of GPU 0, and uses the other GPU. */
static void use_one(void *arg)
{
	struct vg_queue one = { 0 };
	struct vg_bo bo = { 0 }, src = { 0 };

	(void)arg;
	tap_open(&vg, 1);
	CHECK(vg.n_gpus == 1, "%d GPUs", vg.n_gpus);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &one));
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_GTT, &src));
	vg_pattern_fill(src.cpu, SIZE, SEED + 5, 0);
	OK(vg_copy(&one, bo.cpu, src.cpu, SIZE));
	OK(vg_pattern_check(bo.cpu, SIZE, SEED + 5, 0));
}

/*
 * Unbind or remove the owner (@which is 0) or the peer (1) while the peer writes into
 * the owner's VRAM. Then add the GPU again.
 */
static void gone(int which, bool remove)
{
	char name[VG_PCI_NAME];
	struct vg_bo bo = { 0 };
	uint64_t rptr;
	uint32_t seq;
	int i;

	start_linked();
	OK(vg_pci_name(&vg.gpu[which], name));
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	gpu_write(1, &bo, SEED);
	for (i = 0; i < 100; i++)
		OK(vg_emit_copy(&q[1], bo.va, stage[1].va, SIZE));
	emit_endless(&q[1], &stage[1]);
	OK(vg_emit_fence(&q[1], &seq));
	vg_queue_submit(&q[1]);
	OK(remove ? vg_pci_remove(name) : vg_pci_unbind(name));
	/*
	 * The unbind or removal must have stopped the queue, so its read pointer must not
	 * change any more.
	 */
	rptr = vg_queue_rptr(&q[1]);
	ERRNO(ENODEV, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION,
				&(struct kfd_ioctl_get_version_args) { 0 }));
	OK(remove ? vg_pci_rescan() : vg_pci_bind(name));
	CHECK(vg_pci_bound(name), "the device did not come back");
	/*
	 * If the owner of the VRAM was unbound or removed, the peer's queue must stay stopped. The
	 * packet of emit_endless() must not have completed.
	 */
	if (which == 0) {
		CHECK(vg_queue_rptr(&q[1]) == rptr, "the queue still runs");
		CHECK(rptr != q[1].wptr, "the queue has completed");
	}
	tap_in_child(use, NULL);
}

static void owner_gone(void)
{
	gone(0, false);
}

static void owner_removed(void)
{
	gone(0, true);
}

static void peer_gone(void)
{
	gone(1, false);
}

/*
 * Cases that tests/avocado/test_peer.py controls on the host: they print each step, and wait for a
 * line from the host
 */

static void say(const char *word)
{
	char line[8];

	puts(word);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin), "no line on stdin");
}

/*
 * Wait for a memory event of @gpu. The driver stops the queues on this GPU before it
 * sends the event.
 */
static void await_fault(uint32_t event, uint32_t gpu)
{
	uint32_t faulted = tap_await_fault(&vg, event).gpu_id;

	CHECK(faulted == gpu, "a fault of GPU %u", faulted);
}

/*
 * While the XGMI link is down, an access to the peer must fault and stop the queue. A new peer
 * mapping must fail.
 */
static void link_down(void)
{
	struct vg_bo bo = { 0 }, more = { 0 };
	uint32_t event;

	start();
	CHECK(hive(), "no hive");
	event = tap_fault_event(&vg);
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &more));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	gpu_write(1, &bo, SEED);
	/* On this word, the host takes the link down. say() returns after that. */
	say("linked");

	vg_pattern_fill(stage[1].cpu, SIZE, SEED + 1, 0);
	OK(vg_emit_copy(&q[1], bo.va, stage[1].va, SIZE));
	vg_queue_submit(&q[1]);
	await_fault(event, vg.gpu[1].gpu_id);
	ERRNO(ETIMEDOUT, vg_queue_finish(&q[1], 1000));
	/* The failed access must not change the owner's memory. */
	gpu_check(0, &bo, SEED);
	ERRNO(EINVAL, vg_bo_map_peer(&more, &vg.gpu[1]));
	/*
	 * Report that the checks with the link down are done. The host then brings the link up
	 * again, and say() returns.
	 */
	say("down");

	OK(vg_queue_destroy(&q[1]));
	OK(vg_queue_create(&vg, &vg.gpu[1], 4096, &q[1]));
	gpu_check(1, &bo, SEED);
	OK(vg_bo_map_peer(&more, &vg.gpu[1]));
	gpu_write(1, &more, SEED + 2);
	gpu_check(0, &more, SEED + 2);
	puts("up");
}

/*
 * The host removes GPU 0 by surprise, while a queue of GPU 1 copies into VRAM of GPU 0. After the
 * copies, the queue has an endless wait, so the queue cannot become idle before the removal.
 */
static void surprised(void)
{
	uint64_t end;
	struct vg_bo bo = { 0 };
	int i;

	start();
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	gpu_write(1, &bo, SEED);
	for (i = 0; i < 100; i++)
		OK(vg_emit_copy(&q[1], bo.va, stage[1].va, SIZE));
	emit_endless(&q[1], &stage[1]);
	vg_queue_submit(&q[1]);
	say("working");
	end = vg_deadline();
	while (!tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION,
			  &(struct kfd_ioctl_get_version_args) { 0 })) {
		CHECK(vg_now() < end, "KFD does not detect the removal");
		vg_sleep_us(1000);
	}
	/* The other GPU must work. */
	tap_in_child(use_one, NULL);
	puts("gone");
}

static const struct tap_case cases[] = {
	{ "topology", topology, 2 },
	{ "errors", errors, 2 },
	{ "copies to and from a peer's VRAM", copies, 2 },
	{ "mapped and unmapped on both", map_unmap, 2 },
	{ "imported, and mapped on the peer", imported, 2 },
	{ "emptied VRAM under a peer at work", evicted, 2 },
	{ "pushed out of VRAM under a peer at work", pushed_out, 2 },
	{ "killed at work", killed, 2 },
	{ "owner unbound under a peer at work", owner_gone, 2 },
	{ "owner removed under a peer at work", owner_removed, 2 },
	{ "peer unbound at work", peer_gone, 2 },
	{ "resets", reset, 2 },
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "link"))
		return link_down(), 0;
	if (argc == 2 && !strcmp(argv[1], "surprise"))
		return surprised(), 0;
	return tap_main(TAP_CASES(cases), argc, argv);
}
