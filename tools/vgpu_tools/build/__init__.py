# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds QEMU, kernels, driver and file systems as steps. A step runs again when its inputs change.

Of vgpu_tools, this package imports only base. The module `steps` defines a step, its key and its
stamp. `sources` fetches source trees and adds the device and the driver to them; `qemu` and
`kernel` build these trees; `rootfs` makes the root file system "mini", and `rocm` makes the root
file system "rocm".
"""
