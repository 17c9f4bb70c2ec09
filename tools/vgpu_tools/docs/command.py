# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu docs: builds the site in build/docs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.build import docs_environment, fingerprint, sources
from vgpu_tools.build.steps import ensure
from vgpu_tools.docs import pictures, reference
from vgpu_tools.docs.stage import Stage, place, put
from vgpu_tools.testing import rooms as rooms_check
from vgpu_tools.testing.rooms_file import LIST, Rooms

STAGED, SITE = BUILD / "docs-pages", BUILD / "docs"
OWN = Path(__file__).parent / "site"  # Sphinx's configuration and static files


def _prepare(linux: Path) -> None:
    """Write the input of Sphinx to the folder STAGED."""
    files = rooms_check.files_of(ROOT)
    rooms = Rooms((ROOT / LIST).read_text(), files)
    if rooms.errors:
        raise Failure("\n".join(rooms.errors))
    stage = Stage(ROOT, files, reference.generate(reference.Sources(ROOT, files), rooms))
    _remove_old({STAGED / place(file) for file in stage.pages})
    stage.write(STAGED)
    pictures.write(pictures.render(ROOT, rooms), stage.pages, STAGED)
    put(STAGED / "settings.json", json.dumps({"root": str(ROOT), "linux": str(linux)}))
    put(STAGED / "conf.py", (OWN / "conf.py").read_text())
    shutil.copytree(OWN / "static", STAGED / "static", dirs_exist_ok=True)


def _remove_old(wanted: set[Path]) -> None:
    """Remove pages of an earlier build that are not in `wanted`, from STAGED and from SITE."""
    for page in {*STAGED.rglob("*.md"), *STAGED.rglob("*.rst")} - wanted:
        page.unlink()
        (SITE / page.relative_to(STAGED)).with_suffix(".html").unlink(missing_ok=True)


def build() -> Path:
    """Build the site and return its first page. Raises Failure if Sphinx or kernel-doc has a warning."""
    source = sources.linux()
    ensure(*docs_environment.steps(), source.step)
    _prepare(source.tree)
    command: list[str | Path] = [docs_environment.PYTHON, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    # The cache's name has a hash of OWN, because Sphinx does not detect every change in OWN, for
    # example in site/picture.py.
    cache = BUILD / "docs-cache" / fingerprint.of(OWN)
    variables = {"PYTHONPATH": str(ROOT / "tools"), "KDOC_WERROR": "1"}
    result = subprocess.run(
        [*command, "-j", "auto", "-d", cache, STAGED, SITE],
        cwd=ROOT,
        env=clean_environment(variables),
        check=False,
    )
    if result.returncode:
        raise Failure("docs: Sphinx found errors or warnings", status=1)
    return SITE / "index.html"


def docs(look: bool) -> int:
    """./vgpu docs: build the site. With `look`, also check the site in a browser, and print the
    results as TAP. Return the exit status."""
    first = build()
    print(f"{'# ' if look else ''}{first}", flush=True)
    seen = docs_environment.run("look", [SITE]) if look else ""
    print(seen, end="")
    return 1 if re.search("^not ok", seen, re.M) else 0
