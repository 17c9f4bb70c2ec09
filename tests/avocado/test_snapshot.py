# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests guests that start from a snapshot (--from boot): the key of a snapshot, the folder of
snapshots, restored guests, damaged snapshots."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

from avocado import Test

from launcher import ROOT, GuestTest, hear_interrupts
from vgpu_tools.base.errors import Failure
from vgpu_tools.build import erofs, rootfs
from vgpu_tools.guest import snapshot
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Run, Streams

SMALL = ("--gpus", "0", "--memory", "512M")
FOLDER_BYTES = 32 << 20  # size of a file system that is too small for a snapshot
TRIES = 10  # most attempts to stop a launcher while it takes a snapshot
SECONDS = 120  # timeout of a guest, on the reference machine


def state_of(pid: int) -> str:
    """Return the letter of a process's state: T is stopped, Z is ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def rests(pid: int) -> bool:
    """Return whether a process is stopped or has ended."""
    return state_of(pid) in "TZ"


class Key(Test):
    """The key of a snapshot. The key is also the name of the snapshot's files."""

    def setUp(self) -> None:
        """Replace the function that computes the digest of a file, so that the test needs no built
        files. The digest is `contents[name]` if `contents` has the file's name as a key. Otherwise
        the digest is the name itself."""
        self.contents: dict[str, str] = {}

        def digest(path: Path) -> str:
            return self.contents.get(path.name, path.name)

        patch = mock.patch.object(snapshot, "_digest", digest)
        patch.start()
        self.addCleanup(patch.stop)

    def key(self, guest: Guest | None = None) -> str:
        return snapshot.key(replace(guest or Guest(), snapshot=True))

    def test_machine(self) -> None:
        """Catches: two machines with different options have the same key."""
        keys = [
            self.key(),
            self.key(Guest(gpus=2)),
            self.key(Guest(gpus=2, hive=True)),
            self.key(Guest(vram="64M")),
            self.key(Guest(memory="1G")),
            self.key(Guest(cpus=1)),
            self.key(Guest(kernel="debug")),
            self.key(Guest(device_opts="vram-lost-on-reset=on")),
            self.key(Guest(append="vgpu_kfd.vm_update_mode=0")),
            self.key(Guest(bzimage=True)),
            self.key(Guest(share=Path("/tmp"))),
            self.key(Guest(qemu_args=["-cpu", "Haswell"])),
        ]
        self.assertEqual(len(set(keys)), len(keys))

    def test_contents(self) -> None:
        """Catches: the key stays the same after a change of QEMU, kernel or initramfs."""
        keys = {self.key()}
        for name in ("qemu-system-x86_64", "vmlinux", "rootfs-base-release.cpio"):
            self.contents = {name: "changed"}
            keys.add(self.key())
        self.assertEqual(len(keys), 4)

    def test_not_the_machine(self) -> None:
        """Catches: the key depends on time, on the path of the shared folder, or on sockets, logs or programs, so that
        needless snapshots are taken."""
        self.assertEqual(self.key(), self.key())
        self.assertEqual(self.key(Guest(share=Path("/tmp"))), self.key(Guest(share=Path("/usr"))))
        self.assertEqual(
            self.key(),
            self.key(Guest(qmp=Path("/tmp/qmp"), qemu_args=["-D", "/tmp/log", "-msg", "timestamp=on"])),
        )
        self.contents = {"rootfs-disk-release.erofs": "changed"}  # disk of modules and programs
        changed = self.key()
        self.contents = {}
        self.assertEqual(self.key(), changed)

    def test_refused(self) -> None:
        """Catches: an option that --from boot does not allow is accepted; the message does not name the option."""
        for guest, what in (
            (Guest(rootfs="rocm"), "--rootfs rocm"),
            (Guest(qemu_args=["-drive", "if=virtio,file=/tmp/x"]), "-drive if=virtio,file=/tmp/x"),
            (Guest(qemu_args=["-object", "memory-backend-file,id=m,size=1G,mem-path=/tmp/x"]), "memory-backend-file"),
            (Guest(qemu_args=["-S"]), "-S"),
            (Guest(qemu_args=["-incoming", "defer"]), "-incoming"),
        ):
            with self.assertRaisesRegex(Failure, f"^--from boot: .*{what}") as raised:
                snapshot.check(replace(guest, snapshot=True))
            self.assertEqual(raised.exception.status, 2)
        with self.assertRaisesRegex(Failure, "^--from nowhere: no such snapshot"):
            snapshot.check_name("nowhere")
        with self.assertRaisesRegex(Failure, "^--from boot: only with TCG"):
            snapshot.Store(Path("/nonexistent")).obtain(Guest(snapshot=True, accelerator="kvm"))


