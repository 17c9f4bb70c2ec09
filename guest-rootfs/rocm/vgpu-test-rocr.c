// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests ROCr on this driver, or measures copies ("bench"). Catches: a copy loses bytes, writes
 * outside its destination, or starts before its dependencies have completed.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_GPUS	8
#define KIB		1024ul
#define MIB		(1024 * KIB)
/*
 * Size in bytes of each of the two areas directly before and after a destination. A copy must not
 * change these areas.
 */
#define GUARD		(4 * KIB)
#define GUARD_BYTE	0xa5

struct gpu {
	hsa_agent_t agent;
	hsa_amd_memory_pool_t vram;
	size_t vram_bytes;
};

static struct gpu gpus[MAX_GPUS];
static unsigned int n_gpus;
static hsa_agent_t cpu;
static hsa_amd_memory_pool_t host;
static bool has_cpu;

static void fail(int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# line %d: ", line);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	exit(1);
}

#define CHECK(cond, ...)						\
	do {								\
		if (!(cond))						\
			fail(__LINE__, __VA_ARGS__);			\
	} while (0)

#define HSA(expr)							\
	do {								\
		hsa_status_t s_ = (expr);				\
		const char *t_ = "?";					\
		if (s_ != HSA_STATUS_SUCCESS) {				\
			hsa_status_string(s_, &t_);			\
			fail(__LINE__, "%s: %s", #expr, t_);		\
		}							\
	} while (0)

static void ok(const char *name)
{
	static int n;

	printf("ok %d - %s\n", ++n, name);
	fflush(stdout);
}

/*
 * Find the coarse-grained pool of VRAM of the GPU @arg or, if @arg is NULL, a
 * fine-grained pool of the host.
 */
static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *arg)
{
	struct gpu *g = arg;
	hsa_amd_segment_t segment;
	uint32_t flags;
	bool alloc;

	HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
					 &segment));
	HSA(hsa_amd_memory_pool_get_info(pool,
		HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &alloc));
	if (segment != HSA_AMD_SEGMENT_GLOBAL || !alloc)
		return HSA_STATUS_SUCCESS;
	HSA(hsa_amd_memory_pool_get_info(pool,
		HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (!g && flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED &&
	    !(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)) {
		host = pool;
		return HSA_STATUS_INFO_BREAK;
	}
	if (g && flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) {
		g->vram = pool;
		HSA(hsa_amd_memory_pool_get_info(pool,
			HSA_AMD_MEMORY_POOL_INFO_SIZE, &g->vram_bytes));
		return HSA_STATUS_INFO_BREAK;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !has_cpu) {
		cpu = agent;
		has_cpu = true;
		CHECK(hsa_amd_agent_iterate_memory_pools(agent, find_pool, NULL)
		      == HSA_STATUS_INFO_BREAK, "no pool of the host's memory");
	} else if (type == HSA_DEVICE_TYPE_GPU && n_gpus < MAX_GPUS) {
		struct gpu *g = &gpus[n_gpus++];

		g->agent = agent;
		CHECK(hsa_amd_agent_iterate_memory_pools(agent, find_pool, g)
		      == HSA_STATUS_INFO_BREAK, "no pool of VRAM");
	}
	return HSA_STATUS_SUCCESS;
}

/*
 * Find a line that begins with @name and a number, and return the number. If @name is "", the line
 * begins with the number. @fmt and @n give the path of the sysfs file.
 */
static unsigned long long sysfs(const char *name, const char *fmt,
				unsigned int n)
{
	unsigned long long value = 0;
	bool found = false;
	char path[128], line[128];
	FILE *f;

	snprintf(path, sizeof(path), fmt, n);
	f = fopen(path, "r");
	CHECK(f, "cannot open %s", path);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, strlen(name)) &&
			sscanf(line + strlen(name), "%llu", &value) == 1;
	fclose(f);
	CHECK(found, "no %s in %s", name, path);
	return value;
}

