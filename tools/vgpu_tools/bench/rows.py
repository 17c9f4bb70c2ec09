# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the table of results. Some rows have a reference, with which the result is
compared, or a bar, which is the goal for the result."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from vgpu_tools.bench.explained import EXPLAINED

MIB = 1 << 20
PEERS = 8  # GPUs that a BO is mapped on
FAULTING = 4  # GPUs that fault at once
# Faults of many queues at once are measured for these numbers of queues on each GPU, of processes and of GPUs.
CROWD_QUEUES = (1, 4, 16, 64)
CROWD_PROCESSES = (1, 8)
CROWD_GPUS = (1, 2, FAULTING)


@dataclass(frozen=True)
class Key:
    """Identifies a measurement: name, bytes moved (0 where no size applies), unit."""

    name: str
    bytes: int
    unit: str


@dataclass
class Result:
    """The samples of one measurement (see Key), reduced to their median, range, number and quartiles."""

    name: str
    bytes: int
    unit: str
    median: float
    lowest: float
    highest: float
    samples: int
    # A quarter of the samples are at most the lower quartile, a quarter at least the upper quartile. None: the result
    # comes from a file that was written before there were quartiles.
    lower_quartile: float | None = None
    upper_quartile: float | None = None


Results = dict[Key, Result]

# Anchors: costs of the machine on which the benchmarks run. Two runs on different machines, or under different load,
# are compared by ratios to the anchors of the same run.
DISK_READ = Key("disk-read", 4096, "us")  # what a PCI device costs that wakes a sleeping task
# The ratio of a lone fault to a read of the disk: of the medians of 16 faults and of 16 reads, measured in turn
FAULT_PER_READ = Key("fault-per-disk-read", 4096, "x")
PIPE_ROUND_TRIP = Key("pipe-round-trip", 0, "us")
REGISTER_READ = Key("register-read", 0, "us")
HOST_WAKEUP = Key("host-wakeup", 0, "us")
CPU_MINOR_FAULT = Key("cpu-minor-fault", 64 * MIB, "us/page")  # of vgpu-bench in the guest


@dataclass(frozen=True)
class Row:
    """A row of the table: the result of `key`, and as reference the result of `against`."""

    label: str
    key: Key
    against: Key | None = None
    against_label: str = ""
    bar: float | None = None  # goal for the ratio of result and reference
    absolute_bar: float | None = None  # goal for the result itself, in the result's unit
    lower_is_better: bool = False  # True: a goal is an upper limit. False: a lower limit

    @property
    def why(self) -> str:
        """Why the goal is not reached (explained.py); empty if nobody has explained it."""
        return EXPLAINED.get((self.key.name, self.key.unit, self.against.name if self.against else ""), "")

    def met(self, result: Result, ratio: float | None) -> bool | None:
        """Return whether the row's result meets its goal. `ratio` is that to the reference. None: there is no goal, or
        the ratio that it needs is not known."""
        if self.bar is not None and ratio is not None:
            value, goal = ratio, self.bar
        elif self.absolute_bar is not None:
            value, goal = result.median, self.absolute_bar
        else:
            return None
        return value <= goal if self.lower_is_better else value >= goal


def nearest(results: Results, name: str, size: int, unit: str) -> Key | None:
    """Some programs measure other sizes than `size`. Therefore the result may be the key of another size."""
    keys = [key for key in results if key.name == name and key.unit == unit]
    return min(keys, key=lambda key: abs(key.bytes - size), default=None)


