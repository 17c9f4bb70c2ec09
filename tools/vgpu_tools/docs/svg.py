# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes SVG pictures without colours: `site/static/site.css` sets the colours by class, for a light
and a dark page. Lengths are in CSS pixels.
"""

import re
import subprocess
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from vgpu_tools.base.errors import Failure

FONT = "DejaVu Sans"  # Graphviz measures text in this font, which is as wide as the widest font of site.css
SIZE, SMALL = 12.0, 11.0  # font sizes
POINT = 4 / 3  # a point in pixels
DEFAULTS = (
    *("-Gbgcolor=transparent", f"-Gfontname={FONT}", "-Gfontsize=9", "-Gnodesep=0.25", "-Granksep=0.35"),
    *(f"-Nfontname={FONT}", "-Nfontsize=9", "-Nshape=box", "-Nstyle=rounded", "-Nmargin=0.09,0.05", "-Nheight=0.3"),
    *(f"-Efontname={FONT}", "-Efontsize=8.25", "-Earrowsize=0.7"),
)


def picture(width: float, height: float) -> Element:
    """Return an empty picture. `width` and `height` are in CSS pixels."""
    root = Element("svg", xmlns="http://www.w3.org/2000/svg")
    resize(root, width, height)
    return root


def resize(root: Element, width: float, height: float) -> None:
    root.attrib |= {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}


def box(parent: Element, x: float, y: float, width: float, height: float, name: str = "", round_by: float = 4) -> None:
    """Add a rectangle with the CSS class `box` and, if given, the class `name`."""
    place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}", "rx": f"{round_by:g}"}
    SubElement(parent, "rect", {"class": f"box {name}".strip(), **place})


def line(parent: Element, start: tuple[float, float], end: tuple[float, float], name: str = "") -> None:
    """Add a straight line. The points `start` and `end` are (x, y) in CSS pixels. `name` is a further class, for
    site.css."""
    place = {"x1": f"{start[0]:g}", "y1": f"{start[1]:g}", "x2": f"{end[0]:g}", "y2": f"{end[1]:g}"}
    SubElement(parent, "line", {"class": f"line {name}".strip(), **place})


def arrow(parent: Element, start: tuple[float, float], end: tuple[float, float], name: str = "") -> None:
    """Add a horizontal or vertical line with a head at its end."""
    line(parent, start, end, name)
    (x, y), wide = end, 3.5
    if start[1] == end[1]:
        back = x - 8 if x > start[0] else x + 8
        points = f"{x:g},{y:g} {back:g},{y - wide:g} {back:g},{y + wide:g}"
    else:
        back = y - 8 if y > start[1] else y + 8
        points = f"{x:g},{y:g} {x - wide:g},{back:g} {x + wide:g},{back:g}"
    SubElement(parent, "polygon", {"class": "head", "points": points})


def text(parent: Element, x: float, y: float, words: str, size: float = SIZE, anchor: str = "middle") -> Element:
    """Add a line of text with its baseline at y. `anchor` (start, middle, end) says which point of the text is at x."""
    place = {"x": f"{x:g}", "y": f"{y:g}", "font-size": f"{size:g}", "text-anchor": anchor}
    one = SubElement(parent, "text", place)
    one.text = words
    return one


def drawn(root: Element) -> str:
    """Return a picture as the text of an SVG file."""
    return ElementTree.tostring(root, encoding="unicode")


def dot(source: str, name: str) -> str:
    """Draw `source`, a graph in Graphviz's language, and return the SVG. `name` names the graph in messages. Raises
    Failure with Graphviz's message if the graph has errors or warnings."""
    command = ["dot", "-Tsvg", *DEFAULTS]
    try:
        result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failure("docs: no program 'dot': install Debian's package graphviz") from None
    if result.returncode or result.stderr.strip():
        raise Failure(f"docs: {name}: {result.stderr.strip()}")
    return _cleaned(result.stdout)


def _cleaned(graph: str) -> str:
    """Return Graphviz's SVG with its size in pixels, and without ids, tooltips, fonts and background."""
    body = re.sub(r"<(title|!--)(?:>|\s).*?(?:</title>|-->)\n?", "", graph[graph.index("<svg") :], flags=re.S)
    root = ElementTree.fromstring(re.sub(r' xmlns(:xlink)?="[^"]*"', "", body))
    for one in root.iter():
        for unwanted in ("id", "font-family"):
            one.attrib.pop(unwanted, None)
        if one.text and one.text.startswith(" "):  # a browser drops the space that keeps a label off its line
            one.text = "\u00a0" + one.text[1:]
    for side in ("width", "height"):
        root.set(side, f"{float(root.attrib[side].removesuffix('pt')) * POINT:g}")
    top = root[0]
    if len(top) and top[0].tag == "polygon":
        top.remove(top[0])
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return drawn(root)


def quoted(words: str) -> str:
    """Return a text as a quoted string of Graphviz's language."""
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


def graph(lines: Sequence[str]) -> str:
    """Return a directed graph in Graphviz's language. `lines` are the statements of the graph,
    without semicolons."""
    return "digraph picture {\n" + "".join(f"\t{one};\n" for one in lines) + "}\n"
