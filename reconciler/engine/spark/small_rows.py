"""Few rows brought to Spark and back as Arrow (SmallRows.java): as files of this machine's, on which Spark's driver runs,
too. py4j would take them in a call as well, but where an answer is longer than some kilobytes it waits for 40 ms.
"""

import json
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.delta.arrow_rows import arrow_schema
from reconciler.engine.spark.session import has_class

if TYPE_CHECKING:
    import pyarrow as pa

_CLASSES: Final = ("reconciler.SmallRows", "reconciler.SmallQuery")
MOST_AT_ONCE: Final = 20_000
"""Rows: over so few, a query that is kept runs without a job of Spark's."""


def can_bring_rows(session: SparkSession) -> bool:
    """Whether Spark has the classes for it: under `spark-submit`, jars are others' business."""
    return all(has_class(session.sparkContext._gateway, name) for name in _CLASSES)


class Code(Enum):
    """What code Spark writes for a query over few rows, and compiles: none, that of its plan, or that of the small parts as
    well that it makes each time that it runs. To write these anew each time takes longer than few rows do: so `ALL` is for
    many rows (more than MOST_AT_ONCE), and where a pipeline's settings say what code there is."""

    NONE = "none"
    OF_THE_PLAN = "of the plan"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows that were brought to Spark: Java's object, and the frame of one partition that has them."""

    given: Any
    frame: DataFrame


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query over relations: Java's object. `schema` are the columns of what it gives, as Delta has them; `code` is
    what Spark has written for it."""

    query: Any
    schema: JsonObject
    code: Code

    def collected(self, most_rows: int, most_bytes: int) -> "pa.Table | None":
        """What it gives of the rows of its relations, once: as `collected`."""
        with _file() as answer:
            return _read(answer, self.schema) if self.query.collect(answer, most_rows, most_bytes) else None

    def collected_of(self, relations: Sequence["pa.Table"], most_rows: int, most_bytes: int) -> "pa.Table | None":
        """What it gives where its relations have these rows. Of few it is computed without a job of Spark's, which could be
        stopped."""
        at_once = sum(rows.num_rows for rows in relations) <= MOST_AT_ONCE
        with _file() as given, _file() as answer:
            _write(given, relations)
            is_done = self.query.repeat(given, answer, most_rows, most_bytes, at_once)
            return _read(answer, self.schema) if is_done else None

    def has_loops(self) -> bool:
        """Whether it compares all rows of relations with all rows of others."""
        return bool(self.query.hasLoops())

    def keep(self) -> bool:
        """Whether it may run again. Then it has let its rows go. One whose plan can't be written down may not."""
        try:
            return bool(self.query.keep(self.code is not Code.ALL))
        except Py4JJavaError:
            return False


def planned(frame: DataFrame, schema: JsonObject, relations: Sequence[Relation], code: Code) -> PlannedQuery:
    """The query of a frame that reads nothing but relations."""
    jvm: Any = frame.sparkSession._jvm
    query = jvm.reconciler.SmallQuery.of(frame._jdf, code is Code.OF_THE_PLAN)
    for one in relations:
        query.add(one.given)
    return PlannedQuery(query, schema, code)


def relation_of(session: SparkSession, schema: JsonObject, rows: "pa.Table") -> Relation:
    """Rows, in the columns of a schema of Delta, as a relation."""
    with _file() as name:
        _write(name, [rows])
        given = _java(session).given(session._jsparkSession, name, json.dumps(schema))
        return Relation(given, DataFrame(given.frame(session._jsparkSession), session))


def frame_of(session: SparkSession, schema: JsonObject, rows: "pa.Table") -> DataFrame:
    """Rows, in the columns of a schema of Delta, as a frame of one partition."""
    return relation_of(session, schema, rows).frame


def collected(frame: DataFrame, schema: JsonObject, most_rows: int, most_bytes: int) -> "pa.Table | None":
    """The rows of a frame, whose schema as Delta has it is this one. None where they are more than `most_rows`, or larger
    than `most_bytes` as Spark holds them: then not all of it was computed, and little of it was kept."""
    with _file() as name:
        if not _java(frame.sparkSession).collect(frame._jdf, name, most_rows, most_bytes):
            return None
        return _read(name, schema)


def _write(name: str, relations: Sequence["pa.Table"]) -> None:
    """Relations as streams of Arrow, one after the other."""
    import pyarrow as pa

    with pa.OSFile(name, "wb") as file:
        for rows in relations:
            with pa.ipc.new_stream(file, rows.schema) as stream:
                stream.write_table(rows.combine_chunks())


def _read(name: str, schema: JsonObject) -> "pa.Table":
    import pyarrow as pa

    columns = arrow_schema(schema)
    with open(name, "rb") as file:
        text = file.read()
    batches = []
    start = 0
    while start < len(text):
        (length,) = struct.unpack_from(">i", text, start)
        start += 4 + length
        batches.append(pa.ipc.read_record_batch(pa.py_buffer(text[start - length : start]), columns))
    return pa.Table.from_batches(batches, columns)


@contextmanager
def _file() -> Iterator[str]:
    """The name of a file that only this user may read, while it is needed."""
    handle, name = tempfile.mkstemp(prefix="reconcile-")
    os.close(handle)
    try:
        yield name
    finally:
        os.unlink(name)


def _java(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.reconciler.SmallRows
