// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * GPUs access shared memory in another GPU's VRAM. Catches: needless migration; lost bytes; stale
 * page table entries for a peer's VRAM.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define SEED	0x5bee
#define SIZE	(6 * VG_MIB + 3 * VG_PAGE)
#define PAGES	(SIZE / VG_PAGE)

static struct vg vg;
static struct vg_queue q[VG_MAX_GPUS];
static struct vg_bo stage[VG_MAX_GPUS];	/* BOs in GTT, one for each GPU */

static bool hive(void)
{
	uint64_t id = vg_node_property(vg.gpu[0].node, "hive_id", 0);

	return id && id == vg_node_property(vg.gpu[1].node, "hive_id", 0);
}

static void start(int xnack)
{
	int i;

	tap_open(&vg, xnack);
	if (vg.n_gpus > 2)
		tap_long_on_debug();
	for (i = 0; i < vg.n_gpus; i++) {
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_GTT, &stage[i]));
	}
}

/* Set the access of GPU @i to @access (KFD_IOCTL_SVM_ATTR_ACCESS and the like). */
static void allow(const char *p, uint64_t size, int i, uint32_t access)
{
	OK(vg_svm_set1(&vg, p, size, access, vg.gpu[i].gpu_id));
}

/*
 * Return memory with a pattern, with ACCESS_IN_PLACE for all GPUs, prefetched to GPU
 * @home.
 */
static char *memory_at(int home, uint64_t seed)
{
	char *p = tap_anon(SIZE);
	int i;

	vg_pattern_fill(p, SIZE, seed, 0);
	for (i = 0; i < vg.n_gpus; i++)
		allow(p, SIZE, i, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE);
	OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[home].gpu_id));
	return p;
}

/*
 * Check that all pages are in VRAM or, if there is no peer access, that no page is in VRAM.
 */
static void expect_vram(const char *p)
{
	long n = vg_pages_in_vram(p, SIZE);

	OK((int)n);
	CHECK(n == (hive() ? (long)PAGES : 0), "%ld of %lu pages are in VRAM",
	      n, PAGES);
}

/* Check that GPU @i reads the pattern. This does not migrate @p to system memory. */
static void gpu_check(int i, const char *p, uint64_t seed)
{
	memset(stage[i].cpu, 0x5a, SIZE);
	OK(vg_copy(&q[i], stage[i].cpu, p, SIZE));
	OK(vg_pattern_check(stage[i].cpu, SIZE, seed, 0));
}

static void gpu_write(int i, char *p, uint64_t seed)
{
	vg_pattern_fill(stage[i].cpu, SIZE, seed, 0);
	OK(vg_copy(&q[i], p, stage[i].cpu, SIZE));
}

/**
 * struct traffic - sums of the GPUs' counters
 * @moved: pages migrated, to VRAM or to system memory
 * @peer: pages mapped in another GPU's VRAM
 */
struct traffic {
	uint64_t moved, peer;
};

static struct traffic traffic(void)
{
	struct traffic t = { 0 };
	int i;

	for (i = 0; i < vg.n_gpus; i++) {
		t.moved += tap_driver_counter(&vg.gpu[i], "pages_to_vram") +
			   tap_driver_counter(&vg.gpu[i], "pages_to_system");
		t.peer += tap_driver_counter(&vg.gpu[i], "svm_peer_pages");
	}
	return t;
}

static void expect_no_move(struct traffic before)
{
	struct traffic now = traffic();

	if (hive())
		CHECK(now.moved == before.moved, "%lu pages moved",
		      now.moved - before.moved);
	else
		CHECK(now.peer == before.peer, "%lu pages of a peer's VRAM",
		      now.peer - before.peer);
}

/*
 * All GPUs copy at the same time, to and from the memory of every GPU. Catches: memory migrates
 * although the hive's GPUs reach it.
 */
