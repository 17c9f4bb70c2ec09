# SPDX-License-Identifier: GPL-2.0-or-later
"""Records the events of a guest that runs a command. QEMU writes the device's events to a file. When the command has
ended, the guest writes the driver's events (ftrace) to a virtio-serial port.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import run_folder, tsc
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Run, Streams
from vgpu_tools.guest.options import Options
from vgpu_tools.guest.result import Result

PORT = "vgpu.trace"
# A command in the guest can write lines to this file. Each line becomes an event "tracing_mark_write" of the recording.
MARKER = "/sys/kernel/tracing/instances/vgpu/trace_marker"
TEXT_BYTES = 1 << 30  # bytes of a recording that are read, because a guest may write without end
BUFFER_KIB = 16384  # buffer of each processor of the guest; holds about 200,000 events
# Enable only the events that the timeline needs, because each enabled event costs time in the
# device.
EVENTS = (
    "vgpu_fault",
    "vgpu_fault_class",
    "vgpu_fault_merged",
    "vgpu_stall",
    "vgpu_replay",
    "vgpu_cam_ack",
    "vgpu_queue",
    "vgpu_cp_stop",
    "vgpu_cp_sdma_unmap",
    "vgpu_chip_reset",
    "vgpu_engine_reset",
)
# Parts of a shell script in the guest. Its first argument is the size of ftrace's buffer in KiB. HEAD makes an ftrace
# instance for the recording, because a command may use ftrace's main instance. TAIL writes the guest's part of the
# recording to the port, and exits with $status.
HEAD = """\
for name in /sys/class/virtio-ports/*/name; do
	read -r port <"$name"
	[ "$port" != vgpu.trace ] || break
done
name=${name%/name}
[ "$port" = vgpu.trace ] || { echo "vgpu: no port for the trace" >&2; exit 125; }
exec 9>"/dev/${name##*/}"
counters() {
	for folder in /sys/kernel/debug/dri/*; do
		[ -L "$folder" ] || [ ! -e "$folder/vgpu_device_counters" ] || cat "$folder/vgpu_device_counters"
	done
}
place=$PWD
trace=/sys/kernel/tracing/instances/vgpu
mkdir $trace && cd $trace && echo x86-tsc >trace_clock && echo "$1" >buffer_size_kb && echo 1 >options/record-tgid ||
	{ echo "vgpu: cannot set up ftrace" >&2; exit 125; }
shift
cd "$place"
"""
TAIL = """\
echo 0 >$trace/tracing_on
{
	echo "== after"; counters
	echo "== lost"; cat $trace/per_cpu/cpu*/stats
	echo "== trace"; cat $trace/trace
	echo "== end"
} >&9
exit $status
"""
# The other arguments are the command.
SCRIPT = f"""\
{HEAD}
cd $trace/events
for event in vgpu/vgpu_process_* vgpu/vgpu_reset_* vgpu/vgpu_vm_map vgpu/vgpu_bo_move vgpu_svm \\
	vgpu_hw/vgpu_cam_ack vgpu_hw/vgpu_sdma_*; do
	echo 1 >"$event/enable" || {{ echo "vgpu: the driver has no tracepoint $event" >&2; exit 125; }}
done
cd "$place"
{{ echo "== before"; counters; }} >&9
echo "vgpu begin" >$trace/trace_marker
"$@" 9>&-
status=$?
echo "vgpu end" >$trace/trace_marker
{TAIL}"""


@dataclasses.dataclass
class Recording:
    """A recording. The host's time is in nanoseconds since 1970, the host's time stamp counter in ticks."""

    device: str  # QEMU's log
    guest: str  # the guest's output on the port
    start: tuple[int, int]  # the host's time and time stamp counter before the guest's command
    end: tuple[int, int]  # the same after the command
    whole: bool = True  # False: only the device's events were recorded


def clocks() -> tuple[int, int]:
    """Return the host's time (ns since 1970) and the host's time stamp counter (ticks), both for the same moment."""
    at, ticks = tsc.now()
    earlier, day = tsc.sample(time.time_ns)
    return at + day - earlier, ticks


def record(options: Options, words: Sequence[str], streams: Streams | None = None) -> tuple[Result, Recording]:
    """Run a command in a guest. Return the result of the run and the recording, also for a run that failed.

    Raises Failure with status 2 if the host has no time stamp counter."""
    return record_script(options, SCRIPT, words, streams, EVENTS)


def record_script(
    options: Options,
    script: str,
    words: Sequence[str],
    streams: Streams | None,
    events: Sequence[str],
    before: Callable[[Path], None] | None = None,
) -> tuple[Result, Recording]:
    """Run a script in a guest, with `words` as its further arguments. The script begins with HEAD and ends with TAIL.
    `events` are the device's events that are enabled from the start. `before` is called before the guest starts, with
    the run's folder. Returns and raises as record()."""
    if not tsc.khz():
        raise Failure("a trace needs a host with a time stamp counter (x86-64)", status=2)
    with run_folder.hold() as folder:
        if "," in str(folder):
            raise Failure(f"{folder}: QEMU's options cannot name a folder with a comma", status=2)
        device, port = folder / "device.log", folder / "guest.trace"
        guest = _traced(options.guest, device, port, events)
        if before:
            before(folder)
        start = clocks()
        command = ["sh", "-c", script, "sh", str(BUFFER_KIB), *words]
        result = Run(guest, command, streams, options.timeout, options.verbose).execute_in(folder)
        return result, Recording(_text(device), _text(port), start, clocks())


def _traced(guest: Guest, device: Path, port: Path, events: Sequence[str]) -> Guest:
    """Return the guest with more options of QEMU: trace events go to the file `device`, and a virtio-serial port for
    the driver's events writes to the file `port`. `events` are enabled."""
    more = ["-D", str(device), "-msg", "timestamp=on"]
    for event in events:
        more += ["-trace", f"enable={event}"]
    more += ["-device", "virtio-serial-pci,id=vgpu-trace,max_ports=2"]
    more += ["-chardev", f"file,id=vgpu-trace,path={port}"]
    more += ["-device", f"virtserialport,bus=vgpu-trace.0,chardev=vgpu-trace,name={PORT}"]
    return dataclasses.replace(guest, qemu_args=[*guest.qemu_args, *more])


def _text(path: Path) -> str:
    """Return at most TEXT_BYTES of a file. A recording that was cut lacks its last section, which is reported."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return file.read(TEXT_BYTES).decode(errors="replace")
