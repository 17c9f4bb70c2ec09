// SPDX-License-Identifier: GPL-2.0-or-later
/* Bind, unbind, remove and rescan a GPU through sysfs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "pci.h"

#define PCI "/sys/bus/pci/"

int vg_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return vg_fail(-errno, "cannot open %s", path);
	if (write(fd, text, strlen(text)) < 0)
		err = vg_fail(-errno, "\"%s\" to %s", text, path);
	close(fd);
	return err;
}

int vg_pci_name(const struct vg_gpu *gpu, char name[VG_PCI_NAME])
{
	char path[64], *real, *base;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device",
		 gpu->minor);
	real = realpath(path, NULL);
	if (!real)
		return vg_fail(-errno, "cannot follow %s", path);
	base = strrchr(real, '/') + 1;
	snprintf(name, VG_PCI_NAME, "%.*s", VG_PCI_NAME - 1, base);
	free(real);
	return 0;
}

int vg_pci_unbind(const char *name)
{
	return vg_put(PCI "drivers/vgpu_kfd/unbind", name);
}

int vg_pci_bind(const char *name)
{
	return vg_put(PCI "drivers/vgpu_kfd/bind", name);
}

int vg_pci_remove(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), PCI "devices/%s/remove", name);
	return vg_put(path, "1");
}

int vg_pci_rescan(void)
{
	return vg_put(PCI "rescan", "1");
}

bool vg_pci_bound(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), PCI "devices/%s/driver", name);
	return !access(path, F_OK);
}

bool vg_pci_exists(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), PCI "devices/%s", name);
	return !access(path, F_OK);
}
