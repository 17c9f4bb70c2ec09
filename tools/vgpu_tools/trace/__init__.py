# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace -o: writes the events of device and driver on one axis of time to a file for
Perfetto. ./vgpu pictures: records the runs whose numbers become pictures.

This package imports only base, guest and operate. The entry point of ./vgpu trace -o is `command`.
`record` runs a guest and records both sides; `events` parses the records; `device` and `driver`
build the faults and spans of each side; `timeline` joins the two sides; `perfetto` writes the file.
`runs` records the runs of the pictures; `figures`, `life` and `one_fault` compute the numbers of
the pictures; `vgpu_tools.docs` draws the pictures.
"""
