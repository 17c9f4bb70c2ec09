// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the files from which user space reads SMI events (AMDKFD_IOC_SMI_EVENTS), one line of
 * text for each event. A client is an open file; write() sets the client's mask of events.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/kfifo.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "kfd_smi_events.h"

#define KFD_SMI_FIFO_BYTES	1024u

/* Protects the list of clients of every GPU, and the members of clients. Innermost lock. */
static DEFINE_SPINLOCK(kfd_smi_lock);

/**
 * struct kfd_smi_client - an open file
 */
struct kfd_smi_client {
	/** @link: element of kfd_smi.clients */
	struct list_head link;
	/** @smi: event log of the GPU; NULL after kfd_smi_fini() */
	struct kfd_smi *smi;
	/** @fifo: lines that the client has not read */
	struct kfifo fifo;
	/** @wait: wait queue of poll() */
	wait_queue_head_t wait;
	/** @events: mask of the enabled events, bits KFD_SMI_EVENT_MASK_FROM_INDEX() */
	u64 events;
	/** @pid: thread group that opened the file */
	pid_t pid;
	/** @privileged: the opener had CAP_SYS_ADMIN */
	bool privileged;
};

static bool kfd_smi_wants(const struct kfd_smi_client *client, pid_t pid,
			  enum kfd_smi_event event)
{
	const u64 all =
		KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_ALL_PROCESS);

	/*
	 * A client gets the events of its own process, and events without a process (@pid is 0).
	 * KFD_SMI_EVENT_ALL_PROCESS gives a privileged client all events.
	 */
	if (pid && pid != client->pid &&
	    !(client->privileged && client->events & all))
		return false;
	return client->events & KFD_SMI_EVENT_MASK_FROM_INDEX(event);
}

/*
 * Return whether events have to be sent. The test takes no lock, so a client that is being added
 * may miss an event. This is allowed.
 */
static bool kfd_smi_has_clients(const struct kfd_smi *smi)
{
	return !list_empty_careful(&smi->clients);
}

/*
 * Send @event to each interested client (kfd_smi_wants()). @pid: process that the event concerns,
 * or 0. @fmt and its arguments come from KFD_EVENT_FMT_*.
 */
__printf(4, 5)
static void kfd_smi_event(struct kfd_smi *smi, pid_t pid,
			  enum kfd_smi_event event, const char *fmt, ...)
{
	char line[KFD_SMI_EVENT_MSG_SIZE];
	struct kfd_smi_client *client;
	unsigned int len;
	va_list args;

	if (!kfd_smi_has_clients(smi))
		return;
	len = scnprintf(line, sizeof(line), "%x ", event);
	va_start(args, fmt);
	len += vscnprintf(line + len, sizeof(line) - len, fmt, args);
	va_end(args);

	spin_lock(&kfd_smi_lock);
	list_for_each_entry(client, &smi->clients, link) {
		if (!kfd_smi_wants(client, pid, event) ||
		    kfifo_avail(&client->fifo) < len)
			continue;
		kfifo_in(&client->fifo, line, len);
		wake_up_all(&client->wait);
	}
	spin_unlock(&kfd_smi_lock);
}

/**
 * kfd_smi_vm_fault() - report a fault that cannot be repaired
 * @smi: event log of the GPU
 * @pid: process that accessed the memory
 * @comm: name of that process
 *
 * Context: any but interrupts. A client whose FIFO is full misses the event.
 */
void kfd_smi_vm_fault(struct kfd_smi *smi, pid_t pid, const char *comm)
{
	kfd_smi_event(smi, pid, KFD_SMI_EVENT_VMFAULT,
		      KFD_EVENT_FMT_VMFAULT(pid, comm));
}

