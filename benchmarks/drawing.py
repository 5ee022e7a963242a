"""Small SVG pictures: panels of lines and panels of bars, a few elements each. The same numbers give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

COLORS = ("#1b6ca8", "#d1495b", "#3d8c5c", "#edae49", "#7a5c99", "#8c8c8c", "#222222")
INK = COLORS[-1]
Points = Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """From values to pixels."""

    low: float
    high: float
    start: float
    stop: float
    log: bool

    def at(self, value: float) -> float:
        low, high, value = (math.log10(one) for one in (self.low, self.high, value)) if self.log else (*self[:2], value)
        return self.start + (self.stop - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Powers of ten, with 2 and 5 where there are few; or steps of 1, 2 or 5."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1, 2, 5) if len(decades) <= 3 else (1,)
            ticks = [factor * 10.0**power for power in decades[:: max(1, len(decades) // 4)] for factor in factors]
        else:
            rough = (self.high - self.low) / 4
            unit = 10.0 ** math.floor(math.log10(rough))
            step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
            ticks = [step * index for index in range(6)]
        return [tick for tick in ticks if self.low <= tick * (1 + 1e-9) and tick <= self.high * (1 + 1e-9)]


def label(tick: float) -> str:
    if tick >= 10_000 or (tick < 0.001 and tick):
        return "10" + str(round(math.log10(tick))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{tick:,.4g}" if tick < 1000 else f"{tick:,.0f}"


class Lines(NamedTuple):
    """One panel of lines: name -> points; a name that ends in "~" is dashed, an empty one is not drawn."""

    title: str
    x: str
    y: str
    series: dict[str, Points]
    x_log: bool = False
    y_log: bool = False
    x_ticks: Sequence[float] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    legend: bool = True


class Picture:
    """An SVG, an element a line."""

    def __init__(self, width: float, height: float) -> None:
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" font-family="DejaVu Sans, Arial, sans-serif" font-size="10" fill="none">',
            '<rect width="100%" height="100%" fill="white"/>',
        ]

    def __str__(self) -> str:
        return "\n".join([*self._lines, "</svg>\n"])

    def text(self, x: float, y: float, text: str, anchor: str = "start", turned: bool = False) -> None:
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}'
        self._lines.append(f'<text {at} fill="{INK}">{escape(text)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, color: str) -> None:
        size = f'width="{width:.1f}" height="{height:.1f}"'
        self._lines.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{color}"/>')

    def path(self, points: Points, color: str, dashed: bool = False, width: float = 1.4) -> None:
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._lines.append(f'<path d="M{way}" stroke="{color}" stroke-width="{width:g}"{dash}/>')

    def dots(self, points: Points, color: str) -> None:
        way = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
        self._lines.append(f'<path d="{way}" stroke="{color}" stroke-width="5" stroke-linecap="round"/>')

    def marks(self, points: Points, step: tuple[float, float]) -> None:
        way = "".join(f"M{x:.1f} {y:.1f}l{step[0]:g} {step[1]:g}" for x, y in points)
        self._lines.append(f'<path d="{way}" stroke="{INK}"/>')

    def legend(self, names: Sequence[str], x: float, y: float) -> None:
        """Names in their colours, from left to right."""
        for index, name in enumerate(names):
            self.bar(x, y - 8, 9, 9, COLORS[index])
            self.text(x + 13, y, name)
            x += 26 + 6.4 * len(name)

    def panel(self, one: Lines, left: float, top: float, width: float, height: float) -> None:
        """Draw lines into a box, with axes at its left and bottom edges."""
        xs, ys = ([point[axis] for points in one.series.values() for point in points] for axis in (0, 1))
        x_range = one.x_range or (min(xs) / 1.3 if one.x_log else 0, max(xs) * (1.3 if one.x_log else 1.05))
        y_range = one.y_range or (min(ys) / 1.5 if one.y_log else 0, max(ys) * (1.5 if one.y_log else 1.1))
        across = Axis(*x_range, left, left + width, one.x_log)
        up = Axis(*y_range, top + height, top, one.y_log)
        self.path([(left, top), (left, top + height), (left + width, top + height)], INK, width=1)
        x_ticks, y_ticks = one.x_ticks or across.ticks(), up.ticks()
        self.marks([(across.at(tick), top + height) for tick in x_ticks], (0, 4))
        self.marks([(left, up.at(tick)) for tick in y_ticks], (-4, 0))
        for tick in x_ticks if one.x else ():
            self.text(across.at(tick), top + height + 15, label(tick), "middle")
        for tick in y_ticks if one.y else ():
            self.text(left - 6, up.at(tick) + 3, label(tick), "end")
        self.text(left + width / 2, top - 6, one.title, "middle")
        self.text(left + width / 2, top + height + 29, one.x, "middle")
        self.text(left - 38, top + height / 2, one.y, "middle", turned=True)
        for index, (name, points) in enumerate(one.series.items()):
            if not points:
                continue
            drawn = [(across.at(x), up.at(y)) for x, y in points]
            self.path(drawn, COLORS[index], name.endswith("~"))
            self.dots(drawn, COLORS[index])
            if one.legend:
                down = top + height + 46 + 13 * index
                self.path([(left, down - 3), (left + 14, down - 3)], COLORS[index], name.endswith("~"))
                self.text(left + 19, down, name.rstrip("~"))

    def bars(
        self, rows: Iterable[tuple[str, Sequence[tuple[float, int]]]], unit: str, box: Sequence[float], low: float
    ) -> None:
        """Horizontal bars on a logarithmic axis: (label, its bars as (value, colour)); box: left, top, width."""
        (left, y, width), rows = box, list(rows)
        axis = Axis(low, max(value for _, values in rows for value, _ in values) * 1.1, left, left + width, True)
        top = y - 3
        for name, values in rows:
            self.text(left - 6, y + 6 * len(values) + 3, name, "end")
            for value, color in values:
                self.bar(left, y, max(1.0, axis.at(value) - left), 11, COLORS[color])
                shown = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                self.text(max(left + 1, axis.at(value)) + 4, y + 9, shown)
                y += 12
            y += 5
        self.path([(left, top), (left, y), (left + width, y)], INK, width=1)
        self.marks([(axis.at(tick), y) for tick in axis.ticks()], (0, 4))
        for tick in axis.ticks():
            self.text(axis.at(tick), y + 15, label(tick), "middle")
        self.text(left + width / 2, y + 29, unit, "middle")


def in_a_row(*panels: Lines) -> Picture:
    """Panels next to each other, their legends below."""
    picture = Picture(240 * len(panels) + 10, 250 + 13 * max(len(one.series) for one in panels))
    for column, one in enumerate(panels):
        picture.panel(one, 52 + 240 * column, 22, 170, 170)
    return picture
