# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu kfdtest: runs AMD's conformance test of KFD in a guest.

Each test is a separate run of kfdtest, so that a crash does not affect other tests. After a hang or a crash of the
guest the next tests run in a new guest.
"""

import fnmatch
import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOTFS
from vgpu_tools.guest.background import Background
from vgpu_tools.guest.config import Guest

CLASSES = ROOTFS / "rocm" / "kfdtest-classes"
LOG = BUILD / "results" / "kfdtest.log"
CHIP = "aldebaran"
# Guest memory. The size is no larger than the tests need, because some tests allocate all memory,
# page by page.
MEMORY = "3G"
MEMORY_OF = {"KFDQMTest.OverSubscribeCpQueues": "6G"}  # 65 queues with save areas of 64 MB
VRAM = "256M"  # small, because some tests allocate all VRAM
# Tests that AMD's filter leaves out although the model supports them.
BESIDES = ("KFDQMTest.SdmaEventInterrupt", "KFDLocalMemoryTest.CheckZeroInitializationVram")
# Limit of a test. The limit is long because SdmaConcurrentCopies copies by CPU for minutes.
TEST_SECONDS = {"release": 900, "debug": 3600}
# Limit of tests of class D, which wait for a shader that never runs.
SHADER_SECONDS = {"release": 40, "debug": 240}
BOOT_SECONDS = {"release": 90, "debug": 240}  # limit until the first test begins
END_SECONDS = 30  # time from a test's limit until the guest counts as hanging
WANTED = "ABC?"  # classes whose failed tests, outside the SVM suites, set the exit status
SVM = "KFDSVM"

LIST = """
cd /usr/local/lib/kfdtest && . ./kfdtest.exclude || exit 1
echo "@@ filter ${FILTER[$1]}"
./kfdtest --gtest_list_tests
"""
# Enable huge pages, as Debian's kernel does: without huge pages each queue's save area takes 16,000 page faults.
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
    """The result of one test of kfdtest."""

    name: str
    kind: str  # class of the test
    outcome: str = "FAIL"  # PASS, FAIL, SKIP
    why: str = ""
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)


def classes() -> list[tuple[str, str]]:
    """Return pairs of class and pattern. The first pattern that matches a test gives the test's class."""
    rows = []
    for line in CLASSES.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, *patterns = line.split()
            rows += [(kind, pattern) for pattern in patterns]
    return rows