def rows(results: Results) -> list[Row]:
    """Return the rows of the table, from top to bottom. `results` may lack the key of a row."""
    sweep = 64 * MIB
    minor = nearest(results, "cpu-minor-fault", sweep, "us/page")
    hmm_to = nearest(results, "test-hmm-to-device", sweep, "us/page")
    hmm_rate = nearest(results, "test-hmm-to-device", sweep, "GB/s")
    hmm_back = nearest(results, "test-hmm-touch-back", sweep, "us/page")
    table = [
        Row(
            "boot until /dev/kfd is there (guest's clock)",
            Key("boot-to-kfd", 0, "ms"),
            absolute_bar=1000,
            lower_is_better=True,
        ),
        Row("warm ./vgpu run -- true", Key("run-true", 0, "s"), absolute_bar=5.0, lower_is_better=True),
        *copy_rows(results),
        Row("4 KiB copy, packet to fence seen", Key("sdma-round-trip", 4096, "us")),
    ]
    for name, label in (
        ("sdma-first-byte-idle", "doorbell to first byte, idle engine"),
        ("sdma-first-byte", "doorbell to first byte, after work"),
    ):
        key = Key(name, 0, "us")
        table.append(Row(label, key, HOST_WAKEUP, "host wake-up", bar=3, absolute_bar=20.0, lower_is_better=True))
    table += device_rows()
    for name, label in (
        ("fault-read-present", "faults: engine reads memory the CPU has"),
        ("fault-write-untouched", "faults: engine writes untouched memory"),
    ):
        table += [
            Row(label, Key(name, sweep, "pages/s")),
            Row(label, Key(name, sweep, "faults/s")),
            Row(label, Key(name, sweep, "pages/fault"), absolute_bar=1.01),
        ]
    lone = Key("fault-single", 4096, "us")
    for key, label, bar in (
        (Key("fault-read-present", sweep, "us/page"), "faults: engine reads memory the CPU has, a page", 0.2),
        (lone, "one fault, raise to replay", 6),
    ):
        table.append(Row(label, key, minor, "CPU minor fault", bar=bar, lower_is_better=True))
    table.append(Row("one fault, raise to replay", lone, DISK_READ, "null disk read", bar=1, lower_is_better=True))
    label = "one fault, in null disk reads of its block"
    table.append(Row(label, FAULT_PER_READ, absolute_bar=1, lower_is_better=True))
    table += fault_crowd_rows()
    for name, label, against, other in (
        ("migrate-to-vram", "prefetch to VRAM", hmm_to, "test_hmm to device"),
        ("migrate-touch-back", "CPU touch brings it back", hmm_back, "test_hmm touch"),
        ("migrate-prefetch-back", "prefetch back to system", hmm_back, "test_hmm touch"),
    ):
        page = nearest(results, name, sweep, "us/page")
        rate = nearest(results, name, sweep, "GB/s")
        if page and rate:
            same = hmm_rate if name == "migrate-to-vram" else None
            table.append(Row(label, rate, same, other if same else ""))
            table.append(Row(label, page, against, other, bar=0.4, lower_is_better=True))
    for known, label in (
        (minor, "CPU minor fault"),
        (hmm_to, "test_hmm, system to device"),
        (hmm_back, "test_hmm, CPU touch brings it back"),
    ):
        if known:
            table.append(Row(label, known))
    table += anchor_rows()
    table += svm_rows()
    table += memory_rows(results)
    table += kfd_rows()
    table += overcommit_rows()
    return table


def anchor_rows() -> Iterable[Row]:
    """Yield the rows of the anchors themselves."""
    for key, label in (
        (DISK_READ, "anchor: 4 KiB read of a null disk"),
        (PIPE_ROUND_TRIP, "anchor: two wake-ups between processes"),
        (REGISTER_READ, "anchor: read of a GPU register"),
        (HOST_WAKEUP, "anchor: wake-up of a thread of the host"),
    ):
        yield Row(label, key)


def fault_crowd_rows() -> Iterable[Row]:
    """Yield the rows of faults that many queues raise at once: the number of faults a second, and for one GPU the
    number of faults for each interrupt, batch and repair. The reference is one queue of one process on one GPU. The
    last rows are those of queues whose faults one repair can resolve."""
    one = Key("fault-crowd-1-1-1", 4096, "faults/s")
    for gpus, processes, queues in product(CROWD_GPUS, CROWD_PROCESSES, CROWD_QUEUES):
        if queues < processes:
            continue  # each process has a queue
        label = f"faults: queues a GPU {queues}, processes {processes}, GPUs {gpus}"
        key = replace(one, name=f"fault-crowd-{queues}-{processes}-{gpus}")
        if key == one:
            yield Row(label, key)
        else:
            yield Row(label, key, one, "one queue", bar=12 if queues == 64 and gpus == 1 else None)
        if gpus == 1:
            yield from fault_ratio_rows(label, key)
    near = replace(one, name="fault-crowd-near-1-1-1")
    for queues in CROWD_QUEUES:
        label = f"faults on neighbouring pages: queues {queues}"
        key = replace(near, name=f"fault-crowd-near-{queues}-1-1")
        if key == near:
            yield Row(label, key)
        else:
            yield Row(label, key, near, "one queue", bar=12 if queues == 64 else None)
        yield from fault_ratio_rows(label, key)


