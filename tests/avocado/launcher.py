# SPDX-License-Identifier: GPL-2.0-or-later
"""The base class of the whole-system tests, which runs guests with the test's settings.

Guests run through the tools' API, in the test's process. `vgpu()` starts ./vgpu as a user does, for tests of options,
messages and exit statuses.
"""

import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from avocado import Test

from settings import Settings
from vgpu_tools.base.environment import inherited_environment
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Run, Streams
from vgpu_tools.guest.result import Result
from vgpu_tools.guest.session import Machine, Session

ROOT = Path(__file__).resolve().parents[2]


def hear_interrupts() -> None:
    """Reset SIGINT to its default action in a child (preexec_fn). A shell starts background jobs
    with SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Finished:
    """Outcome of a command that has ended in a guest: the launcher's Result, and all bytes of
    standard output and standard error."""

    result: Result
    output: bytes
    errors: bytes

    def __str__(self) -> str:
        """Return the text that a failed assertion shows."""
        last = self.output[-2000:].decode(errors="replace")
        return f"{self.result.sentence or self.result.status}; {self.errors.decode(errors='replace')}; {last}"


class GuestTest(Test):
    """Base class of tests that start ./vgpu or guests. The test's settings give the accelerator, the
    time limits, and the kinds of frames (messages between launcher and agent) that are delayed."""

    @cached_property
    def settings(self) -> Settings:
        """The settings, from the test's Avocado parameters."""
        return Settings.of(self)

    def vgpu(self, *words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        """Call ./vgpu. The exit status is not checked. Raises TimeoutExpired at the `call_limit` of the settings."""
        return subprocess.run(
            [str(ROOT / "vgpu"), *words],
            input=data or b"",
            capture_output=True,
            timeout=self.settings.call_limit,
            check=False,
            env=self.variables(),
        )

    def variables(self, **more: str) -> dict[str, str]:
        """Return this process's environment for ./vgpu, with the accelerator and the frame delay
        of the test's settings and with the variables `more`."""
        given = self.settings.environment
        named = {"VGPU_ACCEL": given.accelerator, "VGPU_FRAME_DELAY": given.late_frames, **more}
        return inherited_environment({name: value for name, value in named.items() if value})

    def call_run(self, script: str, *options: str) -> subprocess.CompletedProcess[bytes]:
        """Run a shell script in a guest through ./vgpu run, with the timeout of the settings."""
        return self.vgpu("run", "--timeout", f"{self.settings.guest_limit:g}", *options, "--", "sh", "-c", script)

    def guest(self, guest: Guest) -> Guest:
        """Return a copy of `guest` with two settings of the test: the accelerator, and `late_frames` (the kinds of
        frames between launcher and agent to delay)."""
        given = self.settings.environment
        return guest.on(given.accelerator, given.late_frames)

    def run_script(self, guest: Guest, script: str) -> Finished:
        """Run a shell script in a guest. Return the launcher's Result, with the script's output and errors. The guest
        is started through the tools' API, because ./vgpu does not return a Result."""
        guest = self.guest(guest)
        guest.prepare()
        output, errors = bytearray(), bytearray()
        streams = Streams(output.extend, errors.extend)
        result = Run(guest, ["sh", "-c", script], streams, self.settings.guest_limit).execute()
        return Finished(result, bytes(output), bytes(errors))

    def succeeds(self, guest: Guest, script: str) -> bytes:
        """Return the standard output of a shell script that runs in a guest. The test fails unless the script exits
        with 0."""
        finished = self.run_script(guest, script)
        self.assertEqual(finished.result.exit_status, 0, finished)
        return finished.output

    def session(self) -> Session:
        """Return a new session. The machines between which a guest migrates share one session."""
        return Session(self.settings.environment.late_frames)

    def machine(
        self,
        session: Session,
        folder: Path,
        guest: Guest,
        name: str = "only",
        incoming: str = "",
        keyboard: str = "",
    ) -> Machine:
        """Return a machine that the test controls. The test's settings limit each wait for the
        machine."""
        # Always TCG: some tests save or migrate the machine, and with KVM the saved state depends
        # on the host's processor.
        guest = guest.on("tcg", self.settings.environment.late_frames)
        return Machine(session, folder, name, guest, incoming, keyboard, self.settings.limit)
