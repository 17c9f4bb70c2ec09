// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and removes the topology's folders and files. The contents of a file are set when the
 * file is created, and do not change. A file may have two texts: for a GPU with and without SVM.
 */
#include <linux/slab.h>

#include "svm/svm.h"
#include "kfd_topology_priv.h"

/* List of all folders below nodes/. A folder precedes its subfolders. */
static LIST_HEAD(kfd_topology_dirs);

static ssize_t kfd_topology_show(struct kobject *kobj, struct attribute *attr,
				 char *buf)
{
	const struct kfd_topology_file *file =
		container_of(attr, struct kfd_topology_file, attr);
	/* svm_supported() may wait. The node exists: its removal waits for this function. */
	bool svm = file->text_svm && svm_supported(file->node);

	return sysfs_emit(buf, "%s\n", svm ? file->text_svm : file->text);
}

static void kfd_topology_release(struct kobject *kobj)
{
	struct kfd_topology_dir *dir =
		container_of(kobj, struct kfd_topology_dir, kobj);
	unsigned int i;

	for (i = 0; i < dir->n_files; i++) {
		kfree(dir->files[i].text);
		kfree(dir->files[i].text_svm);
	}
	kfree(dir);
}

static const struct sysfs_ops kfd_topology_ops = {
	.show = kfd_topology_show,
};

static const struct kobj_type kfd_topology_ktype = {
	.sysfs_ops = &kfd_topology_ops,
	.release = kfd_topology_release,
};

struct kfd_topology_dir *kfd_topology_mkdir(struct kobject *parent,
					    const char *name)
{
	struct kfd_topology_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	ret = kobject_init_and_add(&dir->kobj, &kfd_topology_ktype, parent,
				   "%s", name);
	if (ret) {
		kobject_put(&dir->kobj);
		return ERR_PTR(ret);
	}
	list_add_tail(&dir->link, &kfd_topology_dirs);
	return dir;
}

struct kfd_topology_dir *kfd_topology_mkdir_n(struct kobject *parent,
					      unsigned int n)
{
	char name[12];

	snprintf(name, sizeof(name), "%u", n);
	return kfd_topology_mkdir(parent, name);
}

int kfd_topology_write_svm(struct kfd_topology_dir *dir, const char *name,
			   const char *text, const char *text_svm,
			   const struct kfd_node *node)
{
	struct kfd_topology_file *file;

	if (WARN_ON_ONCE(dir->n_files == KFD_DIR_FILES))
		return -ENOSPC;
	file = &dir->files[dir->n_files];
	file->text = kstrdup(text, GFP_KERNEL);
	file->text_svm = kstrdup(text_svm, GFP_KERNEL);
	if (!file->text || (text_svm && !file->text_svm)) {
		kfree(file->text);
		kfree(file->text_svm);
		return -ENOMEM;
	}
	file->node = node;
	dir->n_files++;
	sysfs_attr_init(&file->attr);
	file->attr.name = name;
	file->attr.mode = 0444;
	return sysfs_create_file(&dir->kobj, &file->attr);
}

int kfd_topology_write(struct kfd_topology_dir *dir, const char *name,
		       const char *text)
{
	return kfd_topology_write_svm(dir, name, text, NULL, NULL);
}

void kfd_topology_clear(void)
{
	struct kfd_topology_dir *dir, *next;

	list_for_each_entry_safe_reverse(dir, next, &kfd_topology_dirs, link) {
		list_del(&dir->link);
		kobject_del(&dir->kobj);
		kobject_put(&dir->kobj);
	}
}

/* Files of properties, with one line "name value" for each property. */

struct kfd_props *kfd_props_new(void)
{
	struct kfd_props *props = kmalloc(sizeof(*props), GFP_KERNEL);

	if (props)
		seq_buf_init(&props->seq, props->text, sizeof(props->text));
	return props;
}

void kfd_prop(struct kfd_props *props, const char *name, u64 value)
{
	seq_buf_printf(&props->seq, "%s%s %llu",
		       seq_buf_used(&props->seq) ? "\n" : "", name, value);
}

int kfd_props_write(struct kfd_topology_dir *dir, struct kfd_props *props)
{
	int ret = kfd_topology_write(dir, "properties",
				     seq_buf_str(&props->seq));

	kfree(props);
	return ret;
}

int kfd_topology_item(struct kobject *parent, unsigned int n,
		      void (*fill)(struct kfd_props *props, const void *arg),
		      const void *arg)
{
	struct kfd_topology_dir *dir = kfd_topology_mkdir_n(parent, n);
	struct kfd_props *props;

	if (IS_ERR(dir))
		return PTR_ERR(dir);
	props = kfd_props_new();
	if (!props)
		return -ENOMEM;
	fill(props, arg);
	return kfd_props_write(dir, props);
}
