# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the tools' own logic: parsers of results and consoles, messages, fingerprints, build
steps."""

import errno
import io
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict, deque
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

import rich.console
from avocado import Test
from pydantic import ValidationError

from vgpu_tools.base.environment import NOTHING_SET
from vgpu_tools.base.errors import Failure, StepFailed
from vgpu_tools.base.paths import BENCH, QEMU_DEVICE
from vgpu_tools.base.process import end_process
from vgpu_tools.bench import explained, measure, rows, table
from vgpu_tools.build import fingerprint, sources, steps
from vgpu_tools.build.beside import beside
from vgpu_tools.cli import main
from vgpu_tools.guest import monitor, options
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import Watcher, excerpt
from vgpu_tools.guest.result import Result, Verdict
from vgpu_tools.testing import kfdtest
from vgpu_tools.testing.tap import parse

NESTED = """\
KTAP version 1
1..1
    KTAP version 1
    # Subtest: suite
    1..2
    ok 1 good
    not ok 2 bad
not ok 1 suite
"""

# The results of a test with parameters are one level deeper.
PARAMETERS = """\
KTAP version 1
1..1
    KTAP version 1
    # Subtest: suite
    1..2
        KTAP version 1
        # Subtest: test
        not ok 1 one
        ok 2 two
    not ok 1 test
    ok 2 good
