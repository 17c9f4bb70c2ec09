# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: its options, QEMU's command line, the start and the end of a run, and the protocols to the agent in the
guest and to QEMU's monitor.

This package imports only base and build. Launcher, suites, benchmarks and tests use:

- `config.Guest`: the options of a guest; `options.parse()` makes one from the arguments of ./vgpu run.
- `launch.Run`: a command in a new guest, from start to end. `execute()` returns a `result.Result`; `running` is the
  guest while its QEMU runs. `background.Background` executes a `Run` in a thread, for callers that read the output
  meanwhile.
- `session.Machine`: a QEMU that the caller controls. The caller exchanges messages with the agent, uses
  `monitor.Monitor`, and migrates the guest. A `session.Session` is the command that runs in the machine.

The other modules: `emulator`, the process of QEMU; `run_folder`, the folder of logs; `agent`, the protocol to the
guest; `console`, which finds errors in the guest's console; `qmp`, the monitor of a guest that another process started;
`snapshot`, for guests that start from a snapshot and do not boot.
"""
