# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in Sphinx's own environment: its configuration, the directive for pictures, and the program that draws
runs. Imports no other package of vgpu_tools."""
