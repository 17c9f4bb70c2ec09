# SPDX-License-Identifier: GPL-2.0-or-later
"""Extracts parts of C sources for reference pages: comments, string literals, macros, and arguments of macro calls."""

import ast
import re

from vgpu_tools.base.errors import Failure

COMMENT = re.compile(r"/\*+\s*(.*?)\s*\*/", re.S)
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:\\\n|[^\n])*)", re.M)
SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")


def comment_text(comment: str) -> str:
    """Return the text of all comments in a source text, as one line without stars; "" if the text has no comment."""
    return " ".join(
        " ".join(line.strip().removeprefix("*").strip() for line in match[1].splitlines())
        for match in COMMENT.finditer(comment)
    ).strip()


def before(text: str, position: int) -> str:
    """Return the text of the comment that ends on the line before a position; "" if no comment ends there."""
    head = text[:position].rstrip()
    start = head.rfind("/*")
    return comment_text(head[start:]) if head.endswith("*/") and start >= 0 else ""


def strings(text: str) -> str:
    """Return the string literals of a text, joined, with their escapes replaced."""
    return "".join(ast.literal_eval(f'"{literal}"') for literal in STRING.findall(text))


def closing(text: str, start: int) -> int:
    """Return the position of the parenthesis that closes the parenthesis at `start`. Parentheses in strings do not
    count.

    Raises Failure if the closing parenthesis is missing."""
    plain = STRING.sub(lambda match: '"' + "_" * len(match[1]) + '"', text)
    depth = 0
    for at in range(start, len(plain)):
        depth += {"(": 1, ")": -1}.get(plain[at], 0)
        if not depth:
            return at
    raise Failure(f"docs: no closing parenthesis after: {text[start : start + 60]}")


def arguments(text: str, start: int) -> list[str]:
    """Return the arguments of a call, each without line breaks. `start` is the position of the
    call's opening parenthesis."""
    end = closing(text, start)
    found, depth, part = [], 0, ""
    quoted = False
    for at in range(start + 1, end):
        sign = text[at]
        quoted ^= sign == '"' and text[at - 1] != "\\"
        if not quoted:
            depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(sign, 0)
        if sign == "," and not depth and not quoted:
            found.append(" ".join(part.split()))
            part = ""
        else:
            part += sign
    return [*found, " ".join(part.split())]


def macros(text: str) -> dict[str, str]:
    """Return the values of the macros in a source text, by the macros' names. The values are text without comments.
    Macros with parameters, and macros without a value, are left out."""
    return {name: COMMENT.sub("", value).replace("\\\n", " ").strip() for name, value in DEFINE.findall(text)}


def number(value: str, known: dict[str, str]) -> int:
    """Return the value of an expression of numbers, |, <<, +, -, * and the macros in `known`.

    Raises Failure for any other expression.
    """

    def of(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as found):
                return found
            case ast.Name(id=name) if name in known:
                return number(known[name], known)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return of(left) | of(right)
            case ast.BinOp(left=left, op=ast.LShift(), right=right):
                return of(left) << of(right)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return of(left) + of(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return of(left) - of(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return of(left) * of(right)
        raise Failure(f"docs: '{value}' is no number")

    try:
        return of(ast.parse(SUFFIX.sub(r"\1", value), mode="eval").body)
    except SyntaxError:
        raise Failure(f"docs: '{value}' is no number") from None
