# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu bench: runs the benchmarks (bench/ and others) and prints the results. Some results have a
reference, for example the rate of a memcpy.

The entry points are `measure` and, for ./vgpu fault-path, `fault_path`.
"""
