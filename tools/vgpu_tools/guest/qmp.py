# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends commands to the QEMU of a running guest, through QEMU's QMP socket."""

import asyncio
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import RUNS

SOCKET = "qmp"  # name of the socket in a run's folder
MAX_PATH = 107  # most bytes of a Unix socket's path
SECONDS = 10.0  # limit of a connection; QEMU replies much faster, unless another client is connected


class Refused(Exception):
    """QEMU refused a command. The text is QEMU's error message."""


def find(given: Path | None) -> Path:
    """Return the path of the socket to use: `given`, or the socket of the running guest of this checkout. Raises
    Failure if `given` is no socket. Without `given`, raises Failure unless exactly one guest of this checkout is
    running."""
    if given:
        if not given.is_socket():
            raise Failure(f"--qmp {given}: no such socket (a guest started with --qmp {given} has it)", status=2)
        return given
    running = [path for path in sorted(RUNS.glob(f"*/{SOCKET}")) if path.is_socket() and alive(path)]
    if not running:
        raise Failure("no guest of this checkout is running; for another QEMU use --qmp PATH", status=2)
    if len(running) > 1:
        listed = "".join(f"\n  --qmp {path}" for path in running)
        raise Failure(f"several guests are running, name one:{listed}", status=2)
    return running[0]


def pid(path: Path) -> int:
    """Return the id of the process that listens on a socket."""
    with _connect(path) as peer:
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, _, _ = struct.unpack("3i", credentials)
    return int(process)


def ask(path: Path, *commands: tuple[str, dict[str, Any]]) -> list[Any]:
    """Execute commands, one after the other. Returns their replies. Raises Refused if QEMU refuses a command."""
    return asyncio.run(_ask(path, commands))


def command(path: Path, name: str, arguments: dict[str, Any] | None = None) -> Any:
    """Execute one command on a new connection. Raises Failure if QEMU refuses the command, or if the connection cannot
    be made or is lost. `path` is the socket of QEMU's monitor."""
    try:
        return ask(path, (name, arguments or {}))[0]
    except Refused as refused:
        raise Failure(f"QEMU refuses: {refused}", status=1) from None


async def _ask(path: Path, commands: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    from qemu.qmp import ConnectError, ExecuteError, QMPClient, QMPError

    client = QMPClient("vgpu")
    client.logger.disabled = True
    try:
        await asyncio.wait_for(client.connect(str(path)), SECONDS)
    except TimeoutError:
        raise Failure(f"{path}: QEMU does not reply; another client may be connected") from None
    except ConnectError as error:
        raise Failure(f"{path}: {error}") from None
    try:
        try:
            return [await client.execute(name, arguments or None) for name, arguments in commands]
        finally:
            await client.disconnect()
    except ExecuteError as error:
        raise Refused(str(error)) from None
    except (QMPError, EOFError, OSError) as error:  # disconnect() raises the error that ended the connection
        raise Failure(f"{path}: QEMU closed the connection" + (f": {error}" if str(error) else "")) from None


def _connect(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(str(path))
    except OSError as error:
        peer.close()
        raise Failure(f"{path}: {os.strerror(error.errno or 0)}") from None
    return peer


def alive(path: Path) -> bool:
    """Return whether a process listens on a socket. The socket's file may exist although no process listens."""
    try:
        return pid(path) > 0
    except Failure:
        return False
