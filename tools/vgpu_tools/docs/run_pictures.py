# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes docs/pictures/runs: the pictures of guests' runs, and a text file with facts about the runs. The input is the
JSON of `vgpu_tools.trace.runs`."""

import json
from collections.abc import Mapping
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.build import docs_environment
from vgpu_tools.build.steps import ensure
from vgpu_tools.docs.pictures import FOLDER, RUNS

PLACE = ROOT / FOLDER / RUNS
# Names of the pictures. They are also keys in the JSON of vgpu_tools.trace.runs.
NAMES = ("demo-timeline", "pressure", "fault-latency", "one-fault", "svm-life")
PATH = "fault-path"  # name of the picture of ./vgpu fault-path, and its key in the JSON
FACTS = "runs.txt"  # the file beside the pictures with the facts about the runs: see facts()


def check(folder: Path) -> None:
    """Raise Failure if the pictures cannot be written to a folder. Call before the guests run."""
    if not folder.is_dir() and (folder.exists() or not folder.absolute().parent.is_dir()):
        raise Failure(f"-o {folder}: want a folder, or the name of a new one", status=2)


def prepare() -> None:
    """Make the site's Python environment, unless it is up to date."""
    ensure(docs_environment.environment())


def facts(numbers: str) -> str:
    """Return the text for the file FACTS. Raises Failure if `numbers` is not the JSON that `vgpu_tools.trace.runs`
    writes."""
    try:
        data = json.loads(numbers)
        run = data["run"]
        lines = [f"{key}: {run[key]}" for key in ("command", "commit", "date", "machine")]
        clocks = ", ".join(f"{name} {us:g} us" for name, us in run["clock_us"].items())
        lines.append(f"clocks of device and driver joined within: {clocks}")
        # Inconsistencies in the recordings, for example lost events
        lines += [f"inconsistent: {doubt}" for doubt in run["doubts"]]
        # The main numbers of each picture
        lines += [f"{name}.svg: {data[name]['text']}" for name in NAMES]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"pictures: no numbers of runs: {error!r}", status=1) from None
    return "\n".join(lines) + "\n"


def draw(file: Path, folder: Path) -> None:
    """Draw all pictures from the numbers in `file`, and write the pictures and FACTS to
    `folder`."""
    numbers = file.read_text() if file.is_file() else ""
    text = facts(numbers)
    _render(numbers, folder)
    (folder / FACTS).write_text(text)


def _render(numbers: str, folder: Path) -> None:
    """Draw each picture that `numbers`, a JSON object, has, and write it to `folder`."""
    folder.mkdir(exist_ok=True)
    cache = BUILD / "docs-cache" / "matplotlib"
    cache.mkdir(parents=True, exist_ok=True)
    docs_environment.run("run_pictures", [folder.absolute()], numbers, {"MPLCONFIGDIR": str(cache)})


def draw_path(numbers: Mapping[str, object], table: str, folder: Path) -> list[Path]:
    """Draw the breakdown of a lone fault (./vgpu fault-path). `table` is its text, for a file beside the picture.
    Return the files."""
    _render(json.dumps(numbers, ensure_ascii=False), folder)
    (folder / f"{PATH}.txt").write_text(table)
    return [folder / f"{PATH}.svg", folder / f"{PATH}.txt"]


def pictures(folder: Path) -> list[Path]:
    """Return the files that draw() writes to a folder."""
    return [*(folder / f"{name}.svg" for name in NAMES), folder / FACTS]
