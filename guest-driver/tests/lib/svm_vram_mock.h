/* SPDX-License-Identifier: GPL-2.0 */
/* A mock of a GPU whose VRAM has device-private pages. Only with CONFIG_DEVICE_PRIVATE. */
#ifndef SVM_VRAM_MOCK_H
#define SVM_VRAM_MOCK_H

#include <linux/device.h>
#include <linux/sizes.h>

#include "process/kfd_node.h"
#include "svm/migrate/svm_migrate_priv.h"
#include "svm/migrate/svm_move.h"
#include "svm/svm_node.h"
#include "vgpu_mock.h"

#define SVM_MOCK_VRAM		SZ_2M
#define SVM_MOCK_OFFSET		(5 * PAGE_SIZE)	/* of the page that is in use */
#define SVM_MOCK_SEGMENT	SZ_16M
#define SVM_MOCK_GART_PAGES	(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS)

/**
 * struct svm_vram_mock - a GPU with one page of VRAM in use
 */
struct svm_vram_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @node: the GPU */
	struct kfd_node node;
	/** @sn: SVM's state of the GPU */
	struct svm_node sn;
	/** @dev: vgpu_device.drm.dev */
	struct device dev;
	/** @sb: BO of all pages; has a reference besides those of the pages */
	struct svm_bo sb;
	/** @bo: BO for tests of evictions; zero at first */
	struct vgpu_bo bo;
	/** @page: page at SVM_MOCK_OFFSET, in use and locked */
	struct page *page;
	/** @vram: VRAM, SVM_MOCK_VRAM bytes */
	void *vram;
};

/**
 * struct svm_move_mock - a migration of pages of a svm_vram_mock
 */
struct svm_move_mock {
	/** @m: GPU */
	struct svm_vram_mock *m;
	/** @move: the migration; zero at first */
	struct svm_move move;
	/** @shadow: vgpu_gart.shadow */
	u64 shadow[SVM_MOCK_GART_PAGES];
};

/* Create a GPU that is node @node of hive @hive (0: no hive). */
struct svm_vram_mock *svm_vram_mock_of(struct kunit *test, u64 hive, unsigned int node);
/* Create a GPU without a hive. */
struct svm_vram_mock *svm_vram_mock_new(struct kunit *test);
/*
 * Create a GPU without a hive that copies pages. The mock has no SDMA engine that is ready, so the
 * CPU runs the jobs of a copy.
 */
struct svm_move_mock *svm_move_mock_new(struct kunit *test);

/*
 * Repeated evictions must return @want: an error while m->page cannot leave VRAM, otherwise 0.
 * Catches: the tries never end; m->page is freed despite the error.
 */
void svm_vram_mock_check(struct kunit *test, struct svm_vram_mock *m, int want);
/* Drop the reference to m->page, which must be the last one. No other page may be in use. */
void svm_vram_mock_release(struct kunit *test, struct svm_vram_mock *m);

#endif /* SVM_VRAM_MOCK_H */