/* Catches: the size of a GPU's memory pool is not the size of the GPU's VRAM. */
static void agents(void)
{
	unsigned int i;

	HSA(hsa_iterate_agents(find_agent, NULL));
	CHECK(has_cpu && n_gpus, "no agents");
	for (i = 0; i < n_gpus; i++) {
		char name[64] = "";
		unsigned long long vram;
		uint32_t node, minor;

		HSA(hsa_agent_get_info(gpus[i].agent, HSA_AGENT_INFO_NAME,
				       name));
		CHECK(!strcmp(name, "gfx90a"), "GPU %u is a %s", i, name);
		HSA(hsa_agent_get_info(gpus[i].agent, (hsa_agent_info_t)
				       HSA_AMD_AGENT_INFO_DRIVER_NODE_ID,
				       &node));
		minor = sysfs("drm_render_minor ",
			      "/sys/class/kfd/kfd/topology/nodes/%u/properties",
			      node);
		vram = sysfs("",
			     "/sys/class/drm/renderD%u/device/mem_info_vram_total",
			     minor);
		printf("# GPU %u: pool of %zu bytes, VRAM %llu\n", i,
		       gpus[i].vram_bytes, vram);
		CHECK(gpus[i].vram_bytes == vram, "the pool is not the VRAM");
	}
	ok("agents and the sizes of their pools");
}

static unsigned char pattern_byte(size_t i, uint64_t seed)
{
	return (unsigned char)((i * 0x9e3779b97f4a7c15ull + seed) >>
			       (8 * (i % 7)));
}

static void pattern_fill(void *p, size_t bytes, uint64_t seed)
{
	unsigned char *at = p;
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = pattern_byte(i, seed);
}

static void pattern_check(const void *p, size_t bytes, uint64_t seed)
{
	const unsigned char *at = p;
	size_t i;

	for (i = 0; i < bytes; i++) {
		unsigned char want = pattern_byte(i, seed);

		CHECK(at[i] == want, "byte %zu of %zu is 0x%x, not 0x%x", i,
		      bytes, at[i], want);
	}
}

static void *pool_alloc(hsa_amd_memory_pool_t pool, size_t bytes)
{
	hsa_agent_t all[MAX_GPUS];
	unsigned int i;
	void *p;

	HSA(hsa_amd_memory_pool_allocate(pool, bytes, 0, &p));
	for (i = 0; i < n_gpus; i++)
		all[i] = gpus[i].agent;
	/* The tests use VRAM only on its own GPU, which has access without this call. */
	if (pool.handle == host.handle)
		HSA(hsa_amd_agents_allow_access(n_gpus, all, NULL, p));
	return p;
}

static hsa_signal_t signal_new(void)
{
	hsa_signal_t s;

	HSA(hsa_signal_create(1, 0, NULL, &s));
	return s;
}

static void signal_wait(hsa_signal_t s)
{
	hsa_signal_value_t v;

	v = hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1,
				      60ull * 1000000000, HSA_WAIT_STATE_BLOCKED);
	CHECK(!v, "a copy ends with signal %ld", (long)v);
}

static void copy(void *dst, hsa_agent_t to, const void *src, hsa_agent_t from,
		 size_t bytes)
{
	hsa_signal_t done = signal_new();

	HSA(hsa_amd_memory_async_copy(dst, to, src, from, bytes, 0, NULL, done));
	signal_wait(done);
	HSA(hsa_signal_destroy(done));
}

static const size_t sizes[] = {
	1, 3, 4, 255, 4095, 4096, 4097, 65537, MIB - 1, MIB, 4 * MIB + 12345,
	64 * MIB,
};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void guards_check(const unsigned char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < GUARD; i++)
		CHECK(p[i] == GUARD_BYTE && p[GUARD + bytes + i] == GUARD_BYTE,
		      "written beside a destination of %zu bytes", bytes);
}

/* Copy from the host to VRAM, and back to another buffer of the host. */
static void there_and_back(struct gpu *g)
{
	size_t i, most = sizes[N_SIZES - 1];
	unsigned char *src = pool_alloc(host, most);
	unsigned char *dst = pool_alloc(host, most + 2 * GUARD);
	unsigned char *vram = pool_alloc(g->vram, most);

	for (i = 0; i < N_SIZES; i++) {
		pattern_fill(src, sizes[i], i + 1);
		memset(dst, GUARD_BYTE, sizes[i] + 2 * GUARD);
		copy(vram, g->agent, src, cpu, sizes[i]);
		memset(src, 0, sizes[i]);
		copy(dst + GUARD, cpu, vram, g->agent, sizes[i]);
		pattern_check(dst + GUARD, sizes[i], i + 1);
		guards_check(dst, sizes[i]);
	}
	HSA(hsa_amd_memory_pool_free(vram));
	HSA(hsa_amd_memory_pool_free(dst));
	HSA(hsa_amd_memory_pool_free(src));
}

