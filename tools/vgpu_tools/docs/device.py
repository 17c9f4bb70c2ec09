# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates the pages on the device's properties and trace events from the sources in
qemu-device/."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.csource import arguments, macros
from vgpu_tools.docs.tables import code, page, table

PROPERTIES, HIVE, TRACE = "qemu-device/pci/vgpu-kfd.c", "qemu-device/memory/hive.c", "qemu-device/trace-events"
CONTRACT = "docs/hardware.md"
EVENT = re.compile(r"^(\w+)\((.*?)\) (\".*)$")


@dataclass(frozen=True)
class Property:
    """A property of the device, defined by a DEFINE_PROP_* macro."""

    name: str
    type: str  # from the macro's name, such as "uint32" for DEFINE_PROP_UINT32
    default: str  # text of the default in the source; "" if the macro has none
    only: str = ""  # symbol of the `#ifdef` around the macro; "" without `#ifdef`


def properties(text: str) -> Iterator[Property]:
    """Yield the properties that the DEFINE_PROP_* macros of a C source define."""
    only = ""
    for line in re.finditer(r"^#ifdef (\w+)|^#endif|DEFINE_PROP_(\w+)\(", text, re.M):
        if not line[2]:
            only = line[1] or ""
            continue
        words = arguments(text, line.end() - 1)
        kind = line[2].lower().removeprefix("vgpu_")
        default = "" if kind in ("link", "hive") else ", ".join(words[3:])
        yield Property(words[0].strip('"'), kind, default, only)


def _documented(contract: str) -> dict[str, list[str]]:
    """Return the rows of the property tables in docs/hardware.md: for each property's name, the
    other cells of its row."""
    found: dict[str, list[str]] = {}
    for rows in re.findall(r"^\| property (?:of `vgpu-hive` )?\|.*\n\|[-|]+\n((?:\|.*\n)*)", contract, re.M):
        for row in rows.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            found[cells[0].strip("`")] = [cell.replace("](#", "](../hardware.md#") for cell in cells[1:]]
    return found


def _value(default: str, known: Mapping[str, str]) -> str:
    """Return a default as Markdown code. If the default is a macro, the macro's value follows in
    parentheses."""
    return f"{code(default)} ({known[default].strip('()')})" if default in known else code(default)


def properties_page(device: str, hive: str, headers: str, contract: str) -> str:
    """Return the page on properties. The arguments are the texts of PROPERTIES, HIVE, all device headers, and
    docs/hardware.md. Raises Failure if `contract` lacks a property."""
    known = {**macros(headers), **macros(device)}
    meanings = _documented(contract)
    rows, delays = [], []
    for one in properties(device):
        # A property inside of `#ifdef` needs no description in `contract`.
        if one.only:
            delays.append([code(one.name), one.type, _value(one.default, known), code(one.only)])
            continue
        if one.name not in meanings:
            raise Failure(f"docs: {CONTRACT} does not describe the property {one.name}")
        rows.append([code(one.name), one.type, _value(one.default, known), *meanings[one.name]])
    objects = [
        [code(name), kind, *meanings.get(name, ["", ""])]
        for name, kind in re.findall(r'object_class_property_add\(klass, "([\w-]+)", "(\w+)"', hive)
    ]
    return page(
        "Properties of the device",
        "Names, types and defaults are those in the code of the device; meanings and ranges are those of"
        f" [the specification](../hardware.md#properties). Sources: `{PROPERTIES}`, `{HIVE}`.",
        "## `-device vgpu-kfd`",
        table("properties of vgpu-kfd", ("property", "type", "default in the code", "meaning", "range, default"), rows),
        "## `-object vgpu-hive`",
        table("properties of vgpu-hive", ("property", "type", "meaning", "range, default"), objects),
        "## In builds with delays",
        "[Delays](../testing.md#delays) describes these builds. `./vgpu run --device-delays` sets the properties.",
        table("properties in builds with delays", ("property", "type", "default", "only with"), delays),
    )


def events(text: str) -> Iterator[tuple[str, str, list[str], str]]:
    """Yield the events of a trace-events file: source file, name, arguments, format."""
    source = ""
    for line in text.splitlines():
        if line.startswith("# ") and ".c" in line:
            source = line.removeprefix("# ")
        elif match := EVENT.match(line):
            given = [re.sub(r"^const |unsigned$", "", one.strip()) for one in match[2].split(",")]
            yield source, match[1], given, re.sub(r'"\s*PRI([xud])64\s*"?|"', r"\1", match[3])


def events_page(text: str) -> str:
    """Return the page on the device's trace events. `text` is the trace-events file."""
    rows = [
        [code(name), ", ".join(code(one.split()[-1].lstrip("*")) for one in given), code(form), source]
        for source, name, given, form in events(text)
    ]
    return page(
        "Trace events of the device",
        "`./vgpu trace EVENT` prints these events of a running guest; `id` is the device's id. The file is the source"
        f" that has the event. Source: `{TRACE}`.",
        table("trace events", ("event", "arguments", "format", "file in qemu-device/"), rows),
    )
