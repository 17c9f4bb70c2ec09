# SPDX-License-Identifier: GPL-2.0-or-later
"""Explains goals of the table of ./vgpu bench that are not reached: what limits the result, and where the profile or
the experiment is that shows it. The table prints the explanation of a missed goal, and names the missed goals that have
none. A goal that is reached needs no text.
"""

LONE_FAULT = (
    "Both wake one halted virtual CPU. The rest of a fault is code of the guest between the interrupt and the "
    "acknowledgement, which TCG emulates: 63 % of the sum of the hops in docs/pictures/runs/fault-path.txt. "
    "See docs/faults.md, 'A lone fault, hop by hop'."
)
# By the name and the unit of the result, and the name of its reference ("": the goal is for the result itself)
EXPLAINED: dict[tuple[str, str, str], str] = {
    ("fault-single", "us", "disk-read"): LONE_FAULT,
    ("fault-per-disk-read", "x", ""): LONE_FAULT,
}