/*
 * Copy less than 1 MiB within VRAM. For 1 MiB or more, ROCr uses a shader, and this GPU does not
 * execute shaders.
 */
static void within(struct gpu *g)
{
	unsigned char *a = pool_alloc(g->vram, MIB);
	unsigned char *b = pool_alloc(g->vram, MIB + 2 * GUARD);
	unsigned char *p = pool_alloc(host, MIB + 2 * GUARD);
	size_t i;

	for (i = 0; i < N_SIZES && sizes[i] < MIB; i++) {
		size_t whole = sizes[i] + 2 * GUARD;

		memset(p, GUARD_BYTE, whole);
		copy(b, g->agent, p, cpu, whole);
		pattern_fill(p, sizes[i], 100 + i);
		copy(a, g->agent, p, cpu, sizes[i]);
		copy(b + GUARD, g->agent, a, g->agent, sizes[i]);
		copy(p, cpu, b, g->agent, whole);
		pattern_check(p + GUARD, sizes[i], 100 + i);
		guards_check(p, sizes[i]);
	}
	HSA(hsa_amd_memory_pool_free(p));
	HSA(hsa_amd_memory_pool_free(b));
	HSA(hsa_amd_memory_pool_free(a));
}

/*
 * Submit a copy that depends on the signal go, and a second copy that depends on the first.
 * Neither copy may start before the host decrements go.
 */
static void dependencies(struct gpu *g)
{
	unsigned char *src = pool_alloc(host, MIB), *dst = pool_alloc(host, MIB);
	unsigned char *vram = pool_alloc(g->vram, MIB);
	hsa_signal_t go = signal_new(), in = signal_new(), out = signal_new();

	memset(src, 0, MIB);
	memset(dst, GUARD_BYTE, MIB);
	HSA(hsa_amd_memory_async_copy(vram, g->agent, src, cpu, MIB, 1, &go,
				      in));
	HSA(hsa_amd_memory_async_copy(dst, cpu, vram, g->agent, MIB, 1, &in,
				      out));
	CHECK(hsa_signal_load_scacquire(out) == 1 && dst[0] == GUARD_BYTE,
	      "a copy did not wait");
	pattern_fill(src, MIB, 7);
	hsa_signal_subtract_screlease(go, 1);
	signal_wait(out);
	pattern_check(dst, MIB, 7);
	HSA(hsa_signal_destroy(go));
	HSA(hsa_signal_destroy(in));
	HSA(hsa_signal_destroy(out));
	HSA(hsa_amd_memory_pool_free(vram));
	HSA(hsa_amd_memory_pool_free(dst));
	HSA(hsa_amd_memory_pool_free(src));
}

/*
 * ROCr calls this handler when a copy has completed. @value is the value of the copy's completion
 * signal. Store @value in another signal, to which @arg points.
 */
static bool on_signal(hsa_signal_value_t value, void *arg)
{
	hsa_signal_t *told = arg;

	hsa_signal_store_screlease(*told, value);
	return false;
}

static void handlers(struct gpu *g)
{
	unsigned char *src = pool_alloc(host, MIB);
	unsigned char *vram = pool_alloc(g->vram, MIB);
	hsa_signal_t done = signal_new(), told = signal_new();

	pattern_fill(src, MIB, 9);
	HSA(hsa_amd_signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1,
					 on_signal, &told));
	HSA(hsa_amd_memory_async_copy(vram, g->agent, src, cpu, MIB, 0, NULL,
				      done));
	signal_wait(told);
	HSA(hsa_signal_destroy(done));
	HSA(hsa_signal_destroy(told));
	HSA(hsa_amd_memory_pool_free(vram));
	HSA(hsa_amd_memory_pool_free(src));
}

/*
 * The start and end times of a copy must lie between the times that the host reads before and after
 * the copy, on the same clock.
 */
