# SPDX-License-Identifier: GPL-2.0-or-later
"""Implements ./vgpu (guests, tests, documentation) and the build steps behind make."""
