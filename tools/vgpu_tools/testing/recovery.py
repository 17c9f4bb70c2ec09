# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu check-recovery: injects failures into the device of a guest under load. The guest compares every byte after
each recovery. Prints a table at the end."""

import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import LIMIT_SECONDS, Machine, Session

VRAM_MIB = 256
GART = {"offset": (VRAM_MIB - 2) << 20, "length": 1 << 20}  # the part of VRAM with the GART's table
HANG_MS = {"release": 200, "debug": 2000}  # vgpu_kfd.lockup_timeout of the guest
LATE_NS = 20_000_000
UNMET = 3  # most rounds of a row that are repeated because no fault occurred


@dataclass
class Line:
    """A kind of failure, and the results of its rounds: one row of the table that ./vgpu check-recovery prints.

    vgpu-recover-loop executes `command` during the failure, and prints a reply of names and values.
    """

    name: str
    injections: list[tuple[str, dict[str, Any]]]  # a round counts as injected if the last of these fired
    command: str
    # Name of a counter in the reply of vgpu-recover-loop. A round counts as recovered if this counter has grown.
    counter: str
    then: str = ""  # command to send after the round, without injections; empty: none
    injected: int = 0
    recovered: int = 0
    intact: int = 0
    micros: list[int] = field(default_factory=list)

    def good(self, repeat: int) -> bool:
        """Return whether all `repeat` rounds of the row have run and succeeded."""
        return self.injected == self.recovered == self.intact == repeat


@dataclass
class Outcome:
    """The result of campaign(): the kinds of failure with their results (`rows`), and an error of the guest.

    `complaint` is the first error on the guest's console. Without such an error, `complaint` is the standard
    error of vgpu-recover-loop, which may be empty.
    """

    rows: list[Line]
    complaint: str


def _lines() -> list[Line]:
    one = {"vmid": 0, "count": 1}
    window = {**one, "va": 0, "length": 16 << 20}  # the GART addresses that the kernel's copies use
    lost = ("gart-lost", window)
    hang = {"engine": 0, "queue": 0}  # the kernel's queue; queues of users start at number 2
    lost_vram = ("vram-lost-at-reset", {"count": 1})
    return [
        Line("GART lost", [lost], "copy", "gart", "dump"),
        Line("engine hang", [("sdma-hang", {**hang, "count": 1})], "copy", "engine", "dump"),
        # The XOR flips bit 0 of a page-table entry, which is the entry's valid bit.
        Line("GART corrupt", [("gart-corrupt", {**window, "xor": 1})], "copy", "gart"),
        # Lose a GART entry of the ring, not of a copy. The ring's packets and fences are at GART addresses
        # above `window`, so the injection begins where `window` ends.
        Line("ring lost", [("gart-lost", {**one, "va": 16 << 20})], "copy", "gart"),
        Line("GART lost, silent", [("fault-drop", {"vmid": 0}), lost], "copy", "gart"),
        # The device reports the fault so late that the engine could have executed later packets.
        Line("GART lost, late", [("fault-delay", {"vmid": 0, "delay-ns": LATE_NS}), lost], "copy", "gart"),
        Line("user queue hang", [("sdma-hang", {**hang, "queue": 3, "count": 1})], "hang", "engine"),
        Line("SDMA reads poison", [("vram-poison", {"count": 1})], "poison", "poisoned"),
        Line("CP reads poison", [("vram-poison", {"count": 1})], "cp", "poisoned"),
        # Inject the failure in the GFX hub, where only the CPU waits for acknowledgements. In the MM
        # hub, a job might wait, and would hang.
        Line("TLB not flushed", [("inv-no-ack", {"hub": "gfx", "count": 1})], "flush", "device", "reset"),
        # An injection without "count" has no limit: the engine hangs again after each reset. So the driver must give
        # up, and the counter `gaveup` must grow.
        Line("engine broken", [("sdma-hang", hang)], "broken", "gaveup", "reset"),
        Line("reset, no GART", [("vram-lost-at-reset", {**GART, "count": 1})], "reset", "device"),
        Line("reset, no VRAM", [lost_vram], "lost", "device"),
        Line("no VRAM, moves", [("sdma-slow", {**hang, "bytes-per-second": 64 << 20}), lost_vram], "moves", "device"),
    ]


def _faults(machine: Machine) -> int:
    return machine.monitor.devices()[0].count("faults-noretry")


def _numbers(line: bytes) -> dict[str, str]:
    words = line.decode().split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _table(rows: list[Line], repeat: int) -> None:
    print(f"{'':19}{'times':>6}{'injected':>10}{'recovered':>11}{'all right':>11}{'median':>9}{'longest':>9}  ms")
    for row in rows:
        micros = sorted(row.micros)
        print(
            f"{row.name:19}{repeat:6}{row.injected:10}{row.recovered:11}{row.intact:11}"
            f"{micros[len(micros) // 2] / 1000:9.1f}{micros[-1] / 1000:9.1f}"
        )


class Campaign:
    """Injects each kind of failure (a row of the table, see Line) into a guest under load, in several rounds."""

    def __init__(self, machine: Machine, repeat: int) -> None:
        """The caller has started `machine`, which runs no command yet. Each row has `repeat` rounds."""
        self.machine = machine
        self.repeat = repeat
        self.rows = _lines()
        self.before: dict[str, str] = {}

    def run(self, kernel: str) -> Outcome:
        """Run all rows."""
        timeout = "/sys/module/vgpu_kfd/parameters/lockup_timeout"
        self.machine.run("sh", "-c", f"echo {HANG_MS[kernel]} >{timeout} && exec vgpu-recover-loop")
        self.machine.rounds(1)
        self.before = self._request("copy")
        for row in self.rows:
            self._row(row)
        return Outcome(self.rows, self.machine.complaint() or self.machine.session.errors.decode())

    def _request(self, command: str) -> dict[str, str]:
        """Send a command to vgpu-recover-loop; return the numbers of its reply."""
        self.machine.send(agent.STDIN, f"{command}\n".encode())
        self.machine.rounds(1)
        return _numbers(self.machine.session.output.splitlines()[-1])

    def _row(self, row: Line) -> None:
        number = unmet = 0
        while number < self.repeat:
            faults = _faults(self.machine)
            after, fired = self._round(row)
            # Only one page-table walk reads the wrong GART entry. If this walk is for a prefetch, it raises
            # no fault, and the access itself reads the right entry. Then the round has tested nothing.
            nothing = row.counter == "gart" and after["copy"] == "right" and _faults(self.machine) == faults
            if nothing and unmet < UNMET:
                print(f"{row.name}: the wrong entry was not used, repeating the round", file=sys.stderr)
                self.before = after
                unmet += 1
                continue
            number += 1
            row.injected += fired > 0
            row.recovered += int(after[row.counter]) > int(self.before[row.counter])
            row.micros.append(int(after["us"]))
            said = [after, self._request(row.then)] if row.then else [after]
            row.intact += all(one["copy"] != "wrong" and one["good"] == one["of"] for one in said)
            self.before = said[-1]
            print(f"{row.name} {number}: {said}", file=sys.stderr)

    def _round(self, row: Line) -> tuple[dict[str, str], int]:
        """Run the row's command with its injections. Return the reply, and how often the last injection fired."""
        for kind, members in row.injections:
            self.machine.monitor.inject(kind, **members)
        after = self._request(row.command)
        active = self.machine.monitor.devices()[0].injections
        for injection in active:
            self.machine.monitor.remove_injection(injection.id)
        return after, active[-1].fired


def campaign(guest: Guest, repeat: int, limit: float = LIMIT_SECONDS) -> Outcome:
    """Run `repeat` rounds of each kind of failure (see Line) in a guest. Raises MachineError if the guest ends, or a
    wait exceeds `limit` seconds."""
    guest = replace(guest, vram=f"{VRAM_MIB}M", memory="1G")
    with (
        tempfile.TemporaryDirectory() as folder,
        Machine(Session(guest.late_frames), Path(folder), "recovery", guest, limit=limit) as machine,
    ):
        return Campaign(machine, repeat).run(guest.kernel)


def check_recovery(guest: Guest, repeat: int) -> int:
    """Run the campaign and print the table. Return 0 if in every round the driver recovered and all data was intact,
    else 1."""
    guest.prepare()
    outcome = campaign(guest, repeat)
    _table(outcome.rows, repeat)
    if outcome.complaint:
        raise Failure(f"the guest complained: {outcome.complaint}")
    good = all(row.good(repeat) for row in outcome.rows)
    print("all right after every recovery" if good else "NOT every round was recovered with everything right")
    return 0 if good else 1
