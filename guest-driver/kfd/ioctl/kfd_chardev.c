// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kfd: open, mmap and the dispatch of ioctls.
 *
 * An open file refers to the mm of the process that opened it, not to the kfd_process: each call
 * looks the kfd_process up (see kfd_process_life.c).
 */
#include <linux/compat.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd/core/kfd_core.h"
#include "kfd/criu/kfd_criu.h"
#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/memory/kfd_memory.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_ioctl.h"

#define KFD_NAME	"kfd"

struct device *kfd_device;
static int kfd_major;

static int kfd_open(struct inode *inode, struct file *filp)
{
	int ret;

	if (iminor(inode))
		return -ENODEV;
	if (in_compat_syscall())
		return -EPERM;	/* no 32-bit callers, because the structures have 64-bit pointers */
	if (!current->mm)
		return -EINVAL;
	ret = kfd_process_open(current, current->mm);
	if (ret)
		return ret;
	/*
	 * Take a reference to the mm_struct, so that its address is not reused for another mm.
	 * mmgrab() does not keep the process's memory allocated.
	 */
	mmgrab(current->mm);
	filp->private_data = current->mm;
	kfd_mmap_adopt(filp);
	return 0;
}

static int kfd_release(struct inode *inode, struct file *filp)
{
	mmdrop(filp->private_data);
	return 0;
}

/* Called when a process closes its descriptor of the file, or exits. */
static int kfd_flush(struct file *filp, fl_owner_t owner)
{
	/* If the exiting process has paused another one for a checkpoint, let that one run. */
	if (current->flags & PF_EXITING)
		kfd_criu_owner_ends(filp->private_data, owner);
	return 0;
}

/*
 * Return the process that opened the file, with a reference taken. The current thread must belong
 * to this process or, if @traced, be its tracer (otherwise -EBADF).
 */
static struct kfd_process *kfd_file_process(struct file *filp, bool traced)
{
	struct kfd_process *p;

	if (filp->private_data != current->mm && !traced)
		return ERR_PTR(-EBADF);
	p = kfd_lookup_process_by_mm(filp->private_data);
	/*
	 * The lookup fails if the process was detached from KFD:
	 * - -ENODEV: the current process; one of its GPUs was removed
	 * - -EBADF: a traced process; one of its GPUs was removed, or the process has ended
	 */
	if (!p)
		return ERR_PTR(filp->private_data == current->mm ? -ENODEV :
								   -EBADF);
	if (p->lead_thread != current->group_leader &&
	    !(traced && kfd_dbg_traces(p->lead_thread))) {
		kfd_unref_process(p);
		return ERR_PTR(-EBADF);
	}
	return p;
}

static int kfd_ioctl_svm_check(const void *data, unsigned int usize)
{
	const struct kfd_ioctl_svm_args *args = data;

	return usize < struct_size(args, attrs, args->nattr) ? -EINVAL : 0;
}

/**
 * struct kfd_ioctl_desc - an ioctl; in an unused element of kfd_ioctls, all members are 0
 */
struct kfd_ioctl_desc {
	/**
	 * @cmd: AMDKFD_IOC_*, including the direction and this kernel's size of the argument. User
	 * space may pass another size
	 */
	unsigned int cmd;
	/** @fn: handler, or NULL if the ioctl is not implemented */
	kfd_ioctl_fn fn;
	/**
	 * @check: checks arguments of variable size, or NULL. The parameter @usize is the number of
	 * bytes that user space passed
	 */
	int (*check)(const void *data, unsigned int usize);
	/**
	 * @absent: result if @fn is NULL: amdkfd's error for a GPU without the feature. 0 stands
	 * for -ENOTTY
	 */
	int absent;
};

