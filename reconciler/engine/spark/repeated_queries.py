"""Queries over few rows that Spark planned once, and that run again over other rows: to plan one takes Spark longer than to
run it.

Rules:
- A query is asked again where its texts, its settings and the columns of all that it reads are the same. Its rows may be
  others.
- It is kept from the second time on: many a text is asked once, as it says which moment a stream has come to.
- Spark's plan has the last word on whether it may run again (SmallRows.java). What Spark puts into a query as it reads its
  text is looked for here: names of moments, and literals of dates and moments that are not said in full, to which Spark adds
  what is lacking of today's date. Functions in Python are others' business.
- Who runs a query has it alone. Where that fails, the query is let go.
- Few are kept, and those that were used last; none of a Spark that has ended.
"""

import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from pyspark import SparkContext

from reconciler.base.digest import canonical_json
from reconciler.engine.protocol import FunctionSource, InlineSource, LogSource, StoredSource, ViewBuild
from reconciler.engine.spark.held_rows import Held
from reconciler.engine.spark.small_rows import PlannedQuery

_MOST: Final = 200
_ASKED: Final = 2_000
_MOMENT: Final = re.compile(
    r"(?is)(?<!\w)(now|today|tomorrow|yesterday|epoch)(?!\w)"
    r"|(?<!\w)(date|timestamp(_ltz|_ntz)?)(\s|/\*.*?\*/|--[^\n]*\n)*r?['\"](?!\s*\d{4,}-\d)"
)


class RepeatedQueries:
    """See the module. For any thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, PlannedQuery] = OrderedDict()
        self._asked: OrderedDict[int, None] = OrderedDict()
        self._spark: SparkContext | None = None
        self._lock = Lock()

    @contextmanager
    def taken(self, spark: SparkContext, key: Hashable) -> Iterator[PlannedQuery | None]:
        """The query that a Spark has kept for a key, for one use; None: none is, or somebody else has it."""
        with self._lock:
            if self._spark is not spark:
                self._spark = spark
                self._kept.clear()
            found = self._kept.pop(key, None)
        yield found
        if found is not None:
            self._keep(spark, key, found)

    def keep(self, spark: SparkContext, key: Hashable, query: PlannedQuery) -> None:
        """Keep a query that has just run, if it was asked before and may run again."""
        asked = hash(key)
        with self._lock:
            was_asked = asked in self._asked
            self._asked[asked] = None
            self._asked.move_to_end(asked)
            while len(self._asked) > _ASKED:
                self._asked.popitem(last=False)
        if was_asked and query.keep():
            self._keep(spark, key, query)

    def _keep(self, spark: SparkContext, key: Hashable, query: PlannedQuery) -> None:
        with self._lock:
            if self._spark is not spark:
                return
            self._kept[key] = query
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)


def key_of(wanted: ViewBuild, held: Sequence[tuple[StoredSource | LogSource, Held]]) -> Hashable | None:
    """By what a query is known again, `held` being what it reads of stored relations. None: it is planned each time."""
    functions = [*wanted.functions]
    for source in wanted.sources:
        functions += source.functions if isinstance(source, InlineSource) else ()
    texts = [wanted.query, *(one.query for one in wanted.sources if isinstance(one, InlineSource))]
    texts += [one.body for one in functions if isinstance(one.body, str)]
    if not all(isinstance(one.body, str) for one in functions) or any(map(_MOMENT.search, texts)):
        return None
    rows = {source: canonical_json(one.schema) for source, one in held}
    read: list[Any] = []
    for source in wanted.sources:
        match source:
            case StoredSource():
                read.append((source.name, source.added, source.spelled, rows[source]))
            case LogSource():
                read.append((source.name, rows[source]))
            case _:
                read.append(source)
    settings = tuple(sorted(wanted.settings.items()))
    columns: tuple[str, ...] = wanted.column_names
    own: tuple[FunctionSource, ...] = wanted.functions
    return (wanted.query, columns, own, settings, tuple(read))