not ok 1 suite
"""


class Tap(Test):
    """Parsing TAP and KTAP."""

    def outcomes(self, text: str) -> list[tuple[str, str]]:
        return [(case.name, case.outcome) for case in parse(text)]

    def test_flat(self) -> None:
        """Catches: an outcome is misread; the reason of a skip is lost."""
        cases = parse("1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no swap\n")
        self.assertEqual([case.outcome for case in cases], ["passed", "failed", "skipped"])
        self.assertEqual(cases[2].why, "no swap")

    def test_plan(self) -> None:
        """Catches: a stream passes although it has fewer results than its plan says; a plan of 0 tests is not reported
        as a skip."""
        self.assertIn(("plan", "failed"), self.outcomes("1..3\nok 1 - a\nok 2 - b\n"))
        self.assertEqual(self.outcomes("1..0 # SKIP no device\n"), [("all", "skipped")])

    def test_nested(self) -> None:
        """Catches: a suite is counted in addition to its tests; a failed suite without a failed test is ignored."""
        self.assertEqual(self.outcomes(NESTED), [("good", "passed"), ("bad", "failed")])
        self.assertIn(("suite", "failed"), self.outcomes(NESTED.replace("not ok 2", "ok 2")))

    def test_nested_twice(self) -> None:
        """Catches: with three levels of results, a failure is counted again at the outermost level; a failure that
        only a summary shows is counted twice, or not at all."""
        inner = [("one", "failed"), ("two", "passed"), ("good", "passed")]
        self.assertEqual(self.outcomes(PARAMETERS), inner)
        passes = PARAMETERS.replace("not ok 1 one", "ok 1 one")
        inner[0] = ("one", "passed")
        self.assertEqual(self.outcomes(passes), [*inner[:2], ("test", "failed"), inner[2]])
        passes = passes.replace("not ok 1 test", "ok 1 test")
        self.assertEqual(self.outcomes(passes), [*inner, ("suite", "failed")])

    def test_streams_in_a_row(self) -> None:
        """Catches: the plan of a second stream is compared with the results of the first stream."""
        self.assertEqual(len(self.outcomes(NESTED + NESTED)), 4)

    def test_bail_out(self) -> None:
        """Catches: a stream with "Bail out!" passes."""
        self.assertIn("failed", [outcome for _, outcome in self.outcomes("1..2\nok 1 - a\nBail out! no GPU\n")])


class Errors(Test):
    """Messages of ./vgpu about errors of the host, such as a full disk."""

    def call(self, error: OSError) -> str:
        """Run a command that raises this error; return its standard error."""
        said = io.StringIO()
        fails = mock.patch.dict(main.COMMANDS, {"fails": mock.Mock(side_effect=error)})
        with fails, mock.patch("signal.signal"), redirect_stderr(said):
            self.assertEqual(main.main(["fails"]), 1)
        return said.getvalue()

    def test_full_disk(self) -> None:
        """Catches: a full disk or a missing permission gives a traceback; the message lacks the file or the free
        space."""
        with self.assertRaises(OSError) as raised, open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")
        with tempfile.TemporaryDirectory(suffix="build") as folder, mock.patch.object(main, "BUILD", Path(folder)):
            self.assertRegex(self.call(raised.exception), r"^vgpu: No space left on device \(.*build: \d+ MiB free")
        copied = OSError(errno.ENOSPC, "No space left on device", "from", None, "to")
        self.assertRegex(self.call(copied), r"^vgpu: to: No space left on device \(")
        self.assertEqual(self.call(PermissionError(errno.EACCES, "", "f")), "vgpu: f: Permission denied\n")

    def test_ours(self) -> None:
        """Catches: main() prints a message, but no traceback, for an OSError that the user cannot fix on the machine.
        (Such an error is a bug of the tools. main() must raise the error again, so that Python prints a traceback.)"""
        with self.assertRaises(FileNotFoundError):
            self.call(FileNotFoundError(errno.ENOENT, "no such file", "f"))


class Processes(Test):
    """Ending child processes."""

    def test_end_process(self) -> None:
        """Catches: a process survives end_process() because it ignores SIGTERM; end_process() signals a
        process group although `group` is false. (With `group` false, the process has no group of its
        own, so a signal to a group would fail, and the process would survive.)"""
        for group in (False, True):
            words = ["sh", "-c", "trap '' TERM; echo; exec sleep 60"]
            with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=group) as process:
                assert process.stdout
                self.assertEqual(process.stdout.readline(), b"\n")
                end_process(process, 0.2, group=group)
                self.assertEqual(process.returncode, -signal.SIGKILL)


class Console(Test):
    """Parsing the guest's console."""

    def watch(self, *lines: str) -> Watcher:
        """Feed each line in two pieces, because the console's output may be split anywhere."""
        watcher = Watcher()
        for line in lines:
            data = f"[    1.000000] {line}\r\n".encode()
            watcher.feed(data[:20])
            watcher.feed(data[20:])
        return watcher

    def test_fatal(self) -> None:
        """Catches: Watcher overlooks a fatal line of the kernel; `fatal` has a later panic's line instead of the first
        fatal line."""
        for line in (
            "Kernel panic - not syncing: x",
            "BUG: kernel NULL pointer dereference, address: 0",
            "Oops: 0000 [#1]",
            "Oops: general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] PREEMPT",
            "general protection fault: 0000 [#1] SMP",
        ):
            self.assertTrue(self.watch("fine", line).fatal, line)
        watcher = self.watch(
            "BUG: unable to handle page fault for address: 1", "Kernel panic - not syncing: Fatal exception"
        )
        self.assertIn("page fault", watcher.fatal)

    def test_reports(self) -> None:
        """Catches: a report of one of the kernel's checkers is missed, or counts as fatal."""
        for line in (
            "BUG: KASAN: slab-use-after-free in x",
            "WARNING: CPU: 0 PID: 1 at mm/x.c:1 y+0x1/0x2",
            "WARNING: possible circular locking dependency detected",
            "BUG: sleeping function called from invalid context at x",
            "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
            "INFO: task a:1 blocked for more than 120 seconds.",
        ):
            watcher = self.watch(line)
            self.assertTrue(watcher.report, line)
            self.assertFalse(watcher.fatal, line)

    def test_harmless(self) -> None:
        """Catches: a line printed at every boot is taken for a report."""
        watcher = self.watch(
            "kasan: KernelAddressSanitizer initialized", "kmemleak: Kernel memory leak detector initialized"
        )
        self.assertEqual((watcher.fatal, watcher.report), ("", ""))

    def test_programs(self) -> None:
        """Catches: a kernel message about a killed program counts as a report or as fatal."""
        watcher = self.watch(
            "a[71]: segfault at 0 ip 0000000000401136 sp 00007ffd0b1f2b40 error 6 in a[401000+1000]",
            "traps: a[72] general protection fault ip:401136 sp:7ffd0b1f2b40 error:0 in a[401000+1000]",
        )
        self.assertEqual((watcher.fatal, watcher.report), ("", ""))

    def test_out_of_memory(self) -> None:
        """Catches: an OOM kill is missed, or counts as a report of one of the kernel's checkers."""
        watcher = self.watch(
            "Out of memory: Killed process 66 (sh) total-vm:2304kB", "Out of memory: Killed process 7 (x)"
        )
        self.assertEqual((watcher.fatal, watcher.report), ("", ""))
        self.assertIn("process 66 (sh)", watcher.killed)

    def test_excerpt(self) -> None:
        """Catches: the excerpt of a log with a report starts at another line than the first report; the excerpt of a
        log without a report contains other lines than the last ones."""
        lines = [f"[    {number}.000000] line {number}" for number in range(9)]
        self.assertEqual(excerpt("\n".join(lines).encode(), 2), lines[7:])
        lines[3] = "[    3.000000] BUG: KASAN: out-of-bounds in x"
        self.assertEqual(excerpt("\r\n".join(lines).encode(), 2), lines[3:5])


