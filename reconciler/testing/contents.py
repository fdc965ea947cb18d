"""What relations hold, in terms of where rows and columns come from; views evaluated over that: for `simulate`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ForeignRelation
from reconciler.base.digest import digest_json
from reconciler.base.names import fold
from reconciler.project.program.model import Program, View
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.testing.definitions import Definition, Term


@dataclass(frozen=True, slots=True)
class Contents:
    """Where rows come from. `columns` are folded names in order, each with its term."""

    rows: Term
    columns: tuple[tuple[str, Term], ...]

    def term(self, column: str) -> Term:
        """The term of a column; an own one for what is no column."""
        return dict(self.columns).get(column, f"no column {column}")


NOTHING_FOREIGN: Final[Mapping[str, Contents]] = MappingProxyType({})
"""Nothing is said of what other pipelines' relations hold."""


class Evaluation:
    """Evaluates views over what `source` says is stored, and notes what of it was read."""

    def __init__(
        self,
        program: Program,
        definitions: Mapping[str, Definition],
        source: Callable[[str], Contents],
        foreign: Mapping[str, Contents],
    ) -> None:
        self._program, self._definitions, self._source, self._foreign = program, definitions, source, foreign
        self._read: set[str] = set()

    def evaluate(self, view: View, computed_by: str) -> tuple[Contents, frozenset[str]]:
        """A view's contents, and the stored relations that it read (folded)."""
        self._read.clear()
        return self._contents(view, computed_by), frozenset(self._read)

    def _contents(self, view: View, computed_by: str) -> Contents:
        definition, lineage = self._definitions[fold(view.name)], view.lineage
        found = {fold(read.relation): self._relation(fold(read.relation), computed_by) for read in view.reads}
        # By term and not by name: a name may have changed while all else stayed.
        below = sorted(one.rows for one in found.values())
        names = [fold(name) for name in view.column_names]
        if lineage is None:
            everything = sorted(
                term
                for read in view.reads
                for name, term in found[fold(read.relation)].columns
                if ALL_COLUMNS in read.columns or name in map(fold, read.columns)
            )
            # Nothing is known to be repeatable.
            rows = digest_json([definition.folded, below, everything, computed_by])
            return Contents(rows, tuple((name, rows) for name in names))
        by = "" if lineage.rows_repeatable else computed_by
        rows = digest_json([definition.rows, below, sorted(found[key].term(column) for key, column in lineage.rows), by])
        columns = []
        for one in lineage.outputs:
            terms = sorted(found[key].term(column) for key, column in one.sources)
            by = "" if one.repeatable else computed_by
            token = definition.columns.get(fold(one.name), definition.folded)
            columns.append((fold(one.name), digest_json([rows, token, terms, by])))
        return Contents(rows, tuple(columns))

    def _relation(self, key: str, computed_by: str) -> Contents:
        view = self._program.views.get(key)
        if view is not None and not view.is_stored:
            return self._contents(view, computed_by)
        self._read.add(key)
        relation = self._program.foreign.get(key)
        if relation is None:
            return self._source(key)
        return self._foreign.get(key) or of_another_pipeline(relation)


def of_another_pipeline(relation: ForeignRelation) -> Contents:
    """What another pipeline's relation holds: whatever it means there."""
    columns = tuple((fold(name), digest_json([relation.meaning, fold(name)])) for name, _ in relation.columns)
    return Contents(relation.meaning, columns)
