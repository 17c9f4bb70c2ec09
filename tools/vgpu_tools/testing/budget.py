# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads tests/budget.toml: the seconds that each suite of the basic pass may take, and the speed of
the reference host."""

import functools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT

FILE = ROOT / "tests/budget.toml"
OVER = 1.5  # the report warns if a suite takes more than this multiple of its budget


@dataclass(frozen=True)
class Host:
    """The seconds that the fixed work of limits.measure() takes on the reference machine, emulated
    and native."""

    emulated: float
    native: float


@dataclass(frozen=True)
class Budget:
    """The contents of tests/budget.toml: the reference host, and the seconds by suite."""

    host: Host
    seconds: dict[str, float]

    def check(self, suites: Iterable[str]) -> None:
        """Raise Failure if a budget names a suite that is not in `suites`, or if one of `suites` has no budget."""
        names = set(suites)
        if unknown := sorted(self.seconds.keys() - names):
            raise Failure(f"{FILE}: a budget for '{unknown[0]}', which is no suite of the basic pass", status=2)
        if missing := sorted(names - self.seconds.keys()):
            raise Failure(f"{FILE}: no budget for the suite '{missing[0]}'", status=2)

    def over(self, suite: str, seconds: float, scale: float) -> str:
        """Return a warning if a suite took longer than OVER times its budget on a host that is `scale` times slower
        than the reference machine; else ''."""
        allowed = self.seconds.get(suite)
        if not allowed or seconds <= OVER * allowed * scale:
            return ""
        return f"{suite} took {seconds:.0f} s, its budget is {allowed:.0f} s (host {scale:.1f} x slower)"


@functools.cache
def load() -> Budget:
    """Read the file."""
    try:
        content = tomllib.loads(FILE.read_text())
        host = Host(**{name: float(value) for name, value in content["host"].items()})
        seconds = {name: float(value) for name, value in content["basic"].items()}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise Failure(f"{FILE}: {error!r}", status=2) from None
    if bad := [name for name, value in [*seconds.items(), *vars(host).items()] if value <= 0]:
        raise Failure(f"{FILE}: {bad[0]} is not above 0", status=2)
    return Budget(host, seconds)
