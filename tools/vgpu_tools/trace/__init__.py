# SPDX-License-Identifier: GPL-2.0-or-later
"""Records the events of device and driver during a run (`record`), and joins them on one axis of time (`timeline`).

`command` implements ./vgpu trace -o, `runs` implements ./vgpu pictures. `vgpu_tools.docs` draws the pictures. `hops`
breaks lone faults down for ./vgpu fault-path.
"""
