# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the pictures of the site from the sources in docs/pictures/, from rooms.txt, and from the
table of locks in docs/driver.md. run_pictures.py draws the pictures of guests' runs.
"""

import json
import re
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.build import docs_environment
from vgpu_tools.docs import bits, locks_picture, rooms_pictures, svg
from vgpu_tools.docs.stage import put
from vgpu_tools.testing.rooms_file import Rooms

FOLDER = "docs/pictures"
RUNS = "runs"  # the folder below FOLDER with pictures of runs
USE = re.compile(r"^```\{picture\} (\S+)", re.M)
LOOKS = {"device": "device", "smi": "device", "hw": "device", "mm": "memory", "vm": "memory", "svm": "driver"}


def sources(root: Path) -> list[Path]:
    """Return the sources of pictures in a checkout, without the folder RUNS, which has rendered pictures."""
    return sorted(file for file in (root / FOLDER).iterdir() if file.name != RUNS)


def render(root: Path, rooms: Rooms) -> dict[str, str]:
    """Return all pictures of a checkout as SVG, by name. Raises Failure for a malformed source."""
    found = {
        "rooms-driver": svg.dot(rooms_pictures.layers(rooms, "guest-driver", LOOKS), "rooms.txt"),
        "rooms-driver-table": rooms_pictures.matrix(rooms, "guest-driver"),
        "rooms-device": svg.dot(rooms_pictures.layers(rooms, "qemu-device", {}), "rooms.txt"),
        "rooms-tools": svg.dot(rooms_pictures.layers(rooms, "tools/vgpu_tools", {}), "rooms.txt"),
        "locks": locks_picture.render((root / locks_picture.SOURCE).read_text()),
    }
    scripted: dict[str, object] = {}  # input of the scripts in the browser, by the sources' names
    for file in sources(root):
        text, name = file.read_text(), f"{FOLDER}/{file.name}"
        if file.suffix == ".dot":
            found[file.stem] = svg.dot(text, name)
        elif file.suffix == ".mmd":
            scripted[name] = text  # a sequence diagram for Mermaid
        elif file.suffix == ".toml":
            scripted[name] = bits.words(text, name, lambda path: (root / path).read_text())  # for WaveDrom
        else:
            raise Failure(f"docs: {name}: no source of a picture")
    drawn = json.loads(docs_environment.run("draw", docs_environment.scripts()[1], json.dumps(scripted)))
    return found | {Path(name).stem: picture for name, picture in drawn.items()}


def write(pictures: dict[str, str], pages: dict[str, str], target: Path) -> None:
    """Write pictures below a folder. `pages` are the texts of the pages by name. Raises Failure if one of the pictures
    is on no page."""
    used = {name for text in pages.values() for name in USE.findall(text)}
    if unused := sorted(pictures.keys() - used):
        raise Failure(f"docs: no page has the picture {unused[0]}")
    for name, drawing in pictures.items():
        put(target / "pictures" / f"{name}.svg", drawing)
