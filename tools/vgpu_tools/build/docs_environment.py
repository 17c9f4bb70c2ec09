# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that build the documentation site and look at it: Sphinx and matplotlib in a separate Python
environment, Graphviz, and a browser."""

import shutil
import sys

from vgpu_tools.base.paths import CACHE, ROOT
from vgpu_tools.build import apt, fingerprint
from vgpu_tools.build.steps import Job, Step

REQUIREMENTS = ROOT / "requirements-docs.txt"
_FOLDER = CACHE / f"venv-docs-{fingerprint.of(REQUIREMENTS)}"
PYTHON = _FOLDER / "bin/python"


def packages() -> Step:
    """The step that installs Graphviz and its font."""
    return apt.host_packages("packages-docs")


def browser() -> Step:
    """The step that installs the browser."""
    return apt.host_packages("packages-browser")


def environment() -> Step:
    """The step that makes the Python environment, with exactly the packages in requirements-docs.txt."""

    def make(job: Job) -> None:
        shutil.rmtree(_FOLDER, ignore_errors=True)
        job.run([sys.executable, "-m", "venv", _FOLDER])
        job.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", REQUIREMENTS])

    return Step("venv-docs", "Python environment of the site", make, _FOLDER.name, [PYTHON], shared=True)
