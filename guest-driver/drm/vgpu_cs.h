/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of CS share: reading a submission, and making a job of it. */
#ifndef VGPU_CS_H
#define VGPU_CS_H

#include <drm/drm_exec.h>
#include <drm/drm_syncobj.h>

#include "vgpu_file.h"

struct dma_fence_chain;

/**
 * struct vgpu_cs_signal - a syncobj that the job's end goes into
 * @syncobj: it
 * @chain: memory for a point of a timeline, or NULL: not one
 * @point: which
 */
struct vgpu_cs_signal {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/**
 * struct vgpu_cs_chunk - a part of a submission, copied from user space
 * @id: AMDGPU_CHUNK_ID_*
 * @bytes: length of @data
 * @data: what user space said
 */
struct vgpu_cs_chunk {
	u32 id;
	size_t bytes;
	void *data;
};

/**
 * struct vgpu_cs - a submission on its way to become a job
 * @vf: whose
 * @file: the same
 * @ctx: context
 * @ring: its ring, NULL until an IB names it
 * @chunks: what user space said
 * @num_chunks: how many
 * @num_ibs: IBs among them
 * @job: the job, or NULL
 * @list: BOs, or NULL
 * @user_fence: BO that the job's number is written into, or NULL
 * @user_fence_at: offset in it
 * @user_fence_mc: where that is for VMID 0, once it is placed
 * @signals: syncobjs to signal, or NULL
 * @num_signals: how many
 * @exec: reservations
 */
struct vgpu_cs {
	struct vgpu_file *vf;
	struct drm_file *file;
	struct vgpu_ctx *ctx;
	struct vgpu_ctx_ring *ring;
	struct vgpu_cs_chunk *chunks;
	u32 num_chunks;
	u32 num_ibs;
	struct vgpu_job *job;
	struct vgpu_bo_list *list;
	struct vgpu_bo *user_fence;
	u32 user_fence_at;
	u64 user_fence_mc;
	struct vgpu_cs_signal *signals;
	u32 num_signals;
	struct drm_exec exec;
};

/* vgpu_cs_parse.c */
int vgpu_cs_parse(struct vgpu_cs *cs, const struct drm_amdgpu_cs_in *in);
void vgpu_cs_free(struct vgpu_cs *cs);

#endif /* VGPU_CS_H */
