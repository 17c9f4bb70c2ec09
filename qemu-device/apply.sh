#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# apply.sh QEMU_SRC: adds the device to a QEMU source tree. The script applies
# the patches to QEMU itself (patches/), and creates these links. The script may
# be run again on the same tree.
#
#   hw/misc/vgpu-kfd                          this folder
#   tests/qtest/vgpu-kfd                      tests/
#   qapi/vgpu-kfd.json, qapi/vgpu-hive.json   the QAPI schema, qapi/
#   include/vgpu                              ../include/vgpu: the contract
set -eu

tree=${1:?usage: apply.sh QEMU_SRC}
here=$(cd "$(dirname "$0")" && pwd)

if ! [ -f "$tree/hw/misc/meson.build" ] ||
   ! [ -f "$tree/tests/qtest/meson.build" ]; then
    echo "apply.sh: $tree is no QEMU source tree" >&2
    exit 1
fi
series=$(cut -d. -f1-2 "$tree/VERSION")
if ! [ -d "$here/patches/$series" ]; then
    echo "apply.sh: no patches for QEMU $series, and the device needs them" >&2
    exit 1
fi

ln -sfn "$here" "$tree/hw/misc/vgpu-kfd"
ln -sfn "$here/../include/vgpu" "$tree/include/vgpu"
for devices in vgpu-kfd vgpu-kfd-guest; do
    ln -sfn "$here/$devices.mak" \
        "$tree/configs/devices/x86_64-softmmu/$devices.mak"
done

# add_line FILE LINE: append LINE unless FILE has it.
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
# add_after FILE PATTERN MARK TEXT: add TEXT after each line that matches
# PATTERN, unless MARK is in the file.
add_after()
{
    if ! grep -qF "$3" "$tree/$1"; then
        sed -i "/$2/a\\
$4" "$tree/$1"
    fi
    if ! grep -qF "$3" "$tree/$1"; then
        echo "apply.sh: no place for $3 in $tree/$1" >&2
        exit 1
    fi
}

add_after meson.build "^ *'hw\/misc',\$" "'hw/misc/vgpu-kfd'" \
    "    'hw/misc/vgpu-kfd',"
ln -sfn "$here/qapi/vgpu-kfd.json" "$tree/qapi/vgpu-kfd.json"
add_after qapi/meson.build "^  'cxl',\$" "'vgpu-kfd'" "  'vgpu-kfd',"
add_after qapi/qapi-schema.json "'include': 'cxl.json'" "vgpu-kfd.json" \
    "{ 'include': 'vgpu-kfd.json' }"

# -object vgpu-hive: an object type is a member of QOM's own schema. The
# properties are in a separate file, since qemu-storage-daemon includes it, too.
# The QAPI generator puts a type into the header of the first module that uses
# it, so the main schema must include this file before qom.json.
ln -sfn "$here/qapi/vgpu-hive.json" "$tree/qapi/vgpu-hive.json"
add_after qapi/meson.build "^  'cxl',\$" "'vgpu-hive'" "  'vgpu-hive',"
add_after qapi/qapi-schema.json "'include': 'compat.json'" "vgpu-hive.json" \
    "{ 'include': 'vgpu-hive.json' }"
add_after qapi/qom.json "'include': 'crypto.json'" "vgpu-hive.json" \
    "{ 'include': 'vgpu-hive.json' }"
add_after qapi/qom.json "^    'tls-cipher-suites',\$" "'vgpu-hive'," \
    "    'vgpu-hive',"
add_after qapi/qom.json "^      'tls-cipher-suites': " "'VgpuHiveProperties'" \
    "      'vgpu-hive':                  'VgpuHiveProperties',"

# Add `info vgpu` to the monitor's commands. The device registers its handler.
grep -q '"vgpu"' "$tree/hmp-commands-info.hx" ||
    cat "$here/qapi/hmp-info.hx" >>"$tree/hmp-commands-info.hx"

# The configuration for QEMU's generic fuzzer.
add_after tests/qtest/fuzz/generic_fuzz_configs.h "predefined_configs\[\] = {" \
    "vgpu-kfd" '#include "tests/qtest/vgpu-kfd/fuzz/generic-fuzz.h.inc"'

# Patches to QEMU itself, by version of QEMU: bug fixes, and functions that the
# device calls. Each patch is a mail for git am, and its description has the
# reason. Skip a patch that is applied already.
for mend in "$here/patches/$series"/*.patch; do
    [ -f "$mend" ] || continue
    patch -d "$tree" -p1 -R -f -s --dry-run <"$mend" >/dev/null 2>&1 ||
        patch -d "$tree" -p1 -N -s <"$mend"
done
