# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in Sphinx's own environment: its configuration and the directive for pictures. Imports no other package of
vgpu_tools."""
