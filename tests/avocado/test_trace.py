# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace -o FILE of a whole guest: a timeline that leaves faults out, or orders them wrongly.

tests/tools/test_timeline.py has what needs no guest.
"""

import tempfile
from pathlib import Path

from avocado import Test

from launcher import vgpu
from vgpu_tools.trace import perfetto


class Whole(Test):
    """A guest with two GPUs."""

    def test_guest(self) -> None:
        """Every fault that the devices counted is a slice; causes come before effects; the command's status is kept."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace"
            script = 'vgpu-test-multi-gpu fault && vgpu-test-svm "eight queues" && vgpu-test-svm "prefetch to VRAM"'
            script += "; echo status $?; exit 3"
            result = vgpu("trace", "-o", str(path), "--gpus", "2", "--timeout", "240", "--", "sh", "-c", script)
            said, errors = result.stdout.decode(), result.stderr.decode()
            self.assertEqual(result.returncode, 3, errors)
            self.assertIn("status 0", said)
            self.assertNotIn("not as it should be", errors)
            found = perfetto.read(path)
        faults = [piece for piece in found if piece.category == "fault"]
        self.assertEqual({piece.process for piece in faults}, {"gpu0", "gpu1"})
        # These have the same PASID, one after the other. The kernel keeps 15 characters of a name.
        for program in ("vgpu-test-multi-gpu"[:15], "vgpu-test-svm"):
            self.assertTrue([fault for fault in faults if f", {program} {fault.args['pid']}" in fault.thread], program)
        self.assertIn(f"{len(faults)} faults, {len(faults)} answered", errors)
        services = {flow: piece for piece in found if piece.category == "service" for flow in piece.flows}
        replays = {flow for piece in found if piece.category == "replay" for flow in piece.flows}
        for fault in faults:
            (flow,) = fault.flows
            self.assertGreaterEqual(services[flow].begin, fault.begin, fault)
            self.assertTrue(fault.args["end"] != "replayed" or flow in replays, fault)
            # Another GPU may have taken the memory away before the replay: then it faults again.
            if fault.args["verdict"] == "repaired" and fault.args["end"] == "replayed":
                self.assertLessEqual(fault.args["ns to service's begin"], fault.args["ns to replay"], fault)
        for category in ("migration", "stall", "unmap"):
            self.assertTrue([piece for piece in found if piece.category == category], category)
