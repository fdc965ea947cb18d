"""What was refused of the rows that came over HTTP for a table: how many records, and what was wrong with the last ones.

    <folder of the table's requests>.refused.json

The file is replaced as a whole, so that it can be read at any time. It outlasts the service, and goes with what is stored of
the pipeline.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json
from reconciler.base.moments import this_moment
from reconciler.environment.source import write_text

MOST_TOLD: Final = 100
"""Of the last ones."""
_LOCK: Final = Lock()


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record that was refused: when, its number among the refused ones of the table, and why."""

    timestamp: str
    index: int
    message: str


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """How many records of a table were refused, and the last ones."""

    count: int = 0
    last: tuple[RefusedRecord, ...] = ()

    def to_json(self) -> list[JsonObject]:
        """The last ones as the client knows errors."""
        return [{**asdict(one), "tag": None} for one in self.last]


def read_refused(folder: Path) -> RefusedRows:
    """What was refused for the table whose requests stand in a folder."""
    try:
        return from_json(RefusedRows, json.loads(_place(folder).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return RefusedRows()


def tell_refused(folder: Path, count: int, last: Sequence[str]) -> None:
    """Count so many records as refused, of which the last ones are told."""
    with _LOCK:
        known, now = read_refused(folder), this_moment()
        whole = known.count + count
        new = [RefusedRecord(now, number, text) for number, text in enumerate(last, start=whole - len(last) + 1)]
        after = RefusedRows(whole, (*known.last, *new)[-MOST_TOLD:])
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_text(_place(folder), json.dumps(asdict(after)))


def _place(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.refused.json")
