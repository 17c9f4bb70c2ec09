# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace -o: what device and driver did, on one axis of time, as a file for Perfetto.

It may import base, guest and operate. Start with `command`. `record` lets a guest run and keeps what both sides said,
`events` reads that, `device` and `driver` make sense of each side, `timeline` joins them, `perfetto` writes the file.
"""
