# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests vgpu_tools/testing/founding.py, which checks the page docs/founding-documents.md. The tests use the
checkout's page, and changed copies of this page."""

import tomllib

from avocado import Test

from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing import founding

TABLE = "\n### Test\n\n| member | here | lock | test | difference |\n|---|---|---|---|---|\n"
GOOD = "| `x` | `svm/svm_range.c:svm_range_find()` | `svm_range_list.lock` | `vgpu-test-svm:attributes` | |\n"


class Page(Test):
    """Checks docs/founding-documents.md of this checkout, and copies of this page with added errors."""

    def setUp(self) -> None:
        self.text = (ROOT / founding.PAGE).read_text()

    def found(self, text: str) -> list[str]:
        """Return the errors of a page with this text."""
        return founding.check(ROOT, text)

    def only(self, text: str, *words: str) -> None:
        wrong = self.found(text)
        self.assertEqual(len(wrong), 1, wrong)
        for word in words:
            self.assertIn(word, wrong[0])

    def test_passes(self) -> None:
        """Catches: docs/founding-documents.md refers to something that does not exist, or lacks a row for a name in
        [members] or [rows] of tests/founding-documents.toml."""
        self.assertEqual(founding.check(), [])
        self.assertGreater(len(list(founding.rows(self.text))), 200)
        self.assertEqual(self.found(self.text + TABLE + GOOD), [])

    def test_references(self) -> None:
        """Catches: a file, a member, a function, a lock, a program or a case that does not exist is accepted."""
        changes = {
            "svm/svm_range.c:svm_range_find()": (
                ("svm/svm_rang.c", "no such file"),
                ("svm/svm_range.c:svm_range_fin()", "no such function"),
                ("svm/svm_range.c:svm_range_fin", "no such name"),
                ("svm/svm_range.h:svm_range_lis.lock", "no such structure"),
                ("svm/svm_range.h:svm_range_list.loc", "no such member"),
                ("svm_range_find()", "not of the kind"),
            ),
            "svm_range_list.lock": (("svm_range_list.list", "no such lock"), ("kfd_processes_mute", "no such lock")),
            "vgpu-test-svm:attributes": (
                ("vgpu-test-sv:attributes", "no such test"),
                ("vgpu-test-svm:attribute", "no such case"),
                ("svm_range_test:range_remov", "no such case"),
                ("svm_rang_test:range_remove", "no such test"),
                ("test_founding:test_passe", "no such case"),
            ),
        }
        for right, wrong in changes.items():
            for name, error in wrong:
                self.only(self.text + TABLE + GOOD.replace(right, name), f"{name}: ", error)
        for name in ("svm_range_test:range_remove", "test_founding:test_passes", "test_peer"):
            self.assertEqual(self.found(self.text + TABLE + GOOD.replace("vgpu-test-svm:attributes", name)), [])

    def test_prose(self) -> None:
        """Catches: a reference in a sentence is not checked; a word that is no reference is checked
        as a reference."""
        self.only(self.text + "\nSee `svm/svm_range.c:nothing()`.\n", "svm/svm_range.c:nothing()")
        self.only(self.text + "\nSee `vgpu-test-svm:nothing`.\n", "vgpu-test-svm:nothing")
        self.assertEqual(self.found(self.text + "\nSee `list`, `a.b` and `svm_range_list.list`.\n"), [])

    def test_missing(self) -> None:
        """Catches: the tool accepts a page without a row for a member or a function, or with an empty cell."""
        rows = [line for line in self.text.splitlines(keepends=True) if line.startswith("| `faulting_task` ")]
        self.only(self.text.replace(rows[0], ""), "svm_range_list.faulting_task")
        self.only(self.text.replace("`can_use_aip`", "that"), "can_use_aip")
        self.only(self.text + TABLE + GOOD.replace("`svm_range_list.lock`", ""), "'lock' is empty")

    def test_documents(self) -> None:
        """Catches: a name that is in a document, but not in the file of names, is not reported."""
        names = tomllib.loads((ROOT / founding.NAMES).read_text())
        text = "struct svm_range {struct list_head list; u32 news;};\nsvms->lock prange->older svm_range_free(new_name)"
        self.assertEqual(founding.unknown(names, text), ["new_name", "svm_range.news", "svm_range.older"])
