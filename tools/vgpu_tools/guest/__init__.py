# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: its options and QEMU's command line, its start and its end, and what is said to it meanwhile.

It may import base and build. The API of launcher, suites, benchmarks and tests:

- `config.Guest`: what a guest is made of; `options.parse()` makes one from the options of ./vgpu run.
- `launch.Run`: a command in a guest of its own, from start to end. `execute()` gives a `result.Result`;
  `background.Background` does it in a thread, for callers that look at the output meanwhile.
- `session.Machine`: a QEMU that the caller holds: frames, `monitor.Monitor`, migration. Its command is a `Session`.

Below them `emulator` is the process, `run_folder` where logs lie, `agent` and `console` what the guest says, `qmp` the
monitor of somebody else's guest; `snapshot` is for guests that do not boot.
"""
