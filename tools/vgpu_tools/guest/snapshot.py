# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes snapshots for the option "--from boot". A snapshot is the state of a guest that has booted and
has not loaded the driver. The file KEY.state has QEMU's migration stream of this guest, and is sparse.
The file KEY.json describes the snapshot. For KEY see key().
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from vgpu_tools.base import progress
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE
from vgpu_tools.build import fingerprint, qemu, rootfs, sources
from vgpu_tools.guest import accel, agent, launch, run_folder, tsc
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.emulator import Emulator

FOLDER = CACHE / "snapshots"
MAX_BYTES = 8 << 30  # limit of all snapshots together; above this limit, the least recently used snapshots are removed
ACCELERATOR = "tcg"  # not KVM, where the saved state depends on the host's processor
FORMAT = "1"  # version of the files, part of the key
BOOT_SECONDS = 300.0  # limit for a guest to boot and be saved
SAVE_SECONDS = 120.0  # limit for QEMU to write the state
# Largest allowed relative difference between the TSC's rate now and at the time of the snapshot. The
# guest keeps time by the TSC.
MAX_DRIFT = 0.001
# With "--from boot", --qemu-args may have only the options in SHAPING and QUIET. Options in SHAPING change the machine,
# so a snapshot's key includes them.
SHAPING = {"-cpu", "-device", "-drive", "-global", "-m", "-machine", "-numa", "-object", "-smp"}
# The options in QUIET do not change the machine, so a snapshot's key leaves them out.
QUIET = {"-D", "-d", "-msg", "-trace"}


class Unusable(Exception):
    """A snapshot cannot be used. The text is the reason; empty if the snapshot does not exist."""


def check_name(name: str) -> None:
    """Check the value of the option --from. Raises Failure with status 2 if there is no snapshot of this name."""
    if name != "boot":
        raise Failure(f"--from {name}: no such snapshot; there is 'boot', the machine before its driver", status=2)


def check(guest: Guest) -> None:
    """Raise Failure if a guest with these options cannot start from a snapshot."""
    if guest.rootfs != "mini":
        raise Failure(f"--from boot: not with --rootfs {guest.rootfs}, whose disk is in use already", status=2)
    words = iter(guest.qemu_args)
    for word in words:
        if word not in SHAPING | QUIET:
            allowed = " ".join(sorted(SHAPING | QUIET))
            raise Failure(f"--from boot: not with --qemu-args {word}, only with {allowed}", status=2)
        value = next(words, "")
        # Refuse disks and memory files with contents: the guest may have read the contents before
        # the save, and the contents may change before the restore.
        if word == "-drive" and "driver=null-co" not in value.split(","):
            raise Failure(f"--from boot: not with --qemu-args '-drive {value}', only with driver=null-co", status=2)
        if word == "-object" and not value.startswith(("memory-backend-ram,", "memory-backend-memfd,")):
            raise Failure(f"--from boot: not with --qemu-args '-object {value}'", status=2)


def key(guest: Guest) -> str:
    """Return a hash over all inputs of a guest's snapshot. Paths of files are not part of the
    hash."""
    plain = replace(guest, share=guest.share and Path("/"), qmp=None, qemu_args=_shaping(guest.qemu_args))
    files = (qemu.binary(guest.variant()), guest.kernel_image(), guest.initramfs())
    places = (*files, rootfs.disk(guest.kernel))
    names = dict(zip(map(str, places), ("qemu", "kernel", "initramfs", "programs"), strict=True))
    names |= {str(folder): "firmware" for folder in sources.firmware()[1]}
    words = []
    for word in plain.command(0, ACCELERATOR):
        for path, name in names.items():
            word = word.replace(path, name)
        words.append(re.sub(r" tsc_early_khz=\d+", "", word))
    contents = [_digest(path) for path in files]
    # The hash includes the id of the host's boot, so that snapshots of earlier boots are not used. After a power
    # failure, their state files may be incomplete.
    return fingerprint.of(FORMAT, words, contents, sources.firmware()[0].key, str(rootfs.DISK_BYTES), host_boot())


def host_boot() -> str:
    """Return the id of the host's current boot."""
    return accel.BOOT.read_text().strip()


