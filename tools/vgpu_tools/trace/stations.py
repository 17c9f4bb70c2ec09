# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a lone fault's path: the events from the raise to the replay, who is woken before each, and what each
step would cost under KVM. ./vgpu fault-path and its picture use this table. A test compares docs/faults.md with it.

A hop ends at a station. It begins at the previous station that the fault has.
"""

from dataclasses import dataclass
from enum import Enum


class Wakes(Enum):
    """Who has to wake up before a hop can end."""

    NOBODY = "nobody"
    HOST = "a host thread"
    VCPU = "a halted virtual CPU"
    OTHER_VCPU = "a halted virtual CPU, if it is another one"


@dataclass(frozen=True)
class Station:
    """An event on the path. An optional station may be missing in a complete fault."""

    key: str
    group: str  # ftrace's group of the event; "": an event of the device, with the host's clock
    event: str  # name of the trace event or tracepoint
    hop: str  # what happens until this event
    wakes: Wakes = Wakes.NOBODY
    kvm: str = ""  # how the hop's cost differs under KVM: expected from the code, not measured
    optional: bool = False


HOST_CODE = "the same: code of the host"
NATIVE = "guest code at native speed"
STATIONS = (
    Station("raised", "", "vgpu_fault", "the access faults"),
    Station("ring", "", "vgpu_ih_push", "entry written to the IH ring", kvm=HOST_CODE),
    Station(
        "msi",
        "",
        "vgpu_msi",
        "MSI sent (main loop or vCPU's thread)",
        Wakes.HOST,
        "the same; nobody wakes if an irqfd lets the engine's thread send the MSI",
    ),
    Station(
        "irq",
        "irq",
        "irq_handler_entry",
        "MSI delivered, hard interrupt begins",
        Wakes.VCPU,
        "the kernel wakes the vCPU's thread, or finds it polling (halt_poll_ns); no way back into TCG's loop",
    ),
    Station("entry", "vgpu_hw", "vgpu_ih_entry", "handler reads the entry", kvm=NATIVE),
    Station("queued", "workqueue", "workqueue_queue_work", "process found, work queued", kvm=NATIVE, optional=True),
    Station(
        "running",
        "sched",
        "sched_switch",
        "worker gets a virtual CPU",
        Wakes.OTHER_VCPU,
        "another virtual CPU: an IPI, which exits to KVM unless the host virtualizes it, and a wake-up as for the MSI",
        optional=True,
    ),
    Station("taken", "vgpu_svm", "svm_fault", "worker takes the fault", kvm=NATIVE),
    Station("looked", "vgpu_svm", "svm_hmm_begin", "range found, tables reserved", kvm=NATIVE),
    Station("hmm", "vgpu_svm", "svm_hmm_end", "HMM returns the CPU's page", kvm=NATIVE),
    Station("written", "vgpu", "vgpu_vm_write", "DMA address, page-table entry", kvm=NATIVE),
    Station(
        "flushing",
        "vgpu",
        "vgpu_vm_flush",
        "HDP flush before an invalidation",
        kvm="a register write and a read: each exits to QEMU, and costs several times an access under TCG",
        optional=True,
    ),
    Station(
        "flushed",
        "vgpu_hw",
        "vgpu_tlb_flush",
        "invalidation requested, acknowledged",
        kvm="at least two register writes and two reads: each exits to QEMU",
        optional=True,
    ),
    Station(
        "verdict",
        "vgpu_svm",
        "svm_service",
        "entries published, verdict",
        kvm="with the HDP flush, if no invalidation came before: two exits to QEMU; the rest at native speed",
    ),
    Station("acked", "vgpu_hw", "vgpu_cam_ack", "driver acknowledges", kvm=NATIVE),
    Station("cam", "", "vgpu_cam_ack", "doorbell write reaches the CAM", kvm="an exit to QEMU"),
    Station("engine", "", "vgpu_wake", "engine's thread wakes, if it slept", Wakes.HOST, HOST_CODE, optional=True),
    Station("replayed", "", "vgpu_replay", "walk, replay", kvm=HOST_CODE),
)
BY_KEY = {station.key: station for station in STATIONS}
START, END = STATIONS[0].key, STATIONS[-1].key
# An invalidation lets engines repeat their walks. So a fault may be replayed after this station and before its
# acknowledgement.
INVALIDATION = "flushing"
DEVICE_EVENTS = tuple(station.event for station in STATIONS if not station.group)
GUEST_EVENTS = tuple(f"{station.group}/{station.event}" for station in STATIONS if station.group)
