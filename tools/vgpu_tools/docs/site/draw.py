# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws pictures in a browser: `python -m vgpu_tools.docs.site.draw SCRIPT...`. The SCRIPTs are the JavaScript files of
Mermaid and WaveDrom. Standard input is a JSON object: the source of each picture, by the name of the source file.
Standard output is a JSON object with the same names: each picture as SVG.
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import Error

from vgpu_tools.docs.site.browser import chromium


def main(scripts: list[str]) -> None:
    """Read the sources of pictures from standard input, and write the pictures to standard output. `scripts`: paths of
    the JavaScript files of Mermaid and WaveDrom."""
    drawn = {}
    with chromium() as browser, browser.new_page() as page:
        for script in [*scripts, Path(__file__).with_name("draw.js")]:
            page.add_script_tag(path=script)
        # A source is Mermaid's text for a sequence diagram, or the list of bits.words() for bit fields.
        for name, source in json.load(sys.stdin).items():
            try:
                drawn[name] = page.evaluate("([name, source]) => draw(name, source)", [name, source])
            except Error as error:
                words, _, _ = error.message.partition("\n    at ")  # the stack of the script
                sys.exit(f"docs: {name}: {words}")
    json.dump(drawn, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
