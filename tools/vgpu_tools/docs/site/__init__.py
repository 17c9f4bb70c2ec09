# SPDX-License-Identifier: GPL-2.0-or-later
"""The modules that run in Sphinx's Python environment: Sphinx's configuration, the directive for pictures, and the
programs that draw pictures and check the site in a browser. These modules import no other package of vgpu_tools."""
