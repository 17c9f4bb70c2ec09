# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu gdb: runs QEMU or the guest's kernel under gdb."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD
from vgpu_tools.build import kernel
from vgpu_tools.guest import agent
from vgpu_tools.guest.background import Background
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Streams

STUB_SECONDS = 10.0  # QEMU opens its gdb socket within this time


def debug(what: str, guest: Guest, words: Sequence[str], verbose: bool) -> int:
    """Run "qemu" or "kernel" (`what`) under gdb while a guest runs a command. Returns gdb's exit status.

    `verbose` shows the guest's console on standard error while the kernel is debugged. For "qemu" the console goes to a
    file in any case.
    """
    if not shutil.which("gdb"):
        raise Failure("gdb is not installed (the package is called gdb)", status=2)
    if what == "qemu":
        return _qemu(guest, words)
    return _kernel(guest, words, verbose)


def _gdb(arguments: Sequence[str | Path], cwd: Path | None = None, inherited: Sequence[int] = ()) -> int:
    """Run gdb in the foreground. This process ignores SIGINT while gdb runs, so that Ctrl-C
    affects only gdb."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(["gdb", "-q", *map(str, arguments)], check=False, cwd=cwd, pass_fds=inherited).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _qemu(guest: Guest, words: Sequence[str]) -> int:
    ours, theirs = socket.socketpair()
    console = BUILD / "gdb-console.log"
    command = guest.command(theirs.fileno(), "tcg", f"file,path={str(console).replace(',', ',,')}")
    print(f"vgpu: the guest's console goes to {console}; 'run' starts it", file=sys.stderr)
    with ours, theirs:
        threading.Thread(target=_serve, args=(ours, words), daemon=True).start()
        signals = ["-ex", "handle SIGUSR1 SIGUSR2 nostop noprint pass"]
        return _gdb([*signals, "--args", *command], inherited=[theirs.fileno()])


def _serve(port: socket.socket, words: Sequence[str]) -> None:
    """Serve the host's end of the agent's protocol, as far as needed: start the command when the
    guest is up, and copy the command's output."""
    decoder = agent.Decoder()
    while data := port.recv(agent.MAX_PAYLOAD):
        for kind, payload in decoder.feed(data):
            if kind == agent.HELLO:
                port.sendall(agent.run(words, 0) + agent.frame(agent.STDIN))
            elif kind in (agent.STDOUT, agent.STDERR):
                os.write(1 if kind == agent.STDOUT else 2, payload)
            elif kind == agent.EXIT:
                port.shutdown(socket.SHUT_RDWR)  # the agent then powers the guest off
                print(f"vgpu: the command exited with {int.from_bytes(payload, 'little')}", file=sys.stderr)


def _kernel(guest: Guest, words: Sequence[str], verbose: bool) -> int:
    tree = kernel.tree(guest.kernel)
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder) / "gdb"
        waiting = replace(guest, qemu_args=[*guest.qemu_args, "-S", "-gdb", f"unix:{stub},server=on,wait=off"])
        # With own_session, Ctrl-C in gdb stops the guest's kernel, but does not reach QEMU.
        with Background(waiting, words, own_session=True, streams=Streams(), verbose=verbose) as run:
            end = time.monotonic() + STUB_SECONDS
            while not stub.exists():
                if run.wait(0.05) or time.monotonic() > end:
                    _print_failure(run)
                    raise Failure("the guest did not start")
            print("vgpu: the guest waits at its first instruction; 'continue' starts it", file=sys.stderr)
            script = tree / "vmlinux-gdb.py"
            commands = ["-ex", f"add-auto-load-safe-path {tree}"]
            if script.exists():
                commands += ["-ex", f"source {script}"]  # lx-symbols, lx-dmesg and the like
            status = _gdb([*commands, "-ex", f"target remote {stub}", tree / "vmlinux"], cwd=tree)
            _print_failure(run)
            return status


def _print_failure(run: Background) -> None:
    """Print why a guest has ended, if it has ended with an error."""
    if run.wait(0) and (sentence := run.result().sentence):
        print(f"vgpu: {sentence}", file=sys.stderr)
