# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites of ./vgpu test, their time limits and their reports. A run of the suites is a basic,
full or long pass.

This package imports only base, build and guest. The entry point is `run`; `suite` has the shared
types. `style`, `doc_registers`, `device_tests`, `guest_tests`, `avocado_tests`, `docs_tests` and
`howto` hold the suites; `registry` lists the suites; `limits` and `budget` bound the time of
suites, `again` repeats failed cases, and `report` prints results. `rooms` (which includes and imports
are allowed) and `founding` (docs/founding-documents.md) are checks of `style`. `stress`, `delays`,
`mutants`, `kfdtest`, `recovery` and `power_cycles` are separate commands.
"""