static void all_to_all(int xnack)
{
	char *p[VG_MAX_GPUS], *out[VG_MAX_GPUS];
	const uint64_t part = SIZE / VG_MAX_GPUS & ~(VG_PAGE - 1);
	uint32_t seq[VG_MAX_GPUS];
	struct traffic before;
	int i, k, round;

	start(xnack);
	before = traffic();
	for (i = 0; i < vg.n_gpus; i++) {
		p[i] = memory_at(i, SEED + i);
		out[i] = memory_at(i, SEED + 100);
		expect_vram(p[i]);
		expect_vram(out[i]);
	}
	CHECK((traffic().peer > before.peer) == hive(), "%lu pages of a peer's",
	      traffic().peer - before.peer);
	before = traffic();
	for (round = 0; round < 3; round++) {
		/*
		 * Each GPU copies a different part of each p[k]. Otherwise one GPU's correct copy
		 * could hide another GPU's wrong copy.
		 */
		for (i = 0; i < vg.n_gpus; i++) {
			for (k = 0; k < vg.n_gpus; k++)
				OK(vg_emit_copy(&q[i],
						(uintptr_t)out[k] + i * part,
						(uintptr_t)p[k] + i * part,
						part));
			OK(vg_emit_fence(&q[i], &seq[i]));
		}
		for (i = 0; i < vg.n_gpus; i++)
			vg_queue_submit(&q[i]);
		for (i = 0; i < vg.n_gpus; i++)
			OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
		expect_no_move(before);
		for (k = 0; k < vg.n_gpus; k++) {
			i = (k + 1 + round) % vg.n_gpus;
			OK(vg_copy(&q[i], stage[i].cpu, out[k], SIZE));
			OK(vg_pattern_check(stage[i].cpu, vg.n_gpus * part,
					    SEED + k + 10 * round, 0));
			OK(vg_pattern_check((char *)stage[i].cpu +
					    vg.n_gpus * part,
					    SIZE - vg.n_gpus * part, SEED + 100,
					    vg.n_gpus * part));
			/*
			 * Let GPU i write the data that the next round reads. In a hive, p[k] must
			 * stay in the VRAM of GPU k even if another GPU writes.
			 */
			gpu_write(i, p[k], SEED + k + 10 * (round + 1));
		}
		expect_no_move(before);
	}
	for (k = 0; k < vg.n_gpus; k++) {
		expect_vram(p[k]);
		OK(vg_pattern_check(p[k], SIZE, SEED + k + 30, 0));
		CHECK(!vg_pages_in_vram(p[k], SIZE), "still in VRAM");
	}
}

static void all_to_all_retry(void)
{
	all_to_all(1);
}

static void all_to_all_no_retry(void)
{
	all_to_all(0);
}

/*
 * mprotect() removes the GPUs' page table entries. A fault of GPU 1 must map the pages again,
 * and in a hive not migrate them.
 */
static void by_fault(void)
{
	struct traffic before;
	uint64_t faults;
	char *p;
	int i;

	start(1);
	p = memory_at(0, SEED);
	for (i = 0; i < 4; i++) {
		/*
		 * The first mprotect() removes the GPUs' page table entries, and makes the CPU's
		 * entries of pages in VRAM read-only. The second mprotect() does not make these
		 * entries writable again. A GPU gets the same rights as the CPU: below, GPU 1 maps
		 * these pages only for reading.
		 */
		CHECK(!mprotect(p, SIZE, PROT_READ) &&
		      !mprotect(p, SIZE, PROT_READ | PROT_WRITE), "mprotect");
		before = traffic();
		faults = tap_device_counter(&vg.gpu[1], "faults_retry");
		gpu_check(1, p, SEED + i);
		CHECK(tap_device_counter(&vg.gpu[1], "faults_retry") > faults,
		      "no fault");
		expect_no_move(before);
		expect_vram(p);
		CHECK(!hive() || traffic().peer >= before.peer + PAGES,
		      "%lu pages of a peer's", traffic().peer - before.peer);
		/*
		 * GPU 1 has mapped the pages only for reading, so this write by GPU 1 faults. In a
		 * hive, the driver then migrates the pages from VRAM to system memory.
		 */
		gpu_write(1, p, SEED + i + 1);
		OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[0].gpu_id));
		gpu_check(0, p, SEED + i + 1);
	}
	OK(vg_pattern_check(p, SIZE, SEED + 4, 0));
}

