"""Lines of CSV as rows, where there is no doubt what they say: `engine.spark.ingest.formats` has the rules for all others.

A line is taken where each of its fields is either free of quotes, or begins and ends with one and has within it only doubled
ones; where it is UTF-8 and has as many fields as its header. A header is taken whose names are letters, digits, `_`, blanks
and points, none of them twice. A file that begins with a byte order mark is not, nor one with a setting that is not known.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.engine.arrow.ingest.incoming import Change, TableRows
from reconciler.engine.arrow.ingest.json_records import text_of
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.protocol import TableTarget
from reconciler.engine.texts import FOR_NOTHING

_SETTINGS: Final = frozenset({"header", "delimiter", "null_value"})
_DELIMITERS: Final = frozenset(",;|\t")
_NAME: Final = re.compile(r"(?!reconcile )[A-Za-z_][A-Za-z0-9_ .]*")
_QUOTED: Final = '"(?:[^"]|"")*"'
_BYTE_ORDER_MARK: Final = "\ufeff"


class Csv:
    """Reads files of these settings into a table. `target` bears the names of the source."""

    def __init__(self, config: JsonObject, rows: TableRows, target: TableTarget) -> None:
        self._delimiter = str(config.get("delimiter", ","))
        self._has_header = bool(config.get("header", True))
        if not set(config) <= _SETTINGS or config.get("null_value") or self._delimiter not in _DELIMITERS:
            raise NotSure(config)
        mark = re.escape(self._delimiter)
        self._field = re.compile(rf'({_QUOTED}|[^"{mark}]*)({mark}|$)')
        self._rows, self._target = rows, target
        self._missing = set[str]()

    def changes_of(self, lines: Iterable[bytes]) -> Iterator[Change]:
        """The rows of one file, in their order."""
        names: Sequence[str] | None = None if self._has_header else [column.name for column in self._target.columns]
        for text in map(text_of, lines):
            if not text.strip(" "):
                continue
            if "\0" in text or FOR_NOTHING in text or text.startswith(_BYTE_ORDER_MARK) or text.isspace():
                raise NotSure(text)
            if names is None:
                names = self._header(text)
                self._missing |= set(self._rows.missing(names))
            else:
                yield self._rows.of_line(names, self._values(text, len(names)))

    def missing(self) -> tuple[str, ...]:
        """The fields that columns take and that the header of some file lacks."""
        return tuple(sorted(self._missing))

    def _header(self, text: str) -> Sequence[str]:
        names = text.split(self._delimiter)
        if not all(_NAME.fullmatch(name) for name in names) or len({name.lower() for name in names}) < len(names):
            raise NotSure(text)
        return names

    def _values(self, text: str, width: int) -> list[str | None]:
        values = self._quoted(text) if '"' in text else [part or None for part in text.split(self._delimiter)]
        if len(values) != width:
            raise NotSure(text)
        return values

    def _quoted(self, text: str) -> list[str | None]:
        values: list[str | None] = []
        place = 0
        while True:
            found = self._field.match(text, place)
            if found is None:
                raise NotSure(text)
            part = found[1]
            values.append(part[1:-1].replace('""', '"') if part.startswith('"') else part or None)
            place = found.end()
            if not found[2]:
                return values
