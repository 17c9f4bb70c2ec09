# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists the suites, in the order in which they run."""

from collections.abc import Iterator, Sequence

from vgpu_tools.base.errors import Failure
from vgpu_tools.build import qemu, sources
from vgpu_tools.build.steps import Step
from vgpu_tools.testing import avocado_tests, device_tests, doc_registers, docs_tests, guest_tests, howto, style
from vgpu_tools.testing.suite import FULL, LONG, Suite


def _with_firmware(*steps: Step) -> list[Step]:
    return [sources.firmware()[0], *steps]


def steps_of_all() -> list[Step]:
    """Return the build steps for QEMU and its firmware. Every run of tests needs them, because
    limits.measure() starts QEMU to measure the host's speed."""
    return _with_firmware(qemu.build())


SUITES = (
    Suite("check", style.steps, style.run),
    Suite("registers", lambda: _with_firmware(qemu.build()), doc_registers.run),
    Suite("qtest", lambda: _with_firmware(qemu.build_qtest()), device_tests.qtest("release")),
    Suite(
        "fuzz-model",
        lambda: _with_firmware(qemu.build_model_fuzzer()),
        device_tests.model_fuzz("release"),
        beside="fuzzers",
    ),
    Suite(
        "fuzz-generic", lambda: _with_firmware(qemu.build_generic_fuzzer()), device_tests.generic_fuzz, beside="fuzzers"
    ),
    Suite("qtest-sanitizers", lambda: _with_firmware(qemu.build_qtest("sanitizers")), device_tests.qtest("sanitizers")),
    Suite(
        "fuzz-model-sanitizers",
        lambda: _with_firmware(qemu.build_model_fuzzer("sanitizers")),
        device_tests.model_fuzz("sanitizers"),
        lowest=LONG,
    ),
    Suite("kunit-release", lambda: guest_tests.steps("release"), guest_tests.kunit("release"), beside="kunit"),
    Suite("kunit-debug", lambda: guest_tests.steps("debug"), guest_tests.kunit("debug"), beside="kunit"),
    Suite("guest-release", lambda: guest_tests.steps("release"), guest_tests.programs("release")),
    Suite("guest-debug", lambda: guest_tests.steps("debug"), guest_tests.programs("debug")),
    Suite("avocado", lambda: guest_tests.steps("release"), avocado_tests.run),
    # Alone, each of these two leaves 40 % of two CPUs idle.
    Suite("docs", docs_tests.steps, docs_tests.run, lowest=FULL, beside="pages"),
    Suite("howto", howto.steps, howto.run, lowest=FULL, beside="pages"),
)

GROUPS = {"kunit": ("kunit-release", "kunit-debug")}  # names that stand for several suites


def choose(names: Sequence[str], level: str) -> list[Suite]:
    """Return the suites of these names. If there are no names, return all suites of the pass
    `level`. The result is in the registry's order. Raises Failure if a name is unknown."""
    known = {suite.name: suite for suite in SUITES}
    wanted = [one for name in names for one in GROUPS.get(name, (name,))]
    for name in wanted:
        if name not in known:
            raise Failure(f"no such suite: {name} (there are {', '.join((*known, *GROUPS))})", status=2)
    return [suite for suite in SUITES if (suite.name in wanted if wanted else suite.in_pass(level))]


def stages(suites: Sequence[Suite]) -> Iterator[list[Suite]]:
    """Divide suites into stages. The suites of a stage run at the same time. A stage has successive
    suites with the same `beside`, or a single suite with an empty `beside`."""
    stage: list[Suite] = []
    for suite in suites:
        if stage and (not suite.beside or suite.beside != stage[0].beside):
            yield stage
            stage = []
        stage.append(suite)
    if stage:
        yield stage
