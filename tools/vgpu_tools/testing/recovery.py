# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu check-recovery: things are made to go wrong in a guest at work, again and again; after each recovery every
byte is compared. One table at the end."""

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, Session

VRAM_MIB = 256
GART = {"offset": (VRAM_MIB - 2) << 20, "length": 1 << 20}  # the table, in VRAM
HANG_MS = {"release": 200, "debug": 2000}  # vgpu_kfd.lockup_timeout in the guest
LATE_NS = 20_000_000
UNMET = 3  # rounds of a row that may pass without a fault


@dataclass
class Line:
    """A row of the table: what is injected, the last of it being what must be seen to happen; what the guest does
    meanwhile (commands of vgpu-recover-loop), and the counter that tells of the recovery."""

    name: str
    injections: list[tuple[str, dict[str, Any]]]
    command: str
    counter: str
    then: str = ""  # a command for afterwards, when nothing is injected any more
    injected: int = 0
    recovered: int = 0
    intact: int = 0
    micros: list[int] = field(default_factory=list)


def _lines() -> list[Line]:
    one = {"vmid": 0, "count": 1}
    window = {**one, "va": 0, "length": 16 << 20}  # where the kernel's copies go through
    lost = ("gart-lost", window)
    hang = {"engine": 0, "queue": 0}  # the kernel's; 2 is the first of a user
    lost_vram = ("vram-lost-at-reset", {"count": 1})
    return [
        Line("GART lost", [lost], "copy", "gart", "dump"),
        Line("engine hang", [("sdma-hang", {**hang, "count": 1})], "copy", "engine", "dump"),
        Line("GART corrupt", [("gart-corrupt", {**window, "xor": 1})], "copy", "gart"),  # the entry's valid bit
        Line("ring lost", [("gart-lost", {**one, "va": 16 << 20})], "copy", "gart"),  # packets, fences
        # The fault is not told, or told when the engine could have been far beyond it.
        Line("GART lost, silent", [("fault-drop", {"vmid": 0}), lost], "copy", "gart"),
        Line("GART lost, late", [("fault-delay", {"vmid": 0, "delay-ns": LATE_NS}), lost], "copy", "gart"),
        Line("user queue hang", [("sdma-hang", {**hang, "queue": 3, "count": 1})], "hang", "engine"),
        Line("SDMA reads poison", [("vram-poison", {"count": 1})], "poison", "poisoned"),
        Line("CP reads poison", [("vram-poison", {"count": 1})], "cp", "poisoned"),
        # The GFX hub is the CPU's to flush: jobs wait for the other one's acknowledges themselves.
        Line("TLB not flushed", [("inv-no-ack", {"hub": "gfx", "count": 1})], "flush", "device", "reset"),
        Line("engine broken", [("sdma-hang", hang)], "broken", "gaveup", "reset"),
        Line("reset, no GART", [("vram-lost-at-reset", {**GART, "count": 1})], "reset", "device"),
        Line("reset, no VRAM", [lost_vram], "lost", "device"),
        Line("no VRAM, moves", [("sdma-slow", {**hang, "bytes-per-second": 64 << 20}), lost_vram], "moves", "device"),
    ]


def _faults(machine: Any) -> int:
    """Faults that the device has reported so far."""
    counters = machine.qmp.cmd("query-vgpu")[0]["counters"]
    return sum(entry["value"] for entry in counters if entry["counter"] == "faults-noretry")


def _numbers(line: bytes) -> dict[str, str]:
    words = line.decode().split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _table(rows: list[Line], repeat: int) -> bool:
    print(f"{'':19}{'times':>6}{'injected':>10}{'recovered':>11}{'all right':>11}{'median':>9}{'longest':>9}  ms")
    for row in rows:
        micros = sorted(row.micros)
        print(
            f"{row.name:19}{repeat:6}{row.injected:10}{row.recovered:11}{row.intact:11}"
            f"{micros[len(micros) // 2] / 1000:9.1f}{micros[-1] / 1000:9.1f}"
        )
    return all(row.injected == row.recovered == row.intact == repeat for row in rows)


def check_recovery(options: argparse.Namespace) -> int:
    """Run the campaign and print the table. Exit status 0 only if every round was right."""
    guest = Guest(vram=f"{VRAM_MIB}M", memory="1G", kernel=options.kernel, append=options.append)
    guest.prepare()
    session = Session()
    rows = _lines()
    with tempfile.TemporaryDirectory() as name, Machine(session, Path(name), "recovery", guest) as machine:
        timeout = "/sys/module/vgpu_kfd/parameters/lockup_timeout"
        machine.run("sh", "-c", f"echo {HANG_MS[options.kernel]} >{timeout} && exec vgpu-recover-loop")
        machine.rounds(1)

        def tell(command: str) -> dict[str, str]:
            machine.send(agent.STDIN, f"{command}\n".encode())
            machine.rounds(1)
            return _numbers(session.output.splitlines()[-1])

        before = tell("copy")
        for row in rows:
            number = unmet = 0
            while number < options.repeat:
                faults = _faults(machine)
                for kind, arguments in row.injections:
                    machine.qmp.cmd("vgpu-inject", kind=kind, **arguments)
                after = tell(row.command)
                active = machine.qmp.cmd("query-vgpu")[0]["injections"]
                for injection in active:
                    machine.qmp.cmd("vgpu-inject-remove", id=injection["id"])
                # An invalidation came between the wrong entry and its use: it was read again, and nothing happened.
                if row.counter == "gart" and after["copy"] == "right" and _faults(machine) == faults and unmet < UNMET:
                    print(f"{row.name}: the wrong entry was not used, once more", file=sys.stderr)
                    before = after
                    unmet += 1
                    continue
                number += 1
                row.injected += active[-1]["fired"] > 0
                row.recovered += int(after[row.counter]) > int(before[row.counter])
                row.micros.append(int(after["us"]))
                said = [after, tell(row.then)] if row.then else [after]
                row.intact += all(one["copy"] != "wrong" and one["good"] == one["of"] for one in said)
                before = said[-1]
                print(f"{row.name} {number}: {said}", file=sys.stderr)
        complaint = machine.complaint()
        errors = session.errors.decode()
    good = _table(rows, options.repeat)
    if complaint or errors:
        raise Failure(f"the guest complained: {complaint or errors}")
    print("all right after every recovery" if good else "NOT every round was recovered with everything right")
    return 0 if good else 1
