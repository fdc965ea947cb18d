"""What to do about a connector that fails: beside what the error says itself, what mends its cause, and how the connector
goes on without what it stumbles over. Pure.

An engine knows neither the pipeline nor which files a step read, and an error of a view not which input brought the rows;
who carries out the step knows both.
"""

import shlex
from typing import Final

from reconciler.base.errors import EngineError, IngestFailed
from reconciler.base.names import first_of
from reconciler.environment.locations import told_path
from reconciler.registry.intents import Ingest
from reconciler.run.failures import addressed

_ALL_NAMED: Final = 3
_OVER_ROWS: Final = {
    "X700": "if values of new rows cause it, make the query accept them (try_cast, try_divide)",
    "X708": "fix the function, or let it return NULL where it fails (on_error: give_null)",
}
"""What a view or function fails over; an input brought it."""
_OF_SOURCES: Final = {
    "X710": "add the missing file, table or topic, or correct the connector",
    "X712": "change the column's type, or correct the source",
    "X713": "correct the source, or give the column a default",
    "X714": "fix or delete the file",
}
_FOR_WHAT_IS_READ: Final = frozenset({*_OVER_ROWS, *_OF_SOURCES, "X724"})
"""What does not come again where a part of what is read is left out."""


def with_a_way_on(error: EngineError, pipeline: str, connector: str, ingest: Ingest | None) -> EngineError:
    """The error with a hint whose commands can be carried out as they stand there. `ingest`: what the connector was to bring
    in the step that failed, if it failed in one."""
    error = addressed(error, pipeline, connector)
    mends = _OF_SOURCES.get(error.code)
    if ingest is None:
        # It looked for something and found nothing to look at, or it is an output.
        mends = mends if error.code == "X710" else None
    elif not isinstance(error, IngestFailed):
        mends = mends or _OVER_ROWS.get(error.code)
    passing = _without_file(error, pipeline, connector, ingest) or _without_request(error, pipeline, connector, ingest)
    ways = [one for one in (error.hint or mends, passing) if one]
    hint = "; ".join(ways) or None
    if hint == error.hint:
        return error
    return EngineError(error.code, error.message, hint, error.about)


def _without_file(error: EngineError, pipeline: str, connector: str, ingest: Ingest | None) -> str | None:
    files = [told_path(file) for file in ingest.files] if ingest is not None else []
    if not files or error.code not in _FOR_WHAT_IS_READ:
        return None
    # Spark knows a place on S3 under another scheme.
    named = [file for file in files if file.rpartition("://")[2] in error.message]
    if not named and len(files) > 1:
        which = first_of(files, _ALL_NAMED)
        return f"it reads {which} together: max_batch_size: 1 shows which file causes it, and connector skip skips that file"
    file = max(named, key=len) if named else files[0]
    return f"or skip the file: reconcile connector skip {pipeline} {connector} --file {shlex.quote(file)}"


def _without_request(error: EngineError, pipeline: str, connector: str, ingest: Ingest | None) -> str | None:
    if ingest is None or "requests" not in ingest.range or error.code not in _FOR_WHAT_IS_READ:
        return None
    first, before = ingest.range["from"], ingest.range["before"]
    if ingest.range["requests"] > 1:
        return (
            f"it reads the requests {first} to {before - 1} together: max_batch_size: 1 shows which one causes it, and "
            "connector seek passes over that one"
        )
    return f"or pass over the request: reconcile connector seek {pipeline} {connector} --to {before}"
