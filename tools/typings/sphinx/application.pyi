# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of sphinx.application, as far as our directive uses it."""

from sphinx.util.docutils import SphinxDirective

class Sphinx:
    def add_directive(self, name: str, cls: type[SphinxDirective]) -> None: ...
