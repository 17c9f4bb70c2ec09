# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of a test, from Avocado's parameters, which vgpu_tools/testing/avocado_tests.py
passes as -p NAME=VALUE."""

from dataclasses import dataclass
from typing import Self

from avocado import Test

from vgpu_tools.base.environment import NOTHING_SET, Environment
from vgpu_tools.guest.session import LIMIT_SECONDS


@dataclass(frozen=True)
class Settings:
    """The parameters of a test. With the defaults the test runs in its short form, on the release kernel."""

    scale: float = 0.0  # how much slower than the reference machine this host is; 0: not measured
    rounds: int = 2
    kernel: str = "release"
    append: str = ""  # appended to the kernel's command line
    environment: Environment = NOTHING_SET

    @classmethod
    def of(cls, test: Test) -> Self:
        """Read the settings from the test's Avocado parameters. Absent parameters have their
        defaults."""

        def given(name: str, default: str = "") -> str:
            return str(test.params.get(name, default=default))

        environment = Environment(accelerator=given("accelerator"), late_frames=given("late_frames"))
        return cls(
            scale=float(given("scale", "0")),
            rounds=int(given("rounds", "2")),
            kernel=given("kernel", "release"),
            append=given("append"),
            environment=environment,
        )

    @property
    def factor(self) -> float:
        """The factor that converts a limit in seconds on the reference machine to a limit on this
        host; 1 if the host's speed was not measured."""
        return self.scale or 1.0

    @property
    def limit(self) -> float:
        """Limit of each wait for an event in a virtual machine, in seconds of the host's clock."""
        return 30.0 * self.scale if self.scale else LIMIT_SECONDS

    @property
    def guest_limit(self) -> float:
        """Limit of a whole run of a guest (boot and command), in seconds on this host."""
        return 45.0 * self.scale if self.scale else 120.0

    @property
    def call_limit(self) -> float:
        """Limit of each call of ./vgpu, in seconds on this host."""
        return 60.0 * self.scale if self.scale else 300.0