class Results(Test):
    """The result of a run, and the parsing of replies to query-vgpu."""

    def test_sentences(self) -> None:
        """Catches: for a verdict, the message or the exit status of ./vgpu run differs from the list below. (Users
        and scripts rely on both.)"""
        folder = Path("/runs/1")
        log = "console log: /runs/1/console.log"
        for verdict, more, status, sentence in (
            (Verdict.EXITED, {"status": 42}, 42, ""),
            (Verdict.EXITED, {"status": 0, "said": "Out of memory: Killed process 7 (x)"}, 0, ""),
            (
                Verdict.EXITED,
                {"status": 137, "said": "Out of memory: Killed process 7 (x)"},
                137,
                "the guest ran out of memory (--memory): Out of memory: Killed process 7 (x) "
                f"(the command's exit status was 137); {log}",
            ),
            (Verdict.STOPPED, {}, 143, f"the run was stopped; {log}"),
            (Verdict.NO_DRIVER, {}, 125, f"the driver did not take the GPU; {log}"),
            (Verdict.KERNEL_DIED, {"said": "Oops"}, 125, f"the guest's kernel died: Oops; {log}"),
            (Verdict.NOT_UP, {"limit": 1.5}, 124, f"the guest did not come up within 1.5 s (--timeout); {log}"),
            (Verdict.TIMED_OUT, {"limit": 600}, 124, f"the command did not end within 600 s (--timeout); {log}"),
            (
                Verdict.QEMU_ENDED,
                {"qemu": 1, "said": "no"},
                125,
                "QEMU ended with exit status 1: no; log: /runs/1/qemu.log",
            ),
            (Verdict.QEMU_ENDED, {"qemu": -9, "core": "core: c"}, 125, f"QEMU ended with SIGKILL; core: c; {log}"),
            (
                Verdict.GUEST_ENDED,
                {"snapshot": "s"},
                125,
                f"the guest ended before the command did; snapshot: s; {log}",
            ),
            (
                Verdict.KERNEL_REPORTED,
                {"said": "BUG", "status": 3},
                125,
                f"the guest's kernel reported: BUG (the command's exit status was 3); {log}",
            ),
        ):
            result = replace(Result(verdict, folder), **more)
            self.assertEqual((result.exit_status, result.sentence), (status, sentence), verdict)
            self.assertEqual(result.good, verdict is Verdict.EXITED)
        self.assertEqual(Result(Verdict.EXITED, folder, status=7).check(), 7)
        with self.assertRaisesRegex(Failure, "^the driver did not take the GPU") as raised:
            Result(Verdict.NO_DRIVER, folder).check()
        self.assertEqual(raised.exception.status, 125)

    def test_devices(self) -> None:
        """Catches: a reply to query-vgpu with a malformed member is accepted; reading a counter that does not exist
        raises no error."""
        counters = [{"counter": "replays", "value": 3}]
        answer = {"path": "/machine/x", "counters": counters, "injections": [], "vmids": [], "removed": False}
        (device,) = monitor.devices([answer])
        self.assertEqual((device.name, device.count("replays")), ("/machine/x", 3))
        with self.assertRaisesRegex(ValueError, "no counter 'replay'"):
            device.count("replay")
        with self.assertRaises(ValidationError):
            monitor.devices([{**answer, "counters": None}])


