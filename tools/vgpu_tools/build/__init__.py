# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds QEMU, kernels, driver and file systems as steps, each of which runs again when its inputs change.

Imports base only. Start with `steps`: a step, its key and its stamp. `sources` fetches source trees and adds the device
and the driver to them, `qemu` and `kernel` build these trees; `rootfs` (mini) and `rocm` make the root file systems.
"""
