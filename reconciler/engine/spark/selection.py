"""Ad-hoc SELECT: run it over pinned sources and bring its rows here (`answers`).

Tables are read by lists of their files where that is the same (`pinned_files`): to replay their logs takes Spark longer than
most queries. A query that fails so is run again as ever, and what it fails with then is told.

Timestamps come as datetimes with time zone UTC, whatever the machine's zone is: pyspark would turn them into naive
datetimes of the machine's own zone.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import TimestampType

from reconciler.engine.protocol import Rows, Selection
from reconciler.engine.spark.answers import can_write_files, rows_of
from reconciler.engine.spark.commit_log import columns_of
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions
from reconciler.engine.spark.pinned_files import SETTINGS, PinnedFrames
from reconciler.engine.spark.plain_settings import is_plain_session
from reconciler.engine.spark.plain_views import AskedOnce, is_plain, left_to_spark
from reconciler.engine.spark.views import StoredFrame, isolated, register


class Selections:
    """See the module; what it remembers of Spark from call to call."""

    def __init__(self) -> None:
        self._is_plain = AskedOnce(is_plain_session)
        self._by_files = AskedOnce(can_write_files)
        self._interruptions = 0

    def interrupted(self) -> None:
        """What runs is cancelled, and is not run again."""
        self._interruptions += 1

    def select(self, sessions: Sessions, selection: Selection) -> Rows:
        """Run a SELECT."""
        if is_plain(selection) and self._is_plain(sessions()):
            frames, before = PinnedFrames(), self._interruptions
            with left_to_spark(lambda: frames.has_any and self._interruptions == before):
                return self._select(sessions, selection, SETTINGS, frames)
        return self._select(sessions, selection, {}, None)

    def _select(
        self, sessions: Sessions, selection: Selection, settings: Mapping[str, str], frames: StoredFrame | None
    ) -> Rows:
        session = isolated(sessions, {**selection.settings, **settings})
        register(session, selection.sources, selection.functions, stored=frames)
        with translated("select"):
            frame = session.sql(selection.sql)
            instants = [index for index, part in enumerate(frame.schema.fields) if isinstance(part.dataType, TimestampType)]
            # What is analysed keeps the zone it was analysed with; the casts added from here on use UTC.
            session.conf.set("spark.sql.session.timeZone", "UTC")
            plain, by_files = _without_zone(frame, instants), self._by_files(session)
            rows = rows_of(plain, lambda row: _in_utc(row, instants), by_files=by_files)
        return Rows(columns_of(frame.schema), rows)


def _without_zone(frame: DataFrame, instants: Sequence[int]) -> DataFrame:
    if not instants:
        return frame
    plain = frame.toDF(*(f"value {index}" for index in range(len(frame.columns))))
    return plain.select(
        *(
            f.col(f"`{name}`").cast("timestamp_ntz").alias(name) if index in instants else f.col(f"`{name}`")
            for index, name in enumerate(plain.columns)
        )
    )


def _in_utc(row: Sequence[Any], instants: Sequence[int]) -> tuple[Any, ...]:
    values = list(row)
    for index in instants:
        if values[index] is not None:
            values[index] = values[index].replace(tzinfo=datetime.UTC)
    return tuple(values)