class Bench(Test):
    """Parsing the samples of benchmarks."""

    def test_samples(self) -> None:
        """Catches: the samples of one key are not collected in one list; a malformed sample is ignored."""
        samples: measure.Samples = defaultdict(list)
        line = '{"name": "copy", "bytes": 4096, "value": %s, "unit": "us"}'
        measure.collect(samples, "\n".join(["booted", line % 1.5, line % 2]))
        self.assertEqual(samples, {rows.Key("copy", 4096, "us"): [1.5, 2.0]})
        with self.assertRaisesRegex(measure.BenchError, "value"):
            measure.collect(samples, line % '"fast"')

    def test_number(self) -> None:
        """Catches: the table shows 999.6 as 1e+03, because rounding adds a digit. (Correct is 1,000.)"""
        values = {0.5: "0.5", 12.345: "12.3", 999.4: "999", 999.6: "1,000", 12345.6: "12,346"}
        self.assertEqual({value: table.number(value) for value in values}, values)

    def shown(self, **medians: float) -> tuple[list[str], list[str]]:
        """Return the lines of the table, and the labels of rows without a measurement. `medians` are medians in us of
        a lone fault and of the disk's read."""
        keys = {"fault": rows.Key("fault-single", 4096, "us"), "disk": rows.DISK_READ}
        results = {
            keys[name]: rows.Result(keys[name].name, 4096, "us", value, value, value, 1)
            for name, value in medians.items()
        }
        output = io.StringIO()
        missing = table.show(results, rich.console.Console(file=output, width=200))
        return output.getvalue().splitlines(), missing

    def test_fault_against_disk(self) -> None:
        """Catches: the table lacks the ratio of a lone fault to the disk's read; a fault that takes longer than the
        read meets the bar, or one that takes as long does not."""
        for fault, ratio, mark in ((180.0, "2.00 x", "✗"), (90.0, "1.00 x", "✓")):
            lines, _ = self.shown(fault=fault, disk=90.0)
            (line,) = [line for line in lines if "null disk read 90" in line]
            self.assertIn(ratio, line)
            self.assertIn(f"{mark} ≤ 1 x", line)

    def test_explained(self) -> None:
        """Catches: a missed goal is shown without its explanation, or a goal that is reached with one; a missed goal
        without an explanation is not named; an explanation is printed twice, or for a goal that no row has."""
        texts = {("fault-single", "us", "disk-read"): "Because of [x]."}
        for shown in (True, False):
            with mock.patch.object(rows, "EXPLAINED", texts if shown else {}):
                lines, _ = self.shown(fault=180.0, disk=90.0)
                self.assertEqual(any("✗ ≤ 1 x (1)" in line for line in lines), shown)
                self.assertEqual(lines.count("(1) Because of [x]."), int(shown))
                named = "missed goals without an explanation: one fault, raise to replay, against null disk read"
                self.assertEqual(named in lines, not shown)
                lines, _ = self.shown(fault=90.0, disk=90.0)
                self.assertFalse(any("(1)" in line or "explanation" in line for line in lines))
        notes = table.Notes()
        row = rows.Row("x", rows.Key("x", 0, "us"), absolute_bar=1)
        with mock.patch.object(rows, "EXPLAINED", {("x", "us", ""): "why"}):
            self.assertEqual([notes.mark(row), notes.mark(replace(row, label="y"))], [" (1)", " (1)"])
        goals = {
            (row.key.name, row.key.unit, row.against.name if row.against else "")
            for row in rows.rows({})
            if row.bar is not None or row.absolute_bar is not None
        }
        for key, text in explained.EXPLAINED.items():
            self.assertIn(key, goals)
            self.assertTrue(text)

    def test_anchors(self) -> None:
        """Catches: an anchor that was not measured is not reported; no program prints a sample with an anchor's
        name."""
        anchors = [row for row in rows.rows({}) if row.label.startswith("anchor: ")]
        names = {row.key.name for row in anchors}
        self.assertEqual(names, {"disk-read", "pipe-round-trip", "register-read", "host-wakeup"})
        _, missing = self.shown(fault=180.0)
        for row in anchors:
            self.assertIn(f"{row.label} (us)", missing)
        programs = "".join(path.read_text() for path in BENCH.glob("*/*.c"))
        for name in names:
            self.assertRegex(programs, rf'"{name}\\?"')

    def test_null_disk(self) -> None:
        """Catches: the disk replaces the --qemu-args of the user, or the other way round; vgpu-bench looks for another
        serial number than the disk has; the message of vgpu-bench names other arguments."""
        disk = measure.NULL_DISK.split()
        for given in (["--qemu-args", "-msg timestamp=on"], ["--qemu-args=-d int", "--qemu-args=-msg timestamp=on"]):
            words = measure.with_null_disk([*given, "--vram", "64M"])
            guest = options.parse(words, NOTHING_SET).guest
            self.assertEqual((guest.qemu_args, guest.vram), (["-msg", "timestamp=on", *disk], "64M"))
        self.assertEqual(options.parse(measure.with_null_disk([]), NOTHING_SET).guest.qemu_args, disk)
        source = (BENCH / "guest" / "anchors.c").read_text()
        (serial,) = re.findall(r'#define NULL_DISK\s+"(.*)"', source)
        self.assertIn(measure.NULL_DISK.replace(f"serial={serial}", "serial=%s"), source)

    def test_guests(self) -> None:
        """Catches: the guests in which vgpu-bench measures faults have no null disk, or the guests that measure the
        boot have one; an option of the user does not reach a guest."""
        started: dict[str, list[list[str]]] = defaultdict(list)

        def start(samples: measure.Samples, words: list[str], command: list[str], environment: object) -> None:
            started[" ".join(command)].append(words)

        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.multiple(
                measure,
                in_guest=start,
                measure_host=mock.DEFAULT,
                measure_device=mock.DEFAULT,
                measure_boot=mock.DEFAULT,
            ),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            status = measure.main(["--boots", "2", "--output", f"{folder}/bench.json", "--", "--cpus=4"], NOTHING_SET)
        self.assertEqual(status, 1)  # nothing was measured
        self.assertEqual(started["vgpu-bench boot"], [["--cpus=4"]] * 2)
        self.assertEqual(started["vgpu-bench"], [["--cpus=4", f"--qemu-args={measure.NULL_DISK}"]] * 2)
        self.assertIn(["--cpus=4"], started["vgpu-bench kfd"])
        self.assertEqual(started["vgpu-bench fault-crowd"], [["--cpus=4", *measure.FAULTING_GUEST]])
        self.assertEqual(started["vgpu-bench overcommit"], [["--cpus=4", *measure.OVERCOMMIT_GUEST]])

    def test_overcommit(self) -> None:
        """Catches: vgpu-bench prints no sample for a row of the processes that need more memory; the slowest process is
        not compared with the mean, or a small share meets the goal."""
        source = (BENCH / "guest" / "overcommit.c").read_text()
        shown = [row for row in rows.rows({}) if row.key.name.startswith("overcommit-")]
        self.assertEqual(
            [row.key.name for row in shown],
            ["overcommit-slowest", "overcommit-mean", "overcommit-queue", "overcommit-cpu"],
        )
        for row in shown:
            self.assertIn(f'"{row.key.name}"', source)
            self.assertEqual(row.key, rows.Key(row.key.name, 0, "rounds/s"))
        goal = shown[0]
        self.assertEqual(goal.against, shown[1].key)
        result = rows.Result("", 0, "rounds/s", 33, 33, 33, 1)
        self.assertIn("✓", table.judge(goal, result, 0.33))
        self.assertIn("✗", table.judge(goal, result, 0.32))

    def test_fault_crowd(self) -> None:
        """Catches: the table has no row for a load of faults that vgpu-bench measures, or has one for a load that
        vgpu-bench does not measure; the goal for 64 queues is missing, or is compared with another load than one
        queue."""
        source = (BENCH / "guest" / "fault_crowd.c").read_text()
        words = " ".join(source.split())
        name = '"fault-crowd-%s%u-%u-%u", load->near ? "near-" : "", load->queues, load->processes, load->gpus);'
        self.assertIn(name, words)
        lists = [
            tuple(map(int, re.findall(r"\d+", numbers)))
            for name in ("queues", "processes", "gpus")
            for numbers in re.findall(rf"unsigned int {name}\[\] = {{ (.*) }};", source)
        ]
        self.assertEqual(lists, [rows.CROWD_QUEUES, rows.CROWD_PROCESSES, rows.CROWD_GPUS])
        crowd = [row for row in rows.rows({}) if row.key.name.startswith("fault-crowd-")]
        rates = [row for row in crowd if row.key.unit == "faults/s"]
        one = rows.Key("fault-crowd-1-1-1", 4096, "faults/s")
        near = rows.Key("fault-crowd-near-1-1-1", 4096, "faults/s")
        loads = {f"fault-crowd-near-{queues}-1-1" for queues in lists[0]} | {
            f"fault-crowd-{queues}-{processes}-{gpus}"
            for queues in lists[0]
            for processes in lists[1]
            for gpus in lists[2]
            if queues >= processes
        }
        self.assertEqual(sorted(row.key.name for row in rates), sorted(loads))
        for row in rates:
            reference = near if "-near-" in row.key.name else one
            self.assertEqual(row.against, None if row.key == reference else reference)
        self.assertEqual(
            {row.key.name: row.bar for row in crowd if row.bar is not None},
            {"fault-crowd-64-1-1": 12, "fault-crowd-64-8-1": 12, "fault-crowd-near-64-1-1": 12},
        )
        for unit in sorted({row.key.unit for row in crowd} - {"faults/s"}):
            self.assertIn(f'"{unit}"', source)
            self.assertIn(rows.Key("fault-crowd-near-64-1-1", 4096, unit), [row.key for row in crowd])
        (goal,) = [row for row in rates if row.key.name == "fault-crowd-64-1-1"]
        result = rows.Result("", 4096, "faults/s", 60000, 60000, 60000, 1)
        self.assertIn("✓", table.judge(goal, result, 12.0))
        self.assertIn("✗", table.judge(goal, result, 11.9))

    def body(self, file: str, function: str) -> str:
        """Return the definition of a function of vgpu-bench."""
        source = (BENCH / "guest" / f"{file}.c").read_text()
        (found,) = re.findall(rf"^[\w ]+[ *]{function}\(.*?^}}$", source, re.DOTALL | re.MULTILINE)
        return str(found)

    def test_stored_samples(self) -> None:
        """Catches: a measurement of wake-ups prints its samples one by one, so that the agent, which forwards them,
        keeps a virtual CPU awake; or the measurement of a fault polls for the fence, unlike the disk's read."""
        for file, function in (("gpu", "single_faults"), ("anchors", "round_trips")):
            body = self.body(file, function)
            quiet, loop, printed = (body.index(text) for text in ("await_quiet();", "for (", "\tsamples_us("))
            self.assertTrue(quiet < loop < printed, function)
            self.assertNotIn("sample(", body[:printed])
        for file, function in (("gpu", "fault_block"), ("gpu", "lone_fault"), ("anchors", "null_disk_read")):
            body = self.body(file, function)
            for word in ("sample", "printf", "vg_queue_finish("):
                self.assertNotIn(word, body)

    def test_in_turn(self) -> None:
        """Catches: all reads of the disk are measured before or after all faults, so that the ratio compares two states
        of the machine; a block has more reads than faults, or counts the first one after other work; the ratio of a
        block is not printed, or is that of other samples."""
        block = self.body("gpu", "fault_block")
        self.assertEqual(block.count("i < n;"), 2)
        self.assertEqual(re.findall(r"^\t*(null_disk_read|lone_fault)\(", block, re.MULTILINE), [
            "null_disk_read", "lone_fault",
        ])  # fmt: skip
        faults = self.body("gpu", "single_faults")
        self.assertIn("page = fault_block(b, disk, page, n, fault_ns + done,\n\t\t\t\t   read_ns + done);", faults)
        self.assertIn('block_median(fault_ns + done) /\n\t\t       block_median(read_ns + done), "x"', faults)
        for key in (rows.FAULT_PER_READ, rows.DISK_READ, rows.Key("fault-single", 4096, "us")):
            self.assertIn(f'"{key.name}", VG_PAGE', faults)
        (size,) = re.findall(r"#define BLOCK\s+(\d+)", (BENCH / "guest" / "gpu.c").read_text())
        self.assertEqual(int(size), 16)  # as the pages and the comments in Python say
        (row,) = [row for row in rows.rows({}) if row.key == rows.FAULT_PER_READ]
        found = [row.met(rows.Result("", 4096, "x", value, 0, 9, 9), None) for value in (1.0, 1.1)]
        self.assertEqual(found, [True, False])


