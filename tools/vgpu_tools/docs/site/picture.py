# SPDX-License-Identifier: GPL-2.0-or-later
"""The directive `picture`: a drawing with a caption.

    ```{picture} NAME
    :alt: the drawing in words

    The caption.
    ```

NAME.* is in docs/pictures/, or made by vgpu_tools/docs/pictures.py.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Picture(SphinxDirective):
    """The directive `picture`. An unknown picture, a missing `alt` and a missing caption are
    errors."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": str}

    def run(self) -> list[nodes.Node]:
        """Return the figure."""
        name, alt = self.arguments[0], " ".join(self.options.get("alt", "").split())
        file = Path(self.env.srcdir) / "pictures" / f"{name}.svg"
        self.env.note_dependency(str(file))
        if not file.exists():
            raise self.error(f"there is no picture {name}")
        if not alt or not self.content:
            raise self.error(f"the picture {name} needs an :alt: and a caption")
        drawing = file.read_text()
        width = drawing.partition(' width="')[2].partition('"')[0]
        label = f'<svg role="img" aria-label="{escape(alt)}" style="--width: {width}px" '
        drawing = drawing.replace("<svg ", label, 1)
        figure = nodes.figure(classes=["picture"], ids=[f"picture-{name}"])
        # Put the SVG itself into the page, so that the page's style sheet gives the picture its colours.
        figure += nodes.raw("", f'<div class="picture-frame" tabindex="0">{drawing}</div>', format="html")
        caption = nodes.caption()
        block = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, block)
        for paragraph in block.children:
            caption += paragraph.children
        figure += caption
        return [figure]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
