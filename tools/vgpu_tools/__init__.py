# SPDX-License-Identifier: GPL-2.0-or-later
"""The launcher behind ./vgpu and the build steps behind make."""