/* Catches: a GPU reads stale VRAM after the CPU migrated, wrote or discarded the memory. */
static void cpu(void)
{
	uint64_t at;
	char *p;
	int i;

	start(1);
	p = memory_at(0, SEED);
	for (i = 0; i < 4; i++) {
		gpu_check(1, p, SEED + i);
		for (at = i * VG_PAGE; at < SIZE; at += 97 * VG_PAGE + 5)
			p[at] ^= 0x41;
		OK(vg_copy(&q[1], stage[1].cpu, p, SIZE));
		for (at = i * VG_PAGE; at < SIZE; at += 97 * VG_PAGE + 5) {
			char *seen = (char *)stage[1].cpu + at;

			CHECK(*seen == p[at], "at 0x%lx the peer reads 0x%x",
			      at, *seen);
			p[at] ^= 0x41;
		}
		OK(vg_pattern_check(p, SIZE, SEED + i, 0));
		OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[i % 2].gpu_id));
		gpu_write(!(i % 2), p, SEED + i + 1);
		expect_vram(p);
	}
	gpu_check(1, p, SEED + 4);
	CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
	OK(vg_fill(&q[1], stage[1].cpu, 1, SIZE));
	OK(vg_copy(&q[1], stage[1].cpu, p, SIZE));
	OK(vg_fill_check(stage[1].cpu, SIZE, 0));
}

/*
 * The child must keep the contents that the memory had at the fork. Catches: writes in
 * the parent reach the child.
 */
static void forked(void)
{
	char *p, go = 0;
	int fds[2], status;
	pid_t pid;

	start(1);
	p = memory_at(0, SEED);
	gpu_check(1, p, SEED);
	CHECK(!pipe(fds), "pipe");
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		/* Wait for the parent's byte. The parent sends it after the GPU's write to @p. */
		close(fds[1]);
		if (read(fds[0], &go, 1) != 1)
			_exit(2);
		_exit(!!vg_pattern_check(p, SIZE, SEED, 0));
	}
	gpu_check(1, p, SEED);
	gpu_write(1, p, SEED + 1);
	gpu_check(0, p, SEED + 1);
	CHECK(write(fds[1], &go, 1) == 1, "write");
	CHECK(waitpid(pid, &status, 0) == pid && !status,
	      "the child has other bytes, status 0x%x", status);
	OK(vg_pattern_check(p, SIZE, SEED + 1, 0));
}

/*
 * Call @move, which evicts or prefetches memory, for the source and the destination of copies
 * while GPU 1 does the copies.
 */
static void moved_at_work(int xnack, void (*move)(char *p, int i))
{
	char *p, *to;
	uint32_t seq;
	int i, k;

	tap_long_on_debug();
	start(xnack);
	p = memory_at(0, SEED);
	to = memory_at(1, SEED + 1);
	for (i = 0; tap_goes_on(i, 8); i++) {
		gpu_write(i % 2, p, SEED + i);
		for (k = 0; k < 6; k++)
			OK(vg_emit_copy(&q[1], (uintptr_t)to, (uintptr_t)p,
					SIZE));
		OK(vg_emit_fence(&q[1], &seq));
		vg_queue_submit(&q[1]);
		move(p, i);
		move(to, i);
		OK(vg_wait(&q[1], seq, VG_TIMEOUT_MS));
		gpu_check(0, to, SEED + i);
		gpu_check(1, p, SEED + i);
	}
	OK(vg_pattern_check(to, SIZE, SEED + i - 1, 0));
}

static void evict(char *p, int i)
{
	uint64_t before = tap_driver_counter(&vg.gpu[i % 2], "pages_to_system");

	/* Prefetch first, because only pages in VRAM can be evicted. */
	OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[i % 2].gpu_id));
	tap_evict_some(&vg.gpu[i % 2], "vram");
	CHECK(!hive() || tap_driver_counter(&vg.gpu[i % 2], "pages_to_system") >
	      before, "no page was evicted");
}

static void evicted(void)
{
	moved_at_work(1, evict);
}

