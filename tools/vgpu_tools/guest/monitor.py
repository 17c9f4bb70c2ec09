# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's monitor (QMP) of a machine that the caller holds, and what its vgpu-kfd devices say, as data."""

import socket
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from qemu.qmp.legacy import QEMUMonitorProtocol


class _Answer(BaseModel):
    """A part of an answer; members that no tool uses are left out."""

    model_config = ConfigDict(frozen=True)


class Counter(_Answer):
    """What a device counts since its reset."""

    counter: str
    value: int


class Injection(_Answer):
    """Something that was asked to go wrong: its number, how often it did, and whether it still can."""

    id: int
    fired: int
    seen: int
    active: bool
    injection: dict[str, Any]


class Injected(_Answer):
    """The answer to vgpu-inject."""

    id: int


class Vmid(_Answer):
    """A VMID of a hub that is enabled."""

    vmid: int
    pasid: int


class Device(_Answer):
    """A vgpu-kfd device. `id` is the one of -device, if it was given one."""

    path: str
    id: str = ""
    counters: list[Counter]
    injections: list[Injection]
    vmids: list[Vmid]

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.id or self.path

    def count(self, counter: str) -> int:
        """The value of a counter; ValueError if the device has none of this name."""
        values = [entry.value for entry in self.counters if entry.counter == counter]
        if not values:
            raise ValueError(f"{self.name} has no counter '{counter}'")
        return values[0]


class Event(_Answer):
    """Something that QEMU reports by itself."""

    name: str = Field(alias="event")
    data: dict[str, Any] = {}


_DEVICES = TypeAdapter(list[Device])


def devices(answer: object) -> list[Device]:
    """The answer to query-vgpu."""
    return _DEVICES.validate_python(answer)


class Monitor:
    """A connection that lasts as long as the machine. Errors are those of qemu.qmp (QMPError)."""

    def __init__(self, peer: socket.socket) -> None:
        """`peer` is connected to QEMU's monitor."""
        self._qmp = QEMUMonitorProtocol(peer)

    def connect(self) -> None:
        """Wait for the greeting."""
        self._qmp.connect()

    def close(self) -> None:
        """End the connection."""
        self._qmp.close()

    def cmd(self, name: str, **arguments: object) -> Any:
        """Execute a command; returns its answer."""
        return self._qmp.cmd(name, **arguments)

    def event(self, seconds: float) -> Event | None:
        """The next event; None if there is none within this time."""
        try:
            event = self._qmp.pull_event(wait=float(seconds))
        except TimeoutError:
            return None
        return Event.model_validate(event) if event else None

    def devices(self) -> list[Device]:
        """The vgpu-kfd devices, in the order of query-vgpu."""
        return devices(self.cmd("query-vgpu"))

    def inject(self, kind: str, **members: object) -> int:
        """Make something go wrong; returns the injection's number."""
        return Injected.model_validate(self.cmd("vgpu-inject", kind=kind, **members)).id

    def remove_injection(self, number: int) -> None:
        """Let it go wrong no more."""
        self.cmd("vgpu-inject-remove", id=number)