class Builds(Test):
    """Copies of sources, and the fingerprints that decide whether a build step runs."""

    def test_fingerprint(self) -> None:
        """Catches: a folder keeps its fingerprint after a file, a name or a mode changed; an object file changes the
        fingerprint."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a").write_text("1")
            seen = {fingerprint.of(folder)}
            for change in (
                lambda: (folder / "a").write_text("2"),
                lambda: (folder / "b").write_text("2"),
                lambda: (folder / "b").rename(folder / "c"),
                lambda: (folder / "a").chmod(0o755),
                lambda: (folder / "c").unlink(),
            ):
                change()
                self.assertNotIn(fingerprint.of(folder), seen)
                seen.add(fingerprint.of(folder))
            last = fingerprint.of(folder)
            (folder / "a.o").write_text("x")
            self.assertEqual(fingerprint.of(folder), last)

    def test_mirror(self) -> None:
        """Catches: the copy keeps an old version of a changed file, or a removed file; an unchanged file gets a new
        time stamp."""
        with tempfile.TemporaryDirectory() as name:
            old, new = Path(name) / "old", Path(name) / "new"
            old.mkdir()
            for file in ("same", "changed", "gone"):
                (old / file).write_text(file)
            sources.mirror(old, new)
            before = (new / "same").stat().st_mtime_ns
            (old / "changed").write_text("other")
            (old / "gone").unlink()
            sources.mirror(old, new)
            self.assertEqual(
                {path.name: path.read_text() for path in new.iterdir()}, {"same": "same", "changed": "other"}
            )
            self.assertEqual((new / "same").stat().st_mtime_ns, before)

    def test_patches(self) -> None:
        """Catches: a patch to QEMU is not a complete mail. The patch lacks author, date, subject, the author's
        Signed-off-by or the diffstat."""
        patches = sorted((QEMU_DEVICE / "patches").glob("*/*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            with tempfile.TemporaryDirectory() as name:
                command = ["git", "mailinfo", f"{name}/message", f"{name}/diff"]
                mail = subprocess.run(command, input=patch.read_bytes(), capture_output=True, check=True)
                fields = dict(line.split(": ", 1) for line in mail.stdout.decode().splitlines() if line)
                self.assertRegex(fields.get("Email", ""), r"^\S+@\S+$", patch.name)
                self.assertRegex(fields.get("Subject", ""), r"^[\w/]+: ", patch.name)
                self.assertTrue(fields.get("Date"), patch.name)
                author = f"Signed-off-by: {fields['Author']} <{fields['Email']}>"
                self.assertIn(author, Path(name, "message").read_text().splitlines(), patch.name)
                # git mailinfo splits the mail at the line "---". The file "diff" must begin with this
                # line, and the diffstat must follow.
                self.assertRegex(Path(name, "diff").read_text(), r"^---\n .* \| +\d+ \+", patch.name)


class KfdTest(Test):
    """The choice of AMD's kfdtest tests, and the verdict on the output of each test."""

    def test_lines(self) -> None:
        """Catches: output is attributed to a wrong test; a test that hangs is not detected."""
        tests = kfdtest.Tests(Guest(), deque(["A.One", "A.Two", "A.Three"]), 60)
        printed = ["noise", "@@ begin A.One", "[  PASSED  ] 1 test.", "@@ end 0", "@@ begin A.Two", "Failure"]
        results = [result for line in printed if (result := tests.take(line))]
        self.assertEqual([(result.name, result.outcome) for result in results], [("A.One", "PASS")])
        assert tests.test
        self.assertEqual((tests.test.name, tests.test.output), ("A.Two", ["Failure"]))
        self.assertEqual(list(tests.names), ["A.Three"])
        self.assertFalse(tests.hangs())
        tests.start -= 60 + kfdtest.END_SECONDS + 1
        self.assertTrue(tests.hangs())
        self.assertEqual(tests.test.why, "the guest hangs")

    def test_judge(self) -> None:
        """Catches: a skipped test, or a run without any test, counts as passed. gtest's own output
        reports both as passed."""
        passed = ["[ RUN      ] A.B", "[  PASSED  ] 1 test."]
        self.assertEqual(kfdtest.judge(passed, 0), ("PASS", ""))
        self.assertEqual(kfdtest.judge(passed, 1)[0], "FAIL")
        self.assertEqual(kfdtest.judge([], 0)[0], "FAIL")
        self.assertEqual(kfdtest.judge(["[  PASSED  ] 0 tests."], 0)[0], "FAIL")
        self.assertEqual(kfdtest.judge(passed, 124), ("FAIL", "its time ran out"))
        for words in ("Skipping test: no VRAM.", "Skip test: no GWS", "Test is skipped for family ID 0x1"):
            self.assertEqual(kfdtest.judge([f"[          ] {words}", *passed], 0), ("SKIP", words))
        failed = ["a.cpp:7: Failure", "[  FAILED  ] A.B", "[  PASSED  ] 0 tests."]
        self.assertEqual(kfdtest.judge(failed, 1), ("FAIL", "a.cpp:7: Failure"))

    def test_choose(self) -> None:
        """AMD's filter does not apply to the tests in kfdtest.BESIDES (here SdmaEventInterrupt). Catches: AMD's filter
        removes such a test, or keeps A.Two; a test that the user's filter excludes is kept."""
        listed = "A.\n  One\n  Two\nX/B.\n  Three/0  # GetParam() = 0\nKFDQMTest.\n  SdmaEventInterrupt\n"
        names = kfdtest.parse_list(listed)
        self.assertEqual(names, ["A.One", "A.Two", "X/B.Three/0", "KFDQMTest.SdmaEventInterrupt"])
        amds = "-A.Two:KFDQMTest.*"
        self.assertEqual(kfdtest.choose(names, amds, ""), ["A.One", "X/B.Three/0", "KFDQMTest.SdmaEventInterrupt"])
        self.assertEqual(kfdtest.choose(names, amds, "A.*:X/*-*Three*"), ["A.One"])

    def test_classes(self) -> None:
        """Catches: a test gets another class than that of the first matching pattern; the parameter at the end of a
        test's name takes part in the match."""
        rows = kfdtest.classes()
        for name, kind in (
            ("KFDSVMRangeTest.MigrateTest/1", "B"),
            ("KFDSVMRangeTest.MigratePolicyTest/0", "D"),
            ("KFDSVMRangeTest.PrefetchTest/0", "A"),
            ("KFDQMTest.OverSubscribeCpQueues", "C"),
            ("KFDQMTest.MultipleCpQueuesStressDispatch", "D"),
            ("KFDQMTest.SdmaEventInterrupt", "B"),
            ("KFDEventTest.CreateMaxEvents", "A"),
            ("KFDDBGTest.HitTrapEvent", "E"),
            ("NewTest.One", "?"),
        ):
            self.assertEqual(kfdtest.classify(name, rows), kind, name)


