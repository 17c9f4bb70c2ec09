# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests how ./vgpu test-delays reads a program's output.

Catches: a failed guest or case counts as passed; the next ./vgpu test-delays does not run a failed guest again."""

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base.environment import Environment
from vgpu_tools.guest import options
from vgpu_tools.testing import delays, guest_tests

CASE = ["# case one", "# delay points: 3, with peers", "ok 1 - one, no delay", "ok 2 - one, delay 0x12"]
PLAN = "1..2"
DIED = "vgpu: the guest's kernel died: BUG; console log: /log"


class Guests(Test):
    """Tests of ./vgpu test-delays with one test program. No guest runs: each test gives ends() the lines that the
    guests would print."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.commands: list[list[str]] = []
        self.kernel = "release"
        listed = [guest_tests.Listed(["vgpu-test-a"], ["--gpus", "2"])]
        for where, name, value in (
            (delays, "FOLDER", Path(folder.name)), (guest_tests, "full_list", lambda: listed),
            (delays, "_excluded", list), (delays, "_lines", self.lines), (delays, "ensure", mock.Mock()),
            (options, "parse", mock.Mock()),
        ):  # fmt: skip
            patch = mock.patch.object(where, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def lines(self, _: object, command: list[str], __: float) -> list[str]:
        """Return the output of the next guest."""
        self.commands.append(command)
        return self.outputs.pop(0)

    def ends(self, *outputs: list[str], program: str = "") -> int:
        """Run ./vgpu test-delays for one program, or for all, and return the exit status. The first guest prints the
        lines in the first of `outputs`, the next guest those in the second, and so on."""
        self.outputs = list(outputs)
        context = mock.Mock()
        context.speed.scale.return_value = 1.0
        with mock.patch.object(delays, "Context", return_value=context):
            status = delays.run(program, "", "", False, self.kernel, mock.Mock(spec=Environment))
        self.assertEqual(self.outputs, [])
        return status

    def test_passes(self) -> None:
        """Catches: a good run fails, or is repeated."""
        self.assertEqual(self.ends([*CASE, PLAN]), 0)
        self.assertEqual(self.ends(), 0)

    def test_fails_outside_of_a_case(self) -> None:
        """Catches:
        - A guest that prints nothing, or dies outside of a case, counts as passed.
        - The next ./vgpu test-delays does not run this guest again, or repeats a case that has passed.
        - After a good run of this guest, its old failure still counts."""
        for output in ([DIED], [*CASE, PLAN, DIED], []):
            self.assertEqual(self.ends(output), 1, output)
        self.assertEqual(self.ends([PLAN]), 0)
        self.assertIn("VGPU_TEST_DONE=one", self.commands[-1])
        self.assertEqual(self.ends(), 0)

    def test_fails_in_a_case(self) -> None:
        """Catches: the case in which the guest dies counts as passed; the other cases do not run."""
        self.assertEqual(self.ends([*CASE, DIED], ["# case two", "ok 1 - two, no delay", "1..1"]), 1)
        self.assertIn("VGPU_TEST_DONE=one", self.commands[-1])
        self.assertEqual(self.ends(), 1)

    def test_alone(self) -> None:
        """A case has one thread and no timer, so it runs once, without delays. Catches: the totals do not mention the
        case, so that the run looks as if it had found no case."""
        case = ["# case one", "# delay points: 3, alone", "ok 1 - one, no delay", "1..1"]
        runs: list[list[list[str]]] = [[case], []]  # the second run starts no guest, and takes the kept result
        for outputs in runs:
            said = io.StringIO()
            with redirect_stdout(said):
                self.assertEqual(self.ends(*outputs, program="vgpu-test-a"), 0)
            self.assertIn("no points for delays: vgpu-test-a: one\n", said.getvalue())
            self.assertIn("0 passed, 0 failed, 0 skipped, 1 with no points for delays\n", said.getvalue())

    def test_kernel(self) -> None:
        """Catches: a result of one kernel counts for the other; --kernel is not passed to the guest."""
        self.assertEqual(self.ends([*CASE, PLAN]), 0)
        self.kernel = "debug"
        self.assertEqual(self.ends([*CASE, PLAN]), 0)
        self.assertNotIn("VGPU_TEST_DONE=one", self.commands[-1])
        self.assertEqual(options.parse.call_args[0][0], ["--kernel", "debug", "--gpus", "2"])  # type: ignore[attr-defined]
        self.assertEqual(self.ends(), 0)
