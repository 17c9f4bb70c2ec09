# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds QEMU, kernels, driver and file systems as steps. A step runs again when its inputs change.

The module `steps` defines a step. `rootfs` makes the root file system "mini", and `rocm` makes the root file system
"rocm".
"""
