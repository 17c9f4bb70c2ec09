# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws sequence diagrams: a column for each actor, with the actor's steps, calls and replies. Time runs down.

A source (docs/pictures/NAME.seq) has one statement a line:

    # comment
    actor NAME CLASS: LABEL     a column; CLASS is a class of site.css: user, driver, device, memory
    A -> B: TEXT                A calls B, or writes to B
    A --> B: TEXT               a reply, or an event for which A does not wait
    A: TEXT                     a step of A alone
    == TEXT                     a line across all columns: a condition, or a new part

A "\\n" in a text begins a new line.
"""

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs import svg

ACTOR = re.compile(r"actor (\w+) (\w+): (.+)")
MESSAGE = re.compile(r"(\w+) (--?>) (\w+): (.+)")
STEP = re.compile(r"(\w+): (.+)")
COLUMN, MARGIN, LINE = 156.0, 8.0, 15.0  # width of a column, at the sides of the picture, height of a line of text


@dataclass(frozen=True)
class Actor:
    """A column."""

    name: str
    look: str  # class in site.css
    label: str


@dataclass(frozen=True)
class Event:
    """A statement after the actors. `to` is "" for a step of one actor, `actor` is "" for a line across."""

    actor: str
    to: str
    words: str
    dashed: bool = False


def parse(source: str, name: str) -> tuple[list[Actor], list[Event]]:
    """Read a source; `name` names it in messages. Raises Failure with the line of the first error."""
    actors: list[Actor] = []
    events: list[Event] = []
    for number, line in enumerate(source.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if match := ACTOR.fullmatch(line):
            actors.append(Actor(match[1], match[2], match[3]))
        elif line.startswith("== "):
            events.append(Event("", "", line[3:]))
        elif match := MESSAGE.fullmatch(line):
            events.append(Event(match[1], match[3], match[4], match[2] == "-->"))
        elif match := STEP.fullmatch(line):
            events.append(Event(match[1], "", match[2]))
        else:
            raise Failure(f"docs: {name}:{number}: no statement of a sequence: {line}")
        known = {one.name for one in actors}
        if events and (unknown := [one for one in (events[-1].actor, events[-1].to) if one and one not in known]):
            raise Failure(f"docs: {name}:{number}: no actor {unknown[0]}")
    return actors, events


class _Drawing:
    """A sequence while it is drawn. `y` is the lower edge of what has been drawn."""

    def __init__(self, actors: list[Actor]) -> None:
        self.actors = actors
        self.width = len(actors) * COLUMN + 2 * MARGIN
        self.root = svg.picture(self.width, 0)
        self.lives = SubElement(self.root, "g")
        self.y = MARGIN

    def middle(self, name: str) -> float:
        """Return the x of an actor's line."""
        index = [one.name for one in self.actors].index(name)
        return MARGIN + COLUMN * (index + 0.5)

    def lines(self, x: float, words: list[str], size: float = svg.SMALL) -> None:
        """Add lines of text below `y`, centred at x."""
        for word in words:
            self.y += LINE
            svg.text(self.root, x, self.y - 3, word, size)

    def heads(self) -> None:
        """Draw the boxes at the top of the columns."""
        words = [svg.wrapped(one.label, COLUMN - 24) for one in self.actors]
        height = LINE * max(map(len, words)) + 10
        for one, lines in zip(self.actors, words, strict=True):
            self.y = MARGIN
            svg.box(self.root, self.middle(one.name) - COLUMN / 2 + 6, self.y, COLUMN - 12, height, one.look)
            self.y += 3 + (height - 10 - LINE * len(lines)) / 2
            self.lines(self.middle(one.name), lines, svg.SIZE)
        self.y = MARGIN + height

    def step(self, event: Event) -> None:
        """Draw a box on the line of an actor."""
        words = svg.wrapped(event.words, COLUMN - 22, svg.SMALL)
        x, look = self.middle(event.actor), next(one.look for one in self.actors if one.name == event.actor)
        self.y += 8
        svg.box(self.root, x - COLUMN / 2 + 4, self.y, COLUMN - 8, LINE * len(words) + 8, f"{look} step")
        self.y += 3
        self.lines(x, words)
        self.y += 5

    def message(self, event: Event) -> None:
        """Draw an arrow, with its text above it."""
        start, end = self.middle(event.actor), self.middle(event.to)
        words = svg.wrapped(event.words, abs(end - start) - 14, svg.SMALL)
        self.y += 6
        for word in words:
            self.y += LINE
            backed = svg.text(self.root, (start + end) / 2, self.y - 3, word, svg.SMALL)
            backed.set("class", "backed")
        self.y += 4
        svg.arrow(self.root, (start, self.y), (end, self.y), "dashed" if event.dashed else "")

    def across(self, event: Event) -> None:
        """Draw a line across all columns with a text below it."""
        self.y += 14
        svg.line(self.root, (MARGIN, self.y), (self.width - MARGIN, self.y), "across")
        words = svg.wrapped(event.words, self.width - 4 * MARGIN)
        for word in words:
            self.y += LINE + 1
            backed = svg.text(self.root, 2 * MARGIN, self.y - 2, word, svg.SIZE, "start")
            backed.set("class", "backed strong")

    def finish(self) -> Element:
        """Draw the actors' lines down to the end, set the height, and return the picture."""
        self.y += 14
        for one in self.actors:
            svg.line(self.lives, (self.middle(one.name), MARGIN + 20), (self.middle(one.name), self.y), "life")
        svg.resize(self.root, self.width, self.y + MARGIN)
        return self.root


def render(source: str, name: str) -> str:
    """Return a sequence as SVG; `name` names the source in messages. Raises Failure for a malformed source."""
    actors, events = parse(source, name)
    if not actors or not events:
        raise Failure(f"docs: {name}: a sequence needs actors and events")
    drawing = _Drawing(actors)
    drawing.heads()
    for event in events:
        if not event.actor:
            drawing.across(event)
        elif not event.to:
            drawing.step(event)
        else:
            drawing.message(event)
    return svg.drawn(drawing.finish())
