# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates the pages on the driver's module parameters, counters and tracepoints from the sources
in guest-driver/ and include/vgpu/."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.csource import arguments, before, closing, comment_text, strings
from vgpu_tools.docs.qapi import Schema
from vgpu_tools.docs.qmp import marked
from vgpu_tools.docs.tables import code, page, table

DEBUGFS, STATS = "guest-driver/drm/vgpu_debugfs.c", "guest-driver/device/vgpu_stats.h"
DEVICE_INFO = "include/vgpu/device_info.h"
# Modules by the folder of their sources. Sources in other folders belong to vgpu_kfd.ko.
MODULES = {"amdgpu": "amdgpu.ko"}
TRACEPOINT = re.compile(r"^(?:TRACE_EVENT|DEFINE_EVENT|DECLARE_EVENT_CLASS)\(", re.M)


@dataclass(frozen=True)
class Parameter:
    """A module parameter. `type` is "" for a parameter with callbacks (module_param_cb()); `mode` is the mode in sysfs,
    `text` the description, `default` the initial value of the parameter's variable."""

    module: str
    name: str
    type: str
    mode: str
    text: str
    default: str


def parameters(sources: Mapping[str, str]) -> Iterator[Parameter]:
    """Yield the module parameters of C sources. `sources` has the text of each source by its
    path. Raises Failure for a parameter without a description."""
    for path, text in sources.items():
        described = {
            words[0]: strings(", ".join(words[1:]))
            for match in re.finditer(r"^MODULE_PARM_DESC\(", text, re.M)
            for words in [arguments(text, match.end() - 1)]
        }
        for match in re.finditer(r"^module_param(_cb)?\(", text, re.M):
            words = arguments(text, match.end() - 1)
            name = words[0]
            if name not in described:
                raise Failure(f"docs: {path}: module parameter {name} has no MODULE_PARM_DESC")
            value = re.search(rf"^static [\w ]+\b{name}(?: = ([^;]+))?;", text, re.M)
            default = (value[1] or "0") if value else ""
            module = MODULES.get(PurePosixPath(path).parent.name, "vgpu_kfd.ko")
            yield Parameter(module, name, "" if match[1] else words[1], words[-1], described[name], default)


def parameters_page(sources: Mapping[str, str]) -> str:
    """Return the page on the module parameters of the driver. `sources` has the text of each
    source by its path."""
    found = list(parameters(sources))
    head = ("parameter", "type", "initial value", "mode in sysfs", "meaning")

    def rows(module: str) -> list[list[str]]:
        return [
            [code(one.name), one.type or "word", code(one.default), one.mode, one.text]
            for one in found
            if one.module == module
        ]

    return page(
        "Module parameters",
        "`./vgpu run --append vgpu_kfd.PARAMETER=VALUE` sets a parameter at boot. A parameter with mode 0644 can be"
        " changed in `/sys/module/vgpu_kfd/parameters/`. Source: `module_param` in `guest-driver/`.",
        "## vgpu_kfd.ko",
        table("parameters of vgpu_kfd.ko", head, rows("vgpu_kfd.ko")),
        "## amdgpu.ko",
        "These parameters are read-only: they describe the driver to tools.",
        table("parameters of amdgpu.ko", head, rows("amdgpu.ko")),
    )


def _names(debugfs: str, array: str) -> dict[str, str]:
    """Return the elements of the C array `array` in `debugfs`, the text of vgpu_debugfs.c. The line
    `[VGPU_CNT_REPLAYS] = "replays",` gives the key "VGPU_CNT_REPLAYS" and the value "replays"."""
    match = re.search(rf"\b{array}\[\w+\] = \{{(.*?)^\}};", debugfs, re.M | re.S)
    return dict(re.findall(r'\[(\w+)\] = "(\w+)"', match[1])) if match else {}


def counters_page(debugfs: str, stats: str, device_info: str, schema: str) -> str:
    """Return the page on counters. The arguments are the texts of vgpu_debugfs.c, vgpu_stats.h, device_info.h and the
    QAPI schema, which describes the device's counters."""
    of_driver = {symbol: comment_text(rest) for symbol, rest in re.findall(r"^\s*(VGPU_STAT_\w+),?(.*)$", stats, re.M)}
    indices = dict(re.findall(r"^#define (VGPU_CNT_\w+)\s+(\d+)", device_info, re.M))
    texts = Schema(schema).by_name["VgpuCounter"].text.members
    rows = [
        [indices[symbol], code(name), code(name.replace("_", "-")), marked(texts[name.replace("_", "-")])]
        for symbol, name in _names(debugfs, "vgpu_counter_names").items()
    ]
    driver = [[code(name), of_driver[symbol]] for symbol, name in _names(debugfs, "vgpu_stat_names").items()]
    return page(
        "Counters",
        "## Counters of the driver",
        f"debugfs `vgpu_counters`. A counter without a meaning here counts what its name says. Sources: `{DEBUGFS}`,"
        f" `{STATS}`.",
        table("counters of the driver", ("counter", "counts"), driver),
        "## Counters of the device",
        "Registers of the [device information](../hardware.md#device-info), debugfs `vgpu_device_counters`, and"
        f" [`query-vgpu`](qmp.md). A reset sets them to 0. Sources: `{DEBUGFS}`, `{DEVICE_INFO}`, the QAPI schema.",
        table("counters of the device", ("index", "in debugfs", "in QMP", "counts"), rows),
    )


@dataclass(frozen=True)
class Tracepoint:
    """A tracepoint. `text` is the comment before the tracepoint, `form` its format, `given` its arguments."""

    system: str
    name: str
    text: str
    form: str
    given: str


def tracepoints(text: str) -> Iterator[Tracepoint]:
    """Yield the tracepoints of a trace header. The format of a DEFINE_EVENT is the format of its class."""
    system = match[1] if (match := re.search(r"^#define TRACE_SYSTEM (\w+)", text, re.M)) else ""
    classes: dict[str, str] = {}
    for match in TRACEPOINT.finditer(text):
        body = text[match.end() : closing(text, match.end() - 1)]
        words = arguments(text, match.end() - 1)
        printed = body.find("TP_printk(")
        form = strings(arguments(body, printed + len("TP_printk"))[0]) if printed >= 0 else ""
        if match[0].startswith("DECLARE"):
            classes[words[0]] = form
            continue
        of_class = match[0].startswith("DEFINE")
        name, shown = (words[1], classes.get(words[0], "")) if of_class else (words[0], form)
        given = arguments(body, body.index("TP_ARGS") + len("TP_ARGS"))
        yield Tracepoint(system, name, before(text, match.start()), shown, ", ".join(given))


def tracepoints_page(headers: Mapping[str, str]) -> str:
    """Return the page on the driver's tracepoints. `headers` has the texts of the trace headers, by path."""
    rows = [
        [code(f"{one.system}:{one.name}"), re.sub(r"@(\w+)", r"`\1`", one.text), code(one.form), path]
        for path, text in headers.items()
        for one in tracepoints(text)
    ]
    return page(
        "Tracepoints of the driver",
        "`./vgpu trace -o FILE -- COMMAND` records these tracepoints together with the"
        " [device's trace events](trace-events.md).",
        table("tracepoints", ("tracepoint", "when; arguments", "format", "header"), rows),
    )
