"""What the recording engine writes to: sinks in memory (or real Delta tables, by its writer) that keep their promises.

A Delta sink keeps transactions and ids, and takes an emission once. Any other transport is a list of what it was given, at
least once. A connector that `failing` names is refused with X750, as an unreachable sink would be.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.connectors.catalogue import sink_can_delete
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.repeats import another_emission, is_repeated, what_is_kept
from reconciler.engine.sink_places import require_outside_of_warehouses
from reconciler.engine.sources import StoredSource
from reconciler.testing.tables import Contents, Row, Writer


@dataclass(frozen=True, slots=True)
class Message:
    """What a sink that keeps no transactions was given in one emission."""

    inserted: tuple[Row, ...]
    deleted: tuple[Row, ...]
    replaces: bool
    serial: int


@dataclass(slots=True)
class Sinks:
    """See the module. `messages` are by connector, in order."""

    messages: dict[str, list[Message]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)

    def emit(self, writer: Writer, emission: Emission, check: Check) -> Emitted:
        """Write an emission to its sink."""
        if emission.connector in self.failing:
            raise EngineError("X750", f"connector {emission.connector}: its sink can't be reached")
        transport = emission.settings["transport"]
        place = transport["config"].get("uri", transport["config"].get("path"))
        if place is not None:
            require_outside_of_warehouses(emission, str(place))
        after = _contents(writer, emission.after)
        before = _contents(writer, emission.before) if emission.before is not None else None
        deleted, inserted = difference(before.rows if before is not None else (), after.rows)
        check()
        if transport["name"] == "delta_table_output":
            return _to_table(writer, str(transport["config"]["uri"]), emission, after, deleted, inserted)
        if transport["name"] not in ("kafka_output", "file_output"):
            raise EngineError(
                "X716", f"connector {emission.connector}: the engine has no output transport {transport['name']!r}"
            )
        told = deleted if sink_can_delete(emission.settings) else ()
        message = Message(inserted, told, emission.replaces, emission.transaction.version)
        self.messages.setdefault(emission.connector, []).append(message)
        return Emitted(len(inserted), len(told), dropped=len(deleted) - len(told))


def difference(before: Sequence[Row], after: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows that go and the rows that come, as multisets: what is in both cancels out."""
    now = {sortable(row): row for row in (*before, *after)}
    counts = Counter(map(sortable, after))
    counts.subtract(map(sortable, before))
    gone = [row for key, row in sorted(now.items()) for _ in range(-counts[key])]
    come = [row for key, row in sorted(now.items()) for _ in range(counts[key])]
    return tuple(gone), tuple(come)


def sortable(value: Any) -> str:
    """A text that is the same for values that Spark groups together: NULLs, NaNs, both zeros, maps in any order."""
    match value:
        case float() if value == 0:
            return "0.0"
        case Decimal():
            return f"decimal {value.normalize()}"
        case dict():
            return repr(sorted((sortable(key), sortable(part)) for key, part in value.items()))
        case list() | tuple():
            return repr([sortable(part) for part in value])
        case _:
            return repr(value)


def _contents(writer: Writer, source: StoredSource) -> Contents:
    return writer.read(source.location, source.version)


def _to_table(
    writer: Writer, uri: str, emission: Emission, after: Contents, deleted: Sequence[Row], inserted: Sequence[Row]
) -> Emitted:
    latest = writer.latest(uri)
    known = writer.written(uri, emission.transaction.application) if latest is not None else {}
    last = max(known, default=-1)
    if last >= emission.transaction.version:
        kept = known.get(emission.transaction.version)
        if emission.id and (kept is None or not is_repeated(emission, kept)):
            raise another_emission(emission, uri, last)
        return Emitted(0, 0, reused=True)
    now = writer.read(uri, latest).rows if latest is not None and not emission.replaces else ()
    left = Counter(map(sortable, deleted))
    kept_rows = []
    for row in now:
        key = sortable(row)
        if left[key]:
            left[key] -= 1
        else:
            kept_rows.append(row)
    if deleted or inserted or emission.replaces or latest is None:
        said = {**emission.commit, **what_is_kept(emission)}
        writer.write(uri, type(after)(after.columns, (*kept_rows, *inserted)), emission.transaction, said)
    return Emitted(len(inserted), len(deleted))