def fault_ratio_rows(label: str, rate: Key) -> Iterable[Row]:
    """Yield the rows that show how many faults of a load share an interrupt, a batch and a repair. `rate` is the key of
    the load's faults a second."""
    for unit in ("faults/msi", "faults/batch", "faults/repair"):
        yield Row(label, replace(rate, unit=unit))


def copy_rows(results: Results) -> Iterable[Row]:
    """Yield the rows of SDMA copies and of the guest's memcpy. The reference is the host's memcpy
    of the same size."""
    for name, label in (
        ("sdma-vram-vram", "SDMA copy VRAM to VRAM"),
        ("sdma-vram-gtt", "SDMA copy VRAM to GTT"),
        ("sdma-gtt-vram", "SDMA copy GTT to VRAM"),
    ):
        for key in sorted((key for key in results if key.name == name), key=lambda key: key.bytes):
            host = Key("host-memcpy", key.bytes, "GB/s")
            yield Row(label, key, host, "host memcpy", bar=0.5 if key.bytes == 64 * MIB else None)
    for key in sorted((key for key in results if key.name == "guest-memcpy"), key=lambda key: key.bytes):
        yield Row("guest memcpy", key, Key("host-memcpy", key.bytes, "GB/s"), "host memcpy")


def device_rows() -> Iterable[Row]:
    """Yield the rows for the device. vgpu-kfd-bench measures these rows, without a guest. The rows
    for the device's copies have a reference: the host's memcpy. vgpu-kfd-bench takes samples of the
    copies and of the memcpy in turn."""
    host = Key("device-memcpy", 64 * MIB, "GB/s")
    for name, label, bar in (
        ("device-copy-big", "device: copy in VRAM, 2 MiB leaves", 0.9),
        ("device-copy-gtt", "device: copy from 4 KiB pages of GTT", 0.8),
        ("device-copy-to-gtt", "device: copy to 4 KiB pages of GTT", 0.8),
    ):
        yield Row(label, Key(name, 64 * MIB, "GB/s"), host, "host memcpy", bar=bar)
    for name, label, unit, bar in (
        ("device-tlb-hit", "device: translation by TLB hit", "ns", 20.0),
        ("device-idle-cpu", "device: CPU time when idle", "%", 0.5),
        ("device-memory", "device: memory beyond VRAM", "MiB", 32.0),
    ):
        yield Row(label, Key(name, 0, unit), absolute_bar=bar, lower_is_better=True)
    yield Row("device: least share of 40 queues", Key("device-fairness", 0, "%"), absolute_bar=90.0)


