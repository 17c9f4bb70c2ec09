# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests in QEMU.

- `config.Guest`: a guest's options
- `launch.Run`: a command in a new guest
- `background.Background`: a `Run` in a thread
- `session.Machine`: a QEMU that the caller controls
"""
