# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites behind ./vgpu test: what they run, in which pass, within which time, and what is reported.

`run` is the entry; `suite` has the types that the others share. `guests`, `device` and `machines` hold the suites
themselves, `registry` their list; `limits`, `budget`, `again` and `report` are about time and results.
"""
