# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite "docs": builds the documentation site without a warning, and checks every page in a browser.

The suite runs `./vgpu docs --look` in a separate process, because this package may not import vgpu_tools.docs.
"""

import contextlib
import subprocess
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.paths import ROOT
from vgpu_tools.build import docs_environment, sources
from vgpu_tools.build.steps import Step
from vgpu_tools.testing.limits import Limit
from vgpu_tools.testing.suite import Context, Plan
from vgpu_tools.testing.tap import Case, parse

SECONDS = 600
COMMAND = [str(ROOT / "vgpu"), "docs", "--look"]


def steps() -> list[Step]:
    """Return the steps that the suite needs. Linux's source tree has the Sphinx extension that reads kernel-doc
    comments."""
    return [*docs_environment.steps(), sources.linux().step]


def run(log: Path, _: Plan, context: Context) -> list[Case]:
    """Run the suite. The build of the site is one case, and each page is a case."""
    limit = Limit(SECONDS, context.speed)
    with (
        log.open("wb") as file,
        context.children.start(COMMAND, file, subprocess.STDOUT, clean_environment(), ROOT) as process,
    ):
        while process.poll() is None:
            if limit.reached():
                return [Case("docs: site", "failed", f"not done after {limit}", again=COMMAND)]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
    text = log.read_text(errors="replace")
    pages = parse(text, "docs: ")
    if not pages:
        return [Case("docs: site", "failed", "\n".join(text.splitlines()[-40:]), again=COMMAND)]
    return [Case("docs: site", "passed"), *pages]
