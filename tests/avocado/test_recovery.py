# SPDX-License-Identifier: GPL-2.0-or-later
"""make check-recovery, once through: would catch a job that is taken for done though it met a fault, a fault that
nobody is told of, a table that is not written again, and BOs that are lost and do not say so."""

from avocado import Test

from launcher import vgpu


class Recovery(Test):
    """The tool's own table is what is looked at."""

    def test_once(self) -> None:
        """Each kind of failure twice, everything right after each."""
        result = vgpu("check-recovery", "--repeat", "2")
        said = result.stdout.decode()
        self.assertEqual(result.returncode, 0, said + result.stderr.decode())
        names = ("GART", "ring", "user", "engine", "reset", "no VRAM", "SDMA", "CP", "TLB")
        rows = [line.split() for line in said.splitlines() if line.startswith(names)]
        self.assertEqual(len(rows), 14, said)
        for row in rows:
            self.assertEqual(row[-6:-2], ["2"] * 4, row)