def _shaping(words: list[str]) -> list[str]:
    pairs = zip(words[::2], words[1::2], strict=False)
    return [word for name, value in pairs if name not in QUIET for word in (name, value)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def file_identity(descriptor: int) -> list[int]:
    """Return numbers about a file. At least one of them changes when the file is written to or replaced."""
    stat = os.fstat(descriptor)
    return [stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


class Saver(launch.Run):
    """A run that boots a guest and writes the machine's state to a file as soon as the agent is in state "waiting"."""

    def __init__(self, guest: Guest, state: Path) -> None:
        super().__init__(replace(guest, qmp=None, accelerator=ACCELERATOR), [], timeout=BOOT_SECONDS)
        self.state = state

    def _prepare(self, emulator: Emulator, stack: contextlib.ExitStack) -> Callable[[launch.Running], None]:
        monitor, theirs = socket.socketpair()
        stack.enter_context(monitor)
        stack.enter_context(theirs)
        descriptor = theirs.fileno()
        emulator.more += ["-chardev", f"socket,id=saver,fd={descriptor}", "-mon", "chardev=saver,mode=control"]
        emulator.inherited.append(descriptor)
        return partial(self._write, monitor, theirs)

    def _write(self, monitor: socket.socket, theirs: socket.socket, running: launch.Running) -> None:
        """Write the state of the guest to the file `self.state`.

        `theirs` is QEMU's end of the monitor's socket.
        """
        if running.driver != agent.WAITING:
            console = running.folder / run_folder.CONSOLE
            raise Failure(f"snapshot {self.state}: agent in state '{running.driver}', not '{agent.WAITING}'; {console}")
        theirs.close()
        asyncio.run(_save(monitor, self.state))
        running.status = 0


async def _save(monitor: socket.socket, state: Path) -> None:
    """Write a machine's state to a file, by migration."""
    from qemu.qmp import ExecuteError, QMPClient, QMPError

    client = QMPClient("vgpu")
    client.logger.disabled = True
    try:
        async with asyncio.timeout(SAVE_SECONDS):
            await client.connect(monitor)
            with client.listener("MIGRATION") as listener:
                for command, arguments in (
                    ("migrate-set-capabilities", {"capabilities": [{"capability": "events", "state": True}]}),
                    ("migrate-set-parameters", {"max-bandwidth": 0}),
                    ("migrate", {"uri": f"file:{state}"}),
                ):
                    await client.execute(command, arguments)
                async for event in listener:
                    data: Any = event["data"]
                    if data["status"] in ("completed", "failed"):
                        break
            outcome: Any = await client.execute("query-migrate")
            await client.disconnect()
    except ExecuteError as error:
        raise Failure(f"snapshot {state}: QEMU does not save this machine: {error}") from None
    except TimeoutError:
        raise Failure(f"snapshot {state}: not saved within {SAVE_SECONDS:g} s") from None
    except (QMPError, EOFError, OSError) as error:
        raise Failure(f"snapshot {state}: QEMU closed the connection: {error}") from None
    if outcome["status"] != "completed":
        raise Failure(f"snapshot {state}: not saved: {outcome.get('error-desc', outcome['status'])}")


def _size(path: Path) -> int:
    """Return the number of bytes that a file takes on the disk; 0 if the file does not exist."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_blocks * 512
    return 0


@contextmanager
def prepared(guest: Guest, folder: Path | None = None) -> Iterator[BinaryIO | None]:
    """Build everything that `guest` needs. Yield the result of Store.obtain(), open during the block.
    Raises Failure if a build or Store.obtain() fails. `folder`: see Store."""
    guest.prepare()
    saved = Store(folder).obtain(guest)
    with saved or contextlib.nullcontext():
        yield saved


class Store:
    """Finds, takes and removes the snapshots in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` need not exist: obtain() makes the folder. None: FOLDER."""
        self.folder = folder or FOLDER

    def obtain(self, guest: Guest) -> BinaryIO | None:
        """Return the guest's snapshot as an open file, which the caller closes; None without
        `guest.snapshot`. Raises Failure on KVM, or if the save fails."""
        if not guest.snapshot:
            return None
        if (guest.accelerator or accel.choose(launch.comes_up)) != ACCELERATOR:
            why = "a guest on KVM has the host's processor"
            raise Failure(f"--from boot: only with TCG (VGPU_ACCEL=tcg): {why}", status=2)
        self.folder.mkdir(parents=True, exist_ok=True)
        name = key(guest)
        with contextlib.suppress(Unusable):
            return self._open(name)
        with self._lock(name):  # another run may have taken the snapshot meanwhile: try again
            try:
                return self._open(name)
            except Unusable as why:
                if str(why):
                    progress.say(f"    snapshot {self._state(name)}: {why}; taken again")
            self._take(guest, name)
            self.make_room(name)
            try:
                return self._open(name)
            except Unusable as why:
                raise Failure(f"snapshot {self._state(name)}: {why}") from None

    def make_room(self, keep: str, limit: int = MAX_BYTES) -> None:
        """Remove incomplete snapshots, and snapshots of earlier boots of the host. Then remove the least recently used
        snapshots until the snapshots take at most `limit` bytes.

        The caller holds the lock of the snapshot `keep`, which is not removed.
        """
        for name in {path.name.split(".")[0] for path in self.folder.iterdir()} - {keep}:
            self._remove(name, ".partial", ".json.partial")
        names = [path.stem for path in self.folder.glob("*.state")]
        total = sum(_size(self._state(name)) for name in names)
        for name in sorted(names, key=lambda name: (self._from_this_boot(name), self._used(name))):
            if name == keep or (total <= limit and self._from_this_boot(name)):
                continue
            size = _size(self._state(name))
            if self._remove(name, ".json", ".state"):
                total -= size

    def _state(self, name: str) -> Path:
        return self.folder / f"{name}.state"

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """Hold the lock of a snapshot while the block runs: no other run takes or removes the snapshot."""
        path = self.folder / f"{name}.lock"
        while True:
            with path.open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    progress.say("    waiting for another run to take the snapshot")
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if not _same(path, lock.fileno()):
                    continue  # another run has removed the lock file: lock the new one
                try:
                    yield
                finally:
                    if not self._state(name).exists():
                        path.unlink()
                return

    def _open(self, name: str) -> BinaryIO:
        """Open a snapshot and set its time of last use. Raises Unusable if the snapshot cannot be
        used, or, with an empty reason, if there is no snapshot of this name."""
        about = self._state(name).with_suffix(".json")
        try:
            file = self._state(name).open("rb")
        except FileNotFoundError:
            raise Unusable("") from None
        try:
            known = json.loads(about.read_text())
            identity, khz = known["identity"], known["khz"]
        except FileNotFoundError:
            file.close()
            raise Unusable("it was not completed") from None
        except (ValueError, KeyError, TypeError):
            file.close()
            raise Unusable(f"{about.name} is damaged") from None
        if identity != file_identity(file.fileno()):
            file.close()
            raise Unusable("it has changed since it was taken") from None
        if abs(tsc.khz() - khz) > khz * MAX_DRIFT:
            file.close()
            raise Unusable("it was taken on a host whose time stamp counter has another rate") from None
        os.utime(about)
        return file

    def _take(self, guest: Guest, name: str) -> None:
        """Boot a guest and save it. KEY.json is written last, because the state is not used
        without KEY.json."""
        new, state = self.folder / f"{name}.partial", self._state(name)
        about = state.with_suffix(".json")
        with progress.step(f"snapshot ({guest.kernel} kernel)"):
            for path in (about, state, new):
                path.unlink(missing_ok=True)
            try:
                khz = tsc.khz()
                Saver(guest, new).execute().check()
                new.replace(state)
            finally:
                new.unlink(missing_ok=True)
            with state.open("rb") as file:
                known = {
                    "identity": file_identity(file.fileno()),  # _open() refuses a state file with another identity
                    "khz": khz,
                    "boot": host_boot(),
                    "command": guest.command(0, ACCELERATOR),
                }
            draft = about.with_suffix(".json.partial")
            draft.write_text(json.dumps(known, indent=1) + "\n")
            draft.replace(about)

    def _used(self, name: str) -> float:
        """Return the time of last use of a snapshot, in seconds since 1970; 0 if unknown."""
        with contextlib.suppress(FileNotFoundError):
            return self._state(name).with_suffix(".json").stat().st_mtime
        return 0.0

    def _from_this_boot(self, name: str) -> bool:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            known = json.loads(self._state(name).with_suffix(".json").read_text())
            return bool(known.get("boot") == host_boot())
        return False

    def _remove(self, name: str, *suffixes: str) -> bool:
        """Remove the files of a snapshot that have these suffixes. Return whether the state file is
        gone. If another run holds the snapshot's lock, remove nothing and return False.

        A guest that has the state file open can still read it.
        """
        path = self.folder / f"{name}.lock"
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            for suffix in suffixes:
                (self.folder / f"{name}{suffix}").unlink(missing_ok=True)
            if not self._state(name).exists() and _same(path, lock.fileno()):
                path.unlink()
        return not self._state(name).exists()
