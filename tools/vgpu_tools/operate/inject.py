# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu inject, stats and trace: an operator's hands on a running guest."""

import argparse
import contextlib
import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TextIO

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import qmp

WORDS = ("kind", "device", "hub")  # members of vgpu-inject that are no numbers or truths
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
EVENTS = "vgpu_*"
STAMP = re.compile(r"^\d+@\d+\.\d+:")  # with -msg timestamp=on
LOOK_SECONDS = 0.1  # between two looks at the log


def inject(options: argparse.Namespace) -> int:
    """./vgpu inject: inject, remove or list."""
    words: list[str] = options.words
    path = qmp.find(options.qmp)
    if not words:
        return _list(path)
    if words[0] == "remove":
        if len(words) != 2 or not words[1].isdigit():
            raise Failure("inject remove wants an id (./vgpu inject lists them)", status=2)
        _command(path, "vgpu-inject-remove", {"id": int(words[1])})
        return 0
    arguments: dict[str, Any] = {"kind": words[0]}
    for word in words[1:]:
        key, equals, text = word.partition("=")
        if not key or not equals:
            raise Failure(f"'{word}': want KEY=VALUE", status=2)
        if key in arguments:
            raise Failure(f"'{word}': {key} is given twice", status=2)
        arguments[key] = text if key in WORDS else value(key, text)
    kinds = _kinds(path)
    if words[0] not in kinds:
        raise Failure(f"there is no '{words[0]}' to inject: there are {', '.join(kinds)}", status=2)
    print(_command(path, "vgpu-inject", arguments)["id"])
    return 0


def stats(options: argparse.Namespace) -> int:
    """./vgpu stats: what query-vgpu says."""
    path = qmp.find(options.qmp)
    if options.json:
        print(json.dumps(_command(path, "query-vgpu"), indent=2))
    else:
        print(_command(path, "x-query-vgpu")["human-readable-text"], end="")
    return 0


def trace(options: argparse.Namespace) -> int:
    """./vgpu trace: list trace events, or switch some on and print what they say."""
    path = qmp.find(options.qmp)
    if not options.patterns:
        for event in _command(path, "trace-event-get-state", {"name": EVENTS}):
            print(f"{event['name']:24} {'on' if event['state'] == 'enabled' else 'off'}")
        return 0
    follow(path, options.patterns, options.seconds, lambda line: print(line, flush=True))
    return 0


def follow(path: Path, patterns: Sequence[str], seconds: float, say: Callable[[str], None]) -> None:
    """Hand on what trace events say for some seconds, or (0) until interrupted; they are switched on for that long."""
    was_on = set()
    for pattern in patterns:
        events = _command(path, "trace-event-get-state", {"name": pattern})
        was_on |= {event["name"] for event in events if event["state"] == "enabled"}
    with _log(path).open(errors="replace") as log, _interrupts() as interrupts:
        log.seek(0, 2)
        rest = ""
        try:
            for pattern in patterns:
                _switch(path, pattern, True)
            print(f"vgpu: following {' '.join(patterns)}; Ctrl-C ends it", file=sys.stderr, flush=True)
            end = time.monotonic() + seconds if seconds else float("inf")
            while not interrupts and time.monotonic() < end:
                rest = _look(log, rest, patterns, say)
                time.sleep(LOOK_SECONDS)
        finally:
            _switch_back(path, patterns, was_on)
        _look(log, rest, patterns, say)


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Those that came: an exception could come between reading lines and handing them on. Ignored ones stay so."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def value(key: str, text: str) -> Any:
    """A number (0x…, 4K, 0.5) or true or false."""
    if text in ("true", "false"):
        return text == "true"
    scale = UNITS.get(text[-1:].upper(), 1)
    digits = text if scale == 1 else text[:-1]
    try:
        return int(digits, 0) * scale
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise Failure(f"'{key}={text}': want a number, true or false", status=2) from None


def _command(path: Path, name: str, arguments: dict[str, Any] | None = None) -> Any:
    try:
        return qmp.ask(path, (name, arguments or {}))[0]
    except qmp.Refused as refused:
        raise Failure(f"QEMU refuses: {refused}", status=1) from None


def _list(path: Path) -> int:
    """Print the injections of all devices."""
    for device in _command(path, "query-vgpu"):
        for entry in device["injections"]:
            what = dict(entry["injection"])
            words = [what.pop("kind"), *(f"{key}={json.dumps(item)}" for key, item in sorted(what.items()))]
            state = "" if entry["active"] else ", done"
            name = device.get("id", device["path"])
            print(f"{entry['id']} {name}: {' '.join(words)}: took {entry['fired']} of {entry['seen']}{state}")
    return 0


def _kinds(path: Path) -> list[str]:
    """What this QEMU can inject: by its own description of the command."""
    schema = {entry["name"]: entry for entry in _command(path, "query-qmp-schema")}
    if "vgpu-inject" not in schema:
        raise Failure("this QEMU has no vgpu-kfd", status=2)
    members = schema[schema["vgpu-inject"]["arg-type"]]["members"]
    (kind,) = [member["type"] for member in members if member["name"] == "kind"]
    return schema[kind]["values"]


def _log(path: Path) -> Path:
    """Where a QEMU writes its log: its standard error, if that is a file."""
    stream = Path(f"/proc/{qmp.pid(path)}/fd/2")
    try:
        log = stream.readlink()
    except OSError as error:
        raise Failure(f"cannot see where QEMU writes its log: {error}", status=1) from None
    if not log.is_file():
        raise Failure(f"QEMU writes its log to {log}, not to a file that can be followed", status=1)
    return log


def _switch(path: Path, pattern: str, on: bool) -> None:
    _command(path, "trace-event-set-state", {"name": pattern, "enable": on})


def _switch_back(path: Path, patterns: Sequence[str], was_on: set[str]) -> None:
    """As it was before, if the guest still runs."""
    try:
        for pattern in patterns:
            _switch(path, pattern, False)
        for name in was_on:
            _switch(path, name, True)
    except Failure as failure:
        print(f"vgpu: {failure}", file=sys.stderr)


def _look(log: TextIO, rest: str, patterns: Sequence[str], say: Callable[[str], None]) -> str:
    """Hand on the events' new lines; `rest` and the result are the beginning of a line that is not whole yet."""
    *lines, rest = (rest + log.read()).split("\n")
    for line in lines:
        name = STAMP.sub("", line).partition(" ")[0]
        if any(fnmatch(name, pattern) for pattern in patterns):
            say(line)
    return rest
