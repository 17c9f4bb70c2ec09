# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares docs/hardware.md with the device: registers, properties and QMP commands. The address, the access and the
reset value of each register are compared.

`documented()` describes the tables of registers in the document.
"""

import itertools
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import QEMU_DEVICE, ROOT
from vgpu_tools.build import qemu
from vgpu_tools.testing.suite import Context, Plan
from vgpu_tools.testing.tap import Case

DOCUMENT = ROOT / "docs/hardware.md"
RANGES = {"n": 16, "e": 18, "q": 10, "i": 32}  # number of values of each variable in addresses
WINDOW_AT, WINDOW_BYTES, SLOT = 0xE0000000, 512 * 1024, 5
AT_ONCE = 512  # number of commands that are sent to QEMU before their replies are read
ADDRESS = re.compile(r"^(0x[0-9a-f]+|\d+)(?:-(\d+))?$")
VARIABLE = re.compile(r"^(0x[0-9a-f]+|\d+)?([a-z])$")


@dataclass
class Register:
    """A dword of the register window, in the document or in the device. A reset value of None matches any value."""

    name: str
    writable: bool
    reset: int | None


def _tables(text: str) -> Iterator[tuple[list[str], list[list[str]], str]]:
    """Yield the tables of registers: heads of the columns, rows, and the 'Bases:' line before the
    table."""
    bases = ""
    head: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("Bases:"):
            bases = line
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not head:
                head = cells
            elif not set(line) <= set("|-: "):
                rows.append(cells)
            continue
        if head and head[0] == "register":
            yield head, rows, bases
        if head:
            bases = ""
        head, rows = [], []


def _places(text: str, limits: dict[str, int]) -> list[int]:
    """Return the addresses that `text`, a sum of terms, stands for. Each combination of the terms'
    values gives one address."""
    sums = [0]
    for term in (part.strip() for part in text.split("+")):
        # The term is a number or a range FIRST-LAST.
        if found := ADDRESS.match(term):
            first = int(found[1], 0)
            steps = [first + i for i in range(int(found[2]) - first + 1)] if found[2] else [first]
        elif found := VARIABLE.match(term):
            # The term is a variable "n", perhaps with a factor ("2n"). n has the values 0 to limits["n"] - 1.
            steps = [int(found[1] or "1", 0) * i for i in range(limits[found[2]])]
        else:
            raise Failure(f"{DOCUMENT}: '{text}' is no address of a register")
        sums = [a + b for a, b in itertools.product(sums, steps)]
    return sums


def documented(text: str) -> dict[int, Register]:
    """Return the registers of the document, by dword number. Raises Failure if an address is malformed or occurs twice,
    or an offset has no base."""
    registers: dict[int, Register] = {}
    for head, rows, line in _tables(text):
        bases = [0]
        # A line such as "Bases: 0x2840 (GFX), 0x1ab80 (MM)" stands before a table of offsets. Each offset gives one
        # register for each base.
        if head[1] == "offset":
            words = re.sub(r"\([^)]*\)", "", line.removeprefix("Bases:")).strip(" .").split(",")
            if not line:
                raise Failure(f"{DOCUMENT}: no line 'Bases: ...' before a table of registers with offsets")
            bases = [base for word in words for base in _places(word.strip(), RANGES)]
        for row in rows:
            cells = dict(zip(head, row, strict=True))
            # "(n to 31)" in the first column gives the variable n the values 0 to 31 in this row.
            limits = RANGES | {name: int(last) + 1 for name, last in re.findall(r"\((\w) to (\d+)\)", row[0])}
            words = [word.strip() for word in re.split("[,;]", row[1])]
            access = [word.strip() for word in cells.get("access", "RW").split(",")]
            reset = [word.strip() for word in cells.get("reset", "0").split(",")]
            for i, word in enumerate(words):
                # A reset value that is no number, such as "vram", matches any value.
                value = reset[min(i, len(reset) - 1)]
                for base, place in itertools.product(bases, _places(word, limits)):
                    if base + place in registers:
                        raise Failure(f"{DOCUMENT}: register 0x{base + place:x} twice: {row[0]}")
                    registers[base + place] = Register(
                        row[0], access[min(i, len(access) - 1)] != "RO", int(value, 0) if ADDRESS.match(value) else None
                    )
    return registers


class _Machine:
    """A machine with the device, controlled through QEMU's qtest protocol."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "qemu.log"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "qtest"))
        listener.listen()
        listener.settimeout(30)
        options = f"-machine q35 -accel qtest -nodefaults -display none -device vgpu-kfd,addr={SLOT:02x}.0"
        logging = f"-d unimp,guest_errors -D {self.log} -qtest unix:{folder}/qtest -qtest-log /dev/null"
        self.process = subprocess.Popen(
            [str(qemu.with_firmware()), *options.split(), *logging.split()],
            stdin=subprocess.DEVNULL,
            env=clean_environment(),
        )
        self.socket = listener.accept()[0]
        self.answers = self.socket.makefile("r")

    def commands(self, lines: list[str]) -> list[int]:
        """Execute commands. Return the value that each returns; 0 for a command without a value."""
        values: list[int] = []
        for at in range(0, len(lines), AT_ONCE):
            some = lines[at : at + AT_ONCE]
            self.socket.sendall("".join(f"{line}\n" for line in some).encode())
            for line in some:
                words = self.answers.readline().split()
                if not words or words[0] != "OK":
                    raise Failure(f"QEMU answers '{' '.join(words)}' to '{line}'")
                values.append(int(words[1], 0) if len(words) > 1 else 0)
        return values

    def map_window(self) -> None:
        """Map the register window, and enable memory accesses and bus mastering."""
        for register, value in ((0x24, WINDOW_AT), (0x04, 6)):
            where = 1 << 31 | SLOT << 11 | register
            self.commands([f"outl 0xcf8 0x{where:x}", f"outl 0xcfc 0x{value:x}"])

    def said(self, what: str) -> set[int]:
        """Return the addresses that follow `what` in the device's log."""
        return {int(found, 16) for found in re.findall(rf"{what} (?:register )?0x([0-9a-f]+)", self.log.read_text())}

    def close(self) -> None:
        """End QEMU."""
        self.process.terminate()
        self.process.wait()
        self.socket.close()


