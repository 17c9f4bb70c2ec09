// SPDX-License-Identifier: GPL-2.0
/*
 * Implements kfd/proc/<pid>/svm in debugfs: a line for each range of a process, with the current
 * locations of the range's pages. Reading fails with -ESRCH when the process's address space has
 * ended.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/seq_file.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/migrate/svm_migrate.h"
#include "svm/migrate/svm_migrate_priv.h"
#include "svm.h"
#include "svm_map.h"
#include "svm_node.h"
#include "svm_policy.h"
#include "svm_range.h"
#include "svm_tree.h"

/*
 * Number of tries to locate the pages of a chunk. If pages move during every try, all pages of the
 * chunk are printed as "other".
 */
#define SVM_PRINT_TRIES		4

/**
 * struct svm_places - numbers of pages by location
 * @system: pages in system memory
 * @vram: pages in VRAM, by GPU index
 */
struct svm_places {
	unsigned long system;
	unsigned long vram[SVM_MAX_GPU];
};

/**
 * struct svm_print - state of an open file
 * @p: process
 * @pfns: hmm_range.hmm_pfns
 * @chunk: numbers of pages of the current chunk, by location
 * @range: sums of @chunk over all chunks of the current range that have been counted
 */
struct svm_print {
	struct kfd_process *p;
	unsigned long pfns[SVM_CHUNK_PAGES];
	struct svm_places chunk;
	struct svm_places range;
};

/* Return the first range that ends at @page or later, or NULL. */
static struct svm_range *svm_print_from(struct svm_range_list *svms,
					unsigned long page)
{
	return svm_tree_first(svms, (struct svm_interval){ page, ULONG_MAX });
}

/*
 * *@pos is 0 for the first line, which describes the process. For all other lines, *@pos is the
 * page number at which to look for the next range.
 */
static void *svm_print_start(struct seq_file *m, loff_t *pos)
{
	struct svm_print *s = m->private;
	struct svm_range_list *svms = s->p->svms;

	if (!svm_lock_alive(svms))
		return ERR_PTR(-ESRCH);
	return *pos ? svm_print_from(svms, *pos) : SEQ_START_TOKEN;
}

static void *svm_print_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct svm_print *s = m->private;
	const struct svm_range *r = v;

	*pos = v == SEQ_START_TOKEN ? 1 : r->iv.last + 1;
	return svm_print_from(s->p->svms, *pos);
}

static void svm_print_stop(struct seq_file *m, void *v)
{
	struct svm_print *s = m->private;

	if (!IS_ERR(v))
		svm_unlock_alive(s->p->svms);
}

static void svm_print_process(struct seq_file *m, struct kfd_process *p)
{
	seq_printf(m, "pasid %#x xnack %s policy %s default_granularity %u queues %s\n",
		   p->pasid, READ_ONCE(p->xnack_enabled) ? "on" : "off",
		   svm_policy_name(p->svms->policy), p->svms->default_granularity,
		   atomic_read(&p->svms->evicted_ranges) ? "evicted" : "in_place");
}

static void svm_print_loc(struct seq_file *m, const char *name, u32 loc)
{
	if (loc == KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		seq_printf(m, " %s undefined", name);
	else if (loc == KFD_IOCTL_SVM_LOCATION_SYSMEM)
		seq_printf(m, " %s system", name);
	else
		seq_printf(m, " %s %u", name, loc);
}

static void svm_print_gpus(struct seq_file *m, struct kfd_process *p,
			   const char *name, const unsigned long *gpus)
{
	unsigned int gpu;
	char before = ' ';

	seq_printf(m, " %s", name);
	for_each_set_bit(gpu, gpus, p->svms->n_gpus) {
		seq_printf(m, "%c%u", before, READ_ONCE(p->pdds[gpu]->gpu_id));
		before = ',';
	}
	if (before == ' ')
		seq_puts(m, " none");
}

#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
static void svm_print_count_vram(struct svm_print *s, struct page *page)
{
	struct kfd_node *home = svm_page_node(page);
	unsigned int gpu;

	for (gpu = 0; gpu < s->p->svms->n_gpus; gpu++)
		if (s->p->pdds[gpu]->node == home)
			s->chunk.vram[gpu]++;
}

static void svm_print_count(struct svm_print *s, unsigned long npages, bool system)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		struct page *page;

		if (!(s->pfns[i] & HMM_PFN_VALID))
			continue;
		page = hmm_pfn_to_page(s->pfns[i]);
		if (is_device_private_page(page))
			svm_print_count_vram(s, page);
		else if (system)
			s->chunk.system++;
	}
}

/*
 * Count VRAM pages with page owner @owner. If @system is true, also count system pages. Returns 0,
 * -EBUSY or an error of hmm_range_fault().
 */
static int svm_print_look(struct svm_print *s, struct hmm_range *hmm, void *owner,
			  bool system)
{
	int token, ret;

	hmm->dev_private_owner = owner;
	/*
	 * Get the locations from the CPU's page tables; nothing else records them. Without
	 * HMM_PFN_REQ_FAULT, HMM raises no page fault.
	 */
	ret = hmm_range_fault(hmm);
	if (ret)
		return ret;
	svm_peer_enter(&token);
	/*
	 * Fail if a page's GPU may have been removed: the removal unmaps the GPU's pages, and so
	 * invalidates the range.
	 */
	if (mmu_interval_check_retry(hmm->notifier, hmm->notifier_seq))
		ret = -EBUSY;
	else
		svm_print_count(s, (hmm->end - hmm->start) >> PAGE_SHIFT, system);
	svm_peer_leave(token);
	return ret;
}

