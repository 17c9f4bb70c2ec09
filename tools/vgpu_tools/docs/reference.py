# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates all reference pages of the site from the sources of a checkout."""

from collections.abc import Sequence
from pathlib import Path

from vgpu_tools.docs import device, driver, growth_page, kerneldoc, qmp, tools
from vgpu_tools.docs.tables import page
from vgpu_tools.testing.rooms_file import Rooms


class Sources:
    """Reads files of a checkout. The reference pages are generated from these files."""

    def __init__(self, root: Path, files: Sequence[str]) -> None:
        """`files` are the names of the checkout's files, relative to `root`."""
        self.root = root
        self.files = files

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def optional(self, path: str) -> str | None:
        """Return the text of a file, or None if the checkout has no such file."""
        return self.text(path) if path in self.files else None

    def below(self, folder: str, *endings: str) -> dict[str, str]:
        """Return the texts of files by path: all files below `folder` with one of `endings` at the end of the file's
        name. Files in folders "tests" are left out."""
        chosen = (
            path
            for path in self.files
            if path.startswith(f"{folder}/") and path.endswith(endings) and "/tests/" not in path
        )
        return {path: self.text(path) for path in chosen}


def generate(sources: Sources, rooms: Rooms) -> dict[str, str]:
    """Return the texts of the generated pages. A page's key is its path, such as "docs/reference/qmp.md"; the last line
    of this function adds "docs/". Raises Failure if a source has a form that its parser does not support."""
    text = sources.text
    schema = text(qmp.SOURCE)
    headers = "\n".join(sources.below("qemu-device", ".h").values())
    driver_sources = sources.below("guest-driver", ".c", ".h")
    pages = {
        "reference/qmp.md": qmp.qmp_page(schema),
        "reference/injection.md": qmp.injection_page(schema),
        "reference/properties.md": device.properties_page(
            text(device.PROPERTIES), text(device.HIVE), headers, text(device.CONTRACT)
        ),
        "reference/trace-events.md": device.events_page(text(device.TRACE)),
        "reference/parameters.md": driver.parameters_page(sources.below("guest-driver", ".c")),
        "reference/counters.md": driver.counters_page(
            text(driver.DEBUGFS), text(driver.STATS), text(driver.DEVICE_INFO), schema
        ),
        "reference/tracepoints.md": driver.tracepoints_page(sources.below("guest-driver", "_trace.h")),
        "reference/options.md": tools.options_page(
            *map(text, (tools.MAIN, tools.COMMANDS, tools.SHARED, tools.GUEST, tools.BENCH))
        ),
        "reference/targets.md": tools.targets_page(text("Makefile")),
        "reference/growth.md": growth_page.growth_page(sources.optional(growth_page.DATA)),
    }
    lists = {
        "faces.md": _list(
            "Faces of the driver's rooms", "the functions and types that rooms offer to others", "faces/*"
        ),
        "folders.md": _list("Folders, file by file", "the `README.md` of each folder", "folders/**"),
    }
    faces = {f"faces/{name}.rst": page for name, page in kerneldoc.pages(rooms, driver_sources).items()}
    return {f"docs/{name}": page for name, page in (pages | lists | faces).items()}


def _list(title: str, content: str, pattern: str) -> str:
    """Return a page that lists the pages whose names match a pattern."""
    return page(title, f"Each page has {content}.", f"```{{toctree}}\n:maxdepth: 1\n:glob:\n\n{pattern}\n```")
