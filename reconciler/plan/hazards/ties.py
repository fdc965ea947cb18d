"""What of a view its rows do not determine, by all that is known of the program: which columns tell rows apart.

Views are parsed here, so whoever asks has looked for signs first (`undetermined_signs`).
"""

from reconciler.base.names import fold
from reconciler.project.program.model import Program, View
from reconciler.sql.row_keys import Given, renamed
from reconciler.sql.undetermined import Undetermined, given_by, undetermined_parts


class Ties:
    """See the module. What views of one program give is found when it is asked for, and once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, Given] = {}

    def of(self, view: View) -> Undetermined:
        """What is undetermined in a view's query. Of a stream, in the expressions that its author wrote: all else in its
        query orders rows by all their values."""
        if view.stream is None:
            return undetermined_parts(view.query, self._given)
        # An expression may end in a comment.
        parts = [undetermined_parts(f"SELECT {one}\nFROM `__rows`", self._given) for one in view.stream.expressions]
        return Undetermined(tuple(call for part in parts for call in part.calls))

    def _given(self, key: str) -> Given:
        if key not in self._known:
            # A circle of views, which is an error elsewhere, must not keep us here.
            self._known[key] = Given()
            self._known[key] = self._find(key)
        return self._known[key]

    def _find(self, key: str) -> Given:
        table, view = self._program.tables.get(key), self._program.views.get(key)
        if table is not None:
            primary = frozenset(map(fold, table.primary_key))
            return Given(tuple(fold(column.name) for column in table.columns), (primary,) if primary else ())
        if view is not None:
            return renamed(given_by(view.query, self._given), tuple(map(fold, view.declaration.column_names)))
        return Given()
