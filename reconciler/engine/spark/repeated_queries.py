"""Queries over few rows that Spark planned once, and that run again over other rows: to plan one takes Spark longer than to
run it.

Rules:
- A query is asked again where its texts, its settings and the columns of all that it reads are the same. Its rows may be
  others, if they are as few: what is planned for few rows does not run over many.
- It is kept from the second time on: many a text is asked once, as it says which moment a stream has come to.
- Spark's plan has the last word on whether it may run again (SmallQuery.java). What Spark puts into a query as it reads its
  text is looked for here: names of moments, and literals of dates and moments that are not said in full, to which Spark adds
  what is lacking of today's date. Functions in Python are others' business.
- To write and compile code for a query takes Spark as long as some twenty runs without code, and a run with code takes a
  third of one without. So a query has no code at first, and is planned once more, with code, when it has run so often that
  this pays. Then no other is for some seconds: no step shall take much longer for it.
- Who runs a query has it alone. Where that fails, the query is let go.
- Few are kept, and those that were used last; none of a Spark that has ended.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Final, assert_never

from pyspark import SparkContext

from reconciler.base.digest import canonical_json
from reconciler.base.recently_used import RecentlyUsed
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import EmptySource, InlineSource, LogSource, Source, StoredSource
from reconciler.engine.spark.held_rows import Held
from reconciler.engine.spark.small_rows import Code, PlannedQuery

_MOST: Final = 200
_ASKED: Final = 2_000
_WORTH_CODE: Final = 16
"""After so many runs code pays."""

_PAUSE: Final = 4.0
"""Seconds from one such planning to the next, which takes some tenths of a second."""

_MOMENT: Final = re.compile(
    r"(?is)(?<!\w)(now|today|tomorrow|yesterday|epoch)(?!\w)"
    r"|(?<!\w)(date|timestamp(_ltz|_ntz)?)(\s|/\*.*?\*/|--[^\n]*\n)*r?['\"](?!\s*\d{4,}-\d)"
)


class RepeatedQueries:
    """See the module. For any thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._next_code = 0.0
        self._kept: RecentlyUsed[Hashable, PlannedQuery] = RecentlyUsed(_MOST)
        self._asked: RecentlyUsed[int, bool] = RecentlyUsed(_ASKED)
        self._runs: RecentlyUsed[int, int] = RecentlyUsed(_ASKED)
        self._spark: SparkContext | None = None
        self._lock = Lock()

    @contextmanager
    def taken(self, spark: SparkContext, key: Hashable) -> Iterator[PlannedQuery | None]:
        """The query that a Spark has kept for a key, for one use; None: none is, somebody else has it, or it is worth
        code."""
        with self._lock:
            if self._spark is not spark:
                self._spark = spark
                self._kept.clear()
            found = self._kept.pop(key)
            if found is not None and found.code is Code.NONE:
                if self._is_worth_code(key):
                    found = None
                else:
                    self._runs.put(hash(key), (self._runs.get(hash(key)) or 0) + 1)
        yield found
        if found is not None:
            self._keep(spark, key, found)

    def _is_worth_code(self, key: Hashable) -> bool:
        """Whether a query that is interpreted ran often enough, and it is time to write code again."""
        return (self._runs.get(hash(key)) or 0) >= _WORTH_CODE and self._clock() >= self._next_code

    def wants_code(self, key: Hashable) -> bool:
        """Whether a query is to be planned with code now. Where that comes to nothing, it is tried again after as many
        runs."""
        with self._lock:
            if not self._is_worth_code(key):
                return False
            self._runs.put(hash(key), 0)
            self._next_code = self._clock() + _PAUSE
            return True

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


def key_of(wanted: ViewBuild, held: Mapping[StoredSource | LogSource, Held], code: Code) -> Hashable | None:
    """By what a query is known again, `held` being what it reads of stored relations, and `code` what such a query gets at
    first, by how many rows it reads. None: it is planned each time."""
    inline = [one for one in wanted.sources if isinstance(one, InlineSource)]
    bodies = [one.body for one in (*wanted.functions, *(one for source in inline for one in source.functions))]
    texts = [wanted.query, *(one.query for one in inline), *(one for one in bodies if isinstance(one, str))]
    if not all(isinstance(one, str) for one in bodies) or any(map(_MOMENT.search, texts)):
        return None
    read = tuple(_read(source, held) for source in wanted.sources)
    return code, wanted.query, wanted.column_names, wanted.functions, tuple(sorted(wanted.settings.items())), read


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
