"""Rows of two versions of a table or view compared: how many came, went and changed, and some of them.

- The columns that both have are compared; which only one has, is `looking.compare_versions`' to say.
- By a key (a table's own, or one that is given) a row is the same if its key is, and changed if any other column differs;
  NULLs are equal. A key that stands twice in a version is an error (X731): then nothing would be the same row.
- Without a key both are multisets: a row came or went as often as its copies differ, and nothing is changed.
- Each version is read as a query reads it (`sources`): the answer says as of which steps.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.base.names import did_you_mean, fold
from reconciler.engine.protocol import Engine
from reconciler.environment.target import Target
from reconciler.query.querying import Answer, query
from reconciler.versions.looking import ObjectVersion, find_in_head

_BEFORE, _AFTER = "before", "after"
_COPIES = "reconcile copies"


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that only one version has (the other side is None), or that both have with other values. `copies`: how many of
    it."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    copies: int = 1


@dataclass(frozen=True, slots=True)
class RowDifference:
    """How the rows of two versions differ. `key` is empty for multisets, `columns` are those compared; `sample` has the
    first of the rows that differ, in the order of their values. `steps` are those as of which the two versions were read."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    added: int
    removed: int
    changed: int
    sample: tuple[ChangedRow, ...]
    steps: tuple[int, int]

    @property
    def is_empty(self) -> bool:
        """Whether both hold the same rows."""
        return not (self.added or self.removed or self.changed)


def compare_rows(
    target: Target,
    engine: Engine,
    before: ObjectVersion,
    after: ObjectVersion,
    key: Sequence[str] = (),
    samples: int = 10,
) -> RowDifference:
    """Compare the rows of two versions of one object. `key`: by these columns instead of the table's own key.

    Raises ReconcileError (A524, X722, X731), EngineError (X730 where rows are gone).
    """
    pipeline = before.found.pipeline
    if find_in_head(before.found.head, before.found.name).versions.id != before.found.versions.id:
        message = f"in a query, {before.found.name} is another object than this {before.found.kind}"
        raise ReconcileError("A521", message, "only the object that a query reads by that name can be compared")
    names = [f"{one.found.name}@v{one.summary.number}" for one in (before, after)]
    first = query(target, pipeline, f"SELECT * FROM {_quoted(names[0])} LIMIT 0", engine)

    def ask(sql: str) -> Answer:
        """All at one step, whatever a run publishes meanwhile."""
        return query(target, pipeline, sql, engine, first.step)

    columns = [_columns(first), _columns(ask(f"SELECT * FROM {_quoted(names[1])} LIMIT 0"))]
    shared = tuple(name for name in columns[1] if fold(name) in {fold(one) for one in columns[0]})
    if not shared:
        raise ReconcileError("X722", f"{names[0]} and {names[1]} have no column in common: their rows can't be compared")
    by = _key(key or tuple(after.content.get("primary_key", ())), shared, bool(key), names)
    pairs = _by_key(names, shared, by) if by else _as_multisets(names, shared)
    if by:
        _require_unique(ask, names, by)
    counted = ask(f"SELECT {_COUNTS} FROM ({pairs})")
    ((added, removed, changed),) = counted.rows.rows
    order = ", ".join(f"coalesce({_AFTER}.{_quoted(name)}, {_BEFORE}.{_quoted(name)})" for name in by or shared)
    shown = ask(f"SELECT * FROM ({pairs}) ORDER BY {order} LIMIT {samples}") if samples else None
    return RowDifference(
        shared,
        by,
        int(added),
        int(removed),
        int(changed),
        tuple(_changed_row(row, shared) for row in shown.rows.rows) if shown is not None else (),
        (counted.versions[names[0]], counted.versions[names[1]]),
    )


# Of pairs of structs, of which one may be NULL, and how many copies there are of each.
_COUNTS = (
    f"coalesce(sum(if({_BEFORE} IS NULL, copies, 0)), 0) AS added, "
    f"coalesce(sum(if({_AFTER} IS NULL, copies, 0)), 0) AS removed, "
    f"coalesce(sum(if({_BEFORE} IS NOT NULL AND {_AFTER} IS NOT NULL, copies, 0)), 0) AS changed"
)


def _as_multisets(names: Sequence[str], columns: Sequence[str]) -> str:
    listed = ", ".join(map(_quoted, columns))
    copies = _quoted(_COPIES)
    both = (
        f"SELECT {listed}, 1 AS {copies} FROM {_quoted(names[1])} UNION ALL "
        f"SELECT {listed}, -1 AS {copies} FROM {_quoted(names[0])}"
    )
    row = f"struct({listed})"
    return (
        f"SELECT if(n < 0, {row}, NULL) AS {_BEFORE}, if(n > 0, {row}, NULL) AS {_AFTER}, abs(n) AS copies FROM "
        f"(SELECT {listed}, sum({copies}) AS n FROM ({both}) GROUP BY {listed}) WHERE n <> 0"
    )


def _by_key(names: Sequence[str], columns: Sequence[str], key: Sequence[str]) -> str:
    row = f"struct({', '.join(map(_quoted, columns))})"
    sides = [f"(SELECT {row} AS whole FROM {_quoted(name)})" for name in names]
    same_key = " AND ".join(f"b.whole.{_quoted(name)} <=> a.whole.{_quoted(name)}" for name in key)
    # Not the structs as a whole: a column may have another type.
    same_values = " AND ".join(f"b.whole.{_quoted(name)} <=> a.whole.{_quoted(name)}" for name in columns)
    return (
        f"SELECT b.whole AS {_BEFORE}, a.whole AS {_AFTER}, 1 AS copies FROM {sides[0]} b FULL OUTER JOIN {sides[1]} a "
        f"ON {same_key} WHERE b.whole IS NULL OR a.whole IS NULL OR NOT ({same_values})"
    )


def _require_unique(ask: Callable[[str], Answer], names: Sequence[str], key: Sequence[str]) -> None:
    listed = ", ".join(map(_quoted, key))
    for name in names:
        twice = f"SELECT {listed} FROM {_quoted(name)} GROUP BY {listed} HAVING count(*) > 1 ORDER BY {listed} LIMIT 1"
        for row in ask(twice).rows.rows:
            pairs = zip(key, row, strict=True)
            found = ", ".join(f"{column} = {'NULL' if value is None else value}" for column, value in pairs)
            raise ReconcileError("X731", f"{', '.join(key)} is not a key of {name}: {found} occurs more than once")


def _key(key: Sequence[str], columns: Sequence[str], is_given: bool, names: Sequence[str]) -> tuple[str, ...]:
    known = {fold(name): name for name in columns}
    missing = [name for name in key if fold(name) not in known]
    if missing and is_given:
        message = f"{missing[0]!r} is not a column of both {names[0]} and {names[1]}"
        raise ReconcileError("X722", message, did_you_mean(missing[0], columns))
    # A table's own key that another version lacks tells no rows apart.
    return () if missing else tuple(known[fold(name)] for name in key)


def _columns(answer: Answer) -> tuple[str, ...]:
    return tuple(column.name for column in answer.rows.columns)


def _changed_row(row: Sequence[Any], columns: Sequence[str]) -> ChangedRow:
    before, after, copies = row
    return ChangedRow(_as_mapping(before, columns), _as_mapping(after, columns), int(copies))


def _as_mapping(value: Any, columns: Sequence[str]) -> Mapping[str, Any] | None:
    return None if value is None else dict(zip(columns, value, strict=True))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
