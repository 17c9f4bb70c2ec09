// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's WAIT_CS, WAIT_FENCES and FENCE_TO_HANDLE, which wait for or export the
 * finished fence of a job. User space names the job by context, ring and number.
 */
#include <linux/file.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/sync_file.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_syncobj.h>
#include <kunit/visibility.h>

#include "vgpu_file.h"

/* Limit of the fences in a wait; it bounds the memory that the wait allocates. */
#define WAIT_MAX_FENCES	SZ_64K

/*
 * Return a reference to the job's fence; NULL if the job is done and the context has dropped
 * the fence; or ERR_PTR().
 */
static struct dma_fence *wait_find(struct vgpu_file *vf,
				   const struct drm_amdgpu_fence *user)
{
	struct vgpu_ctx_ring *ring;
	struct dma_fence *fence;
	struct vgpu_ctx *ctx;
	int ret;

	ctx = vgpu_ctx_get(vf, user->ctx_id);
	if (!ctx)
		return ERR_PTR(-EINVAL);
	ret = vgpu_ctx_ring(ctx, user->ip_type, user->ip_instance, user->ring,
			    &ring);
	fence = ret ? ERR_PTR(ret) : vgpu_ctx_fence(ctx, ring, user->seq_no);
	vgpu_ctx_put(ctx);
	return fence;
}

/*
 * Wait for @fence; NULL counts as signalled. Returns a positive number if the fence has
 * signalled, 0 after the deadline, or an error.
 */
static long wait_one(struct dma_fence *fence, u64 deadline)
{
	long left;

	if (!fence)
		return 1;
	do {
		left = dma_fence_wait_timeout(fence, true,
					      vgpu_gem_timeout(deadline));
	} while (!left && vgpu_gem_timeout(deadline));
	if (left > 0 && fence->error)
		return fence->error;
	return left;
}

/**
 * vgpu_wait_cs_ioctl() - DRM_AMDGPU_WAIT_CS
 * @drm: DRM device
 * @data: union drm_amdgpu_wait_cs
 * @file: file of the context
 *
 * Sets the status to 1 if the deadline passes before the job is done, otherwise to 0.
 *
 * Return: 0; -EINVAL for an unknown context, ring or job number; the job's error;
 * -ERESTARTSYS.
 */
int vgpu_wait_cs_ioctl(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	union drm_amdgpu_wait_cs *args = data;
	const struct drm_amdgpu_fence user = {
		.ctx_id = args->in.ctx_id,
		.ip_type = args->in.ip_type,
		.ip_instance = args->in.ip_instance,
		.ring = args->in.ring,
		.seq_no = args->in.handle,
	};
	u64 deadline = args->in.timeout;
	struct dma_fence *fence;
	long left;

	fence = wait_find(to_vgpu_file(file), &user);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	left = wait_one(fence, deadline);
	dma_fence_put(fence);
	if (left < 0)
		return left;
	memset(args, 0, sizeof(*args));
	args->out.status = !left;
	return 0;
}

static int wait_all(struct vgpu_file *vf, const struct drm_amdgpu_fence *users,
		    u32 n, union drm_amdgpu_wait_fences *args)
{
	u64 deadline = args->in.timeout_ns;
	long left = 1;
	u32 i;

	for (i = 0; left && i < n; i++) {
		struct dma_fence *fence = wait_find(vf, &users[i]);

		if (IS_ERR(fence))
			return PTR_ERR(fence);
		left = wait_one(fence, deadline);
		dma_fence_put(fence);
		if (left < 0)
			return left;
	}
	memset(args, 0, sizeof(*args));
	args->out.status = left > 0;
	return 0;
}

static int wait_by_fence(const void *a, const void *b, const void *priv)
{
	struct dma_fence * const *fences = priv;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	if (fences[x] != fences[y])
		return fences[x] < fences[y] ? -1 : 1;
	return x < y ? -1 : 1;
}

/**
 * vgpu_wait_unique() - remove duplicate fences, and keep the order
 * @fences: fences; references on removed fences are dropped
 * @index: receives the old index of each remaining fence
 * @n: length of @fences and @index
 *
 * Return: the remaining number.
 */
u32 vgpu_wait_unique(struct dma_fence **fences, u32 *index, u32 n)
{
	u32 i, left = 0;

	for (i = 0; i < n; i++)
		index[i] = i;
	sort_r(index, n, sizeof(*index), wait_by_fence, NULL, fences);
	for (i = n; i-- > 1;) {
		if (fences[index[i]] != fences[index[i - 1]])
			continue;
		dma_fence_put(fences[index[i]]);
		fences[index[i]] = NULL;
	}
	for (i = 0; i < n; i++) {
		if (!fences[i])
			continue;
		index[left] = i;
		fences[left++] = fences[i];
	}
	return left;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_wait_unique);

/*
 * Look up the fences of @n jobs, up to the first job that is done. Return the number of fences, or
 * an error.
 */
static int wait_find_all(struct vgpu_file *vf,
			 const struct drm_amdgpu_fence *users, u32 n,
			 struct dma_fence **fences)
{
	u32 found;

	for (found = 0; found < n; found++) {
		struct dma_fence *fence = wait_find(vf, &users[found]);

		/* A job without a fence is done, so wait_any() need not wait. */
		if (!fence)
			break;
		if (IS_ERR(fence)) {
			while (found)
				dma_fence_put(fences[--found]);
			return PTR_ERR(fence);
		}
		fences[found] = fence;
	}
	return found;
}

