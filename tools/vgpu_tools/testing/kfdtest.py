# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu kfdtest: AMD's conformance test of KFD in a guest, one result a line, sums for each class of tests.

Each test is a run of kfdtest of its own, so that one which crashes takes no other along. Where a guest hangs or dies
the next tests get a new one.
"""

import argparse
import fnmatch
import os
import re
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT, ROOTFS
from vgpu_tools.guest.config import Guest

CLASSES = ROOTFS / "rocm" / "kfdtest-classes"
LOG = BUILD / "results" / "kfdtest.log"
CHIP = "aldebaran"
# Guest memory; some tests take all there is, page by page, so it is not larger than the rest needs.
MEMORY = "3G"
MEMORY_OF = {"KFDQMTest.OverSubscribeCpQueues": "6G"}  # 65 queues with save areas of 64 MB
VRAM = "256M"  # likewise
# AMD's filter leaves these out; they need nothing that is not here.
BESIDES = ("KFDQMTest.SdmaEventInterrupt", "KFDLocalMemoryTest.CheckZeroInitializationVram")
TEST_SECONDS = {"release": 900, "debug": 3600}  # SdmaConcurrentCopies copies by CPU for minutes
SHADER_SECONDS = {"release": 40, "debug": 240}  # class D: what waits for a shader would wait for ever
BOOT_SECONDS = {"release": 90, "debug": 240}  # until the first test begins
END_SECONDS = 30  # for a test that was told to end, before the guest is taken to hang
WANTED = "ABC"
SVM = "KFDSVM"

LIST = """
cd /usr/local/lib/kfdtest && . ./kfdtest.exclude || exit 1
echo "@@ filter ${FILTER[$1]}"
./kfdtest --gtest_list_tests
"""
# As Debian's kernel has it; without, each queue's save area is 16,000 page faults.
RUN = """
echo always >/sys/kernel/mm/transparent_hugepage/enabled
while [ $# -gt 0 ]; do
    echo "@@ begin $2"
    timeout -k 5 "$1" kfdtest "--gtest_filter=$2" 2>&1 </dev/null
    echo "@@ end $?"
    shift 2
done
"""
SKIPPED = re.compile(r"\bskip(ped|ping)?\b", re.IGNORECASE)
FAILED = re.compile(r"Failure$|\[  FAILED  \]|^\S+:\d+: |Segmentation|terminate called")


@dataclass
class Result:
    """How a test went."""

    name: str
    kind: str  # its class
    outcome: str = "FAIL"  # PASS, FAIL, SKIP
    why: str = ""
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)


def classes() -> list[tuple[str, str]]:
    """Class and pattern, in the order in which they count."""
    rows = []
    for line in CLASSES.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, *patterns = line.split()
            rows += [(kind, pattern) for pattern in patterns]
    return rows


def classify(name: str, rows: Sequence[tuple[str, str]]) -> str:
    """The class of a test; ? if nobody has thought of it."""
    plain = re.sub(r"^[^/.]+/|/\d+$", "", name)
    return next((kind for kind, pattern in rows if fnmatch.fnmatchcase(plain, pattern)), "?")


def parse_list(text: str) -> list[str]:
    """Names from what --gtest_list_tests prints: suites, and indented what is in them."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"[\w/]+\.", word):
            suite = word
        elif suite and re.fullmatch(r"  [\w/]+", word):
            names.append(suite + word.strip())
    return names


def matches(name: str, patterns: str) -> bool:
    """gtest's rule: POSITIVE:PATTERNS-NEGATIVE:PATTERNS; no positive ones are all."""
    positive, _, negative = patterns.partition("-")

    def any_of(words: str) -> bool:
        return any(fnmatch.fnmatchcase(name, word) for word in words.split(":") if word)

    return (not positive.strip(":") or any_of(positive)) and not any_of(negative)


def choose(names: Sequence[str], amds: str, wanted: str) -> list[str]:
    """The tests of AMD's filter, and those besides, that are wanted."""
    return [name for name in names if (name in BESIDES or matches(name, amds)) and matches(name, wanted)]


def judge(output: Sequence[str], status: int) -> tuple[str, str]:
    """Outcome and reason, from what a test printed and how it ended. A skip counts as passed for gtest, not here."""
    text = "\n".join(output)
    if status == 124 or status == 137:
        return "FAIL", "its time ran out"
    if status or "[  PASSED  ] 1 test" not in text:
        said = next((line.strip() for line in output if FAILED.search(line)), "")
        return "FAIL", said or f"exit status {status}"
    skip = next((line.strip() for line in output if SKIPPED.search(line)), "")
    return ("SKIP", re.sub(r"^\[\s*\]\s*", "", skip)) if skip else ("PASS", "")


class _Guest:
    """A guest at work, line by line."""

    def __init__(self, options: argparse.Namespace, memory: str, words: Sequence[str]) -> None:
        launcher = [str(ROOT / "vgpu"), "run", "--rootfs", "rocm", "--timeout", "0"]
        launcher += ["--gpus", str(options.gpus), "--kernel", options.kernel]
        launcher += ["--memory", memory, "--vram", VRAM]
        launcher += ["--hive"] if options.hive else []
        self.process = subprocess.Popen(
            [*launcher, "--", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def lines(self, seconds: float) -> Iterator[str | None]:
        """What it prints; None when nothing came for so long."""
        assert self.process.stdout
        pipe = self.process.stdout.fileno()
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                if not selector.select(seconds):
                    yield None
                    continue
                data = os.read(pipe, 65536)
                *whole, pending = (pending + data).split(b"\n")
                for line in whole:
                    yield line.decode(errors="replace").rstrip("\r")
                if not data:
                    return

    def stop(self) -> None:
        """End it, whatever it does."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _listed(options: argparse.Namespace) -> list[str]:
    guest = _Guest(options, MEMORY, ["bash", "-c", LIST, "kfdtest", CHIP])
    text = []
    for line in guest.lines(BOOT_SECONDS[options.kernel]):
        if line is None:
            break
        text.append(line)
    guest.stop()
    amds = next((line.split(" ", 2)[2] for line in text if line.startswith("@@ filter ")), "")
    rows = classes()
    names = choose(parse_list("\n".join(text)), amds, options.filter)
    names = [name for name in names if not options.classes or classify(name, rows) in options.classes]
    if not amds or not names:
        raise Failure(f"kfdtest has no such tests: {options.filter or 'none at all'}\n" + "\n".join(text[-5:]))
    return names


def _one_guest(options: argparse.Namespace, memory: str, names: deque[str]) -> Iterator[Result]:
    """Run tests until none is left, or the guest is of no more use; takes from `names` what it has begun."""
    rows = classes()
    kinds = {name: classify(name, rows) for name in names}
    limits = {
        name: options.seconds or (SHADER_SECONDS if kind == "D" else TEST_SECONDS)[options.kernel]
        for name, kind in kinds.items()
    }
    words = [word for name in names for word in (str(limits[name]), name)]
    guest = _Guest(options, memory, ["bash", "-c", RUN, "kfdtest", *words])
    test: Result | None = None
    start = time.monotonic()
    last = ""
    try:
        for line in guest.lines(1.0):
            over = time.monotonic() - start
            if line is None:
                if over > (limits[test.name] + END_SECONDS if test else BOOT_SECONDS[options.kernel]):
                    if not test:
                        name = names.popleft()
                        test = Result(name, kinds[name])
                    test.why = "the guest hangs"
                    break
                continue
            last = line
            if line.startswith("@@ begin "):
                name = names.popleft()
                test = Result(name, kinds[name])
                start = time.monotonic()
            elif line.startswith("@@ end ") and test:
                test.seconds = over
                test.outcome, test.why = judge(test.output, int(line.split()[2]))
                yield test
                test = None
                start = time.monotonic()
            elif test:
                test.output.append(line)
    finally:
        guest.stop()
    if test:
        test.seconds = time.monotonic() - start
        test.why = test.why or f"the guest died: {last}"
        yield test
    elif names and guest.process.returncode:
        raise Failure(f"no guest: {last}")


def _sums(results: Sequence[Result]) -> None:
    print(f"\n{'class':12}{'tests':>7}{'PASS':>7}{'FAIL':>7}{'SKIP':>7}")
    for kind in sorted({result.kind for result in results}):
        for svm in (False, True):
            some = [result for result in results if result.kind == kind and (SVM in result.name) == svm]
            if some:
                count = [sum(result.outcome == outcome for result in some) for outcome in ("PASS", "FAIL", "SKIP")]
                print(f"{kind + (' SVM' if svm else ''):12}{len(some):7}" + "".join(f"{n:7}" for n in count))


def _log(results: Sequence[Result]) -> Path:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("w") as log:
        for result in results:
            log.write(f"=== {result.outcome} {result.kind} {result.name} {result.seconds:.1f} s {result.why}\n")
            log.writelines(f"{line}\n" for line in result.output)
    return LOG


def kfdtest(options: argparse.Namespace) -> int:
    """Run the tests and print results and sums. Exit status 0 if nothing of A, B, C outside the SVM suites failed."""
    guest = Guest(gpus=options.gpus, hive=options.hive, kernel=options.kernel, rootfs="rocm")
    guest.check()
    guest.prepare()
    listed = _listed(options)
    results: list[Result] = []
    for memory in sorted({MEMORY, *MEMORY_OF.values()}):
        names = deque(name for name in listed if MEMORY_OF.get(name, MEMORY) == memory)
        while names:
            for result in _one_guest(options, memory, names):
                results.append(result)
                why = f"  # {result.why}" if result.why else ""
                print(f"{result.outcome}  {result.kind}  {result.name}  {result.seconds:.1f} s{why}", flush=True)
    _sums(results)
    print(f"\nwhat they printed: {_log(results)}")
    bad = [r for r in results if r.outcome == "FAIL" and r.kind in WANTED + "?" and SVM not in r.name]
    print(f"{len(bad)} of A, B, C outside SVM failed" if bad else "nothing of A, B, C outside SVM failed")
    return 1 if bad else 0
