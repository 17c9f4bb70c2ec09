# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes commands of QEMU's monitor (QMP) in a machine that the caller controls, and converts the
replies about vgpu-kfd devices to objects."""

import socket
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from qemu.qmp.legacy import QEMUMonitorProtocol


class _Answer(BaseModel):
    """Base class of the objects in QEMU's replies. Members that no tool uses are ignored."""

    model_config = ConfigDict(frozen=True)


class Counter(_Answer):
    """A counter of a device: its name, and the count since the device's reset."""

    counter: str
    value: int


class Injection(_Answer):
    """The state of a fault injection. Each kind of injection acts at one kind of event in the device, for example at
    page-table walks. Each such event is an occasion."""

    id: int
    fired: int  # number of occasions at which the injection took effect
    seen: int  # number of occasions that matched the injection's filter
    active: bool  # whether the injection can take effect again
    injection: dict[str, Any]


class Injected(_Answer):
    """The reply to vgpu-inject: the id of the new injection."""

    id: int


class Vmid(_Answer):
    """An enabled VMID of a hub, with its PASID."""

    vmid: int
    pasid: int


class Device(_Answer):
    """A vgpu-kfd device. `id` is the id= of -device; empty if -device has none."""

    path: str
    id: str = ""
    counters: list[Counter]
    injections: list[Injection]
    vmids: list[Vmid]

    @property
    def name(self) -> str:
        """The name in messages and tables. `path` is the device's path in QOM."""
        return self.id or self.path

    def count(self, counter: str) -> int:
        """Return the count since the device's reset. `counter` is a name such as "faults-noretry". Raises ValueError if
        the device has no such counter."""
        values = [entry.value for entry in self.counters if entry.counter == counter]
        if not values:
            raise ValueError(f"{self.name} has no counter '{counter}'")
        return values[0]


class Event(_Answer):
    """An asynchronous event of QMP."""

    name: str = Field(alias="event")
    data: dict[str, Any] = {}


_DEVICES = TypeAdapter(list[Device])


def devices(answer: object) -> list[Device]:
    """Convert the reply to query-vgpu to objects. Raises ValidationError if the reply is
    malformed."""
    return _DEVICES.validate_python(answer)


class Monitor:
    """A connection to QEMU's monitor. Errors are raised as QMPError of qemu.qmp."""

    def __init__(self, peer: socket.socket) -> None:
        """`peer` is a socket connected to QEMU's monitor."""
        self._qmp = QEMUMonitorProtocol(peer)

    def connect(self) -> None:
        """Wait for QEMU's greeting, and negotiate QMP's capabilities."""
        self._qmp.connect()

    def close(self) -> None:
        """End the connection."""
        self._qmp.close()

    def cmd(self, name: str, **arguments: object) -> Any:
        """Execute the command `name` of QMP. Return the member "return" of QEMU's reply. Raises ExecuteError, a kind of
        QMPError, if QEMU refuses the command."""
        return self._qmp.cmd(name, **arguments)

    def event(self, seconds: float) -> Event | None:
        """Return the next event; None if no event arrives within `seconds`."""
        try:
            event = self._qmp.pull_event(wait=float(seconds))
        except TimeoutError:
            return None
        return Event.model_validate(event) if event else None

    def devices(self) -> list[Device]:
        """Query the state of all vgpu-kfd devices. Raises ValidationError if QEMU's reply is malformed."""
        return devices(self.cmd("query-vgpu"))

    def inject(self, kind: str, **members: object) -> int:
        """Add a fault injection to a device, and return the id of the injection. `kind` and `members` are
        the arguments of vgpu-inject (VgpuInjection in qapi/vgpu-kfd.json)."""
        return Injected.model_validate(self.cmd("vgpu-inject", kind=kind, **members)).id

    def remove_injection(self, number: int) -> None:
        """Remove an injection."""
        self.cmd("vgpu-inject-remove", id=number)
