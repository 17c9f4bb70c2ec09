# SPDX-License-Identifier: GPL-2.0-or-later
"""Fits an exponent to the points of a curve, and compares the exponent with the curve's bar.

The exponent is the slope of the points on logarithmic axes: 1 for a cost that grows as n, 2 for n². A bar is a law,
such as "n log n". To compare, the values are divided by the logarithmic factor of the law first, so that a cost that
follows the law exactly has the law's power as its exponent.

A constant part of the cost hides growth at small n. Therefore the exponent of the last points must reach the bar, too.
A noisy point must not decide. Therefore the comparison is repeated without each of the points.
"""

import math
from collections.abc import Sequence

from pydantic import BaseModel

MIN_POINTS = 3
TAIL_POINTS = 3  # last points that are also judged alone
# The factor by which a cost may grow more than its law, from the first to the last point, because measurements vary.
# The same factor allows a larger exponent if the points span less.
TOLERANCE = 1.5
# The power of n in each law, and whether the law also has the factor log n
LAWS = {"n log n": (1.0, True), "n": (1.0, False), "log n": (0.0, True)}

Pairs = Sequence[tuple[float, float]]  # n, value


class Fit(BaseModel):
    """An exponent with its standard error, and how it compares with the law.

    `beyond` and `tail` are exponents after the division by the law's log n, if the law has it: of all points, and of
    the last TAIL_POINTS points. `sure` is false if `met` would be the opposite without one of the points.
    """

    exponent: float
    error: float
    beyond: float
    tail: float
    met: bool
    sure: bool


def logarithm(n: float) -> float:
    """Return the factor log n of a law. It is 1 for n = 1, so that a law never gives a cost of zero."""
    return 1.0 + math.log2(n)


def slope(pairs: Pairs) -> tuple[float, float]:
    """Return the slope of the least-squares line through points on logarithmic axes, and the slope's standard error.
    The error of two points is 0. Raises ValueError if there are not two different n, or if a number is not above
    zero."""
    xs = [math.log(n) for n, _ in pairs]
    ys = [math.log(value) for _, value in pairs]
    if len(set(xs)) < 2:
        raise ValueError("a slope needs two different n")
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    square = sum((x - x_mean) ** 2 for x in xs)
    found = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / square
    rest = sum((y - y_mean - found * (x - x_mean)) ** 2 for x, y in zip(xs, ys, strict=True))
    free = len(xs) - 2
    return found, math.sqrt(rest / free / square) if free > 0 else 0.0


def limit(pairs: Pairs, power: float) -> float:
    """Return the largest exponent that meets a law with this power of n. `pairs` are sorted by n."""
    return power + math.log(TOLERANCE) / math.log(pairs[-1][0] / pairs[0][0])


def _meets(divided: Pairs, power: float) -> bool:
    tail = divided[-TAIL_POINTS:]
    return slope(divided)[0] <= limit(divided, power) and slope(tail)[0] <= limit(tail, power)


def fit(pairs: Pairs, law: str) -> Fit | None:
    """Return the exponent of the points, judged by a law, a key of LAWS. Points whose n or value is not above zero are
    left out. Return None if fewer than MIN_POINTS points are left, or if they have the same n."""
    usable = sorted((n, value) for n, value in pairs if n > 0 and value > 0)
    if len({n for n, _ in usable}) < MIN_POINTS:
        return None
    power, has_log = LAWS[law]
    exponent, error = slope(usable)
    divided = [(n, value / logarithm(n) if has_log else value) for n, value in usable]
    met = _meets(divided, power)
    return Fit(
        exponent=exponent,
        error=error,
        beyond=slope(divided)[0],
        tail=slope(divided[-TAIL_POINTS:])[0],
        met=met,
        sure=all(_meets(divided[:i] + divided[i + 1 :], power) == met for i in range(len(divided))),
    )
