# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is made of, as steps that run again when their inputs change: QEMU, kernels, driver, file systems.

It may import base. Start with `steps`: a step, its key and its stamp. `sources` fetches trees and hooks our code into
them, `qemu` and `kernel` build there; `rootfs` (mini) and `rocm` make the root file systems.
"""
