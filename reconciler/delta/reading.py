"""Rows of a small Delta table read in this process, by what their columns hold. For tables beside a pipeline's relations:
these are an engine's to read."""

from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.delta.opening import open_table


def equal_rows(
    location: str, columns: Sequence[str], equal: Mapping[str, str | int], until: tuple[str, int], limit: int | None
) -> list[tuple[Any, ...]]:
    """The rows, sorted by their columns, that hold these values, and in the column that `until` names no more than it says;
    at most `limit`. None where there is no table."""
    from deltalake import QueryBuilder

    table = open_table(location)
    if table is None:
        return []
    chosen = ", ".join(f'"{column}"' for column in columns)
    conditions = [
        f'"{until[0]}" <= {int(until[1])}',
        *(f'"{name}" = {_literal(one)}' for name, one in sorted(equal.items())),
    ]
    most = "" if limit is None else f" limit {int(limit)}"
    sql = f"select {chosen} from t where {' and '.join(conditions)} order by {chosen}{most}"
    found = QueryBuilder().register("t", table).execute(sql).read_all()
    return list(zip(*(found[column].to_pylist() for column in columns), strict=True))


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
