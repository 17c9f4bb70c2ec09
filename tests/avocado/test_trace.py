# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu trace -o FILE on guests.

tests/tools/test_timeline.py tests the parts of ./vgpu trace that need no guest.
"""

import tempfile
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Streams
from vgpu_tools.guest.options import Options
from vgpu_tools.trace import command, life, perfetto, record, runs, timeline


class Whole(GuestTest):
    """Recordings of guests, with the events of device and driver."""

    def test_guest(self) -> None:
        """Catches: a fault that the device counted has no slice in the trace; an effect comes before its cause; the
        command's exit status is lost."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace"
            script = 'vgpu-test-multi-gpu fault && vgpu-test-svm "eight queues" && vgpu-test-svm "prefetch to VRAM"'
            script += "; echo status $?; exit 3"
            guest = self.guest(Guest(gpus=2))
            guest.prepare()
            said = bytearray()
            streams = Streams(said.extend, said.extend)
            result, recording = record.record(Options(guest, 240, False), ["sh", "-c", script], streams)
            self.assertEqual((result.status, result.sentence), (3, ""), said)
            self.assertIn(b"status 0", said)
            outcome = command.write(path, recording)
            self.assertEqual(outcome.doubts, [])
            found = perfetto.read(path)
        faults = [piece for piece in found if piece.category == "fault"]
        self.assertEqual({piece.process for piece in faults}, {"gpu0", "gpu1"})
        # Each program must have faults under its own name, although the programs use the same PASID
        # in turn. The kernel cuts names to 15 characters.
        for program in ("vgpu-test-multi-gpu"[:15], "vgpu-test-svm"):
            self.assertTrue([fault for fault in faults if f", {program} {fault.args['pid']}" in fault.thread], program)
        self.assertEqual((outcome.faults, outcome.serviced), (len(faults), len(faults)))
        services = {flow: piece for piece in found if piece.category == "service" for flow in piece.flows}
        replays = {flow for piece in found if piece.category == "replay" for flow in piece.flows}
        for fault in faults:
            (flow,) = fault.flows
            self.assertGreaterEqual(services[flow].begin, fault.begin, fault)
            self.assertTrue(fault.args["end"] != "replayed" or flow in replays, fault)
            # Check only faults that the driver repaired and that ended with a replay. If another GPU
            # migrates the memory before the replay, the access faults again instead.
            if fault.args["verdict"] == "repaired" and fault.args["end"] == "replayed":
                self.assertLessEqual(int(fault.args["ns to service's begin"]), int(fault.args["ns to replay"]), fault)
        for category in ("migration", "stall", "unmap"):
            self.assertTrue([piece for piece in found if piece.category == category], category)

    def test_life(self) -> None:
        """Catches: the recording lacks an event that the picture svm-life (./vgpu pictures) shows; a
        process is added to the hash of processes before its range list is created; the steps of the
        teardown are in a wrong order."""
        guest = self.guest(Guest())
        guest.prepare()
        said = bytearray()
        streams = Streams(said.extend, said.extend)
        result, recording = record.record(Options(guest, 120, False), runs.LIFE.words, streams)
        self.assertEqual((result.status, result.sentence), (0, ""), said)
        sides = timeline.join(recording)
        self.assertEqual(sides.doubts, [])
        creation, teardown = life.life(sides).panels
        made = ("vgpu_process_alloc", "svm_list_init", "vgpu_process_hash")
        gone = ("vgpu_process_unhash", "svm_list_fini", "svm_list_empty", "svm_list_free", "vgpu_process_free")
        for panel, steps in ((creation, made), (teardown, gone)):
            states = [(mark.lane, mark.text) for mark in panel.marks]
            places = [states.index(life.STATES[step]) for step in steps]
            self.assertEqual(places, sorted(places), states)
        lanes = [mark.lane for mark in teardown.marks]
        self.assertLess(lanes.index("range B"), lanes.index("range A"))
        notified = [mark.text for mark in teardown.marks if mark.lane == "notifier"]
        first = ["munmap: GPU entries of B cleared", "exit: GPU entries of A cleared"]
        self.assertEqual(notified[:2], first, teardown.marks)
        # The kernel unmaps A after the exit. The notifier of A is called once more if the driver's
        # worker has not removed A yet.
        self.assertIn(notified[2:], ([], ["munmap: GPU entries of A cleared"]), teardown.marks)
