# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the pages of the built site in a browser, for example links and accessibility (axe-core).
`python -m vgpu_tools.docs.site.look FOLDER` prints TAP, a case per page.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urldefrag, urlsplit

if TYPE_CHECKING:  # the tests of the tools import this module in a Python environment without Playwright
    from playwright.sync_api import Page, Request

LOAD_MS = 120_000.0  # limit of the load of a page
WINDOWS: tuple[tuple[str, int, Literal["light", "dark"]], ...] = (
    ("desktop, light", 1400, "light"),
    ("phone, dark", 400, "dark"),
)
FACTS = """({
    ids: [...document.querySelectorAll('[id]')].map(one => one.id),
    links: [...document.querySelectorAll('a[href]')].map(one => one.href),
    pictures: document.querySelectorAll('figure.picture svg').length,
    figures: document.querySelectorAll('figure.picture').length,
    broken: [...document.images].filter(one => !one.naturalWidth).map(one => one.src),
    wide: document.documentElement.scrollWidth - window.innerWidth,
})"""


@dataclass
class Seen:
    """The facts of a loaded page that the checks need: ids, links and errors."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # errors of the page, except broken links


def wrong_requests(requests: list["Request"]) -> Iterator[str]:
    """Yield a message for each failed request of a page, and for each request to another host."""
    for one in requests:
        if urlsplit(one.url).scheme not in ("file", "data"):
            yield f"loads {one.url}"
        elif one.failure:
            yield f"cannot load {one.url}: {one.failure}"


def _see(page: "Page", file: Path, requests: list["Request"], errors: list[str]) -> Seen:
    """Load a page of the site, and return its facts. The load fills `requests` and `errors` through the event handlers
    of `page`."""
    from axe_playwright_python.sync_playwright import Axe

    requests.clear()
    errors.clear()
    page.goto(file.as_uri(), timeout=LOAD_MS)
    facts = page.evaluate(FACTS)
    seen = Seen(set(facts["ids"]), facts["links"], [*wrong_requests(requests), *errors])
    seen.wrong += [f"a picture is missing: {source}" for source in facts["broken"]]
    if facts["pictures"] != facts["figures"]:
        seen.wrong.append(f"{facts['figures']} figures have {facts['pictures']} drawings")
    if facts["wide"] > 0:
        seen.wrong.append(f"{facts['wide']} pixels wider than the window")
    accessible = Axe().run(page)
    if accessible.violations_count:
        seen.wrong.append(accessible.generate_report())
    return seen


def broken(links: list[str], pages: dict[Path, Seen]) -> Iterator[str]:
    """Yield a message for each link whose file, or whose anchor in the file, does not exist."""
    for link in dict.fromkeys(links):
        url, place = urldefrag(link)
        if urlsplit(url).scheme != "file":
            continue
        file = Path(unquote(urlsplit(url).path))
        if not file.is_file():
            yield f"a link to {file.name}, which does not exist"
        elif place and file in pages and unquote(place) not in pages[file].ids:
            yield f"a link to {file.name}#{place}, which has no such place"


def _look_in_window(site: Path, width: int, scheme: Literal["light", "dark"]) -> dict[Path, Seen]:
    """Load all pages of a site in a browser window of `width` pixels, and return their facts."""
    from vgpu_tools.docs.site.browser import chromium

    requests: list[Request] = []
    errors: list[str] = []
    with chromium() as browser, browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.on("request", lambda request: requests.append(request))
        page.on("pageerror", lambda error: errors.append(f"a script fails: {error}"))
        return {file: _see(page, file, requests, errors) for file in sorted(site.rglob("*.html"))}


def look(site: Path) -> None:
    """Check all pages of a site in each of WINDOWS, and print the results as TAP. Each window has a process and a
    browser of its own, because one browser loads pages on one CPU."""
    pages: dict[Path, Seen] = {}
    with ProcessPoolExecutor(len(WINDOWS)) as processes:
        looks = [processes.submit(_look_in_window, site, width, scheme) for _, width, scheme in WINDOWS]
        for (name, *_), done in zip(WINDOWS, looks, strict=True):
            for file, seen in done.result().items():
                pages.setdefault(file, Seen(seen.ids, seen.links)).wrong += [f"{name}: {one}" for one in seen.wrong]
    print(f"1..{len(pages)}")
    for number, (file, seen) in enumerate(pages.items(), 1):
        wrong = "\n".join([*seen.wrong, *broken(seen.links, pages)])
        print("".join(f"# {line}\n" for line in wrong.splitlines()), end="")
        print(f"{'not ' if wrong else ''}ok {number} - page {file.relative_to(site)}")


if __name__ == "__main__":
    look(Path(sys.argv[1]))