static void times(struct gpu *g)
{
	const size_t bytes = 16 * MIB;
	unsigned char *src = pool_alloc(host, bytes);
	unsigned char *vram = pool_alloc(g->vram, bytes);
	uint64_t hz, before, after, last = 0;
	int i;

	HSA(hsa_amd_profiling_async_copy_enable(true));
	HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
	CHECK(hz, "the clock has no frequency");
	memset(src, 1, bytes);
	for (i = 0; i < 4; i++) {
		hsa_signal_t done = signal_new();
		hsa_amd_profiling_async_copy_time_t t;

		HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
		HSA(hsa_amd_memory_async_copy(vram, g->agent, src, cpu, bytes,
					      0, NULL, done));
		signal_wait(done);
		HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
		HSA(hsa_amd_profiling_get_async_copy_time(done, &t));
		printf("# %.3f ms of %.3f ms\n", (t.end - t.start) * 1e3 / hz,
		       (after - before) * 1e3 / hz);
		/* Allow a millisecond, because ROCr converts between clocks. */
		CHECK(t.start < t.end && t.start + hz / 1000 >= before &&
		      t.end <= after + hz / 1000 && t.start >= last,
		      "%llu to %llu within %llu to %llu",
		      (unsigned long long)t.start, (unsigned long long)t.end,
		      (unsigned long long)before, (unsigned long long)after);
		last = t.start;
		HSA(hsa_signal_destroy(done));
	}
	HSA(hsa_amd_profiling_async_copy_enable(false));
	HSA(hsa_amd_memory_pool_free(vram));
	HSA(hsa_amd_memory_pool_free(src));
}

/*
 * An allocation larger than VRAM must fail and leak nothing: half of VRAM must still be available
 * afterwards.
 */
static void too_much(struct gpu *g)
{
	unsigned char *p;
	void *q;

	CHECK(hsa_amd_memory_pool_allocate(g->vram, g->vram_bytes + 4096, 0, &q)
	      != HSA_STATUS_SUCCESS, "more than there is");
	p = pool_alloc(g->vram, g->vram_bytes / 2);
	HSA(hsa_amd_memory_pool_free(p));
}

/* Print one throughput as a JSON line like those of bench/guest. */
static void rate(const char *name, const char *way, size_t bytes, double s)
{
	printf("{\"name\": \"%s-%s\", \"bytes\": %zu, \"unit\": \"GB/s\", \"value\": %.4f}\n",
	       name, way, bytes, bytes / s / 1e9);
}

/*
 * Measure copies, and print two lines of JSON for each copy: one by the host's clock, and one by
 * the time stamps of the SDMA engine.
 */
static void bench_copy(const char *way, void *dst, hsa_agent_t to,
		       const void *src, hsa_agent_t from, size_t bytes)
{
	uint64_t hz, before, after;
	int i;

	HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
	for (i = 0; i < 10; i++) {
		hsa_signal_t done = signal_new();
		hsa_amd_profiling_async_copy_time_t t;

		HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
		HSA(hsa_amd_memory_async_copy(dst, to, src, from, bytes, 0,
					      NULL, done));
		signal_wait(done);
		HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
		HSA(hsa_amd_profiling_get_async_copy_time(done, &t));
		HSA(hsa_signal_destroy(done));
		/* Print nothing for the first copy, which misses in every TLB. */
		if (!i)
			continue;
		rate("rocr-copy", way, bytes, (double)(after - before) / hz);
		rate("rocr-engine", way, bytes, (double)(t.end - t.start) / hz);
	}
}

static void bench(struct gpu *g)
{
	const size_t bytes = 64 * MIB;
	unsigned char *mem = pool_alloc(host, bytes);
	unsigned char *vram = pool_alloc(g->vram, bytes);

	memset(mem, 1, bytes);
	HSA(hsa_amd_profiling_async_copy_enable(true));
	bench_copy("in", vram, g->agent, mem, cpu, bytes);
	bench_copy("out", mem, cpu, vram, g->agent, bytes);
	HSA(hsa_amd_profiling_async_copy_enable(false));
	HSA(hsa_amd_memory_pool_free(vram));
	HSA(hsa_amd_memory_pool_free(mem));
}

static hsa_access_permission_t access_to(void *va, struct gpu *g)
{
	hsa_access_permission_t perms;

	HSA(hsa_amd_vmem_get_access(va, &perms, g->agent));
	return perms;
}

static void vmem_map(void *va, size_t bytes, hsa_amd_vmem_alloc_handle_t handle,
		     struct gpu *g)
{
	const hsa_amd_memory_access_desc_t desc = {
		.permissions = HSA_ACCESS_PERMISSION_RW,
		.agent_handle = g->agent,
	};

