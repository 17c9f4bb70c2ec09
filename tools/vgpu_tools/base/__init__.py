# SPDX-License-Identifier: GPL-2.0-or-later
"""What every tool uses: paths, errors, progress on the terminal, child processes. It imports no other package of ours.

Start with `paths` (where things lie) and `errors` (what a user is told, and the exit status).
"""
