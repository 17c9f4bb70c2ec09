# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at the built site in a browser: every page, as a desktop with light colours and as a phone with dark ones.

Checks: each link leads to a file and a place in it; each picture and each file that a page loads is there, and none
comes from another host; no page is wider than the window; axe-core's checks of accessibility find no violation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from vgpu_tools.base.errors import Failure
from vgpu_tools.build import docs_environment
from vgpu_tools.docs.browser import Page, page
from vgpu_tools.testing.tap import Case

WINDOWS = (("desktop, light", 1400, False), ("phone, dark", 400, True))
FACTS = """({
    ids: [...document.querySelectorAll('[id]')].map(one => one.id),
    links: [...document.querySelectorAll('a[href]')].map(one => one.href),
    pictures: document.querySelectorAll('figure.picture svg').length,
    figures: document.querySelectorAll('figure.picture').length,
    broken: [...document.images].filter(one => !one.naturalWidth).map(one => one.src),
    wide: document.documentElement.scrollWidth - window.innerWidth,
})"""
AXE = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(one =>
    one.id + ': ' + one.help + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 120)).join(' | ')))"""


@dataclass
class Seen:
    """Facts of a page of the site that the checks use."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # what is wrong, without links


def _axe() -> str:
    """Return the text of axe-core."""
    folder = docs_environment.PYTHON.parents[1]
    found = list(folder.glob("lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
    if len(found) != 1:
        raise Failure(f"docs: no axe.min.js below {folder}")
    return found[0].read_text()


def wrong_events(events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what is wrong in the events of a page's load: missing files, other hosts, exceptions of scripts."""
    urls: dict[str, str] = {}
    for event in events:
        given = event["params"]
        if event["method"] == "Network.requestWillBeSent":
            url = urls[given["requestId"]] = given["request"]["url"]
            if urlsplit(url).scheme not in ("file", "data"):
                yield f"loads {url}"
        elif event["method"] == "Network.loadingFailed":
            yield f"cannot load {urls.get(given['requestId'], '')}: {given.get('errorText', '')}"
        elif event["method"] == "Runtime.exceptionThrown":
            yield f"a script fails: {given['exceptionDetails'].get('text', '')}"


def _see(window: Page, file: Path, axe: str, name: str) -> Seen:
    """Load a page of the site, and return what is in it. `name` is the name of the window."""
    window.visit(file.as_uri())
    facts = window.run(FACTS)
    seen = Seen(set(facts["ids"]), facts["links"], list(wrong_events(window.events)))
    seen.wrong += [f"a picture is missing: {source}" for source in facts["broken"]]
    if facts["pictures"] != facts["figures"]:
        seen.wrong.append(f"{facts['figures']} figures have {facts['pictures']} drawings")
    if facts["wide"] > 0:
        seen.wrong.append(f"{facts['wide']} pixels wider than the window")
    window.run(axe)
    seen.wrong += window.run(AXE)
    seen.wrong = [f"{name}: {one}" for one in seen.wrong]
    return seen


def broken(links: list[str], pages: dict[Path, Seen]) -> Iterator[str]:
    """Yield the links to files or places that do not exist."""
    for link in dict.fromkeys(links):
        url, place = urldefrag(link)
        if urlsplit(url).scheme != "file":
            continue
        file = Path(unquote(urlsplit(url).path))
        if not file.is_file():
            yield f"a link to {file.name}, which does not exist"
        elif place and file in pages and unquote(place) not in pages[file].ids:
            yield f"a link to {file.name}#{place}, which has no such place"


def look(site: Path) -> list[Case]:
    """Look at all pages of a site. Return a case for each page."""
    files = sorted(site.rglob("*.html"))
    axe = _axe()
    pages: dict[Path, Seen] = {}
    with page() as window:
        for name, width, dark in WINDOWS:
            window.look(width, dark)
            for file in files:
                seen = _see(window, file, axe, name)
                if file in pages:
                    pages[file].wrong += seen.wrong
                else:
                    pages[file] = seen
    cases = []
    for file, seen in pages.items():
        wrong = [*seen.wrong, *broken(seen.links, pages)]
        cases.append(Case(f"page {file.relative_to(site)}", "failed" if wrong else "passed", "\n".join(wrong)))
    return cases or [Case("pages", "failed", f"no pages in {site}")]
