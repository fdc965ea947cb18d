"""Inserts and deletes for a table without a key: a multiset, in which a delete takes one row that is equal in all
columns. The rules, and what is counted, are those of `engine.spark.multisets`.

Of each distinct row the changes of the range are netted in reading order. Where no delete can reach the table, rows are only
added, and the table is not looked at. Else its copies are counted, and those that go are taken out of the files that hold
them; what the commit says of itself are the counts of Spark's MERGE, which takes out all copies of a row and puts back those
that stay.

A NaN, and a 0 with a sign, leave the range to Spark (`stored_values.require_one_form`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from reconciler.base.dataclass import dataclass
from reconciler.delta.arrow_rows import OpenedTable, rows_by_file
from reconciler.delta.arrow_writes import Taken, append, rewrite
from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.arrow.ingest.incoming import Change, Row
from reconciler.engine.arrow.ingest.stored_values import require_one_form, require_one_form_of
from reconciler.engine.arrow.ingest.target_table import as_arrow, files_to_search
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.protocol import Ingestion

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class Applied:
    """The version that has the changes; how many rows came or went; how many deletes found none."""

    version: int
    rows: int
    unmatched: int = 0


@dataclass(slots=True)
class _Net:
    """What the changes of one row come to, and the least that they came to on the way."""

    sum: int = 0
    lowest: int = 0


@dataclass(frozen=True, slots=True)
class _Held:
    """The rows looked for that a table has: how often, and at which places of which file that was searched, by its number.
    Of these files the paths and the rows."""

    paths: Sequence[str] = ()
    rows: "Sequence[pyarrow.Table]" = ()
    copies: Counter[Row] = field(default_factory=Counter)
    places: Mapping[Row, Sequence[tuple[int, int]]] = field(default_factory=dict)


def apply(table: OpenedTable, ingestion: Ingestion, changes: Iterable[Change]) -> Applied:
    """Write changes in their order. Raises NotSure."""
    nets = _netted(changes)
    looked_for = [row for row, net in nets.items() if net.lowest < 0]
    held = _held(table, looked_for) if looked_for else _Held()
    # So many deletes of a row found none.
    unmatched = {row: max(0, -(held.copies[row] + nets[row].lowest)) for row in looked_for}
    more = {row: net.sum + unmatched.get(row, 0) for row, net in nets.items()}
    coming = [row for row, count in more.items() for _ in range(count)]
    going = {row: -count for row, count in more.items() if count < 0}
    missed = sum(unmatched.values())
    if going:
        version = _rewritten(table, ingestion, held, going, coming)
        return Applied(version, len(coming) + sum(going.values()), missed)
    if not coming:
        raise NotSure("nothing")
    version = append(table, as_arrow(coming, table), ingestion.transaction, ingestion.commit)
    return Applied(version, len(coming), missed)


def _netted(changes: Iterable[Change]) -> dict[Row, _Net]:
    nets: dict[Row, _Net] = {}
    for change in changes:
        require_one_form_of(change.row)
        net = nets.setdefault(change.row, _Net())
        net.sum += -1 if change.deletes else 1
        net.lowest = min(net.lowest, net.sum)
    return nets


def _held(table: OpenedTable, wanted: Sequence[Row]) -> _Held:
    from pyarrow import compute

    looked_for = as_arrow(wanted, table)
    searched = files_to_search(table, looked_for)
    files = rows_by_file(table, searched)
    if files is None:
        raise NotSure("the rows of the table")
    ids = row_ids([looked_for, *files])
    by_id = dict(zip(ids[0].to_pylist(), wanted, strict=True))
    places: dict[Row, list[tuple[int, int]]] = {row: [] for row in wanted}
    for number, (rows, own) in enumerate(zip(files, ids[1:], strict=True)):
        there = compute.indices_nonzero(compute.is_in(own, value_set=ids[0]))
        require_one_form(rows.take(there))
        for place, one in zip(there.to_pylist(), own.take(there).to_pylist(), strict=True):
            places[by_id[one]].append((number, place))
    paths = tuple(file.path for file in searched)
    return _Held(paths, files, Counter({row: len(at) for row, at in places.items()}), places)


def _rewritten(
    table: OpenedTable, ingestion: Ingestion, held: _Held, going: Mapping[Row, int], coming: Sequence[Row]
) -> int:
    gone: dict[int, set[int]] = {}
    for row, count in going.items():
        for number, place in held.places[row][:count]:
            gone.setdefault(number, set()).add(place)
    staying = {held.paths[number]: _without(held.rows[number], places) for number, places in gone.items()}
    deleted = sum(held.copies[row] for row in going)
    inserted = len(coming) + deleted - sum(going.values())
    metrics = {
        "numSourceRows": len(going) + inserted,
        "numTargetRowsDeleted": deleted,
        "numTargetRowsUpdated": 0,
        "numTargetRowsInserted": inserted,
    }
    went = as_arrow([row for row, count in going.items() for _ in range(count)], table)
    return rewrite(table, Taken(staying, went), as_arrow(coming, table), ingestion.transaction, ingestion.commit, metrics)


def _without(rows: "pyarrow.Table", places: set[int]) -> Any:
    import pyarrow

    return rows.filter(pyarrow.array([place not in places for place in range(rows.num_rows)], pyarrow.bool_()))
