# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of ./vgpu: calls the function of a command, prints failures, returns the exit
status.

This package imports every other package. The entry point is `main.main()`.
"""