# Runs a build step: a shell script that writes "up" and "end" to the file "said", and ends a second after SIGTERM.
SLOW_END = """
import signal, sys
from pathlib import Path
from unittest import mock
from vgpu_tools.build import steps
signal.signal(signal.SIGINT, signal.default_int_handler)
script = 'trap "sleep 1; echo end >>said; exit 1" TERM; echo up >>said; while :; do sleep 0.1; done'
try:
    steps.Job("slow", Path(sys.argv[1]) / "log", mock.Mock()).run(["sh", "-c", script], cwd=Path(sys.argv[1]))
finally:
    print("interrupted", flush=True)
"""


SIGNALS = """
import signal, subprocess, sys
from vgpu_tools.base.process import watch_group
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
started = []

def start():
    if sys.argv[1] != "SIGINT, fails":
        started.append(subprocess.Popen(["sleep", "60"], start_new_session=True))
    for name in sys.argv[1].removesuffix(", fails").split():
        signal.raise_signal(signal.Signals[name])
    return started[0]

def watch(process):
    print("watched", end=" ")
    try:
        for name in sys.argv[2].split():
            signal.raise_signal(signal.Signals[name])
    finally:
        for name in sys.argv[3].split():
            signal.raise_signal(signal.Signals[name])

try:
    watch_group(start, watch)
    print("returned", end=" ")
except BaseException as error:
    print(type(error).__name__, end=" ")
print(*(process.poll() for process in started))
signal.raise_signal(signal.SIGINT)
"""


