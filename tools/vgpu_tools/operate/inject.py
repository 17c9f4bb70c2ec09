# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu inject: injects failures into the devices of a running guest, lists and removes
injections."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import monitor, qmp

WORDS = ("kind", "device", "hub")  # members of vgpu-inject that are strings
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def inject(socket: Path | None, words: Sequence[str]) -> int:
    """./vgpu inject: add an injection, remove one, or list all."""
    path = qmp.find(socket)
    if not words:
        return _list(path)
    if words[0] == "remove":
        if len(words) != 2 or not words[1].isdigit():
            raise Failure("inject remove needs an id (./vgpu inject lists them)", status=2)
        qmp.command(path, "vgpu-inject-remove", {"id": int(words[1])})
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
    print(qmp.command(path, "vgpu-inject", arguments)["id"])
    return 0


def value(key: str, text: str) -> Any:
    """Convert the text of a value: a number (0x…, 4K, 0.5), true or false. Raises Failure for any other text."""
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


def _list(path: Path) -> int:
    """Print the injections of all devices."""
    try:
        devices = monitor.devices(qmp.command(path, "query-vgpu"))
    except ValidationError as error:
        raise Failure(f"{path}: unexpected reply to query-vgpu: {why(error)}", status=1) from None
    for device in devices:
        for entry in device.injections:
            what = dict(entry.injection)
            words = [what.pop("kind"), *(f"{key}={json.dumps(item)}" for key, item in sorted(what.items()))]
            state = "" if entry.active else ", done"
            print(f"{entry.id} {device.name}: {' '.join(words)}: took {entry.fired} of {entry.seen}{state}")
    return 0


def _kinds(path: Path) -> list[str]:
    """Return the kinds of injections that the QEMU at `path` supports, from its QMP schema."""
    schema = {entry["name"]: entry for entry in qmp.command(path, "query-qmp-schema")}
    if "vgpu-inject" not in schema:
        raise Failure("this QEMU has no vgpu-kfd", status=2)
    members = schema[schema["vgpu-inject"]["arg-type"]]["members"]
    (kind,) = [member["type"] for member in members if member["name"] == "kind"]
    values: list[str] = schema[kind]["values"]
    return values
