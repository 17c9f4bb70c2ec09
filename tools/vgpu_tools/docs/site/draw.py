# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws sequence diagrams and bit fields in a browser: `python -m vgpu_tools.docs.site.draw SCRIPT...`.

Standard input is a JSON object. Its keys are file names, and each value is the source of a picture. Standard output is
a JSON object with the same keys. Its values are the pictures, as SVG.

The scripts are Mermaid and WaveDrom. The source of a sequence diagram is Mermaid's text. The source of bit fields is
the list that vgpu_tools.docs.bits.words() returns.
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import Error

from vgpu_tools.docs.site.browser import chromium


def main(scripts: list[str]) -> None:
    """Draw all sources."""
    drawn = {}
    with chromium() as browser, browser.new_page() as page:
        for script in [*scripts, Path(__file__).with_name("draw.js")]:
            page.add_script_tag(path=script)
        for name, source in json.load(sys.stdin).items():
            try:
                drawn[name] = page.evaluate("([name, source]) => draw(name, source)", [name, source])
            except Error as error:
                words, _, _ = error.message.partition("\n    at ")  # the stack of the script
                sys.exit(f"docs: {name}: {words}")
    json.dump(drawn, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