class Steps(Test):
    """Build steps that Ctrl-C interrupts."""

    def test_interrupted_twice(self) -> None:
        """Catches: after a second Ctrl-C, a compiler still writes to the cache although the cache's lock is free."""
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder) / "said"
            command = [sys.executable, "-c", SLOW_END, folder]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as step:
                while not said.exists() or said.read_text() != "up\n":
                    self.assertIsNone(step.poll())
                    time.sleep(0.01)
                while step.poll() is None:
                    step.send_signal(signal.SIGINT)
                    time.sleep(0.1)
                self.assertEqual(step.communicate()[0], b"interrupted\n")
            self.assertEqual(said.read_text(), "up\nend\n")

    def test_full_disk(self) -> None:
        """Catches: an error while the output is read, for example a full disk, is reported as a failed start."""
        meter = mock.Mock()
        meter.update.side_effect = OSError(errno.ENOSPC, "full")
        with tempfile.TemporaryDirectory() as folder:
            job = steps.Job("full", Path(folder) / "log", meter)
            with self.assertRaisesRegex(OSError, "full"):
                job.run(["echo", "[1/2]"])
            with self.assertRaisesRegex(StepFailed, "cannot start no-such-command"):
                job.run(["no-such-command"])

    def test_signals(self) -> None:
        """Catches: a process survives a signal that comes while it starts, or a second signal; a signal is lost; a
        signal has no effect after the process has ended."""
        for start, watch, end, said in (
            ("", "", "", "watched returned -15"),
            ("SIGINT", "", "", "KeyboardInterrupt -15"),
            ("SIGTERM SIGINT", "", "", "SystemExit -15"),
            ("SIGINT, fails", "", "", "KeyboardInterrupt "),
            ("", "SIGINT", "SIGINT SIGTERM", "watched KeyboardInterrupt -15"),
            ("", "", "SIGTERM SIGINT", "watched SystemExit -15"),
        ):
            command = [sys.executable, "-c", SIGNALS, start, watch, end]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            with self.subTest(start=start, watch=watch, end=end):
                self.assertEqual(result.stdout, f"{said}\n")
                self.assertIn("KeyboardInterrupt", result.stderr)


