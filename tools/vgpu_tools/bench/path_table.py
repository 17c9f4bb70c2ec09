# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the breakdown of a lone fault as a table, alone or beside an earlier one."""

import io

from rich.console import Console
from rich.table import Table

from vgpu_tools.bench.table import number
from vgpu_tools.trace.path_report import Hop, Report, Spread, apart, label, wakes
from vgpu_tools.trace.stations import BY_KEY, STATIONS

WIDTH = 150  # columns of a table in a file


def _range(one: Spread) -> str:
    return f"{number(one.low)} … {number(one.high)}"


def _keys(one: Report, before: Report | None) -> list[str]:
    """Return the keys of the hops of both reports, in the order of the path."""
    found = {hop.key for shown in (one, before) if shown for hop in shown.hops}
    known = [station.key for station in STATIONS if station.key in found]
    return known + sorted(found - set(known))


def _hops(one: Report) -> Table:
    table = Table(title="a lone fault, hop by hop (us)", title_justify="left")
    table.add_column("until", no_wrap=True)
    for title in ("median", "10 to 90 %", "share"):
        table.add_column(title, justify="right")
    table.add_column("wakes: part of the faults")
    table.add_column("under KVM (expected)")
    for hop in one.hops:
        kvm = BY_KEY[hop.key].kvm if hop.key in BY_KEY else ""
        some = f" ({hop.n} of {one.path.n})" if hop.n < one.path.n else ""
        table.add_row(label(hop.key) + some, number(hop.median), _range(hop), f"{hop.share:.0f} %", wakes(hop), kvm)
    table.add_section()
    table.add_row("sum of the medians", number(sum(hop.median for hop in one.hops)), "", "", "", "")
    table.add_row("raise to replay", number(one.path.median), _range(one.path), "", "", "")
    return table


def _compared(one: Report, before: Report) -> Table:
    table = Table(title=f"before ({before.commit}) and after (us)", title_justify="left")
    table.add_column("until", no_wrap=True)
    for title in ("before", "10 to 90 %", "after", "10 to 90 %", "difference"):
        table.add_column(title, justify="right")
    table.add_column("wakes, before")
    table.add_column("wakes, after")
    old, new = ({hop.key: hop for hop in shown.hops} for shown in (before, one))
    for key in _keys(one, before):
        table.add_row(label(key), *_pair(old.get(key), new.get(key)), *_woken(old.get(key), new.get(key)))
    table.add_section()
    for name, was, now in (
        ("raise to replay", before.path, one.path),
        ("lone fault, untraced", before.untraced, one.untraced),
        ("lone fault, traced", before.traced, one.traced),
    ):
        table.add_row(name, *_pair(was, now), "", "")
    return table


def _woken(*both: Hop | None) -> list[str]:
    return [wakes(hop) if hop else "—" for hop in both]


def _pair(old: Spread | None, new: Spread | None) -> list[str]:
    """Return the cells of two times. "*" marks a difference beyond the spread."""
    cells = [text for one in (old, new) for text in ((number(one.median), _range(one)) if one else ("—", ""))]
    difference = (new.median if new else 0.0) - (old.median if old else 0.0)
    mark = "*" if not old or not new or apart(old, new) else " "
    return [*cells, f"{difference:+.1f} {mark}"]


def _facts(one: Report) -> list[str]:
    lines = [
        f"lone fault by the engine's clock, untraced: {one.untraced.text()}",
        f"lone fault by the engine's clock, traced: {one.traced.text()}, {one.inflation:.2f} times as long",
    ]
    for name, anchor in one.anchors.items():
        ratio = one.untraced.median / anchor.median if anchor.median else 0.0
        lines.append(f"{name}: {anchor.text()}; an untraced fault takes {ratio:.2f} of them")
    if found := one.blocks:
        text = f"{found.median:.2f} of them (10 to 90 %: {found.low:.2f} to {found.high:.2f}, {found.n} blocks)"
        lines.append(f"null disk reads, measured in turn with the faults: a block of untraced faults takes {text}")
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(one.dropped.items())) or "none"
    lines.append(f"faults in the table: {one.path.n}; left out: {dropped}")
    if one.early:
        lines.append(f"replayed by an invalidation, before the acknowledgement: {one.early}")
    lines.append(f"clocks of host and guest joined within {one.clock_us:.1f} us; only two hops change the clock")
    lines += [f"inconsistent: {doubt}" for doubt in one.doubts]
    lines.append(f"{one.command} {one.options}".rstrip() + f", {one.date}, commit {one.commit}, {one.machine}")
    return lines


def show(one: Report, before: Report | None, console: Console) -> None:
    """Print the table of a report and, if `before` is given, the comparison with it."""
    console.print(_hops(one))
    if before:
        console.print(_compared(one, before))
    for line in _facts(one):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def text(one: Report, before: Report | None) -> str:
    """Return the tables as text of fixed width, for a file."""
    output = io.StringIO()
    show(one, before, Console(file=output, width=WIDTH))
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"
