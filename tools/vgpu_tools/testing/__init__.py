# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites of ./vgpu test. The entry point is `run`; `registry` lists the suites. Separate commands
are `stress`, `delays`, `mutants`, `kfdtest`, `recovery` and `power_cycles`.
"""