def svm_rows() -> Iterable[Row]:
    """Yield the rows of shared virtual memory: migration of 1 GiB, work on one of many ranges,
    munmap without GPU mappings, faults of several GPUs."""
    big = 1024 * MIB
    for way, label in (("in", "1 GiB of SVM to VRAM"), ("out", "1 GiB of SVM back")):
        yield Row(
            label,
            Key(f"svm-big-{way}", big, "GB/s"),
            Key(f"svm-engine-{way}", big // 2, "GB/s"),
            "SDMA copies",
            bar=0.15,
        )
    for what, label in (("lookup", "attributes of one of N ranges"), ("split", "cutting one of N ranges in three")):
        few = Key(f"svm-{what}-1000", 0, "us")
        yield Row(f"{label}, N = 1,000", few)
        for ranges in (10_000, 100_000, 1_000_000):
            # The bar is the highest accepted ratio to the time for N = 1,000. It lets the time grow
            # as log(N): log(1,000,000) / log(1,000) = 2.
            bar = 2 if ranges == 1_000_000 else None
            key = Key(f"svm-{what}-{ranges}", 0, "us")
            yield Row(f"{label}, N = {ranges:,}", key, few, "N = 1,000", bar=bar, lower_is_better=True)
    without = Key("unmap-without-kfd", big, "ms")
    unmap = Key("unmap-with-range", big, "ms")
    yield Row("munmap of 1 GiB that no GPU has mapped", unmap, without, "without KFD", bar=1.1, lower_is_better=True)
    one = Key("faults-by-1", 64 * MIB, "pages/s")
    key = Key(f"faults-by-{FAULTING}", 64 * MIB, "pages/s")
    yield Row(f"{FAULTING} GPUs fault at once", key, one, "one GPU", bar=1.6)


def memory_rows(results: Results) -> Iterable[Row]:
    """Yield the rows of the memory manager. The reference of a row, if it has one, is similar work
    in the same guest: done without the memory manager, with fewer BOs, or by the CPU."""
    size = 2 * MIB
    yield Row("load of the module", Key("module-load", 0, "ms"), absolute_bar=70, lower_is_better=True)
    yield Row(
        "BO in VRAM: create, map, unmap, free",
        Key("bo-life", size, "us"),
        Key("cpu-life", size, "us"),
        "mmap, touch, munmap",
        bar=3,
        lower_is_better=True,
    )
    yield Row(
        "the same of a page, 100,000 BOs live",
        Key("bo-among-100000", 4096, "us"),
        Key("bo-among-1000", 4096, "us"),
        "1,000 BOs",
        bar=2,
        lower_is_better=True,
    )
    for writer in ("cpu", "sdma"):
        name, size = f"tables-{writer}", 1024 * MIB
        label = f"page tables, 4 KiB pages, by {writer.upper()}"
        yield Row(label, Key(name, size, "B/entry"), absolute_bar=8.4, lower_is_better=True)
        against = Key("tables-cpu", size, "ns/page") if writer == "sdma" else None
        yield Row(label, Key(name, size, "ns/page"), against, "by CPU" if against else "", lower_is_better=True)
    if key := nearest(results, "evict-and-back", 1024 * MIB, "ms"):
        against = Key("copy-out-and-in", key.bytes, "ms")
        yield Row("evict and bring back", key, against, "SDMA copies", bar=1.2, lower_is_better=True)


def overcommit_rows() -> Iterable[Row]:
    """Yield the rows of eight processes that need three times the VRAM. The reference of the slowest one is the mean of
    all. The mean also is the throughput."""
    mean = Key("overcommit-mean", 0, "rounds/s")
    label = "8 processes, 3 x VRAM"
    yield Row(f"{label}: the slowest", replace(mean, name="overcommit-slowest"), mean, "mean", bar=0.33)
    yield Row(f"{label}: the mean", mean)
    yield Row(f"{label}: those with a queue", replace(mean, name="overcommit-queue"))
    yield Row(f"{label}: those by CPU", replace(mean, name="overcommit-cpu"))


def kfd_rows() -> Iterable[Row]:
    """Yield the rows of KFD's calls and of ROCr's copies. Each reference is measured in the same guest as the result.
    The rows on the creation and destruction of queues have no reference."""
    for label, name, size, unit, against, other, bar in (
        ("BO in VRAM by KFD: create to free", "kfd-life", 2 * MIB, "us", "drm-life", "by the render node", 1.5),
        ("event: signal, wake, and back", "event-round-trip", 0, "us", "eventfd-round-trip", "eventfd", 3),
        ("100 processes with 8 queues: the slowest", "crowd-slowest", 0, "ms", "crowd-mean", "mean", 2),
    ):
        yield Row(label, Key(name, size, unit), Key(against, size, unit), other, bar=bar, lower_is_better=True)
    # The reference is the rate of the same copy, computed from the engine's time stamps.
    for way, label in (("in", "to VRAM"), ("out", "back")):
        key = Key(f"rocr-copy-{way}", 64 * MIB, "GB/s")
        yield Row(f"ROCr's asynchronous copy {label}", key, replace(key, name=f"rocr-engine-{way}"), "engine", bar=0.8)
    for kind, label in (("sdma", "SDMA"), ("pm4", "PM4"), ("aql", "AQL")):
        for step in ("create", "destroy"):
            key = Key(f"queue-{step}-{kind}", 0, "ms")
            yield Row(f"{step} a queue: {label}", key, absolute_bar=2, lower_is_better=True)
    for size in (4096, 2 * MIB, 16 * MIB):
        one = Key("map-gtt-1", size, "us")
        many = Key(f"map-gtt-{PEERS}", size, "us")
        yield Row(f"GTT mapped on {PEERS} GPUs by one call", many, one, "on one", bar=4, lower_is_better=True)
