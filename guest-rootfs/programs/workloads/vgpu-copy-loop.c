// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vgpu-copy-loop: keeps an engine busy until standard input ends, and checks every byte. The
 * program is for tests that disturb a guest from outside: migration, savevm, injected faults.
 */
#include <errno.h>
#include <stdio.h>

#include "vg.h"

#define CHUNK	(16 * VG_MIB)
#define HOPS	62	/* number of copies between the two buffers in VRAM */
#define FAULTED	(2 * VG_MIB)

struct loop {
	struct vg vg;
	struct vg_queue queue;
	struct vg_bo in, out, vram[2];
};

static int open_all(struct loop *l)
{
	struct vg_gpu *gpu = &l->vg.gpu[0];
	int ret;

	ret = vg_open_xnack(&l->vg);
	if (!ret)
		ret = vg_queue_create(&l->vg, gpu, 64 * VG_KIB, &l->queue);
	if (!ret)
		ret = vg_bo_create(&l->vg, gpu, CHUNK, VG_GTT, &l->in);
	if (!ret)
		ret = vg_bo_create(&l->vg, gpu, CHUNK, VG_GTT, &l->out);
	if (!ret)
		ret = vg_bo_create(&l->vg, gpu, CHUNK, VG_VRAM, &l->vram[0]);
	if (!ret)
		ret = vg_bo_create(&l->vg, gpu, CHUNK, VG_VRAM, &l->vram[1]);
	return ret;
}

/*
 * Copy a pattern, which depends on @round, from GTT to VRAM, between two buffers in VRAM and back
 * to GTT. The copies transfer 1 GiB in total.
 */
static int through_vram(struct loop *l, uint64_t round)
{
	int i, ret;

	vg_pattern_fill(l->in.cpu, CHUNK, round, 0);
	vg_pattern_fill(l->out.cpu, CHUNK, ~round, 0);
	ret = vg_emit_copy(&l->queue, l->vram[0].va, l->in.va, CHUNK);
	for (i = 0; !ret && i < HOPS; i++)
		ret = vg_emit_copy(&l->queue, l->vram[~i & 1].va,
				   l->vram[i & 1].va, CHUNK);
	if (!ret)
		ret = vg_emit_copy(&l->queue, l->out.va, l->vram[i & 1].va,
				   CHUNK);
	if (!ret)
		ret = vg_queue_finish(&l->queue, VG_TIMEOUT_MS);
	return ret ? ret : vg_pattern_check(l->out.cpu, CHUNK, round, 0);
}

/* Copy anonymous memory, which raises retry faults. */
static int through_faults(struct loop *l, uint64_t round)
{
	void *src = vg_map_anon(FAULTED), *dst = vg_map_anon(FAULTED);
	int ret;

	if (!src || !dst)
		return vg_fail(-ENOMEM, "mmap");
	vg_pattern_fill(src, FAULTED, round, 0);
	ret = vg_copy(&l->queue, dst, src, FAULTED);
	if (!ret)
		ret = vg_pattern_check(dst, FAULTED, round, 0);
	vg_unmap_anon(src, FAULTED);
	vg_unmap_anon(dst, FAULTED);
	return ret;
}

static int both(void *arg, uint64_t round)
{
	int ret = through_vram(arg, round);

	return ret ? ret : through_faults(arg, round);
}

int main(void)
{
	static struct loop l;
	int ret = open_all(&l);

	if (!ret)
		ret = vg_rounds(both, &l);
	if (ret < 0)
		fprintf(stderr, "vgpu-copy-loop: %s\n", vg_error());
	return ret < 0;
}
