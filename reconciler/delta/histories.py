"""Histories: append-only Delta tables whose rows are records of text columns, appended once each.

Appends of different writers rebase over each other, so nobody waits. A batch carries an application transaction: the
same batch appended again (a crash lost the answer) is recognised and skipped. Reading filters by equality of columns.
A column that an earlier version did not have comes with the first row that has it, and is empty in those before. What this
process read of a history on a disk serves again until something is appended (`seen_tables`).

A history of one writer at a time (`append_serial`) may become long: its rows carry numbers instead of ids, so that its log
does not grow by one id a row, and every hundred commits its files are put together and old log entries go.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import RegistryError
from reconciler.delta.opening import open_table
from reconciler.delta.registry_clean_up import FORGETS_FILES, clean_up, forget_files
from reconciler.delta.seen_tables import SeenTables
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    from arro3.core import Table
    from deltalake import DeltaTable

_SERIAL = "reconcile/serial"
_CHECKPOINT_EVERY = 20
_CONFIGURATION = {
    "delta.checkpointInterval": str(_CHECKPOINT_EVERY),
    **FORGETS_FILES,
}
_CLEAN_EVERY = 100
_KEEP_HOURS = 1
_MOST_KEPT = 1000
"""Answers of more rows are read again."""
_OWN = "own"
"""The question to a table that was seen for which it has the transactions since it was opened, with their numbers."""


@dataclass(frozen=True, slots=True)
class _State:
    """A history as it stands: its version, the table opened at this version or one before, and the transactions since."""

    table: "DeltaTable"
    version: int
    own: Mapping[str, int]

    def last(self, transaction: str) -> int | None:
        """The number to which a transaction has come."""
        found = self.own.get(transaction)
        return self.table.transaction_version(transaction) if found is None else found


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """The history at `location`, with these text columns. `seen`: what its process saw of tables."""

    location: str
    columns: tuple[str, ...]
    seen: SeenTables = field(default_factory=SeenTables)

    def append(self, rows: Sequence[Mapping[str, str]], batch: str) -> None:
        """Append rows (every column, as text) unless the batch of that id is there. Raises RegistryError (G603)."""
        appended = self._append(rows, batch, 1, {})
        if appended is not None:
            self._keep(appended)

    def append_serial(self, rows: Sequence[Mapping[str, str]], serial: int | None) -> None:
        """Append rows, unless the history has this serial or a later one. Raises RegistryError (G603)."""
        appended = self._append(rows, _SERIAL, serial, _CONFIGURATION)
        if appended is None:
            return
        if appended.version % _CLEAN_EVERY == _CLEAN_EVERY - 1:
            _clean(appended.table, self.location)
        else:
            self._keep(appended)

    def _keep(self, state: "_State") -> None:
        self.seen.keep(self.location, state.version, state.table, {_OWN: state.own})

    def _append(
        self, rows: Sequence[Mapping[str, str]], transaction: str, number: int | None, configuration: Mapping[str, str]
    ) -> "_State | None":
        """Append rows unless there are none, or the transaction has come to that number. Returns the table with them, or
        None where nothing was appended to one. `configuration` is of a table that does not exist yet."""
        from deltalake import CommitProperties, Transaction, write_deltalake

        from reconciler.delta.registry_commits import asks_nothing

        if not rows:
            return None
        state = self._current_state()
        last = None if state is None else state.last(transaction)
        if number is not None and last is not None and last >= number:
            return None
        if state is not None and not self._lacking(state.table) and asks_nothing(self.location, state.table):
            with writing(self.location, state.version, conflict=None, refused="G603", data=_size(rows)):
                appended = self._put(state, rows, transaction, number)
            # Where somebody else was first, the table is opened anew.
            return appended or self._append(rows, transaction, number, configuration)
        table = None if state is None else state.table
        transactions = None if number is None else [Transaction(transaction, number)]
        place, expected = (self.location, None) if table is None else (table, table.version())
        try:
            with writing(self.location, expected, conflict=None, refused="G603", data=_size(rows)):
                write_deltalake(
                    place,
                    self._data(rows),
                    mode="append",
                    schema_mode="merge" if self._lacking(table) else None,
                    configuration=dict(configuration) if table is None and configuration else None,
                    commit_properties=CommitProperties(app_transactions=transactions),
                )
        except RegistryError:
            # Two first writers create the table at once: the second finds it there and appends.
            if table is not None or open_table(self.location) is None:
                raise
            return self._append(rows, transaction, number, configuration)
        return None if table is None else _State(table, table.version(), {})

    def _current_state(self) -> "_State | None":
        """The history as it stands, taken away from other writers of this process; None: there is none."""
        known = self.seen.newest(self.location)
        seen = None if known is None else self.seen.take(self.location, known.version)
        if seen is not None and seen.table is not None:
            return _State(seen.table, seen.version, seen.answers.get(_OWN, {}))
        table = open_table(self.location)
        return None if table is None else _State(table, table.version(), {})

    def _put(
        self, state: "_State", rows: Sequence[Mapping[str, str]], transaction: str, number: int | None
    ) -> "_State | None":
        """The commit made here; None where another one stands there."""
        from reconciler.delta.log_entries import make_checkpoint
        from reconciler.delta.registry_commits import put_rows
        from reconciler.engine.stored import Transaction

        mark = None if number is None else Transaction(transaction, number)
        whole = [{column: row[column] for column in self.columns} for row in rows]
        if not put_rows(self.location, state.version, whole, mark):
            return None
        version, own = state.version + 1, {} if number is None else {transaction: number}
        appended = _State(state.table, version, {**state.own, **own})
        if version % _CHECKPOINT_EVERY == 0:
            make_checkpoint(self.location, version)
            # Where it can't be opened, the rows are written all the same.
            with suppress(RegistryError):
                table = open_table(self.location, version)
                appended = appended if table is None else _State(table, version, {})
        return appended

    def _data(self, rows: Sequence[Mapping[str, str]]) -> "Table":
        import arro3.core

        text = arro3.core.DataType.utf8()
        return arro3.core.Table.from_pydict(
            {column: arro3.core.Array([row[column] for row in rows], type=text) for column in self.columns}
        )

    def _lacking(self, table: "DeltaTable | None") -> list[str]:
        """The columns that the table does not have yet."""
        known = None if table is None else {one.name for one in table.schema().fields}
        return [] if known is None else [column for column in self.columns if column not in known]

    def _all(self, table: "DeltaTable") -> str:
        """The history as SQL has it, with all columns."""
        lacking = "".join(f", '' as \"{column}\"" for column in self._lacking(table))
        return f"(select *{lacking} from h)" if lacking else "h"

    def read(self, **equal: str) -> tuple[dict[str, Any], ...]:
        """The rows whose columns equal the given texts, in no particular order."""
        return self._answer(_where(equal), self.columns)

    def read_last(
        self,
        columns: Sequence[str],
        by: str,
        is_number: bool,
        limit: int | None,
        between: tuple[int, int] | None = None,
        **equal: str,
    ) -> tuple[dict[str, Any], ...]:
        """Of the rows whose columns equal the given texts, the last ones by a column of whole numbers, or of texts, in their
        order; these columns of them. With `between` those whose number is one of the two or between them."""
        most = "" if limit is None else f" limit {limit}"
        key = f'cast("{by}" as bigint)' if is_number else f'"{by}"'
        within = "" if between is None else f"{key} between {int(between[0])} and {int(between[1])}"
        return self._answer(f"{_where(equal, within)} order by {key} desc{most}", columns)[::-1]

    def _answer(self, which: str, columns: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """These columns of rows that SQL chooses."""
        question = which, tuple(columns)
        known = self.seen.newest(self.location)
        if known is not None and question in known.answers:
            return tuple(map(dict, known.answers[question]))
        if known is not None and (known.table is None or known.table.version() < known.version):
            known = None
        table = open_table(self.location) if known is None else known.table
        if table is None:
            return ()
        from deltalake import QueryBuilder

        chosen = ", ".join(f'"{column}"' for column in columns)
        sql = f"select {chosen} from {self._all(table)}{which}"
        rows = _records(QueryBuilder().register("h", table).execute(sql).read_all(), columns)
        if known is None:
            self.seen.keep(self.location, table.version(), table, {})
            known = self.seen.newest(self.location)
        if known is not None and len(rows) <= _MOST_KEPT:
            known.remember(question, rows)
        return tuple(map(dict, rows))


def _size(rows: Sequence[Mapping[str, str]]) -> int:
    return sum(len(text) for row in rows for text in row.values())


def _where(equal: Mapping[str, str], more: str = "") -> str:
    conditions = [f"\"{column}\" = '{_quoted(value)}'" for column, value in sorted(equal.items())]
    conditions += [more] if more else []
    return f" where {' and '.join(conditions)}" if conditions else ""


def _records(rows: Any, columns: Sequence[str]) -> tuple[dict[str, Any], ...]:
    values = {column: rows[column].to_pylist() for column in columns}
    return tuple({column: values[column][index] or "" for column in columns} for index in range(rows.num_rows))


def _quoted(value: str) -> str:
    return value.replace("'", "''")


def _clean(table: "DeltaTable", location: str) -> None:
    from deltalake.exceptions import DeltaError

    # Where it fails, the rows are written, and the next round tries again.
    with suppress(DeltaError, OSError):
        table.update_incremental()
        forget_files(table)
        table.optimize.compact()
        clean_up(table, location, _KEEP_HOURS)
