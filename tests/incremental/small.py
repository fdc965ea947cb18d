"""An engine without Spark that computes what is asked: queries over integers and texts, by SQLite, which adds integers up as
Spark does. So what views hold after steps is what their queries give, without Java."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType
from reconciler.engine.sources import FunctionSource, Source
from reconciler.incremental.kept_aggregate import KEPT
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents
from tests.incremental.queries import Row

_ALL_BUT_ONE: Final = re.compile(r"SELECT \* EXCEPT \(`(\w+)`\) FROM `(\w+)`")
_OF_TWO: Final = re.compile(r"COUNT\((\w+)\.v, \w+\.g\)")


class Small:
    """Computes queries over rows in memory."""

    failing = sqlite3.Error
    holds_back = True

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.create_function("if", 3, lambda condition, one, other: one if condition else other)
        self._connection.create_function("raise_error", 1, self._raise)

    def _raise(self, message: str) -> None:
        raise ValueError(message)

    def give(self, name: str, columns: Mapping[str, str | None], rows: Sequence[Row]) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS `{name}`")
        self._connection.execute(f"CREATE TABLE `{name}` ({', '.join(f'`{one}`' for one in columns)})")
        marks = ", ".join("?" for _ in columns)
        self._connection.executemany(f"INSERT INTO `{name}` VALUES ({marks})", rows)

    def run(self, query: str) -> tuple[Any, list[Row]]:
        query = _ALL_BUT_ONE.sub(lambda match: self._without(match[2], match[1]), query)
        spelled = _OF_TWO.sub(r"COUNT(\1.v + length(\1.g))", query.replace("<=>", "IS").replace("AS string)", "AS TEXT)"))
        cursor = self._connection.execute(spelled)
        return [one[0] for one in cursor.description], cursor.fetchall()

    def _without(self, table: str, column: str) -> str:
        """SQLite has no `* EXCEPT`."""
        names = [row[1] for row in self._connection.execute(f"PRAGMA table_info(`{table}`)")]
        return f"SELECT {', '.join(f'`{name}`' for name in names if name != column)} FROM `{table}`"

    def keep(self, query: str, names: Sequence[str]) -> Mapping[str, str]:
        found, rows = self.run(query)
        types = {name: "DOUBLE" if name.startswith("mean_") else "BIGINT" for name in found}
        self.give(KEPT, dict(types), rows)
        return types


@dataclass(slots=True)
class ComputingEngine(RecordingEngine):
    """The recording engine, whose views hold what their queries give. `texts` and `doubles` are the columns that have other
    types than BIGINT. A query that has one of `refuses` in it fails."""

    texts: frozenset[str] = frozenset()
    doubles: frozenset[str] = frozenset()
    refuses: list[str] = field(default_factory=list)

    def _digest_of(
        self,
        query: str,
        column_names: Sequence[str],
        sources: Sequence[Source],
        functions: Sequence[FunctionSource] = (),
    ) -> Contents:
        if any(one in query for one in self.refuses):
            raise EngineError("X700", "the query fails")
        small = Small()
        for source in sources:
            contents = self._contents(source)
            small.give(source.name, {column.name: column.type for column in contents.columns}, contents.rows)
        try:
            names, rows = small.run(query)
        except sqlite3.Error as error:
            raise EngineError("X700", str(error)) from error
        values = zip(*rows, strict=True) if rows else [()] * len(names)
        columns = tuple(map(self._column, column_names or names, values))
        return Contents(columns, tuple(rows))

    def _column(self, name: str, values: Sequence[Any]) -> ColumnType:
        known = [value for value in values if value is not None]
        is_text = isinstance(known[0], str) if known and name not in self.doubles else name in self.texts
        return ColumnType(name, "string" if is_text else self._kind(name))

    def _kind(self, name: str) -> str:
        return "double" if name in self.doubles or name.startswith("mean_") else "bigint"