class WithFolder(GuestTest):
    """Tests with a temporary folder of snapshots."""

    def setUp(self) -> None:
        """Make the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.store = snapshot.Store(self.folder)


class Room(WithFolder):
    """The limit on the disk space of all snapshots."""

    def add(self, name: str, used: int, boot: str = "") -> None:
        """Add a snapshot of 1 MiB that was last used at `used`, in seconds since 1970."""
        (self.folder / f"{name}.state").write_bytes(b"x" * (1 << 20))
        about = self.folder / f"{name}.json"
        about.write_text(json.dumps({"boot": boot or snapshot.host_boot()}))
        os.utime(about, (used, used))

    def names(self) -> set[str]:
        return {path.stem for path in self.folder.glob("*.state")}

    def test_least_recently_used(self) -> None:
        """Catches: a snapshot other than the least recently used is removed; the snapshot for
        which the caller makes room is removed."""
        for name, used in (("a", 40), ("b", 10), ("c", 20), ("d", 30)):
            self.add(name, used)
        self.store.make_room("b", limit=(5 << 20) // 2)
        self.assertEqual(self.names(), {"a", "b"})
        self.assertEqual({path.stem for path in self.folder.glob("*.json")}, {"a", "b"})

    def test_nothing_to_do(self) -> None:
        """Catches: a snapshot is removed although the snapshots take less than the limit."""
        for name in "abc":
            self.add(name, 1)
        self.store.make_room("a", limit=4 << 20)
        self.assertEqual(self.names(), {"a", "b", "c"})

    def test_earlier_boot(self) -> None:
        """Catches: snapshots from an earlier boot of the host, or files of killed runs, stay on
        the disk."""
        self.add("a", 1)
        self.add("b", 2, boot="another")
        (self.folder / "c.partial").write_bytes(b"x")
        (self.folder / "c.lock").write_bytes(b"")
        (self.folder / "d.state").write_bytes(b"x")
        self.store.make_room("a")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"a.state", "a.json"})

    def test_locked(self) -> None:
        """Catches: files of a snapshot are removed while another run holds the snapshot's lock."""
        self.add("a", 1)
        (self.folder / "b.partial").write_bytes(b"x")
        with (self.folder / "b.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.store.make_room("a", limit=0)
        self.assertTrue((self.folder / "b.partial").exists())


class Restored(WithFolder):
    """Guests that are restored from a snapshot."""

    @property
    def seconds(self) -> float:
        """Timeout of a guest."""
        return SECONDS * self.settings.factor

    def start(self, *words: str, prefix: tuple[str, ...] = ()) -> "subprocess.Popen[bytes]":
        """Start ./vgpu run --from boot without waiting for its end. `prefix` stands before
        ./vgpu in the command."""
        return subprocess.Popen(
            [*prefix, str(ROOT / "vgpu"), "run", "--from", "boot", "--timeout", f"{self.seconds:g}", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.variables(VGPU_SNAPSHOTS=str(self.folder)),
            preexec_fn=hear_interrupts,
        )

    def end(self, process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
        """Wait for the end of a launcher. Return exit status, output and errors."""
        with process:
            output, errors = process.communicate(timeout=self.settings.call_limit)
        return process.returncode, output.decode(), errors.decode()

    def run_it(self, *words: str) -> tuple[int, str, str]:
        """Run one guest to its end. Return exit status, output and errors of ./vgpu."""
        return self.end(self.start(*words))

    def states(self) -> list[Path]:
        return sorted(self.folder.glob("*.state"))

    def taken(self, *words: str) -> os.stat_result:
        """Take a snapshot by running a guest to its end. Return the stat of the state file."""
        status, _, errors = self.run_it(*words, "--", "true")
        self.assertEqual(status, 0, errors)
        (state,) = self.states()
        return state.stat()

    def test_streams(self) -> None:
        """Catches: with --from boot, ./vgpu run does not print the command's output and errors, or does not exit with
        the command's status; the second run takes a new snapshot."""
        command = ("--", "sh", "-c", "echo out; echo err >&2; exit 42")
        status, output, errors = self.run_it(*SMALL, *command)
        self.assertEqual((status, output), (42, "out\n"), errors)
        self.assertIn("==> snapshot", errors)
        before = self.states()[0].stat()
        self.assertEqual(self.run_it(*SMALL, *command), (42, "out\n", "err\n"))
        self.assertEqual(self.states()[0].stat().st_ino, before.st_ino)

    def test_time_and_randomness(self) -> None:
        """Catches: the time of day is wrong, or the uptime jumps, after a restore; two guests from one snapshot get the
        same random numbers."""
        script = "date +%s; cut -d. -f1 /proc/uptime; cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id"
        script += "; head -c 16 /dev/urandom | xxd -p"
        self.taken(*SMALL)
        saved = time.time()
        while time.time() < saved + 2:  # a guest whose clock was not set is at least 2 s late
            time.sleep(0.1)
        start = int(time.time())
        both = [self.start(*SMALL, "--", "sh", "-c", script) for _ in range(2)]
        printed = []
        for process in both:
            status, output, errors = self.end(process)
            self.assertEqual((status, errors), (0, ""))
            printed.append(output.split())
        for date, uptime, *_ in printed:
            self.assertTrue(start <= int(date) <= time.time(), (start, date))
            self.assertLess(int(uptime), self.seconds)
        self.assertTrue(set(printed[0][2:]).isdisjoint(printed[1][2:]), printed)

    def test_share(self) -> None:
        """Catches: a restored guest uses the shared folder of the run that took the snapshot."""
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            before = self.taken(*SMALL, "--share", first)
            status, _, errors = self.run_it(*SMALL, "--share", second, "--", "sh", "-c", "echo here >/mnt/share/file")
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual((Path(second) / "file").read_text(), "here\n")
            self.assertEqual(list(Path(first).iterdir()), [])
        self.assertEqual(self.states()[0].stat().st_ino, before.st_ino)

    def test_driver(self) -> None:
        """Catches: the driver fails on a GPU that was saved and restored before the driver was loaded."""
        status, output, errors = self.run_it("--", "vgpu-demo")
        self.assertEqual(status, 0, output[-2000:] + errors)

    def test_other_programs(self) -> None:
        """Snapshots contain no modules and no programs. Catches: after a change of modules or programs, a new snapshot
        is taken, or a guest restored from the old snapshot has the old modules or programs."""
        system = erofs.Image()
        for folder in ("usr", "usr/bin", "lib", "lib/modules"):
            system.folder(folder)
        system.file("usr/bin/new", b"#!/bin/sh\necho new\n", 0o755)
        other = self.folder / "other"
        system.write(other, rootfs.DISK_BYTES)
        guest = self.guest(Guest(gpus=0, memory="512M", snapshot=True))
        before = self.taken(*SMALL).st_ino
        with mock.patch.object(rootfs, "disk", lambda _: other):
            saved = self.store.obtain(guest)
            assert saved
            with saved:
                self.assertEqual(os.fstat(saved.fileno()).st_ino, before)
                printed = bytearray()
                streams = Streams(output=printed.extend)
                result = Run(guest, ["new"], streams, self.seconds / 2, snapshot=saved).execute()
        self.assertEqual((result.status, result.sentence, printed), (0, "", b"new\n"))

    def test_damaged(self) -> None:
        """Catches: a snapshot that was changed or truncated, or that lost its JSON file, is used; the message does not
        name the snapshot."""
        self.taken(*SMALL)
        for damage in (self.flip, self.cut, self.forget):
            (state,) = self.states()
            damage(state)
            status, output, errors = self.run_it(*SMALL, "--", "echo", "fine")
            self.assertEqual((status, output), (0, "fine\n"), errors)
            self.assertRegex(errors, f"snapshot {state}: it (has changed since it was taken|was not completed); taken")
        self.assertEqual(self.run_it(*SMALL, "--", "echo", "fine"), (0, "fine\n", ""))

    def flip(self, state: Path) -> None:
        """Damage the state file so that the file's size and modification time do not show the damage."""
        before = state.stat()
        with state.open("r+b") as file:
            file.seek(before.st_size // 2)
            file.write(b"x")
        os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))

    def cut(self, state: Path) -> None:
        os.truncate(state, state.stat().st_size // 2)

    def forget(self, state: Path) -> None:
        """Remove the JSON file, which marks the snapshot as complete."""
        state.with_suffix(".json").unlink()

    def test_unreadable(self) -> None:
        """Catches: QEMU refuses a state file, and the message does not name the file."""
        self.taken(*SMALL)
        (state,) = self.states()
        about = state.with_suffix(".json")
        state.write_bytes(b"nonsense")
        with state.open("rb") as file:
            known = json.loads(about.read_text()) | {"identity": snapshot.file_identity(file.fileno())}
        about.write_text(json.dumps(known))
        status, _, errors = self.run_it(*SMALL, "--", "true")
        self.assertEqual(status, 125)
        self.assertRegex(errors, f"^vgpu: QEMU ended with .*snapshot: {state}; ")

    def test_interrupted(self) -> None:
        """Catches: a QEMU survives Ctrl-C or SIGKILL of its launcher; files of that run make the next run fail."""
        for number, left in ((signal.SIGINT, set()), (signal.SIGKILL, {".partial", ".lock"})):
            with self.stopped_while_saving() as process:
                process.send_signal(number)
                process.send_signal(signal.SIGCONT)
                process.communicate(timeout=self.settings.call_limit)
            self.until(lambda: not self.users())
            self.assertLessEqual({path.suffix for path in self.folder.iterdir()}, left)
        self.assertEqual(self.run_it(*SMALL, "--", "true")[0], 0)
        self.assertEqual({path.suffix for path in self.folder.iterdir()}, {".state", ".json", ".lock"})

    def stopped_while_saving(self) -> "subprocess.Popen[bytes]":
        """Start a launcher, and stop it (SIGSTOP) while its QEMU writes the snapshot. If the stop comes too late, let
        the launcher end, and try again with a new one. Return the stopped launcher."""
        for _ in range(TRIES):
            process = self.start(*SMALL, "--", "true")
            self.until(lambda: bool(list(self.folder.glob("*.partial")) or self.states()))
            process.send_signal(signal.SIGSTOP)
            self.until(partial(rests, process.pid))
            if not self.states():
                return process
            process.send_signal(signal.SIGCONT)
            self.end(process)
            for path in self.folder.iterdir():
                path.unlink()
        raise AssertionError(f"{TRIES} launchers had taken the snapshot before they could be stopped")

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds()` is true. The test fails if this takes longer than the settings allow for a call of
        ./vgpu."""
        end = time.monotonic() + self.settings.call_limit
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def users(self) -> list[str]:
        """Return the paths /proc/PID/fd/N of those descriptors, in any process, that refer to a
        file in the folder."""
        found = []
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                if str(link.readlink()).startswith(str(self.folder)):
                    found.append(str(link))
        return found

    def small_disk(self) -> tuple[str, ...]:
        """Return the words of a prefix for a command. The prefix mounts a small tmpfs on the folder, runs the command,
        and prints the names of the files that are left in the folder."""
        script = f'mount -t tmpfs -o size={FOLDER_BYTES} none {self.folder} && "$@"; s=$?; ls -A {self.folder}; exit $s'
        return ("unshare", "-rm", "sh", "-c", script, "sh")

    def test_full_disk(self) -> None:
        """Catches: the message about a full disk lacks the file or the reason; files are left on the disk."""
        status, output, errors = self.end(self.start(*SMALL, "--", "true", prefix=self.small_disk()))
        self.assertEqual((status, output), (125, ""), errors)
        self.assertRegex(errors, rf"vgpu: snapshot {self.folder}/\S+: not saved: .*No space left")
