# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu bench: runs what measures (bench/ and others), reduces the samples, and shows them beside what they are held
against.

It may import base, build and guest. Start with `measure`.
"""
