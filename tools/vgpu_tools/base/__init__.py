# SPDX-License-Identifier: GPL-2.0-or-later
"""Used by every tool: paths, errors, progress on the terminal, child processes. Imports no other package of vgpu_tools.

Start with `paths` (where files lie) and `errors` (messages for the user, exit statuses).
"""
