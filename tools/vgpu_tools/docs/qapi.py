# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads QAPI schemas: definitions with the comments before them, as in qemu-device/qapi/vgpu-kfd.json."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vgpu_tools.base.errors import Failure

COMMENT = re.compile(r"^##\n(.*?)^##\n", re.M | re.S)
MEMBER = re.compile(r"@([\w-]+):\s*(.*)")
SECTION = re.compile(r"(Features|Returns|Errors|Since):\s*(.*)|\.\. qmp-example::")
KINDS = ("command", "struct", "enum", "union")


@dataclass
class Text:
    """The comment of a definition: its description, and texts by member, feature and section ("Returns", "Errors")."""

    description: str = ""
    members: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """A member of a struct, of a command's arguments or of a union's base. `name` is without the "*" of an optional
    member. `type` is a name, or "list of NAME" for an array."""

    name: str
    type: str
    optional: bool
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Definition:
    """A definition of a schema. `kind` is one of KINDS, `body` the definition's expression as a
    dictionary."""

    kind: str
    name: str
    body: dict[str, Any]
    text: Text

    def members(self) -> list[Member]:
        """Return the members that the definition itself lists: in "base" if it is a union, else in "data". The list is
        empty for an enum, and if "base" or "data" is only the name of a type."""
        data = self.body.get("base" if self.kind == "union" else "data")
        return [_member(name, of) for name, of in data.items()] if isinstance(data, dict) else []

    def values(self) -> list[str]:
        """Return the names of the values. This definition must be an enum."""
        return [one if isinstance(one, str) else one["name"] for one in self.body["data"]]


def type_name(of: Any) -> str:
    """Return the text for `of`, a type in a QAPI expression: its name, or "list of NAME" for an array."""
    return f"list of {of[0]}" if isinstance(of, list) else str(of)


def _member(name: str, of: Any) -> Member:
    features: tuple[str, ...] = ()
    if isinstance(of, dict):
        features, of = tuple(of.get("features", ())), of["type"]
    return Member(name.removeprefix("*"), type_name(of), name.startswith("*"), features)


def _text(comment: str) -> Text:
    """Read the comment of a definition, without its "##" lines."""
    text = Text()
    # put[key] is the text of the current section, member or feature. `put` is None if there is no such text, or if
    # this text is dropped. A line that begins no section, member or feature:
    # - extends put[key] if `put` is not None
    # - else extends the description if no section has begun
    # - else is dropped
    put: dict[str, str] | None = None
    key = section = ""  # `section` is the name of the current section; "" before the first section
    for line in (raw.removeprefix("#").removeprefix(" ") for raw in comment.splitlines()[1:]):
        if match := SECTION.match(line):
            section = match[1] or "example"
            # The text of the sections "Since" and "example", and text before the first feature, is dropped.
            put, key = (text.sections, section) if section in ("Returns", "Errors") else (None, "")
            if put is not None:
                put[key] = match[2]
        elif section in ("", "Features") and (match := MEMBER.match(line)):
            put, key = text.features if section else text.members, match[1]
            put[key] = match[2]
        elif put is not None:
            put[key] = f"{put[key]} {line.strip()}".strip()
        elif not section:
            text.description = f"{text.description} {line.strip()}".strip()
    return text


def _expression(schema: str, start: int) -> str:
    """Return the expression in braces that begins at or after a position."""
    start = schema.index("{", start)
    depth = 0
    for at in range(start, len(schema)):
        depth += {"{": 1, "}": -1}.get(schema[at], 0)
        if not depth:
            return schema[start : at + 1]
    raise Failure("docs: an expression of the QAPI schema does not end")


def definitions(schema: str) -> Iterator[Definition]:
    """Yield the definitions of a schema that have a comment. Raises Failure for a form that this parser does not
    support."""
    for match in COMMENT.finditer(schema):
        if not (head := re.match(r"#\n# @([\w-]+):|# @([\w-]+):", match[1])):
            continue  # the comment is a heading
        expression = re.sub(r"\b(true|false)\b", lambda word: word[0].capitalize(), _expression(schema, match.end()))
        body = ast.literal_eval(expression)
        kind = next((kind for kind in KINDS if kind in body), "")
        if not kind or body[kind] != (head[1] or head[2]):
            raise Failure(f"docs: the QAPI schema has a comment on {head[1] or head[2]} before another definition")
        yield Definition(kind, body[kind], body, _text(match[1].removeprefix("#\n")))


class Schema:
    """The documented definitions of a schema, by name."""

    def __init__(self, text: str) -> None:
        self.by_name = {one.name: one for one in definitions(text)}

    def of_kind(self, kind: str) -> list[Definition]:
        """Return the definitions of `kind`, one of KINDS, in the schema's order."""
        return [one for one in self.by_name.values() if one.kind == kind]

    def inherited(self, name: str) -> list[tuple[Member, str]]:
        """Return the members of a struct and of its bases, bases first, each with its text."""
        one = self.by_name[name]
        base = one.body.get("base")
        above = self.inherited(base) if isinstance(base, str) else []
        return above + [(member, one.text.members.get(member.name, "")) for member in one.members()]
