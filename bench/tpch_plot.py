"""The plot of `docs/incremental.md`: what a step costs against how much data there is, view by view.

    python -m bench.tpch_plot

It draws what stands in bench/results/tpch.json: for each view of TPC-H a line from the smaller scale to the larger one, of
CPU seconds on a logarithmic axis, once from its query and once by what changed; thick lines are all views together. One more
is Spark's own materialised views, all together.
"""

import json
from collections.abc import Iterator, Mapping
from math import log10
from pathlib import Path
from typing import Any, Final

from bench.plan import ROOT
from bench.tpch import RESULTS

PICTURE: Final = ROOT / "docs" / "pictures" / "tpch-cost.svg"

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 470, 30, 350
_LEAST, _MOST = 0.01, 1000.0
_TICKS: Final = (0.1, 1, 10, 100)
_KINDS: Final = (("query", "#b3541e", "from their queries"), ("changes", "#1f5fa8", "by what changed"))
_OF_SPARK: Final = "#666666"
_SUMS: Final = ("views", "step")


def picture(results: Mapping[str, Any]) -> str:
    """The plot as SVG."""
    smaller, larger = sorted(results["scales"], key=float)[:: len(results["scales"]) - 1]
    before, after = results["scales"][smaller], results["scales"][larger]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        *_axes(smaller, larger),
    ]
    for kind, color, said in _KINDS:
        views = [name for name in before if name not in _SUMS and before[name]["query"] > 0]
        lines += [_line(before[name][kind], after[name][kind], color, 1, 0.45) for name in views]
        lines.append(_line(before["views"][kind], after["views"][kind], color, 4, 1))
        lines += _said(after["views"][kind], color, f"all views, {said}")
    by_spark = [results.get("spark", {}).get(scale, {}).get("views") for scale in (smaller, larger)]
    if None not in by_spark:
        lines += [_line(*by_spark, _OF_SPARK, 4, 1), *_said(by_spark[1], _OF_SPARK, "Spark's materialised views")]
    return "\n".join((*lines, "</svg>", ""))


def _axes(smaller: str, larger: str) -> Iterator[str]:
    for tick in _TICKS:
        at = _height(tick)
        yield f'<path d="M{_LEFT} {at:.1f}H{_RIGHT}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#333333">{tick:g} s</text>'
    for at, scale in ((_LEFT, smaller), (_RIGHT, larger)):
        rows = round(float(scale) * 6_000_000)
        yield f'<path d="M{at} {_TOP}V{_BOTTOM}" stroke="#999999"/>'
        yield f'<text x="{at}" y="{_BOTTOM + 20}" text-anchor="middle" fill="#333333">{rows:,} lineitems</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 12}" fill="#333333">CPU of a step of 75 orders; thin lines: views of TPC-H</text>'


def _said(seconds: float, color: str, words: str) -> Iterator[str]:
    """At the end of a line, in words what it is."""
    end = _height(seconds)
    yield f'<text x="{_RIGHT + 10}" y="{end - 4:.1f}" fill="{color}">{words}:</text>'
    yield f'<text x="{_RIGHT + 10}" y="{end + 12:.1f}" fill="{color}">{seconds:.1f} s</text>'


def _line(before: float, after: float, color: str, width: int, opacity: float) -> str:
    path = f"M{_LEFT} {_height(before):.1f}L{_RIGHT} {_height(after):.1f}"
    return f'<path d="{path}" stroke="{color}" stroke-width="{width}" stroke-opacity="{opacity}"/>'


def _height(seconds: float) -> float:
    share = log10(max(_LEAST, min(_MOST, seconds)) / _LEAST) / log10(_MOST / _LEAST)
    return _BOTTOM - share * (_BOTTOM - _TOP)


def main() -> None:
    """Draw it."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(json.loads(Path(RESULTS).read_text())))


if __name__ == "__main__":
    main()
