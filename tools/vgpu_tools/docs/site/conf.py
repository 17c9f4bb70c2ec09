# SPDX-License-Identifier: GPL-2.0-or-later
"""Sphinx's configuration of the site. vgpu_tools.docs.command copies this file to the folder of the pages. The file
settings.json in that folder names the folders of the checkout and of the kernel's sources."""

import json
import sys
from pathlib import Path

here = Path(__file__).parent
settings = json.loads((here / "settings.json").read_text())
linux = Path(settings["linux"])
sys.path.insert(0, str(linux / "Documentation/sphinx"))

project = "vgpu-kfd"
language = "en"
root_doc = "index"
extensions = ["myst_parser", "kerneldoc", "vgpu_tools.docs.site.picture"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["files/**"]
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings

myst_heading_anchors = 4

kerneldoc_bin = str(linux / "scripts/kernel-doc")
kerneldoc_srctree = settings["root"]
kerneldoc_verbosity = 1

html_theme = "furo"
html_title = "vgpu-kfd"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
