# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of sphinx.util.docutils, as far as our directive uses it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from docutils.nodes import Element

class Environment:
    srcdir: Path
    def note_dependency(self, filename: str) -> None: ...

class State:
    def nested_parse(self, block: Sequence[str], input_offset: int, node: Element) -> None: ...

class SphinxDirective:
    arguments: list[str]
    options: dict[str, str]
    content: Sequence[str]
    content_offset: int
    state: State
    required_arguments: int
    has_content: bool
    option_spec: dict[str, Callable[[str], str]]
    @property
    def env(self) -> Environment: ...
    def error(self, message: str) -> Exception: ...