/*
 * Wait for any of @n fences, and set *@first to the index of the fence that signalled. Returns a
 * positive number, 0 after the deadline, or -ERESTARTSYS.
 */
static long wait_first(struct dma_fence **fences, u32 n, u64 deadline,
		       u32 *first)
{
	long left;

	do {
		left = dma_fence_wait_any_timeout(fences, n, true,
						  vgpu_gem_timeout(deadline),
						  first);
	} while (!left && vgpu_gem_timeout(deadline));
	return left;
}

static int wait_any(struct vgpu_file *vf, const struct drm_amdgpu_fence *users,
		    u32 n, union drm_amdgpu_wait_fences *args)
{
	u64 deadline = args->in.timeout_ns;
	struct dma_fence **fences;
	u32 first = U32_MAX, *index;
	int found = -ENOMEM, error = 0;
	long left = 1;

	fences = kvcalloc(n, sizeof(*fences), GFP_KERNEL);
	index = kvcalloc(n, sizeof(*index), GFP_KERNEL);
	if (fences && index)
		found = wait_find_all(vf, users, n, fences);
	if (found < 0) {
		left = found;
	} else if (found < n) {
		/* wait_find_all() has found that users[found] is done: do not wait. */
		first = found;
	} else {
		/*
		 * A wait adds a callback for each element, and one interrupt runs all callbacks
		 * of a fence. So duplicates would make this interrupt long.
		 */
		found = vgpu_wait_unique(fences, index, n);
		left = wait_first(fences, found, deadline, &first);
		if (left > 0 && first < found) {
			error = fences[first]->error;
			first = index[first];
		}
	}
	while (found > 0)
		dma_fence_put(fences[--found]);
	kvfree(index);
	kvfree(fences);
	if (left < 0)
		return left;
	memset(args, 0, sizeof(*args));
	args->out.status = left > 0;
	args->out.first_signaled = first;
	return error;	/* DRM copies args->out to user space even after an error */
}

/**
 * vgpu_wait_fences_ioctl() - DRM_AMDGPU_WAIT_FENCES
 * @drm: DRM device
 * @data: union drm_amdgpu_wait_fences
 * @file: file of the contexts
 *
 * Sets the status to 0 after the deadline, otherwise to 1.
 *
 * Return:
 * * 0
 * * -EINVAL: unknown context, ring or job number; too many fences; or no fence and wait_all is 0
 * * -EFAULT, -ENOMEM, -ERESTARTSYS
 * * the error of a job
 */
int vgpu_wait_fences_ioctl(struct drm_device *drm, void *data,
			   struct drm_file *file)
{
	union drm_amdgpu_wait_fences *args = data;
	struct vgpu_file *vf = to_vgpu_file(file);
	u32 n = args->in.fence_count;
	struct drm_amdgpu_fence *users;
	int ret;

	if (n > WAIT_MAX_FENCES || (!n && !args->in.wait_all))
		return -EINVAL;
	users = vmemdup_array_user(u64_to_user_ptr(args->in.fences), n,
				   sizeof(*users));
	if (IS_ERR(users))
		return PTR_ERR(users);
	ret = args->in.wait_all ? wait_all(vf, users, n, args) :
				  wait_any(vf, users, n, args);
	kvfree(users);
	return ret;
}

static int fence_to_sync_file(struct dma_fence *fence, u32 *out)
{
	struct sync_file *sync;
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	sync = sync_file_create(fence);
	if (!sync) {
		put_unused_fd(fd);
		return -ENOMEM;
	}
	fd_install(fd, sync->file);
	*out = fd;
	return 0;
}

static int fence_to_syncobj(struct drm_file *file, struct dma_fence *fence,
			    bool as_fd, u32 *out)
{
	struct drm_syncobj *syncobj;
	int fd, ret;

	ret = drm_syncobj_create(&syncobj, 0, fence);
	if (ret)
		return ret;
	if (as_fd) {
		ret = drm_syncobj_get_fd(syncobj, &fd);
		if (!ret)
			*out = fd;
	} else {
		ret = drm_syncobj_get_handle(file, syncobj, out);
	}
	drm_syncobj_put(syncobj);
	return ret;
}

/**
 * vgpu_fence_to_handle_ioctl() - DRM_AMDGPU_FENCE_TO_HANDLE
 * @drm: DRM device
 * @data: union drm_amdgpu_fence_to_handle
 * @file: file of the context
 *
 * Return:
 * * 0
 * * -EINVAL: unknown context, ring, job number or kind of handle
 * * -EMFILE, -ENOMEM
 * * the error of the ring's last job, even if @data names an earlier job (see vgpu_ctx_ring())
 */
int vgpu_fence_to_handle_ioctl(struct drm_device *drm, void *data,
			       struct drm_file *file)
{
	union drm_amdgpu_fence_to_handle *args = data;
	u32 what = args->in.what, handle = 0;
	struct dma_fence *fence;
	int ret;

	fence = wait_find(to_vgpu_file(file), &args->in.fence);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	if (!fence)
		fence = dma_fence_get_stub();

	switch (what) {
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ:
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD:
		ret = fence_to_syncobj(file, fence,
				       what == AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD,
				       &handle);
		break;
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD:
		ret = fence_to_sync_file(fence, &handle);
		break;
	default:
		ret = -EINVAL;
	}
	dma_fence_put(fence);
	if (!ret) {
		memset(args, 0, sizeof(*args));
		args->out.handle = handle;
	}
	return ret;
}
