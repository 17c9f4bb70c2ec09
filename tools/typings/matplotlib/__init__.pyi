# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of matplotlib, as far as vgpu_tools/docs/site/run_pictures.py uses them."""

rcParams: dict[str, object]
