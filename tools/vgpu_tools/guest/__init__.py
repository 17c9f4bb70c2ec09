# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: its options and QEMU's command line, its start and its end, and what is said to it meanwhile.

It may import base and build. Start with `config` (Guest), then `launch` (Run). `agent` and `console` are what the
guest says, `qmp` is QEMU's monitor; `snapshot` is for guests that do not boot, `session` for tests that hold a machine
in their hands.
"""
