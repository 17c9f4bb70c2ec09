# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites of ./vgpu test: programs, passes, time limits and reports.

Imports base, build and guest only. `run` is the entry; `suite` has the shared types. `style`, `doc_registers`,
`device_tests`, `guest_tests`, `avocado_tests`, `docs_tests` and `howto` hold the suites; `registry` lists the suites;
`limits`, `budget`, `again` and `report` deal with time and results. `rooms` and `founding` are checks of `style`.
`stress`, `delays`, `mutants`, `kfdtest`, `recovery` and `power_cycles` are separate commands.
"""
