# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts Debian's Chromium through Playwright."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless browser, and end the browser after the block. If this process runs as root,
    the browser has no sandbox, because the sandbox does not work for root."""
    with sync_playwright() as playwright:
        sandbox = os.geteuid() != 0
        program = shutil.which("chromium")
        with playwright.chromium.launch(executable_path=program, chromium_sandbox=sandbox) as browser:
            yield browser