class Beside(Test):
    """A command that runs beside the build steps of this process."""

    def test_passes(self) -> None:
        """Catches: the command starts after the block, so that nothing is built at the same time; its messages are
        lost; the end of the command is not waited for."""
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()) as said:
            started, done = Path(folder) / "started", Path(folder) / "done"
            script = 'echo building >&2; touch "$0"; sleep 0.3; touch "$1"'
            with beside(["sh", "-c", script, started, done]):
                while not started.exists():
                    time.sleep(0.01)
            self.assertTrue(done.exists())
        self.assertEqual(said.getvalue(), "building\n")

    def test_fails(self) -> None:
        """Catches: a failed command counts as passed."""
        with (
            redirect_stderr(io.StringIO()) as said,
            self.assertRaisesRegex(Failure, "exit status 3"),
            beside(["sh", "-c", "echo no compiler >&2; exit 3"]),
        ):
            pass
        self.assertEqual(said.getvalue(), "no compiler\n")

    def test_ended(self) -> None:
        """Catches: after a failed step the command goes on, and the tool waits for it; the step's error is hidden."""
        start = time.monotonic()
        with self.assertRaisesRegex(Failure, "step"), beside(["sleep", "100"]):
            raise Failure("step")
        self.assertLess(time.monotonic() - start, 50)
