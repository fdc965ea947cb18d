"""Histories: append-only Delta tables whose rows are records of text columns, appended once each.

Appends of different writers rebase over each other, so nobody waits. A batch carries an application transaction: the
same batch appended again (a crash lost the answer) is recognised and skipped. Reading filters by equality of columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconciler.delta.opening import open_table
from reconciler.errors import RegistryError


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """The history at `location`, with these text columns."""

    location: str
    columns: tuple[str, ...]

    def append(self, rows: Sequence[Mapping[str, str]], batch: str) -> None:
        """Append rows (every column, as text) unless the batch of that id is there. Raises RegistryError (G603)."""
        import arro3.core
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake.exceptions import DeltaError

        table = open_table(self.location)
        if table is not None and table.transaction_version(batch) is not None:
            return
        text = arro3.core.DataType.utf8()
        data = arro3.core.Table.from_pydict(
            {column: arro3.core.Array([row[column] for row in rows], type=text) for column in self.columns}
        )
        properties = CommitProperties(app_transactions=[Transaction(batch, 1)])
        try:
            write_deltalake(table if table is not None else self.location, data, mode="append", commit_properties=properties)
        except DeltaError as error:
            # Two first writers create the table at once: the second finds it there and appends.
            if table is None and open_table(self.location) is not None:
                self.append(rows, batch)
                return
            raise RegistryError("G603", f"the history at {self.location} can't be written: {error}") from error

    def read(self, **equal: str) -> tuple[dict[str, Any], ...]:
        """The rows whose columns equal the given texts, in no particular order."""
        from deltalake import QueryBuilder

        table = open_table(self.location)
        if table is None:
            return ()
        conditions = [f"\"{column}\" = '{_quoted(value)}'" for column, value in sorted(equal.items())]
        where = f" where {' and '.join(conditions)}" if conditions else ""
        rows = QueryBuilder().register("h", table).execute(f"select * from h{where}").read_all()
        values = {column: rows[column].to_pylist() for column in self.columns}
        return tuple({column: values[column][index] for column in self.columns} for index in range(rows.num_rows))


def _quoted(value: str) -> str:
    return value.replace("'", "''")
