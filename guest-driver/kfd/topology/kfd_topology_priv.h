/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Create the topology's folders and files (kfd_topology_sysfs.c). The caller of each function
 * holds kfd_topology_mutex. Errors are -ENOMEM or errors of sysfs.
 */
#ifndef KFD_TOPOLOGY_PRIV_H
#define KFD_TOPOLOGY_PRIV_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/seq_buf.h>
#include <linux/sysfs.h>

#define KFD_DIR_FILES	3

struct kfd_node;

/**
 * struct kfd_topology_file - a file of the topology
 * @attr: sysfs attribute
 * @text: contents without the newline at the end; freed with the folder
 * @text_svm: contents if @node supports SVM, likewise; NULL if that does not matter
 * @node: GPU of @text_svm
 */
struct kfd_topology_file {
	struct attribute attr;
	char *text;
	char *text_svm;
	const struct kfd_node *node;
};

/**
 * struct kfd_topology_dir - a folder of the topology
 * @kobj: kobject of the folder, parent of its subfolders
 * @link: link in the list of all folders
 * @files: files of the folder
 * @n_files: number of @files in use
 */
struct kfd_topology_dir {
	struct kobject kobj;
	struct list_head link;
	struct kfd_topology_file files[KFD_DIR_FILES];
	unsigned int n_files;
};

/* Create a folder named @name or @n in @parent. Returns the folder or ERR_PTR(). */
struct kfd_topology_dir *kfd_topology_mkdir(struct kobject *parent,
					    const char *name);
struct kfd_topology_dir *kfd_topology_mkdir_n(struct kobject *parent,
					      unsigned int n);
/*
 * Create a file in a folder. A folder can have up to KFD_DIR_FILES files. @text is copied; @name is
 * not copied and must stay valid.
 */
int kfd_topology_write(struct kfd_topology_dir *dir, const char *name,
		       const char *text);
/*
 * As kfd_topology_write(), but the contents are @text_svm if @node supports SVM. A reader of the
 * file waits until that is known. kfd_topology_clear() is called before @node is freed.
 */
int kfd_topology_write_svm(struct kfd_topology_dir *dir, const char *name,
			   const char *text, const char *text_svm,
			   const struct kfd_node *node);
/* Remove every folder below nodes/, and wait for readers of the files in these folders. */
void kfd_topology_clear(void);

/**
 * struct kfd_props - a properties file that is being built, with lines of "name value"
 * @seq: appends to @text; text that does not fit is cut
 * @text: contents so far
 */
struct kfd_props {
	struct seq_buf seq;
	char text[PAGE_SIZE];
};

struct kfd_props *kfd_props_new(void);	/* returns NULL if there is no memory */
void kfd_prop(struct kfd_props *props, const char *name, u64 value);
/* Write @props to the file "properties" of @dir. Frees @props, also after an error. */
int kfd_props_write(struct kfd_topology_dir *dir, struct kfd_props *props);
/* Create folder @n in @parent, with a properties file that @fill writes. */
int kfd_topology_item(struct kobject *parent, unsigned int n,
		      void (*fill)(struct kfd_props *props, const void *arg),
		      const void *arg);

/*
 * kfd_topology_link.c: create a folder in @dir for each link of @node.
 * @node: GPU, or NULL for the CPUs
 * @gpus: all @n GPUs, with topology_id set
 * @count: number of links
 */
int kfd_topology_io_links(struct kobject *dir, const struct kfd_node *node,
			  struct kfd_node *const *gpus, unsigned int n,
			  unsigned int *count);
/* As kfd_topology_io_links(), but @node is not NULL. */
int kfd_topology_p2p_links(struct kobject *dir, const struct kfd_node *node,
			   struct kfd_node *const *gpus, unsigned int n,
			   unsigned int *count);

#endif /* KFD_TOPOLOGY_PRIV_H */