static bool svm_print_first_of_owner(struct kfd_process *p, unsigned int gpu)
{
	unsigned int i;

	for_each_set_bit(i, p->svms->bitmap_supported, gpu)
		if (svm_pgmap_owner(p->pdds[i]->node) ==
		    svm_pgmap_owner(p->pdds[gpu]->node))
			return false;
	return true;
}

/* Count the pages of a chunk. Returns 0 or an error of svm_print_look(). */
static int svm_print_look_at_all(struct svm_print *s, struct svm_range *r,
				 struct svm_interval iv)
{
	struct kfd_process *p = s->p;
	struct hmm_range hmm = {
		.notifier = &r->notifier,
		/*
		 * All calls of svm_print_look() use this number: if a page moves between two calls,
		 * the later call fails. So no page is counted twice.
		 */
		.notifier_seq = mmu_interval_read_begin(&r->notifier),
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.hmm_pfns = s->pfns,
	};
	bool system = true;
	unsigned int gpu;
	int ret = 0;

	memset(&s->chunk, 0, sizeof(s->chunk));
	for_each_set_bit(gpu, p->svms->bitmap_supported, p->svms->n_gpus) {
		/*
		 * Several GPUs may share a page owner. svm_print_look() counts the VRAM pages of
		 * all these GPUs, so call it only once for each owner.
		 */
		if (!svm_print_first_of_owner(p, gpu))
			continue;
		ret = svm_print_look(s, &hmm, svm_pgmap_owner(p->pdds[gpu]->node),
				     system);
		if (ret)
			break;
		system = false;
	}
	return ret;
}

/*
 * Count the pages of a chunk by location (system memory, VRAM of each GPU), and add the counts to
 * s->range. The chunk has at most SVM_CHUNK_PAGES.
 */
static void svm_print_chunk(struct svm_print *s, struct svm_range *r,
			    struct svm_interval iv)
{
	unsigned int tries = SVM_PRINT_TRIES;
	unsigned int gpu;
	int ret;

	do
		ret = svm_print_look_at_all(s, r, iv);
	while (ret == -EBUSY && --tries);
	if (ret)
		return;
	s->range.system += s->chunk.system;
	for (gpu = 0; gpu < s->p->svms->n_gpus; gpu++)
		s->range.vram[gpu] += s->chunk.vram[gpu];
}

static void svm_print_find(struct svm_print *s, struct svm_range *r)
{
	struct svm_interval chunk, iv = svm_range_interval(r);

	memset(&s->range, 0, sizeof(s->range));
	for (chunk.first = iv.first; chunk.first <= iv.last;
	     chunk.first = chunk.last + 1) {
		chunk.last = min(chunk.first + SVM_CHUNK_PAGES - 1, iv.last);
		svm_print_chunk(s, r, chunk);
		cond_resched();
	}
}
#else
static void svm_print_find(struct svm_print *s, struct svm_range *r)
{
}
#endif

static int svm_print_range(struct seq_file *m, struct svm_range *r)
{
	struct svm_print *s = m->private;
	const struct svm_attrs *a = &r->attrs;
	unsigned long pages = svm_interval_pages(svm_range_interval(r));
	DECLARE_BITMAP(complete, SVM_MAX_GPU);
	DECLARE_BITMAP(mapped, SVM_MAX_GPU);
	struct kfd_process *p = s->p;
	unsigned int gpu;
	bool invalid;

	mutex_lock(&r->lock);
	bitmap_copy(mapped, r->mapped, SVM_MAX_GPU);
	bitmap_copy(complete, r->complete, SVM_MAX_GPU);
	invalid = r->invalid;
	mutex_unlock(&r->lock);
	svm_print_find(s, r);

	seq_printf(m, "%#lx-%#lx pages %lu granularity %u flags %#x",
		   r->iv.first << PAGE_SHIFT,
		   (r->iv.last + 1) << PAGE_SHIFT, pages, a->granularity,
		   a->flags);
	svm_print_loc(m, "preferred_loc", a->preferred_loc);
	svm_print_loc(m, "prefetch_loc", a->prefetch_loc);
	svm_print_gpus(m, p, "access", a->bitmap_access);
	svm_print_gpus(m, p, "in_place", a->bitmap_aip);
	svm_print_gpus(m, p, "mapped", mapped);
	svm_print_gpus(m, p, "complete", complete);
	if (invalid)
		seq_puts(m, " invalid");
	seq_printf(m, " actual_loc system:%lu", s->range.system);
	pages -= s->range.system;
	for_each_set_bit(gpu, p->svms->bitmap_supported, p->svms->n_gpus) {
		if (!s->range.vram[gpu])
			continue;
		seq_printf(m, " %u:%lu", READ_ONCE(p->pdds[gpu]->gpu_id),
			   s->range.vram[gpu]);
		pages -= s->range.vram[gpu];
	}
	seq_printf(m, " other:%lu\n", pages);
	return 0;
}

static int svm_print_show(struct seq_file *m, void *v)
{
	struct svm_print *s = m->private;

	if (v != SEQ_START_TOKEN)
		return svm_print_range(m, v);
	svm_print_process(m, s->p);
	return 0;
}

static const struct seq_operations svm_print_ops = {
	.start = svm_print_start,
	.next = svm_print_next,
	.stop = svm_print_stop,
	.show = svm_print_show,
};

static int svm_print_open(struct inode *inode, struct file *file)
{
	struct svm_print *s = __seq_open_private(file, &svm_print_ops, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->p = inode->i_private;
	return 0;
}

const struct file_operations svm_print_fops = {
	.owner = THIS_MODULE,
	.open = svm_print_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
