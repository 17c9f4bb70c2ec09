# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs what the documentation site needs: Debian packages, a Python environment, and
JavaScript. `run()` runs a module of vgpu_tools.docs.site in the Python environment."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE, ROOT
from vgpu_tools.build import apt, fingerprint
from vgpu_tools.build.steps import Job, Step
from vgpu_tools.build.versions import pins

REQUIREMENTS = ROOT / "requirements-docs.txt"
_FOLDER = CACHE / f"venv-docs-{fingerprint.of(REQUIREMENTS)}"
PYTHON = _FOLDER / "bin/python"


def environment() -> Step:
    """Return the step that makes the Python environment, with exactly the packages in
    requirements-docs.txt."""

    def make(job: Job) -> None:
        shutil.rmtree(_FOLDER, ignore_errors=True)
        job.run([sys.executable, "-m", "venv", _FOLDER])
        job.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", REQUIREMENTS])

    return Step("venv-docs", "Python environment of the site", make, _FOLDER.name, [PYTHON], shared=True)


def scripts() -> tuple[Step, list[Path]]:
    """Return the step that fetches JavaScript for the site, and the paths of the fetched files. These files draw
    pictures in the browser. configs/versions.toml pins their versions."""
    wanted = pins()["scripts"]
    folder = CACHE / f"scripts-docs-{fingerprint.of(str(wanted))}"

    def make(job: Job) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, pin in wanted.items():
            job.run(["npm", "pack", f"{name}@{pin['version']}"], cwd=folder)
            archive = folder / f"{name}-{pin['version']}.tgz"
            if hashlib.sha256(archive.read_bytes()).hexdigest() != pin["sha256"]:
                raise job.fail(f"the registry sent another {archive.name} than that of configs/versions.toml")
            job.run(["tar", "-xzf", archive, f"package/{pin['file']}"], cwd=folder)
            archive.unlink()

    found = [folder / "package" / pin["file"] for pin in wanted.values()]
    needs = [apt.host_packages("packages-docs")]
    return Step("scripts-docs", "scripts of the site's pictures", make, folder.name, found, needs, shared=True), found


def steps() -> list[Step]:
    """Return the steps that the site needs. Not included: the step for Linux's source tree, sources.linux().step."""
    return [apt.host_packages("packages-docs"), environment(), scripts()[0]]


def run(
    module: str, arguments: Sequence[str | Path], given: str = "", variables: Mapping[str, str] | None = None
) -> str:
    """Run a module of vgpu_tools.docs.site in the Python environment, with `given` as its input, and return its output.
    The module writes errors to standard error. Raises Failure if the module fails."""
    result = subprocess.run(
        [PYTHON, "-m", f"vgpu_tools.docs.site.{module}", *arguments],
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environment({"PYTHONPATH": str(ROOT / "tools"), **(variables or {})}),
        check=False,
    )
    if result.returncode:
        raise Failure(f"docs: {module} failed", status=1)
    return result.stdout
