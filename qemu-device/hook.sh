#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# hook.sh QEMU_SRC: makes this folder hw/misc/vgpu-kfd of a QEMU tree, its tests
# tests/qtest/vgpu-kfd, and the contract's headers include/vgpu. Safe to repeat.
set -eu

tree=${1:?usage: hook.sh QEMU_SRC}
here=$(cd "$(dirname "$0")" && pwd)

if ! [ -f "$tree/hw/misc/meson.build" ] ||
   ! [ -f "$tree/tests/qtest/meson.build" ]; then
    echo "hook.sh: $tree is no QEMU source tree" >&2
    exit 1
fi

ln -sfn "$here" "$tree/hw/misc/vgpu-kfd"
ln -sfn "$here/../include/vgpu" "$tree/include/vgpu"

# add_line FILE LINE: once, at the end.
add_line()
{
    grep -qxF "$2" "$tree/$1" || echo "$2" >>"$tree/$1"
}

add_line hw/misc/meson.build "subdir('vgpu-kfd')"
add_line hw/misc/Kconfig "source vgpu-kfd/Kconfig"
if [ -f "$here/tests/meson.build" ]; then
    ln -sfn "$here/tests" "$tree/tests/qtest/vgpu-kfd"
    add_line tests/qtest/meson.build "subdir('vgpu-kfd')"
fi
grep -q "'hw/misc/vgpu-kfd'" "$tree/meson.build" ||
    sed -i "s#^\( *\)'hw/misc',#&\n\1'hw/misc/vgpu-kfd',#" "$tree/meson.build"
if ! grep -q "'hw/misc/vgpu-kfd'" "$tree/meson.build"; then
    echo "hook.sh: no place for trace events in $tree/meson.build" >&2
    exit 1
fi
