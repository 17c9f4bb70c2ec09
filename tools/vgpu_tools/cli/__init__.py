# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of ./vgpu: words to calls, failures to sentences and exit statuses.

It may import every package. Start with `main`.
"""
