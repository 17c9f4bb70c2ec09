# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests in QEMU. Entry points:

- `config.Guest`: the options of a guest. `options.parse()` reads these options from arguments.
- `launch.Run`: a command in a new guest.
- `background.Background`: a `Run` in a thread, while the caller reads the output.
- `session.Machine`: a QEMU that the caller controls, for example for a migration.
"""
