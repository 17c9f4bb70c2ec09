# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites behind ./vgpu test: what they run, in which pass, within which time, and what is reported.

It may import base, build and guest. `run` is the entry; `suite` has the types that the others share. `style`,
`doc_registers`, `device_tests`, `guest_tests` and `avocado_tests` hold the suites themselves, `registry` their list;
`limits`, `budget`, `again` and `report` are about time and results. `stress`, `delays`, `mutants`, `kfdtest`,
`recovery` and `power_cycles` are commands of their own.
"""
