# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of avocado-framework, as far as our tests use it."""

import unittest

class Params:
    def get(self, key: str, path: str | None = None, default: object = None) -> object: ...

class Test(unittest.TestCase):
    timeout: float | None
    params: Params
    workdir: str