/**
 * kfd_smi_queue_eviction() - report that the queues of a process were evicted
 * @smi: event log of the GPU
 * @pid: process that owns the queues
 * @trigger: reason
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_queue_eviction(struct kfd_smi *smi, pid_t pid,
			    enum KFD_QUEUE_EVICTION_TRIGGERS trigger)
{
	u64 now = ktime_get_boottime_ns();

	kfd_smi_event(smi, pid, KFD_SMI_EVENT_QUEUE_EVICTION,
		      KFD_EVENT_FMT_QUEUE_EVICTION(now, pid, smi->gpu_id,
						   trigger));
}

/**
 * kfd_smi_queue_restore() - report the restore of a process's queues
 * @smi: event log of the GPU
 * @pid: process that owns the queues
 * @on: true: the queues run again; false: the restore failed and will be retried
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_queue_restore(struct kfd_smi *smi, pid_t pid, bool on)
{
	u64 now = ktime_get_boottime_ns();

	kfd_smi_event(smi, pid, KFD_SMI_EVENT_QUEUE_RESTORE,
		      KFD_EVENT_FMT_QUEUE_RESTORE(now, pid, smi->gpu_id,
						  on ? '0' : 'R'));
}

/**
 * kfd_smi_fault_start() - report that the repair of a retry fault starts
 * @smi: event log of the GPU
 * @pid: process that accessed the memory
 * @page: page number of the address
 * @write: the access was a write
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_fault_start(struct kfd_smi *smi, pid_t pid, unsigned long page,
			 bool write)
{
	u64 now;

	if (!kfd_smi_has_clients(smi))
		return;
	now = ktime_get_boottime_ns();
	kfd_smi_event(smi, pid, KFD_SMI_EVENT_PAGE_FAULT_START,
		      KFD_EVENT_FMT_PAGEFAULT_START(now, pid, page,
						    smi->gpu_id,
						    write ? 'W' : 'R'));
}

/**
 * kfd_smi_fault_end() - report that the repair of a retry fault has ended
 * @smi: event log of the GPU
 * @pid: process that accessed the memory
 * @page: page number of the address
 * @moved: pages were migrated
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_fault_end(struct kfd_smi *smi, pid_t pid, unsigned long page,
		       bool moved)
{
	u64 now;

	if (!kfd_smi_has_clients(smi))
		return;
	now = ktime_get_boottime_ns();
	kfd_smi_event(smi, pid, KFD_SMI_EVENT_PAGE_FAULT_END,
		      KFD_EVENT_FMT_PAGEFAULT_END(now, pid, page, smi->gpu_id,
						  moved ? 'M' : 'U'));
}

/**
 * kfd_smi_unmap() - report that GPU page-table entries of SVM were cleared
 * @smi: event log of the GPU
 * @pid: process that owns the memory
 * @page: first page number
 * @npages: number of pages
 * @trigger: reason
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_unmap(struct kfd_smi *smi, pid_t pid, unsigned long page,
		   unsigned long npages, enum KFD_SVM_UNMAP_TRIGGERS trigger)
{
	u64 now;

	if (!kfd_smi_has_clients(smi))
		return;
	now = ktime_get_boottime_ns();
	kfd_smi_event(smi, pid, KFD_SMI_EVENT_UNMAP_FROM_GPU,
		      KFD_EVENT_FMT_UNMAP_FROM_GPU(now, pid, page, npages,
						   smi->gpu_id, trigger));
}

/* The locations in an event of a migration are GPU ids; 0 stands for system memory. */
static u32 move_from(const struct kfd_smi_move *m)
{
	return m->to_vram ? 0 : m->smi->gpu_id;
}

static u32 move_to(const struct kfd_smi_move *m)
{
	return m->to_vram ? m->smi->gpu_id : 0;
}

/**
 * kfd_smi_move_start() - report that a migration starts
 * @m: the migration
 * @prefetch_loc: prefetch location of the range: a GPU id, or 0
 * @preferred_loc: preferred location of the range: a GPU id, or 0
 *
 * The caller sends the event before any GPU loses its mapping of a page that migrates.
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_move_start(const struct kfd_smi_move *m, u32 prefetch_loc,
			u32 preferred_loc)
{
	u64 now;

	if (!kfd_smi_has_clients(m->smi))
		return;
	now = ktime_get_boottime_ns();
	kfd_smi_event(m->smi, m->pid, KFD_SMI_EVENT_MIGRATE_START,
		      KFD_EVENT_FMT_MIGRATE_START(now, m->pid, m->page,
						  m->npages, move_from(m),
						  move_to(m), prefetch_loc,
						  preferred_loc, m->trigger));
}

/**
 * kfd_smi_move_end() - report that a migration has ended
 * @m: the migration
 *
 * Context: as for kfd_smi_vm_fault().
 */
void kfd_smi_move_end(const struct kfd_smi_move *m)
{
	u64 now;

	if (!kfd_smi_has_clients(m->smi))
		return;
	now = ktime_get_boottime_ns();
	kfd_smi_event(m->smi, m->pid, KFD_SMI_EVENT_MIGRATE_END,
		      KFD_EVENT_FMT_MIGRATE_END(now, m->pid, m->page,
						m->npages, move_from(m),
						move_to(m), m->trigger));
}

/**
 * kfd_smi_pre_reset() - report that a reset of the device starts
 * @smi: event log of the GPU
 * @cause: text for the event
 *
 * Context: the recovery's worker.
 */
void kfd_smi_pre_reset(struct kfd_smi *smi, const char *cause)
{
	smi->reset_seq++;
	kfd_smi_event(smi, 0, KFD_SMI_EVENT_GPU_PRE_RESET,
		      KFD_EVENT_FMT_UPDATE_GPU_RESET(smi->reset_seq, cause));
}

/**
 * kfd_smi_post_reset() - report that a reset of the device has ended
 * @smi: event log of the GPU
 * @cause: text for the event
 *
 * Context: the recovery's worker.
 */
