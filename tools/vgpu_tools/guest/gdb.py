# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu gdb: QEMU, or the guest's kernel, under gdb."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD
from vgpu_tools.build import kernel
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest

STUB_SECONDS = 10.0  # QEMU opens its gdb socket before the guest's first instruction


def debug(what: str, guest: Guest, options: Sequence[str], words: Sequence[str]) -> int:
    """Debug "qemu" or "kernel" while a guest runs a command; returns gdb's exit status.

    `options` are the launcher options that `guest` was made from.
    """
    if not shutil.which("gdb"):
        raise Failure("gdb is not installed (the package is called gdb)", status=2)
    if what == "qemu":
        return _qemu(guest, words)
    return _kernel(guest, options, words)


def _gdb(arguments: Sequence[str | Path], **keywords: object) -> int:
    """Run gdb in the foreground; Ctrl-C is its, not ours."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(["gdb", "-q", *map(str, arguments)], check=False, **keywords).returncode
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
        return _gdb([*signals, "--args", *command], pass_fds=[theirs.fileno()])


def _serve(port: socket.socket, words: Sequence[str]) -> None:
    """The agent's other end, as simply as can be."""
    decoder = agent.Decoder()
    while data := port.recv(agent.MAX_PAYLOAD):
        for kind, payload in decoder.feed(data):
            if kind == agent.HELLO:
                port.sendall(agent.run(words, 0) + agent.frame(agent.STDIN))
            elif kind in (agent.STDOUT, agent.STDERR):
                os.write(1 if kind == agent.STDOUT else 2, payload)
            elif kind == agent.EXIT:
                port.shutdown(socket.SHUT_RDWR)  # the guest ends
                print(f"vgpu: the command exited with {int.from_bytes(payload, 'little')}", file=sys.stderr)


def _kernel(guest: Guest, options: Sequence[str], words: Sequence[str]) -> int:
    tree = kernel.tree(guest.kernel)
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder) / "gdb"
        extra = shlex.join([*guest.qemu_args, "-S", "-gdb", f"unix:{stub},server=on,wait=off"])
        launcher = [sys.executable, "-m", "vgpu_tools", "run", *options, "--timeout", "0", "--qemu-args", extra]
        run = subprocess.Popen([*launcher, "--", *words], stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            end = time.monotonic() + STUB_SECONDS
            while not stub.exists():
                if run.poll() is not None or time.monotonic() > end:
                    raise Failure("the guest did not start")
                time.sleep(0.05)
            print("vgpu: the guest waits at its first instruction; 'continue' starts it", file=sys.stderr)
            script = tree / "vmlinux-gdb.py"
            commands = ["-ex", f"add-auto-load-safe-path {tree}"]
            if script.exists():
                commands += ["-ex", f"source {script}"]  # lx-symbols, lx-dmesg and the like
            return _gdb([*commands, "-ex", f"target remote {stub}", tree / "vmlinux"], cwd=tree)
        finally:
            run.terminate()
            run.wait()