	HSA(hsa_amd_vmem_map(va, bytes, 0, handle, 0));
	HSA(hsa_amd_vmem_set_access(va, bytes, &desc, 1));
	CHECK(access_to(va, g) == HSA_ACCESS_PERMISSION_RW, "no access to %p",
	      va);
}

/* Catches: an address maps the wrong memory. */
static void virtual_memory(struct gpu *g)
{
	const size_t bytes = 4 * MIB;
	unsigned char *src = pool_alloc(host, 2 * bytes), *va;
	unsigned char *dst = pool_alloc(host, 2 * bytes);
	hsa_amd_vmem_alloc_handle_t piece[2], again;
	bool supported = false;
	void *p;
	int fd, i;

	HSA(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED,
				&supported));
	CHECK(supported, "ROCr does not find KFD new enough");
	HSA(hsa_amd_vmem_address_reserve(&p, 4 * bytes, 0, 0));
	va = p;
	/* Map two pieces of VRAM at adjacent addresses. */
	for (i = 0; i < 2; i++) {
		HSA(hsa_amd_vmem_handle_create(g->vram, bytes, MEMORY_TYPE_NONE,
					       0, &piece[i]));
		vmem_map(va + (size_t)i * bytes, bytes, piece[i], g);
	}
	pattern_fill(src, 2 * bytes, 11);
	copy(va, g->agent, src, cpu, 2 * bytes);
	copy(dst, cpu, va, g->agent, 2 * bytes);
	pattern_check(dst, 2 * bytes, 11);

	/*
	 * Map the second piece at another address. A write through the new mapping must be visible
	 * through the first mapping.
	 */
	vmem_map(va + 2 * bytes, bytes, piece[1], g);
	pattern_fill(src, bytes, 12);
	copy(va + 2 * bytes, g->agent, src, cpu, bytes);
	copy(dst, cpu, va + bytes, g->agent, bytes);
	pattern_check(dst, bytes, 12);

	/* The imported dma-buf must be the memory of the second piece, not a copy. */
	HSA(hsa_amd_vmem_export_shareable_handle(&fd, piece[1], 0));
	HSA(hsa_amd_vmem_import_shareable_handle(fd, &again));
	close(fd);
	vmem_map(va + 3 * bytes, bytes, again, g);
	copy(dst, cpu, va + 3 * bytes, g->agent, bytes);
	pattern_check(dst, bytes, 12);

	/*
	 * Map the second piece at the address of the first piece. The GPU must then read the bytes
	 * of the second piece at this address.
	 */
	HSA(hsa_amd_vmem_unmap(va, bytes));
	HSA(hsa_amd_vmem_handle_release(piece[0]));
	vmem_map(va, bytes, piece[1], g);
	copy(dst, cpu, va, g->agent, 2 * bytes);
	pattern_check(dst, bytes, 12);
	pattern_check(dst + bytes, bytes, 12);

	for (i = 0; i < 4; i++)
		HSA(hsa_amd_vmem_unmap(va + (size_t)i * bytes, bytes));
	HSA(hsa_amd_vmem_handle_release(again));
	HSA(hsa_amd_vmem_handle_release(piece[1]));
	HSA(hsa_amd_vmem_address_free(va, 4 * bytes));
	HSA(hsa_amd_memory_pool_free(dst));
	HSA(hsa_amd_memory_pool_free(src));
}

static void each(void (*fn)(struct gpu *), const char *name)
{
	unsigned int i;

	for (i = 0; i < n_gpus; i++)
		fn(&gpus[i]);
	ok(name);
}

int main(int argc, char **argv)
{
	const char *asked = getenv("HSA_XNACK");
	bool xnack;

	HSA(hsa_init());
	agents();
	if (argc == 2 && !strcmp(argv[1], "bench")) {
		bench(&gpus[0]);
		HSA(hsa_shut_down());
		return 0;
	}
	HSA(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_XNACK_ENABLED, &xnack));
	CHECK(xnack == (asked && *asked == '1'), "XNACK is %s",
	      xnack ? "on" : "off");
	ok(xnack ? "XNACK is on" : "XNACK is off");
	each(there_and_back, "host to VRAM and back");
	each(within, "within VRAM");
	each(dependencies, "copies that wait for signals");
	each(handlers, "a signal's handler");
	each(times, "times of copies");
	each(too_much, "more than there is");
	each(virtual_memory, "virtual memory");
	HSA(hsa_shut_down());
	ok("end");
	return 0;
}
