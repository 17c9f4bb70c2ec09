# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu bench: runs the benchmarks (bench/ and others), reduces the samples, and prints the
results. Beside a result is its reference, if it has one, for example the rate of a memcpy.

This package imports only base, build and guest. The entry point is the module `measure`.
"""
