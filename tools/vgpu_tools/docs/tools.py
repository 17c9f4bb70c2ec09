# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates two pages. The page on the options of ./vgpu comes from the Python sources that parse
the command line; the page on the targets of make comes from the Makefile."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.tables import code, page, table

MAIN, COMMANDS, SHARED = (f"tools/vgpu_tools/cli/{name}.py" for name in ("main", "commands", "options"))
GUEST, BENCH = "tools/vgpu_tools/guest/options.py", "tools/vgpu_tools/bench/measure.py"


@dataclass(frozen=True)
class Option:
    """An option or a positional word of a command, from a call of add_argument() in the source. `default`, `type` and
    `choices` are the values of the keywords with these names; "" if the call lacks the keyword."""

    names: tuple[str, ...]
    default: str = ""
    type: str = ""
    choices: str = ""
    flag: bool = False  # whether the call has the keyword `action`
    text: str = ""  # value of the keyword `help`


def _text(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _option(call: ast.Call) -> Option:
    given = {word.arg: word.value for word in call.keywords if word.arg}
    choices = given.get("choices")
    listed = [_text(one) for one in choices.elts] if isinstance(choices, ast.Tuple | ast.List) else []
    return Option(
        tuple(_text(name) for name in call.args),
        _text(given["default"]) if "default" in given else "",
        ast.unparse(given["type"]) if "type" in given else "",
        ", ".join(listed) or (ast.unparse(choices) if choices else ""),
        "action" in given,
        _text(given["help"]) if "help" in given else "",
    )


def _functions(source: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}


def options(
    function: ast.FunctionDef, helpers: Mapping[str, ast.FunctionDef], given: Sequence[ast.expr] = ()
) -> list[Option]:
    """Return the options that `function` adds to parsers, directly or by calling `helpers`. `given` are
    the positional arguments passed to `function`. An option's default may be one of these arguments."""
    known = dict(zip((one.arg for one in function.args.args), map(_text, given), strict=False))
    found: list[Option] = []
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                one = _option(node)
                # If the option's default is a parameter of `function`, use the argument passed for this parameter.
                found.append(replace(one, default=known.get(one.default, one.default)))
            case ast.Call(func=ast.Name(id=name), args=words) if name in helpers and helpers[name] is not function:
                found += options(helpers[name], helpers, words)
    return list(dict.fromkeys(found))


def _usage(main: str) -> str:
    """Return the help text of ./vgpu. `main` is the text of cli/main.py. Raises Failure if it has no such text."""
    for node in ast.parse(main).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "USAGE":
            return _text(node.value)
    raise Failure(f"docs: {MAIN} has no USAGE")


def _commands(main: str) -> dict[str, str]:
    """Return, for each command of ./vgpu, the name of its function in cli/commands.py."""
    return dict(re.findall(r'^    "([a-z-]+)": commands\.(\w+),', main, re.M))


def _described(usage: str) -> dict[str, tuple[str, str]]:
    """Return, for each guest option in USAGE, the name of the option's value ("" for a flag) and the
    text that describes the option."""
    lines = usage.partition("\noptions of run")[2].partition("\n\n")[0]
    found = re.findall(r"^  (--?[a-z-]+)(?: (\S+))? +(.*(?:\n {10,}.*)*)", lines, re.M)
    return {name: (value, " ".join(text.split())) for name, value, text in found}


def _guest_rows(usage: str, guest: str) -> list[list[str]]:
    """Return the table rows of the options of run, shell and gdb. Raises Failure if parser and
    USAGE have different options."""
    described = _described(usage)
    parsed = [one for function in _functions(guest).values() for one in options(function, {})]
    if missing := {one.names[0] for one in parsed} ^ described.keys():
        raise Failure(f"docs: only one of USAGE ({MAIN}) and the parser ({GUEST}) has {', '.join(sorted(missing))}")
    return [
        [
            code(f"{one.names[0]} {described[one.names[0]][0]}".strip()),
            "" if one.default in ("timeout", "") else code(one.default),
            one.choices,
            described[one.names[0]][1],
        ]
        for one in parsed
    ]


def _command_rows(main: str, commands: str, shared: str) -> list[list[str]]:
    functions = _functions(commands)
    helpers = _functions(shared) | {name: one for name, one in functions.items() if name.startswith("_")}
    rows = []
    for command, function in _commands(main).items():
        for one in options(functions[function], helpers):
            if one.names[0].startswith("-") and command not in ("run", "shell", "gdb", "demo"):
                value = "flag" if one.flag else one.choices or one.type or "word"
                rows.append([code(command), code(", ".join(one.names)), value, code(one.default)])
    return rows


def options_page(main: str, commands: str, shared: str, guest: str, bench: str) -> str:
    """Return the page on the options of ./vgpu. The arguments are the texts of the files MAIN,
    COMMANDS, SHARED, GUEST and BENCH."""
    usage = _usage(main)
    forms = re.findall(r"\./vgpu (.*)", usage.partition("\n\n")[0])
    known = _commands(main)
    for form in forms:
        if missing := [word for word in form.split()[0].split("|") if word not in known]:
            raise Failure(f"docs: USAGE ({MAIN}) names the command {missing[0]}, which does not exist")
    benches = [one for function in _functions(bench).values() for one in options(function, {})]
    return page(
        "Options of ./vgpu",
        f"Sources: `{MAIN}`, `{COMMANDS}`, `{SHARED}`, `{GUEST}`, `{BENCH}`. `./vgpu help` prints the same.",
        "## Commands",
        "```text\n" + usage.partition("\n\n")[0] + "\n```",
        "## Options of run, shell, gdb and trace -o",
        table("options of a guest", ("option", "default", "choices", "meaning"), _guest_rows(usage, guest)),
        usage.rpartition("\n\n")[2].replace("\n", " "),
        "## Options of other commands",
        table("options", ("command", "option", "value", "default"), _command_rows(main, commands, shared)),
        "## Options of bench",
        table(
            "options of bench",
            ("option", "default", "meaning"),
            [[code(one.names[0]), code(one.default), one.text] for one in benches],
        ),
    )


def targets_page(makefile: str) -> str:
    """Return the page on the targets of make. `makefile` is the text of the Makefile."""
    found = re.findall(r"^([\w.-]+):[^#\n]*## (.*)", makefile, re.M)
    variables = re.findall(r"^#   (\S.*?)  +(\S.*)", makefile, re.M)
    return page(
        "Targets of make",
        "Each target calls `./vgpu`. `make help` prints the same. Source: `Makefile`.",
        table("targets", ("target", "what it does"), [[code(f"make {name}"), text] for name, text in found]),
        "## Variables",
        table("variables of make", ("variable", "effect"), [[code(name), text] for name, text in variables]),
    )
