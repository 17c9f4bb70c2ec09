# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu bench: runs the benchmarks (bench/ and others), reduces the samples, and prints them beside their references.

Imports base, build and guest only. Start with `measure`.
"""
