"""The dead letters of a stream: rows that came too late for it, each with the input that it came by and why.

They are staged by a query, as rows that a stream gives, and added to the pipeline's table of dead letters
(`engine.dead_letters`) in one commit, whose transaction is that of the stream and the step: so they are there once, however
often the step is repeated, and go with a step that is withdrawn.
"""

from contextlib import suppress
from typing import assert_never

from reconciler.base.errors import RegistryConflict
from reconciler.delta.appending import publish_added
from reconciler.delta.tables import create_table, table_version
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.materialize.withdrawing import late_rows_transaction, view_transaction
from reconciler.streams.model import (
    AggregateOverWindow,
    Custom,
    Deduplicate,
    Hopping,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Stateful,
    Tumbling,
)
from reconciler.streams.queries.parts import literal
from reconciler.streams.reading import written_duration


def why_late(transformation: Stateful) -> str:
    """By what a row is late for a transformation, in words that follow its event time and the watermark."""
    match transformation:
        case AggregateOverWindow(window=Tumbling() | Hopping() | Session(), allowed_lateness=lateness):
            after = f", {written_duration(lateness)} after their end" if lateness else ""
            return f"and its windows were closed{after}"
        case AggregateOverWindow(expiry=expiry):
            return f"and rows are taken up to {written_duration(expiry or 0)} behind it"
        case OuterCachingJoin() | RunningAggregate() | Deduplicate() | Previous() | Custom():
            return f"and rows are taken up to {written_duration(transformation.expiry)} behind it"
        case Sort():
            return "and the row was given at once"
        case _:
            assert_never(transformation)


def letters_query(stream: str, step: int, late: str, watermark: str, why: str) -> str:
    """The dead letters of the rows that the query `late` gives (`LateQueries.rows`): columns as `DEAD_LETTER_COLUMNS`. The
    watermark is the one before the step, in microseconds as SQL; `why` is `why_late`."""

    def moment(micros: str) -> str:
        return f"date_format(timestamp_micros({micros}), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"

    late_row = (
        f"concat('the row is late: its event time is ', {moment('`__time`')}, ', the watermark was ', {moment(watermark)}, "
        f"{literal(f', {why}')})"
    )
    values = {
        "step": f"CAST({step} AS BIGINT)",
        "connector": "CAST(NULL AS STRING)",
        "table": literal(stream),
        "position": "to_json(named_struct('stream', `__input`))",
        "reason": f"concat('X725: ', CASE WHEN `__time` IS NULL THEN 'the row has no event time' ELSE {late_row} END)",
        "record": "`__record`",
    }
    columns = ", ".join(f"{values[column.name]} AS `{column.name}`" for column in DEAD_LETTER_COLUMNS)
    return f"SELECT {columns}\nFROM (\n{late}\n) AS `__late_rows`"


def add_letters(location: str, folder: str, stream: str, step: int) -> None:
    """Add the dead letters that are staged in a folder below the table of them, which is made if it is not there."""
    if table_version(location) is None:
        # Another one may make it meanwhile.
        with suppress(RegistryConflict):
            create_table(location, DEAD_LETTER_COLUMNS, view_transaction(step))
    publish_added(location, folder, late_rows_transaction(stream, step))
