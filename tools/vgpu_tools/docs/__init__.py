# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation site (make docs): copies the pages, generates reference pages and pictures from
the code, runs Sphinx in a separate Python environment (requirements-docs.txt), and checks the
result in a browser.

The main modules are `command` (./vgpu docs), `stage` (what Sphinx reads) and `run_pictures`
(pictures of runs, ./vgpu pictures). `site/` has Sphinx's configuration, and the programs that draw
pictures and check the site in a browser. The modules in `site/` run in Sphinx's Python environment,
all other modules in the environment of the tools.
"""
