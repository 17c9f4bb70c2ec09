// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's BO_LIST: a list of BOs to which many jobs may refer by the handle of the
 * list. A CS submission may contain its own list instead; vgpu_bo_list_read() reads both
 * kinds.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>

#include "mm/vgpu_bo.h"
#include "vgpu_file.h"

#define BO_LIST_MAX	(128 * 1024)

static void bo_list_free(struct kref *ref)
{
	struct vgpu_bo_list *list = container_of(ref, struct vgpu_bo_list, ref);
	u32 i;

	for (i = 0; i < list->n; i++)
		if (list->bo[i])
			vgpu_bo_put(list->bo[i]);
	kvfree(list);
}

/**
 * vgpu_bo_list_put() - drop a reference; the last drop also drops the references to the BOs
 * @list: list, or NULL
 */
void vgpu_bo_list_put(struct vgpu_bo_list *list)
{
	if (list)
		kref_put(&list->ref, bo_list_free);
}

/*
 * Copy entry @i of user space's array to @entry. User space chooses the size of an entry
 * (bo_info_size), which may differ from sizeof(*entry).
 */
static int bo_list_read_entry(const struct drm_amdgpu_bo_list_in *in, u32 i,
			      struct drm_amdgpu_bo_list_entry *entry)
{
	u64 at = in->bo_info_ptr + (u64)i * in->bo_info_size;
	size_t size = min_t(size_t, in->bo_info_size, sizeof(*entry));

	memset(entry, 0, sizeof(*entry));
	return copy_from_user(entry, u64_to_user_ptr(at), size) ? -EFAULT : 0;
}

/**
 * vgpu_bo_list_read() - create a list from user space's array of handles
 * @file: file of the handles
 * @in: description of the array; priorities are not used
 *
 * Return: a reference to the list, or ERR_PTR(): -EINVAL for too many BOs, -ENOENT for an
 * unknown handle, -EFAULT, -ENOMEM.
 */
struct vgpu_bo_list *vgpu_bo_list_read(struct drm_file *file,
				       const struct drm_amdgpu_bo_list_in *in)
{
	struct drm_amdgpu_bo_list_entry entry;
	struct vgpu_bo_list *list;
	u32 i;
	int ret;

	if (in->bo_number > BO_LIST_MAX)
		return ERR_PTR(-EINVAL);
	list = kvzalloc(struct_size(list, bo, in->bo_number), GFP_KERNEL);
	if (!list)
		return ERR_PTR(-ENOMEM);
	kref_init(&list->ref);
	list->n = in->bo_number;
	for (i = 0; i < list->n; i++) {
		struct drm_gem_object *gem;

		ret = bo_list_read_entry(in, i, &entry);
		if (ret)
			goto err;
		gem = drm_gem_object_lookup(file, entry.bo_handle);
		if (!gem) {
			ret = -ENOENT;
			goto err;
		}
		list->bo[i] = gem_to_vgpu_bo(gem);
	}
	return list;

err:
	vgpu_bo_list_put(list);
	return ERR_PTR(ret);
}

/**
 * vgpu_bo_list_get() - look up a list
 * @vf: file
 * @handle: handle of the list
 *
 * Return: a reference to the list, or NULL if the handle is unknown.
 */
struct vgpu_bo_list *vgpu_bo_list_get(struct vgpu_file *vf, u32 handle)
{
	struct vgpu_bo_list *list;

	mutex_lock(&vf->lock);
	list = idr_find(&vf->lists, handle);
	if (list)
		kref_get(&list->ref);
	mutex_unlock(&vf->lock);
	return list;
}

/**
 * vgpu_bo_list_free_all() - drop the lists of a file
 * @vf: file that is being closed
 */
void vgpu_bo_list_free_all(struct vgpu_file *vf)
{
	struct vgpu_bo_list *list;
	u32 handle;

	idr_for_each_entry(&vf->lists, list, handle) {
		idr_remove(&vf->lists, handle);
		vgpu_bo_list_put(list);
	}
}

/*
 * Replace the list of *@handle by @list. If *@handle is 0, create a handle. Takes over the
 * caller's reference on @list, even on an error.
 */
static int bo_list_install(struct vgpu_file *vf, struct vgpu_bo_list *list,
			   u32 *handle)
{
	struct vgpu_bo_list *old = NULL;
	int ret;

	mutex_lock(&vf->lock);
	if (*handle) {
		old = idr_replace(&vf->lists, list, *handle);
		ret = PTR_ERR_OR_ZERO(old);
	} else {
		ret = idr_alloc(&vf->lists, list, 1, 0, GFP_KERNEL);
		if (ret > 0) {
			*handle = ret;
			ret = 0;
		}
	}
	mutex_unlock(&vf->lock);
	vgpu_bo_list_put(ret ? list : old);
	return ret;
}

/**
 * vgpu_bo_list_ioctl() - DRM_AMDGPU_BO_LIST
 * @drm: DRM device
 * @data: union drm_amdgpu_bo_list
 * @file: file that has the handles of the BOs and of the lists
 *
 * DESTROY of an unknown list is no error.
 *
 * Return:
 * * 0
 * * -EINVAL: unknown operation, or too many BOs
 * * -ENOENT: unknown BO; or UPDATE of an unknown list
 * * -EFAULT, -ENOMEM
 */
int vgpu_bo_list_ioctl(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	union drm_amdgpu_bo_list *args = data;
	u32 op = args->in.operation, handle = args->in.list_handle;
	struct vgpu_bo_list *list;
	int ret;

	switch (op) {
	case AMDGPU_BO_LIST_OP_CREATE:
	case AMDGPU_BO_LIST_OP_UPDATE:
		if (op == AMDGPU_BO_LIST_OP_CREATE)
			handle = 0;
		else if (!handle)
			return -ENOENT;
		list = vgpu_bo_list_read(file, &args->in);
		if (IS_ERR(list))
			return PTR_ERR(list);
		ret = bo_list_install(vf, list, &handle);
		if (ret)
			return ret;
		break;
	case AMDGPU_BO_LIST_OP_DESTROY:
		mutex_lock(&vf->lock);
		list = idr_remove(&vf->lists, handle);
		mutex_unlock(&vf->lock);
		vgpu_bo_list_put(list);
		handle = 0;
		break;
	default:
		return -EINVAL;
	}
	memset(args, 0, sizeof(*args));
	args->out.list_handle = handle;
	return 0;
}