#define KFD_IOCTL(_name, _fn) \
	[_IOC_NR(AMDKFD_IOC_##_name)] = { .cmd = AMDKFD_IOC_##_name, .fn = _fn }
#define KFD_ABSENT(_name, _err) \
	[_IOC_NR(AMDKFD_IOC_##_name)] = { .cmd = AMDKFD_IOC_##_name, .absent = _err }

static const struct kfd_ioctl_desc kfd_ioctls[] = {
	KFD_IOCTL(GET_VERSION, kfd_ioctl_get_version),
	KFD_IOCTL(CREATE_QUEUE, kfd_ioctl_create_queue),
	KFD_IOCTL(DESTROY_QUEUE, kfd_ioctl_destroy_queue),
	KFD_IOCTL(SET_MEMORY_POLICY, kfd_ioctl_set_memory_policy),
	KFD_IOCTL(GET_CLOCK_COUNTERS, kfd_ioctl_get_clock_counters),
	KFD_IOCTL(GET_PROCESS_APERTURES, kfd_ioctl_get_process_apertures),
	KFD_IOCTL(UPDATE_QUEUE, kfd_ioctl_update_queue),
	KFD_IOCTL(CREATE_EVENT, kfd_ioctl_create_event),
	KFD_IOCTL(DESTROY_EVENT, kfd_ioctl_destroy_event),
	KFD_IOCTL(SET_EVENT, kfd_ioctl_set_event),
	KFD_IOCTL(RESET_EVENT, kfd_ioctl_reset_event),
	KFD_IOCTL(WAIT_EVENTS, kfd_ioctl_wait_events),
	KFD_ABSENT(DBG_REGISTER_DEPRECATED, -EPERM),
	KFD_ABSENT(DBG_UNREGISTER_DEPRECATED, -EPERM),
	KFD_ABSENT(DBG_ADDRESS_WATCH_DEPRECATED, -EPERM),
	KFD_ABSENT(DBG_WAVE_CONTROL_DEPRECATED, -EPERM),
	KFD_IOCTL(SET_SCRATCH_BACKING_VA, kfd_ioctl_set_scratch_backing_va),
	KFD_IOCTL(GET_TILE_CONFIG, kfd_ioctl_get_tile_config),
	KFD_IOCTL(SET_TRAP_HANDLER, kfd_ioctl_set_trap_handler),
	KFD_IOCTL(GET_PROCESS_APERTURES_NEW,
		  kfd_ioctl_get_process_apertures_new),
	KFD_IOCTL(ACQUIRE_VM, kfd_ioctl_acquire_vm),
	KFD_IOCTL(ALLOC_MEMORY_OF_GPU, kfd_ioctl_alloc_memory_of_gpu),
	KFD_IOCTL(FREE_MEMORY_OF_GPU, kfd_ioctl_free_memory_of_gpu),
	KFD_IOCTL(MAP_MEMORY_TO_GPU, kfd_ioctl_map_memory_to_gpu),
	KFD_IOCTL(UNMAP_MEMORY_FROM_GPU, kfd_ioctl_unmap_memory_from_gpu),
	KFD_IOCTL(SET_CU_MASK, kfd_ioctl_set_cu_mask),
	KFD_IOCTL(GET_QUEUE_WAVE_STATE, kfd_ioctl_get_queue_wave_state),
	KFD_IOCTL(GET_DMABUF_INFO, kfd_ioctl_get_dmabuf_info),
	KFD_IOCTL(IMPORT_DMABUF, kfd_ioctl_import_dmabuf),
	KFD_IOCTL(ALLOC_QUEUE_GWS, kfd_ioctl_alloc_queue_gws),
	KFD_IOCTL(SMI_EVENTS, kfd_ioctl_smi_events),
	[_IOC_NR(AMDKFD_IOC_SVM)] = {
		.cmd = AMDKFD_IOC_SVM,
		.fn = kfd_ioctl_svm,
		.check = kfd_ioctl_svm_check,
	},
	KFD_IOCTL(SET_XNACK_MODE, kfd_ioctl_set_xnack_mode),
	KFD_IOCTL(CRIU_OP, kfd_ioctl_criu),
	KFD_IOCTL(AVAILABLE_MEMORY, kfd_ioctl_get_available_memory),
	KFD_IOCTL(EXPORT_DMABUF, kfd_ioctl_export_dmabuf),
	KFD_IOCTL(RUNTIME_ENABLE, kfd_ioctl_runtime_enable),
	KFD_IOCTL(DBG_TRAP, kfd_ioctl_dbg_trap),
};

/*
 * Copy the argument in, run the handler, copy the argument out. User space may pass a shorter
 * structure (the missing bytes are zero) or a longer one.
 */
static int kfd_ioctl_run(const struct kfd_ioctl_desc *desc,
			 struct kfd_process *p, void __user *arg,
			 unsigned int usize, void *data, unsigned int ksize)
{
	int ret;

	memset(data, 0, ksize);
	if ((desc->cmd & IOC_IN) && copy_from_user(data, arg, usize))
		return -EFAULT;
	if (desc->check) {
		ret = desc->check(data, usize);
		if (ret)
			return ret;
	}
	ret = desc->fn(p, data);
	/* Also after an error: a MAP_MEMORY_TO_GPU that fails returns its progress in @data. */
	if ((desc->cmd & IOC_OUT) && copy_to_user(arg, data, usize))
		return -EFAULT;
	return ret;
}

static int kfd_ioctl_do(const struct kfd_ioctl_desc *desc,
			struct kfd_process *p, unsigned int usize,
			void __user *arg)
{
	unsigned int ksize = max_t(unsigned int, usize, _IOC_SIZE(desc->cmd));
	u64 small[16];
	void *large;
	int ret;

	if (!desc->fn)
		return desc->absent ?: -ENOTTY;
	if (ksize <= sizeof(small))
		return kfd_ioctl_run(desc, p, arg, usize, small, ksize);
	large = kmalloc(ksize, GFP_KERNEL);
	if (!large)
		return -ENOMEM;
	ret = kfd_ioctl_run(desc, p, arg, usize, large, ksize);
	kfree(large);
	return ret;
}

/*
 * PC sampling ioctl of AMD's out-of-tree driver. From KFD 1.16 on, the thunk calls it, and accepts
 * only -EOPNOTSUPP from a GPU without PC sampling.
 */
#define KFD_NR_PC_SAMPLE	0x85

static long kfd_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	unsigned int nr = _IOC_NR(cmd);
	struct kfd_process *p;
	int ret;

	if (_IOC_TYPE(cmd) == AMDKFD_IOCTL_BASE && nr == KFD_NR_PC_SAMPLE)
		return -EOPNOTSUPP;
	/* Compare the number only: the size depends on the version of user space's headers. */
	if (_IOC_TYPE(cmd) != AMDKFD_IOCTL_BASE || nr < AMDKFD_COMMAND_START ||
	    nr >= ARRAY_SIZE(kfd_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(kfd_ioctls));
	p = kfd_file_process(filp, nr == _IOC_NR(AMDKFD_IOC_CRIU_OP));
	if (IS_ERR(p))
		return PTR_ERR(p);
	ret = kfd_ioctl_do(&kfd_ioctls[nr], p, _IOC_SIZE(cmd),
			   (void __user *)arg);
	kfd_unref_process(p);
	return ret;
}

/* The caller holds mmap_lock, so the function must not take kfd_process.mutex. */
static int kfd_mmap(struct file *filp, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct kfd_process_device *pdd;
	struct kfd_process *p;
	int ret;

	p = kfd_file_process(filp, false);
	if (IS_ERR(p))
		return PTR_ERR(p);
	pdd = kfd_process_device_by_node_id(p, KFD_MMAP_GET_GPU_ID(offset));

	switch (offset & KFD_MMAP_TYPE_MASK) {
	case KFD_MMAP_TYPE_DOORBELL:
		ret = pdd ? kfd_doorbell_mmap(pdd, vma) : -ENODEV;
		break;
	case KFD_MMAP_TYPE_EVENTS:
		ret = kfd_events_mmap(p, vma);
		break;
	case KFD_MMAP_TYPE_MMIO:
		ret = pdd ? kfd_mmio_mmap(pdd, vma) : -ENODEV;
		break;
	case KFD_MMAP_TYPE_RESERVED_MEM:
	default:
		/* -EINVAL: the GPU has nothing of this type to map. */
		ret = pdd ? -EINVAL : -ENODEV;
		break;
	}
	kfd_unref_process(p);
	return ret;
}

static const struct file_operations kfd_fops = {
	.owner = THIS_MODULE,
	.open = kfd_open,
	.flush = kfd_flush,
	.release = kfd_release,
	.unlocked_ioctl = kfd_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = kfd_mmap,
};

static char *kfd_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static const struct class kfd_class = {
	.name = KFD_NAME,
	.devnode = kfd_devnode,
};

int kfd_chardev_init(void)
{
	int ret;

	ret = kfd_mmap_init();
	if (ret)
		return ret;
	kfd_major = register_chrdev(0, KFD_NAME, &kfd_fops);
	if (kfd_major < 0) {
		ret = kfd_major;
		goto err_mappings;
	}
	ret = class_register(&kfd_class);
	if (ret)
		goto err_chrdev;
	kfd_device = device_create(&kfd_class, NULL, MKDEV(kfd_major, 0), NULL,
				   KFD_NAME);
	if (IS_ERR(kfd_device)) {
		ret = PTR_ERR(kfd_device);
		goto err_class;
	}
	return 0;

err_class:
	class_unregister(&kfd_class);
err_chrdev:
	unregister_chrdev(kfd_major, KFD_NAME);
err_mappings:
	kfd_mmap_exit();
	return ret;
}

void kfd_chardev_exit(void)
{
	device_destroy(&kfd_class, MKDEV(kfd_major, 0));
	class_unregister(&kfd_class);
	unregister_chrdev(kfd_major, KFD_NAME);
	kfd_mmap_exit();
}
