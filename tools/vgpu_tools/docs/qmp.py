# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates the pages on QMP commands and on kinds of injection from
qemu-device/qapi/vgpu-kfd.json."""

import re
from collections.abc import Sequence

from vgpu_tools.docs.qapi import Definition, Member, Schema, type_name
from vgpu_tools.docs.tables import code, page, table

SOURCE = "qemu-device/qapi/vgpu-kfd.json"
KINDS, UNION = "VgpuInjectKind", "VgpuInjection"  # the enum of kinds of injection, and the arguments of a kind


def marked(text: str) -> str:
    """Return a QAPI comment as Markdown: names after "@" become code."""
    return re.sub(r"@([A-Za-z][\w-]*)", r"`\1`", text)


def _type(name: str, schema: Schema) -> str:
    """Return the name of a type, as a link if this page describes the type."""
    plain = name.removeprefix("list of ")
    link = f"[`{plain}`](#{plain.lower()})" if plain in schema.by_name else code(plain)
    return f"list of {link}" if plain != name else link


def _rows(members: Sequence[tuple[Member, str]], schema: Schema) -> list[list[str]]:
    def presence(member: Member) -> str:
        return ", ".join(("optional" if member.optional else "always", *member.features))

    return [[code(one.name), _type(one.type, schema), presence(one), marked(text)] for one, text in members]


def _commands(schema: Schema) -> str:
    rows = []
    for one in schema.of_kind("command"):
        data = one.body.get("data")
        if isinstance(data, dict):
            given = ", ".join(f"{code(member.name)}: {member.type}" for member in one.members())
        else:
            given = _type(data, schema) if data else "none"
        returns = one.body.get("returns")
        stable = "unstable" if "unstable" in one.body.get("features", ()) else "stable"
        words = " ".join(filter(None, (one.text.description, f"Errors: {errors}" if (errors := _errors(one)) else "")))
        rows.append(
            [code(one.name), given, _type(type_name(returns), schema) if returns else "nothing", stable, marked(words)]
        )
    return table("QMP commands", ("command", "arguments", "returns", "interface", "what it does"), rows)


def _errors(one: Definition) -> str:
    """Return the errors of a command as one sentence."""
    errors = [error.strip() for error in one.text.sections.get("Errors", "").split("- If ") if error.strip()]
    return "if " + "; if ".join(errors) + "." if errors else ""


def _type_section(one: Definition, schema: Schema) -> str:
    blocks = [f"## {one.name}", marked(one.text.description)]
    if one.kind == "enum":
        rows = [[code(value), marked(one.text.members.get(value, ""))] for value in one.values()]
        blocks.append(table(one.name, ("value", "meaning"), rows))
    else:
        members = [(member, one.text.members.get(member.name, "")) for member in one.members()]
        blocks.append(table(one.name, ("member", "type", "present", "meaning"), _rows(members, schema)))
    return "\n\n".join(blocks)


def qmp_page(text: str) -> str:
    """Return the page on QMP commands and the types of their replies. `text` is the schema."""
    schema = Schema(text)
    types = [
        one
        for one in schema.by_name.values()
        if one.kind in ("struct", "enum") and (not one.name.startswith("VgpuInject") or one.name == "VgpuInjectionInfo")
    ]
    inject = (
        f"The arguments of `vgpu-inject` and the kinds of injection: [Injection](injection.md). Source: `{SOURCE}`."
    )
    known = Schema(text)
    known.by_name = {one.name: one for one in (*types, *schema.of_kind("command"))}
    blocks = [_commands(known), inject, *(_type_section(one, known) for one in types)]
    return page("QMP commands", *blocks)


def injection_page(text: str) -> str:
    """Return the page on the kinds of injection and their members. `text` is the schema."""
    schema = Schema(text)
    kinds, union = schema.by_name[KINDS], schema.by_name[UNION]
    rows, sections = [], []
    for kind in kinds.values():
        occasion, _, effect = kinds.text.members[kind].partition(": ")
        struct = union.body["data"].get(kind)
        members = schema.inherited(struct) if struct else []
        names = ", ".join(code(member.name) for member, _ in members if "deprecated" not in member.features)
        rows.append([f"[`{kind}`](#{kind})" if members else code(kind), marked(occasion), marked(effect), names])
        if members:
            head = ("member", "type", "present", "meaning")
            sections += [f"### {kind}", table(kind, head, _rows(members, Schema("")))]
    common = [(member, union.text.members.get(member.name, "")) for member in union.members()]
    return page(
        "Kinds of injection",
        "An *occasion* is the event at which an injection may take effect. [Injection](../hardware.md#injection) says"
        f" which occasions an injection takes. Source: `{SOURCE}`.",
        table("kinds of injection", ("kind", "occasion", "effect", "members"), rows),
        "## Members of every kind",
        table("members of every kind", ("member", "type", "present", "meaning"), _rows(common, Schema(""))),
        "## Members of one kind",
        *sections,
    )
