# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines the paths of the checkout, of its build folder, and of the cache that all checkouts
share."""

from pathlib import Path

from vgpu_tools.base import environment

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = ROOT / "configs"
INCLUDE = ROOT / "include"
QEMU_DEVICE = ROOT / "qemu-device"
GUEST_DRIVER = ROOT / "guest-driver"
ROOTFS = ROOT / "guest-rootfs"
BENCH = ROOT / "bench"
PROGRAMS = ROOTFS / "programs"

BUILD = ROOT / "build"
LOGS = BUILD / "logs"
RUNS = BUILD / "runs"
RESULTS = BUILD / "results"

CACHE = (environment.read().cache or Path.home() / ".cache") / "vgpu-kfd"