static void evicted_no_retry(void)
{
	moved_at_work(0, evict);
}

static void prefetch(char *p, int i)
{
	OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[i & 1].gpu_id));
	OK(vg_svm_prefetch(&vg, p, 2 * VG_MIB + VG_PAGE, 0));
	OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[!(i & 1)].gpu_id));
}

static void prefetched(void)
{
	moved_at_work(1, prefetch);
}

static void prefetched_no_retry(void)
{
	moved_at_work(0, prefetch);
}

/* Catches: a GPU with NO_ACCESS to memory reaches it in a peer's VRAM. */
static void no_access(void)
{
	char *p;

	start(1);
	p = memory_at(0, SEED);
	gpu_check(1, p, SEED);
	allow(p, SIZE, 1, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	gpu_check(0, p, SEED);
	memset(stage[1].cpu, 0, VG_PAGE);
	tap_expect_stop(&q[1], stage[1].va, (uintptr_t)p, VG_PAGE);
	OK(vg_fill_check(stage[1].cpu, VG_PAGE, 0));
}

/*
 * While GPU 1 writes to VRAM of GPU 0, remove GPU 0 or, if @remove is false, only unbind the
 * driver. Catches: contents are lost.
 */
static void unplugged(int xnack, bool remove)
{
	char name[VG_PCI_NAME], *p, *kept;
	int k;

	start(xnack);
	OK(vg_pci_name(&vg.gpu[0], name));
	/* In a hive, @p and @kept are in VRAM of GPU 0. Otherwise, both are in system memory. */
	p = memory_at(0, SEED);
	kept = memory_at(0, SEED + 1);
	gpu_check(1, p, SEED);
	gpu_write(1, kept, SEED + 2);
	gpu_write(1, p, SEED + 3);
	/*
	 * All copies write the same bytes, so that the expected bytes do not depend on how
	 * many copies complete.
	 */
	for (k = 0; k < 30; k++)
		OK(vg_emit_copy(&q[1], (uintptr_t)p, stage[1].va, SIZE));
	vg_queue_submit(&q[1]);
	/* GPU 1 has used @kept already. Let GPU 0 use @kept, too, so that both GPUs map it. */
	OK(vg_copy(&q[0], stage[0].cpu, kept, SIZE));
	OK(remove ? vg_pci_remove(name) : vg_pci_unbind(name));
	CHECK(!vg_pages_in_vram(p, SIZE) && !vg_pages_in_vram(kept, SIZE),
	      "memory of a GPU that is not there");
	OK(vg_pattern_check(p, SIZE, SEED + 3, 0));
	OK(vg_pattern_check(kept, SIZE, SEED + 2, 0));
	OK(remove ? vg_pci_rescan() : vg_pci_bind(name));
	CHECK(vg_pci_bound(name), "the device did not come back");
}

static void unbound(void)
{
	unplugged(1, false);
}

static void unbound_no_retry(void)
{
	unplugged(0, false);
}

static void removed(void)
{
	unplugged(1, true);
}

/*
 * Reset GPU 0. If VRAM is lost, the driver must soon remove the peer's page table entries for this
 * VRAM, and deny later accesses.
 */
static void reset(void)
{
	uint64_t lost, end = vg_deadline();
	uint64_t faults;
	char *p, *own;

	start(1);
	p = memory_at(0, SEED);
	own = memory_at(1, SEED + 1);
	gpu_check(1, p, SEED);
	gpu_check(1, own, SEED + 1);
	lost = tap_driver_counter(&vg.gpu[0], "vram_lost");
	faults = tap_device_counter(&vg.gpu[1], "faults_retry");
	OK(vg_gpu_reset(&vg.gpu[0]));
	lost = tap_driver_counter(&vg.gpu[0], "vram_lost") - lost;
	tap_diag("VRAM was %s", lost ? "lost" : "kept");
	if (!lost || !hive()) {
		gpu_check(1, p, SEED);
		gpu_check(1, own, SEED + 1);
		return;
	}
	/* A retry fault of the peer shows that the peer's page table entries were removed. */
	while (tap_device_counter(&vg.gpu[1], "faults_retry") == faults) {
		CHECK(vg_now() < end, "the peer keeps its entries");
		gpu_check(1, own, SEED + 1);
	}
	tap_expect_stop(&q[1], stage[1].va, (uintptr_t)p, VG_PAGE);
	/* The peer's own VRAM must be unchanged. */
	OK(vg_pattern_check(own, SIZE, SEED + 1, 0));
}

/* Cases that the host controls: they print each step, and wait for a line from the host */

static void say(const char *word)
{
	char line[8];

	puts(word);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin), "no line on stdin");
}

