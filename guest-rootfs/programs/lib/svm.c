// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared virtual memory: call the SVM ioctl, and count the pages that are in VRAM. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "svm.h"

#define MAX_ATTRS 16

/*
 * Call the SVM ioctl with @n attributes. The request code of the ioctl contains the size of the
 * argument, so compute the request code from @n.
 */
static int svm_call(struct vg *vg, uint32_t op, const void *addr, uint64_t size,
		    struct kfd_ioctl_svm_attribute *attrs, unsigned int n)
{
	struct {
		struct kfd_ioctl_svm_args args;
		struct kfd_ioctl_svm_attribute attrs[MAX_ATTRS];
	} a = { .args = {
		.start_addr = (uintptr_t)addr,
		.size = size,
		.op = op,
		.nattr = n,
	} };
	unsigned long bytes = sizeof(a.args) + n * sizeof(*attrs);
	int r;

	if (n > MAX_ATTRS)
		return vg_fail(-E2BIG, "%u SVM attributes", n);
	memcpy(a.attrs, attrs, n * sizeof(*attrs));
	r = vg_ioctl(vg, _IOC(_IOC_DIR(AMDKFD_IOC_SVM), AMDKFD_IOCTL_BASE,
			      _IOC_NR(AMDKFD_IOC_SVM), bytes), &a);
	if (r)
		return vg_fail(r, "SVM %s of 0x%lx bytes at %p",
			       op == KFD_IOCTL_SVM_OP_SET_ATTR ? "SET_ATTR" :
			       "GET_ATTR", size, addr);
	memcpy(attrs, a.attrs, n * sizeof(*attrs));
	return 0;
}

int vg_svm_set(struct vg *vg, const void *addr, uint64_t size,
	       const struct kfd_ioctl_svm_attribute *attrs, unsigned int n)
{
	struct kfd_ioctl_svm_attribute copy[MAX_ATTRS];

	if (n > MAX_ATTRS)
		return vg_fail(-E2BIG, "%u SVM attributes", n);
	memcpy(copy, attrs, n * sizeof(*attrs));
	return svm_call(vg, KFD_IOCTL_SVM_OP_SET_ATTR, addr, size, copy, n);
}

int vg_svm_get(struct vg *vg, const void *addr, uint64_t size,
	       struct kfd_ioctl_svm_attribute *attrs, unsigned int n)
{
	return svm_call(vg, KFD_IOCTL_SVM_OP_GET_ATTR, addr, size, attrs, n);
}

int vg_svm_set1(struct vg *vg, const void *addr, uint64_t size, uint32_t type,
		uint32_t value)
{
	struct kfd_ioctl_svm_attribute attr = { type, value };

	return vg_svm_set(vg, addr, size, &attr, 1);
}

int vg_svm_prefetch(struct vg *vg, const void *addr, uint64_t size,
		    uint32_t loc)
{
	return vg_svm_set1(vg, addr, size, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
			   loc);
}

/*
 * Count pages with pagemap bit 62 (swapped) and without bit 63 (present). Without a swap device,
 * such an anonymous page is device-private or being migrated.
 */
long vg_pages_in_vram(const void *addr, uint64_t size)
{
	uint64_t entry[512], page = (uintptr_t)addr / VG_PAGE;
	uint64_t left = size / VG_PAGE;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	long count = 0;

	if (fd < 0)
		return vg_fail(-errno, "cannot open /proc/self/pagemap");
	while (left) {
		uint64_t i, n = left < 512 ? left : 512;
		ssize_t got = pread(fd, entry, n * 8, page * 8);

		if (got != (ssize_t)(n * 8)) {
			close(fd);
			return vg_fail(-EIO, "short read of pagemap");
		}
		for (i = 0; i < n; i++)
			count += !(entry[i] >> 63 & 1) && (entry[i] >> 62 & 1);
		page += n;
		left -= n;
	}
	close(fd);
	return count;
}
