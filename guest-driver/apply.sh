#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# apply.sh KERNEL_SRC: links this folder into a kernel tree as drivers/gpu/drm/vgpu-kfd, and adds it
# to the Kconfig and Makefile of drivers/gpu/drm. Safe to repeat.
set -eu

tree=${1:?usage: apply.sh KERNEL_SRC}
here=$(cd "$(dirname "$0")" && pwd)
drm=$tree/drivers/gpu/drm

[ -f "$drm/Kconfig" ] || { echo "apply.sh: $tree is no Linux source tree" >&2; exit 1; }

ln -sfn "$here" "$drm/vgpu-kfd"
grep -q 'drm/vgpu-kfd/Kconfig' "$drm/Kconfig" ||
	sed -i '0,/^source "drivers\/gpu\/drm\//s//source "drivers\/gpu\/drm\/vgpu-kfd\/Kconfig"\n\n&/' "$drm/Kconfig"
grep -q 'vgpu-kfd/' "$drm/Makefile" ||
	echo 'obj-$(CONFIG_DRM_VGPU_KFD) += vgpu-kfd/' >>"$drm/Makefile"

grep -q 'drm/vgpu-kfd/Kconfig' "$drm/Kconfig" ||
	{ echo "apply.sh: found no place for the entry in $drm/Kconfig" >&2; exit 1; }