/*
 * The host takes the link between the GPUs down and up. Without the link, an access must cause a
 * reported fault and stop the queue.
 */
static void link_down(void)
{
	struct traffic before;
	char *p, *other;
	uint32_t event, faulted;

	start(1);
	CHECK(hive(), "no hive");
	event = tap_fault_event(&vg);
	p = memory_at(0, SEED);
	other = memory_at(0, SEED + 1);
	gpu_check(1, p, SEED);
	gpu_check(1, other, SEED + 1);
	expect_vram(p);
	say("linked");

	before = traffic();
	OK(vg_emit_copy(&q[1], stage[1].va, (uintptr_t)p, SIZE));
	vg_queue_submit(&q[1]);
	faulted = tap_await_fault(&vg, event).gpu_id;
	CHECK(faulted == vg.gpu[1].gpu_id, "a fault of GPU %u",
	      faulted);
	ERRNO(ETIMEDOUT, vg_queue_finish(&q[1], 1000));
	OK(vg_queue_destroy(&q[1]));
	OK(vg_queue_create(&vg, &vg.gpu[1], 4096, &q[1]));
	/* The next access must migrate the memory to system memory. */
	gpu_check(1, p, SEED);
	CHECK(!vg_pages_in_vram(p, SIZE), "the peer reads VRAM");
	/*
	 * Prefetch memory to GPU 0. The memory must stay in system memory, because GPU
	 * 1 has ACCESS_IN_PLACE and cannot reach the VRAM of GPU 0.
	 */
	OK(vg_svm_prefetch(&vg, other, SIZE, vg.gpu[0].gpu_id));
	CHECK(!vg_pages_in_vram(other, SIZE), "in VRAM out of reach");
	gpu_check(1, other, SEED + 1);
	CHECK(traffic().peer == before.peer, "mapped over a link that is down");
	say("down");

	/* The link is up again. The peer must use the link. */
	OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[0].gpu_id));
	expect_vram(p);
	gpu_write(1, p, SEED + 2);
	expect_vram(p);
	CHECK(traffic().peer > before.peer, "not mapped over the link");
	OK(vg_pattern_check(p, SIZE, SEED + 2, 0));
	puts("up");
}

static const struct tap_case cases[] = {
	{ "all GPUs use all memory in place", all_to_all_retry, 2 },
	{ "XNACK off: all GPUs use all memory in place", all_to_all_no_retry, 2 },
	{ "mapped by the peer's fault", by_fault, 2 },
	{ "the CPU touches, writes, unmaps", cpu, 2 },
	{ "fork", forked, 2 },
	{ "VRAM is emptied under a peer at work", evicted, 2 },
	{ "XNACK off: VRAM is emptied under a peer at work", evicted_no_retry, 2 },
	{ "prefetched to and fro under a peer at work", prefetched, 2 },
	{ "XNACK off: prefetched to and fro under a peer at work",
	  prefetched_no_retry, 2 },
	{ "NO_ACCESS of the peer", no_access, 2 },
	{ "the owner is unbound under a peer at work", unbound, 2 },
	{ "XNACK off: the owner is unbound under a peer at work",
	  unbound_no_retry, 2 },
	{ "the owner is removed under a peer at work", removed, 2 },
	{ "the owner is reset", reset, 2 },
};

int main(int argc, char **argv)
{
	/* tests/avocado/test_peer.py runs this case, and takes the link down and up. */
	if (argc == 2 && !strcmp(argv[1], "link"))
		return link_down(), 0;
	return tap_main(TAP_CASES(cases), argc, argv);
}
