# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites of ./vgpu test. A run of the suites is a basic, full or long pass.

The entry point is `run`. `registry` lists the suites, and `suite` has the shared types. The modules
`stress`, `delays`, `mutants`, `kfdtest`, `recovery` and `power_cycles` are separate commands.
"""