def classify(name: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return the class of a test; "?" if no pattern matches. `rows` is the result of classes()."""
    plain = re.sub(r"^[^/.]+/|/\d+$", "", name)
    return next((kind for kind, pattern in rows if fnmatch.fnmatchcase(plain, pattern)), "?")


def parse_list(text: str) -> list[str]:
    """Return the names of tests from the output of --gtest_list_tests: suites, each followed by its
    indented tests."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"[\w/]+\.", word):
            suite = word
        elif suite and re.fullmatch(r"  [\w/]+", word):
            names.append(suite + word.strip())
    return names


def matches(name: str, patterns: str) -> bool:
    """Return whether a name matches a filter of gtest: positive patterns, then "-" and negative patterns, with ":"
    between patterns. A filter without positive patterns matches every name that no negative pattern matches."""
    positive, _, negative = patterns.partition("-")

    def any_of(words: str) -> bool:
        return any(fnmatch.fnmatchcase(name, word) for word in words.split(":") if word)

    return (not positive.strip(":") or any_of(positive)) and not any_of(negative)


def choose(names: Sequence[str], amds: str, wanted: str) -> list[str]:
    """Return the tests to run, in the order of `names`. `amds` is AMD's filter and `wanted` the user's
    filter, in the form that matches() takes. `amds` does not apply to tests in BESIDES."""
    return [name for name in names if (name in BESIDES or matches(name, amds)) and matches(name, wanted)]


def judge(output: Sequence[str], status: int) -> tuple[str, str]:
    """Return the outcome and the reason of a test, from its output and exit status. The output
    is needed, because gtest counts a skipped test as passed."""
    text = "\n".join(output)
    if status == 124 or status == 137:
        return "FAIL", "its time ran out"
    if status or "[  PASSED  ] 1 test" not in text:
        said = next((line.strip() for line in output if FAILED.search(line)), "")
        return "FAIL", said or f"exit status {status}"
    skip = next((line.strip() for line in output if SKIPPED.search(line)), "")
    return ("SKIP", re.sub(r"^\[\s*\]\s*", "", skip)) if skip else ("PASS", "")


@dataclass(frozen=True)
class Choice:
    """The tests to run: those that match both `patterns` and `classes`."""

    patterns: str = ""  # a filter of gtest; empty: all tests
    classes: str = ""  # letters of classes of tests (kfdtest-classes); empty: all classes
    seconds: int = 0  # time limit of each test; 0: the limit of the test's class


def _list(guest: Guest, choice: Choice) -> list[str]:
    """Return the names of the tests to run, as kfdtest lists them. Raises Failure if there are none."""
    text = []
    with Background(guest, ["bash", "-c", LIST, "kfdtest", CHIP]) as run:
        for line in run.lines(BOOT_SECONDS[guest.kernel]):
            if line is None:
                break
            text.append(line)
    if sentence := run.result().sentence:
        text.append(f"vgpu: {sentence}")
    amds = next((line.split(" ", 2)[2] for line in text if line.startswith("@@ filter ")), "")
    rows = classes()
    names = choose(parse_list("\n".join(text)), amds, choice.patterns)
    names = [name for name in names if not choice.classes or classify(name, rows) in choice.classes]
    if not amds or not names:
        raise Failure(f"kfdtest has no such tests: {choice.patterns or 'none at all'}\n" + "\n".join(text[-5:]))
    return names


class Tests:
    """Tests that run one after the other in one guest, until none is left or the guest hangs or ends."""

    def __init__(self, guest: Guest, names: deque[str], seconds: int) -> None:
        """A test is removed from `names` when it starts. `seconds` is the limit of each test; 0: the limit of the
        test's class."""
        self.guest = guest
        self.names = names
        rows = classes()
        self.kinds = {name: classify(name, rows) for name in names}
        self.limits = {
            name: seconds or (SHADER_SECONDS if kind == "D" else TEST_SECONDS)[guest.kernel]
            for name, kind in self.kinds.items()
        }
        self.test: Result | None = None
        self.start = time.monotonic()
        self.last = ""

    def run(self) -> Iterator[Result]:
        """Run the tests. Yield each result when its test ends. Raises Failure if the guest fails before a test or
        between tests."""
        words = [word for name in self.names for word in (str(self.limits[name]), name)]
        with Background(self.guest, ["bash", "-c", RUN, "kfdtest", *words]) as run:
            for line in run.lines(1.0):
                if line is None and self.hangs():
                    break
                if line is not None and (result := self.take(line)):
                    yield result
        ended = run.result()
        last = f"vgpu: {ended.sentence}" if ended.sentence else self.last
        if self.test:
            self.test.seconds = time.monotonic() - self.start
            self.test.why = self.test.why or f"the guest died: {last}"
            yield self.test
        elif self.names and ended.exit_status:
            raise Failure(f"no guest: {last}")

    def _begin(self) -> Result:
        name = self.names.popleft()
        self.test = Result(name, self.kinds[name])
        return self.test

    def hangs(self) -> bool:
        """Return whether the current test, or the boot before the first test, exceeds its limit. If
        so, record in the test's `why` that the guest hangs."""
        limit = self.limits[self.test.name] + END_SECONDS if self.test else BOOT_SECONDS[self.guest.kernel]
        if time.monotonic() - self.start <= limit:
            return False
        if self.test or self.names:
            test = self.test or self._begin()
            test.why = "the guest hangs"
        return True

    def take(self, line: str) -> Result | None:
        """Parse one line. If this line reports the end of a test, return the test's result."""
        self.last = line
        if line.startswith("@@ begin "):
            self._begin()
            self.start = time.monotonic()
        elif line.startswith("@@ end ") and (test := self.test):
            test.seconds = time.monotonic() - self.start
            test.outcome, test.why = judge(test.output, int(line.split()[2]))
            self.test = None
            self.start = time.monotonic()
            return test
        elif self.test:
            self.test.output.append(line)
        return None


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


def kfdtest(guest: Guest, choice: Choice) -> int:
    """Run the tests in guests with the rocm root file system, and print the results. Return 1 if a test that counts
    (see WANTED) failed."""
    guest = replace(guest, rootfs="rocm", vram=VRAM, memory=MEMORY)
    guest.check()
    guest.prepare()
    listed = _list(guest, choice)
    results: list[Result] = []
    for memory in sorted({MEMORY, *MEMORY_OF.values()}):
        names = deque(name for name in listed if MEMORY_OF.get(name, MEMORY) == memory)
        while names:
            for result in Tests(replace(guest, memory=memory), names, choice.seconds).run():
                results.append(result)
                why = f"  # {result.why}" if result.why else ""
                print(f"{result.outcome}  {result.kind}  {result.name}  {result.seconds:.1f} s{why}", flush=True)
    _sums(results)
    print(f"\noutput of the tests: {_log(results)}")
    bad = [r for r in results if r.outcome == "FAIL" and r.kind in WANTED and SVM not in r.name]
    print(f"failed tests of the classes A, B, C and ? outside the SVM suites: {len(bad)}")
    return 1 if bad else 0
