"""Metrics of a pipeline by the client's names, beside those of reconciler: rows that came, that were processed, that wait.
And all metrics as JSON."""

import re
from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.digest import JsonObject

_ROWS: Final = (
    ("records_input_total", "counter", "total_input_records", "Rows that came in."),
    ("records_processed_total", "counter", "total_processed_records", "Rows that were processed."),
    ("records_input_buffered", "gauge", "buffered_input_records", "Rows that came in, and were not processed yet."),
)
_SAMPLE: Final = re.compile(r"(?P<name>[^{\s]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def rows_text(pipeline: str, figures: Mapping[str, Any]) -> str:
    """The metrics of rows as Prometheus text. `figures` are those of `/stats`, `global_metrics`."""
    return "".join(
        f'# HELP {name} {words}\n# TYPE {name} {kind}\n{name}{{pipeline="{pipeline}"}} {figures[key]}\n'
        for name, kind, key, words in _ROWS
    )


def metrics_json(text: str) -> list[JsonObject]:
    """Prometheus text as JSON: of each metric its `key`, `type` and `values`."""
    found: dict[str, JsonObject] = {}
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if line.startswith("# TYPE"):
            found[words[2]] = {"key": words[2], "type": words[3], "values": []}
        elif (sample := _SAMPLE.fullmatch(line)) and not line.startswith("#"):
            value = {"labels": dict(_LABEL.findall(sample["labels"] or "")), "value": float(sample["value"])}
            found[sample["name"]]["values"].append(value)
    return [*found.values()]