void kfd_smi_post_reset(struct kfd_smi *smi, const char *cause)
{
	kfd_smi_event(smi, 0, KFD_SMI_EVENT_GPU_POST_RESET,
		      KFD_EVENT_FMT_UPDATE_GPU_RESET(smi->reset_seq, cause));
}

static __poll_t kfd_smi_poll(struct file *file, struct poll_table_struct *table)
{
	struct kfd_smi_client *client = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &client->wait, table);
	spin_lock(&kfd_smi_lock);
	if (!kfifo_is_empty(&client->fifo))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (!client->smi)
		mask |= EPOLLHUP;
	spin_unlock(&kfd_smi_lock);
	return mask;
}

/*
 * If the FIFO is empty, return -ENODEV if the GPU has been removed, else -EAGAIN. Like amdkfd,
 * never wait for an event.
 */
static ssize_t kfd_smi_read(struct file *file, char __user *user, size_t size,
			    loff_t *pos)
{
	struct kfd_smi_client *client = file->private_data;
	ssize_t ret;
	void *buf;

	size = min_t(size_t, size, KFD_SMI_FIFO_BYTES);
	buf = kmalloc(size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	spin_lock(&kfd_smi_lock);
	ret = kfifo_out(&client->fifo, buf, size);
	if (!ret)
		ret = client->smi ? -EAGAIN : -ENODEV;
	spin_unlock(&kfd_smi_lock);
	if (ret > 0 && copy_to_user(user, buf, ret))
		ret = -EFAULT;
	kfree(buf);
	return ret;
}

static ssize_t kfd_smi_write(struct file *file, const char __user *user,
			     size_t size, loff_t *pos)
{
	struct kfd_smi_client *client = file->private_data;
	u64 events;

	if (size < sizeof(events) ||
	    copy_from_user(&events, user, sizeof(events)))
		return -EFAULT;
	spin_lock(&kfd_smi_lock);
	client->events = events;
	spin_unlock(&kfd_smi_lock);
	return sizeof(events);
}

static void kfd_smi_free(struct kfd_smi_client *client)
{
	spin_lock(&kfd_smi_lock);
	list_del(&client->link);
	spin_unlock(&kfd_smi_lock);
	kfifo_free(&client->fifo);
	kfree(client);
}

static int kfd_smi_release(struct inode *inode, struct file *file)
{
	kfd_smi_free(file->private_data);
	return 0;
}

static const struct file_operations kfd_smi_fops = {
	.owner = THIS_MODULE,
	.poll = kfd_smi_poll,
	.read = kfd_smi_read,
	.write = kfd_smi_write,
	.release = kfd_smi_release,
};

/**
 * kfd_smi_open() - open a GPU's event log
 * @smi: event log of the GPU
 *
 * The new file belongs to the calling process. The mask of events starts empty.
 *
 * Context: process context, may sleep.
 *
 * Return: a file descriptor, -ENOMEM, or the error of anon_inode_getfd().
 */
int kfd_smi_open(struct kfd_smi *smi)
{
	struct kfd_smi_client *client = kzalloc(sizeof(*client), GFP_KERNEL);
	int fd;

	if (!client)
		return -ENOMEM;
	if (kfifo_alloc(&client->fifo, KFD_SMI_FIFO_BYTES, GFP_KERNEL)) {
		kfree(client);
		return -ENOMEM;
	}
	init_waitqueue_head(&client->wait);
	client->smi = smi;
	client->pid = current->tgid;
	client->privileged = capable(CAP_SYS_ADMIN);
	spin_lock(&kfd_smi_lock);
	list_add_tail(&client->link, &smi->clients);
	spin_unlock(&kfd_smi_lock);

	fd = anon_inode_getfd("kfd_smi_ev", &kfd_smi_fops, client, O_RDWR);
	if (fd < 0)
		kfd_smi_free(client);
	return fd;
}

/**
 * kfd_smi_init() - initialise the event log of a GPU
 * @smi: event log, before the first event and the first kfd_smi_open()
 */
void kfd_smi_init(struct kfd_smi *smi)
{
	INIT_LIST_HEAD(&smi->clients);
}

/**
 * kfd_smi_fini() - detach all open files from the event log
 * @smi: event log; the caller sends no more events to it
 *
 * In a file that is still open, read() then returns -ENODEV when the FIFO is empty, and poll()
 * reports EPOLLHUP.
 */
void kfd_smi_fini(struct kfd_smi *smi)
{
	struct kfd_smi_client *client, *next;

	spin_lock(&kfd_smi_lock);
	list_for_each_entry_safe(client, next, &smi->clients, link) {
		list_del_init(&client->link);
		client->smi = NULL;
		wake_up_all(&client->wait);
	}
	spin_unlock(&kfd_smi_lock);
}
