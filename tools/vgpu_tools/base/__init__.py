# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths, errors, progress on the terminal, and child processes, for all tools. This package imports
no other package of vgpu_tools.

The main modules are `paths` (where files lie) and `errors` (messages for the user, exit statuses).
"""
