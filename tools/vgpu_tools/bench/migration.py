# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures live migrations between two QEMUs on this host. In the guest, `vgpu-bench vram-load` has filled three
quarters of VRAM. The engine is idle, or it overwrites the first 16 MiB of VRAM all the time."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from qemu.qmp import QMPError

from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.bench import host_memory
from vgpu_tools.bench.curve_guest import CurveError, Recorder
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, MachineError, Session

MIB = 1 << 20
MEMORY_MIB = 512  # RAM of the guest
BUSY_BYTES = 16 * MIB  # VRAM that the busy engine overwrites; BO_BYTES in bench/guest/vram_load.c
DOWNTIME_MS = 300  # QEMU stops the guest when it expects to send the rest in this time; QEMU's default
KINDS = ("idle", "busy")


@dataclass(frozen=True)
class Moved:
    """A migration: the downtime, the bytes that QEMU sent, and the bytes that it had to send.

    The latter are the memory of all RAM blocks in use at the start and, for each later collection of dirty pages, the
    bytes that the busy engine overwrites.
    """

    downtime_ms: float
    sent: int
    dirty: int


def needed(vram_mib: int) -> int:
    """Return the bytes of host memory that a migration takes: two guests, each with its RAM and three quarters of VRAM,
    and QEMU's own memory."""
    return 2 * (MEMORY_MIB + vram_mib * 3 // 4 + 128) * MIB


def dirty_bytes(used: int, busy: bool, syncs: int) -> int:
    """Return the bytes that a migration has to send: see Moved. `used`: memory of the RAM blocks at the start; `syncs`:
    how often QEMU collected dirty pages."""
    return used + (BUSY_BYTES * max(syncs - 1, 0) if busy else 0)


def migrate(vram_mib: int, kind: str, seconds: float, environment: Environment) -> Moved:
    """Migrate a guest with this size of VRAM. `kind` is one of KINDS. Raises CurveError if the migration or the guest
    fails, or if all of it takes more than `seconds`."""
    guest = Guest(
        vram=f"{vram_mib}M",
        memory=f"{MEMORY_MIB}M",
        accelerator=environment.accelerator,
        late_frames=environment.late_frames,
    )
    try:
        guest.check()
        guest.prepare()
        with tempfile.TemporaryDirectory() as folder:
            return _migrate(guest, kind, seconds, Path(folder))
    except (MachineError, QMPError, Failure, OSError) as error:
        raise CurveError(f"migration, {vram_mib} MiB of VRAM, {kind} engine: {error}") from error


def _migrate(guest: Guest, kind: str, seconds: float, folder: Path) -> Moved:
    session, live = Session(guest.late_frames), f"unix:{folder}/live"
    until = time.monotonic() + seconds
    with Machine(session, folder, "source", guest, limit=seconds) as source:
        source.run("vgpu-bench", "vram-load", kind)
        source.limit = _left(until)
        # The program prints a line when VRAM is filled, and then, if the engine is busy, a line for each round.
        source.rounds(2 if kind == "busy" else 1)
        source.limit = _left(until)
        blocks = source.monitor.cmd("human-monitor-command", **{"command-line": host_memory.RAM_BLOCKS})
        used = host_memory.used(source.process.pid, host_memory.parse_blocks(str(blocks)))
        with Machine(session, folder, "target", guest, live, limit=_left(until)) as target:
            state = source.migrate(live, DOWNTIME_MS)
            target.limit = _left(until)
            if kind == "busy":
                target.rounds(1)
            target.send(agent.STDIN)
            target.until(lambda: session.status is not None, "the command's end")
            complaint = source.complaint() or target.complaint()
    if session.status or complaint or state.downtime is None:
        said = session.errors.decode(errors="replace").strip()
        raise MachineError(f"exit status {session.status}; {complaint or said or 'no downtime was reported'}")
    dirty = dirty_bytes(used.blocks, kind == "busy", state.ram.syncs)
    return Moved(float(state.downtime), state.ram.transferred, dirty)


def _left(until: float) -> float:
    """Return the limit of a wait that must end at `until`, a time of time.monotonic()."""
    return max(1.0, until - time.monotonic())


def record(recorder: Recorder, vram_mib: int, kind: str, moved: Moved) -> None:
    """Record the values of a migration."""
    recorder.add(f"downtime-{kind}", vram_mib, moved.downtime_ms, "ms")
    recorder.add(f"sent-{kind}", vram_mib, moved.sent, "B")
    recorder.add(f"ratio-{kind}", vram_mib, moved.sent / moved.dirty, "x")
