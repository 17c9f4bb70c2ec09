# SPDX-License-Identifier: GPL-2.0-or-later
"""Operation of a running guest through QMP: ./vgpu inject, stats and trace.

This package imports only base and guest.
"""
