# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation site (make docs). The entry points are `command` (./vgpu docs) and
`run_pictures` (./vgpu pictures).

The modules in `site/` run in Sphinx's Python environment (requirements-docs.txt), all other modules
in the environment of the tools.
"""
