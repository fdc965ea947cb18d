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
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Final, assert_never

from pyspark import SparkContext

from reconciler.base.digest import canonical_json
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import EmptySource, InlineSource, LogSource, Source, StoredSource
from reconciler.engine.spark.held_rows import Held
from reconciler.engine.spark.recently_used import RecentlyUsed
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
        self._kept: RecentlyUsed[Hashable, PlannedQuery] = RecentlyUsed(_MOST)
        self._asked: RecentlyUsed[int, bool] = RecentlyUsed(_ASKED)
        self._spark: SparkContext | None = None
        self._lock = Lock()

    @contextmanager
    def taken(self, spark: SparkContext, key: Hashable) -> Iterator[PlannedQuery | None]:
        """The query that a Spark has kept for a key, for one use; None: none is, or somebody else has it."""
        with self._lock:
            if self._spark is not spark:
                self._spark = spark
                self._kept.clear()
            found = self._kept.pop(key)
        yield found
        if found is not None:
            self._keep(spark, key, found)

    def keep(self, spark: SparkContext, key: Hashable, query: PlannedQuery) -> None:
        """Keep a query that has just run, if it was asked before and may run again."""
        asked = hash(key)
        with self._lock:
            was_asked = self._asked.get(asked) is not None
            self._asked.put(asked, True)
        if was_asked and query.keep():
            self._keep(spark, key, query)

    def _keep(self, spark: SparkContext, key: Hashable, query: PlannedQuery) -> None:
        with self._lock:
            if self._spark is spark:
                self._kept.put(key, query)


def key_of(wanted: ViewBuild, held: Mapping[StoredSource | LogSource, Held]) -> Hashable | None:
    """By what a query is known again, `held` being what it reads of stored relations. None: it is planned each time."""
    inline = [one for one in wanted.sources if isinstance(one, InlineSource)]
    bodies = [one.body for one in (*wanted.functions, *(one for source in inline for one in source.functions))]
    texts = [wanted.query, *(one.query for one in inline), *(one for one in bodies if isinstance(one, str))]
    if not all(isinstance(one, str) for one in bodies) or any(map(_MOMENT.search, texts)):
        return None
    read = tuple(_read(source, held) for source in wanted.sources)
    return wanted.query, wanted.column_names, wanted.functions, tuple(sorted(wanted.settings.items())), read


def _read(source: Source, held: Mapping[StoredSource | LogSource, Held]) -> Hashable:
    match source:
        case StoredSource():
            return source.name, source.added, source.spelled, canonical_json(held[source].schema)
        case LogSource():
            return source.name, canonical_json(held[source].schema)
        case EmptySource() | InlineSource():
            return source
        case _:
            assert_never(source)
