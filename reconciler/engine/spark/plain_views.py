"""Which views and queries give the same rows however the rows that they read come to Spark, and how to give such a way up.

- The text of the query says nothing of where rows stand (files, partitions: `rand(1)`, `input_file_name()`); functions in
  Python that declare nothing are no such thing. Settings are those that are known (`plain_settings`).
- Where anything fails on such a way, Spark does it again in its own, and what fails then is told: nobody sees another
  message, and calls that failed are counted once.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.protocol import Selection, ViewBuild
from reconciler.engine.sources import InlineSource, PythonModule
from reconciler.engine.spark.plain_settings import are_plain

_TOLD_AT_ONCE: Final = frozenset({"X707", "X737"})
"""The end of Spark's process, and a result that is too large, whichever way it is computed."""
# Their values come from files and partitions, or from where a row stands in them; or nobody knows what they do.
_OF_PLACES: Final = re.compile(
    r"(?i)\b(rand|randn|random|randstr|uniform|shuffle|uuid|monotonically_increasing_id|spark_partition_id|input_file\w*"
    r"|_metadata|tablesample|reflect|try_reflect|java_method)\b"
)


class AskedOnce:
    """An answer about Spark as it was started, which stays as it is until another one is."""

    def __init__(self, ask: Callable[[SparkSession], bool]) -> None:
        self._ask = ask
        self._known: tuple[SparkContext, bool] | None = None

    def __call__(self, session: SparkSession) -> bool:
        asked = session.sparkContext
        if self._known is None or self._known[0] is not asked:
            self._known = (asked, self._ask(session))
        return self._known[1]


def is_plain(wanted: ViewBuild | Selection) -> bool:
    """Whether neither the texts of a view or query nor its settings say where rows stand."""
    texts = [wanted.sql if isinstance(wanted, Selection) else wanted.query]
    texts += [source.query for source in wanted.sources if isinstance(source, InlineSource)]
    texts += [function.body for function in wanted.functions if isinstance(function.body, str)]
    for source in wanted.sources:
        if isinstance(source, InlineSource):
            texts += [function.body for function in source.functions if isinstance(function.body, str)]
    return are_plain(wanted.settings) and not any(_OF_PLACES.search(text) for text in texts)


def is_determined(frame: DataFrame, wanted: ViewBuild) -> bool:
    """Whether Spark takes the view for one whose values do not depend on places, as far as functions declare it."""
    undeclared = (
        isinstance(one.body, PythonModule) and not one.deterministic
        for source in (wanted, *wanted.sources)
        if isinstance(source, ViewBuild | InlineSource)
        for one in source.functions
    )
    plan: Any = frame._jdf.queryExecution().analyzed()
    return bool(plan.deterministic()) or any(undeclared)


@contextmanager
def left_to_spark(is_any: Callable[[], bool]) -> Iterator[None]:
    """Failures inside are passed over, since Spark tries the same next: those of writing, and where `is_any` says so, all
    but those of `_TOLD_AT_ONCE`."""
    import pyarrow as pa

    try:
        yield
    except (RegistryError, OSError, pa.ArrowException):
        return
    except EngineError as error:
        if not is_any() or error.code in _TOLD_AT_ONCE:
            raise