def existing() -> dict[int, Register]:
    """Return the registers of the device, by number of the dword. Each dword of the register window is read, and each
    existing dword is written."""
    with tempfile.TemporaryDirectory() as folder:
        machine = _Machine(Path(folder))
        try:
            machine.map_window()
            values = machine.commands([f"readl 0x{WINDOW_AT + at:x}" for at in range(0, WINDOW_BYTES, 4)])
            # QEMU's log has a line for each read of a missing dword, and for each write of a read-only dword.
            missing = machine.said("read of register")
            there = [dword for dword in range(WINDOW_BYTES // 4) if dword not in missing]
            # Write back the value that was read from each dword, because this changes no state.
            machine.commands([f"writel 0x{WINDOW_AT + 4 * dword:x} 0x{values[dword]:x}" for dword in there])
            read_only = machine.said("read-only")
        finally:
            machine.close()
    return {dword: Register("", dword not in read_only, values[dword]) for dword in there}


def _differences(written: dict[int, Register], real: dict[int, Register]) -> Iterator[str]:
    for dword in sorted(written.keys() | real.keys()):
        said, found = written.get(dword), real.get(dword)
        if not said:
            yield f"0x{dword:05x} exists (reset 0x{real[dword].reset:x}), but is not in the document"
        elif not found:
            yield f"0x{dword:05x} ({said.name}) does not exist"
        elif said.writable != found.writable:
            yield f"0x{dword:05x} ({said.name}) is {'' if found.writable else 'not '}writable"
        elif said.reset is not None and said.reset != found.reset:
            yield f"0x{dword:05x} ({said.name}) is 0x{found.reset:x} after reset, the document says 0x{said.reset:x}"


def _properties(option: str, name: str) -> set[str]:
    """Return the properties of a device or an object, from QEMU's help."""
    command = [str(qemu.with_firmware()), option, f"{name},help"]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"^  (\S+)=<", said, re.MULTILINE))


def _names(title: str, text: str, head: str, real: set[str]) -> Case:
    """Compare the names in the document `text` with the `real` names. The document has the names in backquotes, in
    the first column of tables. `head` is the title of this column."""
    cells = [
        line.split("|")[1]
        for table in re.findall(rf"^\| {head} \|.*\n((?:\|.*\n)*)", text, re.MULTILINE)
        for line in table.splitlines()
    ]
    written = {name for cell in cells for name in re.findall("`([^`]+)`", cell)}
    wrong = [f"only in the document: {name}" for name in sorted(written - real)]
    wrong += [f"not in the document: {name}" for name in sorted(real - written)]
    return Case(f"registers: {title}", "failed" if wrong or not real else "passed", "\n".join(wrong))


def _others(text: str) -> list[Case]:
    """Compare the names in the document with those in the device: names of properties and of QMP commands. Properties
    that every PCI device has are left out. `text` is the text of the document."""
    pci = _properties("-device", "pci-testdev")
    schema = (QEMU_DEVICE / "qapi/vgpu-kfd.json").read_text()
    commands = set(re.findall(r"'command': '([^']+)'", schema))
    return [
        _names("properties", text, "property", _properties("-device", "vgpu-kfd") - pci),
        _names("properties of a hive", text, "property of `vgpu-hive`", _properties("-object", "vgpu-hive")),
        _names("QMP commands", text, "QMP command", commands),
    ]


def run(log: Path, _: Plan, _context: Context) -> list[Case]:
    """Run the suite."""
    text = DOCUMENT.read_text()
    written, real = documented(text), existing()
    lines = list(_differences(written, real))
    log.write_text(f"{len(written)} registers in the document, {len(real)} in the device\n" + "\n".join(lines) + "\n")
    few = "\n".join(lines[:40] + ([f"... {len(lines) - 40} more"] if len(lines) > 40 else []))
    return [Case("registers: registers", "failed" if lines else "passed", few), *_others(text)]
