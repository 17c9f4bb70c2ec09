# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the data for the picture "one-fault" (./vgpu pictures). The picture shows one fault of
the demo, from raise to replay.
"""

from dataclasses import dataclass

from vgpu_tools.base.errors import Failure
from vgpu_tools.trace.device import Fault, Span, engine_name
from vgpu_tools.trace.figures import PAGE, TO_VRAM, cuts
from vgpu_tools.trace.timeline import Sides


@dataclass
class OneFault:
    """The data for the picture "one-fault". Times are in us after the fault was raised."""

    serial: int
    access: str
    kib: int
    engine: str
    tracks: dict[str, str]  # names of the tracks of the engine and of the fault worker in Perfetto
    received: float
    service: tuple[float, float]
    migration: tuple[float, float]
    answered: float  # when the driver writes the acknowledgement
    replayed: float
    clock: float  # uncertainty of the offset between the device's clock and the driver's clock, in us
    text: str


def _candidates(sides: Sides) -> list[tuple[float, Fault, Span]]:
    """Return tuples of latency (us), fault and migration, sorted by latency. There is a tuple for each fault
    that stalled a queue, was repaired, acknowledged and replayed, and whose service migrated memory to VRAM."""
    migrations = {
        id(service): span
        for span in sides.driver.migrations
        if span.name.startswith(TO_VRAM) and int(span.args["moved"]) > 0
        if (service := sides.driver.around(span))
    }
    found = []
    for fault in sides.device.faults:
        parts, service = cuts(fault), fault.service
        if not parts or not service or not fault.stall or not fault.answered:
            continue
        span = migrations.get(id(service))
        # If a service answered several faults, choose only the fault with the serial that the service reports.
        if span and span.begin < span.end and service.args["serial"] == fault.serial:
            found.append((sum(parts), fault, span))
    return sorted(found, key=lambda one: one[0])


def one_fault(sides: Sides) -> OneFault:
    """Return the data for the picture "one-fault". The picture shows the fault with the median
    latency among _candidates(). Raises Failure if there is no candidate."""
    found = _candidates(sides)
    if not found:
        raise Failure("pictures: the demo's run has no repaired fault that migrated to VRAM", status=1)
    _, fault, span = found[(len(found) - 1) // 2]
    service, stall = fault.service, fault.stall
    assert service
    assert stall

    def place(at: int) -> float:
        return round((at - fault.raised) / 1000, 1)

    engine = engine_name(stall.engine)
    one = OneFault(
        serial=fault.serial,
        access="write" if fault.write else "read",
        kib=int(span.args["moved"]) * PAGE // 1024,
        engine=engine,
        tracks={
            "engine": f"{fault.device}: {engine} queue {stall.queue}",
            "worker": f"vgpu_kfd (guest): {fault.device} fault worker",
        },
        received=place(fault.received),
        service=(place(max(service.begin, fault.received)), place(service.end)),
        migration=(place(span.begin), place(span.end)),
        answered=place(fault.answered),
        replayed=place(fault.replayed),
        clock=sides.clock_ns / 1000,
        text="",
    )
    one.text = (
        f"fault {one.serial}, {one.access}, the median one of {len(found)} that migrated: received after "
        f"{one.received:g} us, migration of {one.kib} KiB {one.migration[0]:g} to {one.migration[1]:g} us, "
        f"served after {one.service[1]:g} us, replayed after {one.replayed:g} us"
    )
    return one
