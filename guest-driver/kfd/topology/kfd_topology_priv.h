/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The topology's folders (kfd_topology_sysfs.c). All under the topology's mutex;
 * errors are -ENOMEM or sysfs's.
 */
#ifndef KFD_TOPOLOGY_PRIV_H
#define KFD_TOPOLOGY_PRIV_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/seq_buf.h>
#include <linux/sysfs.h>

#define KFD_DIR_FILES	3

/**
 * struct kfd_topology_file - a file
 * @attr: sysfs
 * @text: all of it but the newline at its end; owned
 */
struct kfd_topology_file {
	struct attribute attr;
	char *text;
};

/**
 * struct kfd_topology_dir - a folder
 * @kobj: sysfs; parent of the folders within
 * @link: in the list of all folders
 * @files: its files
 * @n_files: how many there are
 */
struct kfd_topology_dir {
	struct kobject kobj;
	struct list_head link;
	struct kfd_topology_file files[KFD_DIR_FILES];
	unsigned int n_files;
};

/* A folder named @name or @n in @parent, or ERR_PTR. */
struct kfd_topology_dir *kfd_topology_mkdir(struct kobject *parent,
					    const char *name);
struct kfd_topology_dir *kfd_topology_mkdir_n(struct kobject *parent,
					      unsigned int n);
/* A file in it, at most KFD_DIR_FILES; @text is copied, @name is not. */
int kfd_topology_write(struct kfd_topology_dir *dir, const char *name,
		       const char *text);
/* Remove every folder; returns when nobody reads their files any more. */
void kfd_topology_clear(void);

/**
 * struct kfd_props - a properties file in the making, "name value" a line
 * @seq: writes @text; what does not fit is cut
 * @text: the text so far
 */
struct kfd_props {
	struct seq_buf seq;
	char text[PAGE_SIZE];
};

struct kfd_props *kfd_props_new(void);	/* or NULL */
void kfd_prop(struct kfd_props *props, const char *name, u64 value);
/* Write it as "properties" to @dir; frees @props in any case. */
int kfd_props_write(struct kfd_topology_dir *dir, struct kfd_props *props);
/* Folder @n of @parent with a properties file that @fill fills. */
int kfd_topology_item(struct kobject *parent, unsigned int n,
		      void (*fill)(struct kfd_props *props, const void *arg),
		      const void *arg);

struct kfd_node;

/*
 * kfd_topology_link.c: the links of @node (NULL: of the CPUs) as folders of
 * @dir. @gpus: all @n of them, with their topology_id. *@count: how many links
 * there are.
 */
int kfd_topology_io_links(struct kobject *dir, const struct kfd_node *node,
			  struct kfd_node *const *gpus, unsigned int n,
			  unsigned int *count);
int kfd_topology_p2p_links(struct kobject *dir, const struct kfd_node *node,
			   struct kfd_node *const *gpus, unsigned int n,
			   unsigned int *count);

#endif /* KFD_TOPOLOGY_PRIV_H */
