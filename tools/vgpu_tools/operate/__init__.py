# SPDX-License-Identifier: GPL-2.0-or-later
"""An operator's hands on a running guest: ./vgpu inject, stats and trace, by QMP.

It may import base and guest.
"""
