/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures that the files of the CS ioctl share. These files parse a submission and make a
 * job of it.
 */
#ifndef VGPU_CS_H
#define VGPU_CS_H

#include <drm/drm_exec.h>
#include <drm/drm_syncobj.h>

#include "vgpu_file.h"

struct dma_fence_chain;

/**
 * struct vgpu_cs_signal - a syncobj that receives the job's finished fence
 * @syncobj: syncobj, referenced
 * @chain: memory for a point of a timeline, or NULL for a binary syncobj
 * @point: point of the timeline
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
 * @data: contents
 */
struct vgpu_cs_chunk {
	u32 id;
	size_t bytes;
	void *data;
};

/**
 * struct vgpu_cs - state of a CS ioctl
 */
struct vgpu_cs {
	/** @vf: file */
	struct vgpu_file *vf;
	/** @file: DRM core's structure for the same open file as @vf */
	struct drm_file *file;
	/** @ctx: context */
	struct vgpu_ctx *ctx;
	/** @ring: ring of the context, NULL until an IB names it */
	struct vgpu_ctx_ring *ring;
	/** @chunks: chunks, copied from user space */
	struct vgpu_cs_chunk *chunks;
	/** @num_chunks: length of @chunks; 0 until @chunks is allocated */
	u32 num_chunks;
	/** @num_ibs: number of @chunks that are IBs, at most VGPU_MAX_IBS */
	u32 num_ibs;
	/** @job: the job; NULL before it is created and after it is pushed */
	struct vgpu_job *job;
	/** @list: BOs of the job, or NULL */
	struct vgpu_bo_list *list;
	/** @user_fence: BO that receives the job's number, or NULL */
	struct vgpu_bo *user_fence;
	/** @user_fence_at: byte offset of the job's number in @user_fence */
	u32 user_fence_at;
	/** @user_fence_mc: address of the job's number in VMID 0; valid once the BO is placed */
	u64 user_fence_mc;
	/** @signals: syncobjs to signal, or NULL */
	struct vgpu_cs_signal *signals;
	/** @num_signals: number of entries in @signals that hold a reference to a syncobj */
	u32 num_signals;
	/** @exec: reservations of the BOs and of vgpu_file.root */
	struct drm_exec exec;
};

/* vgpu_cs_parse.c */
int vgpu_cs_parse(struct vgpu_cs *cs, const struct drm_amdgpu_cs_in *in);
void vgpu_cs_free(struct vgpu_cs *cs);

#endif /* VGPU_CS_H */
