"""How the columns of a view are spelled that an output writes: what decides it where only Spark knows.

Names in JSON or in a header are spelled as Spark spells them. Where the columns of a view are known (`View.column_names`),
that is how. Where they are not, Spark makes the names of whatever the query says: of `CAST(A AS STRING)`, `arr[A]`,
`PIVOT (max(x) AS Last …)`, `|> SET ID = 1`, or of the columns of what is read. Then the text decides, as it is spelled, and
the names of the columns of all that it reads, as they are spelled; and where such a view reads another one, what decides
those of that one.

So each such view that an output writes, or from which names come through to one, has `SpelledNames`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from reconciler.base.declarations import ForeignRelation
from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.project.program.model import Program, SpelledNames, Table, View
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.spelling import Spelling


def with_spelled_names(
    tables: Mapping[str, Table], views: Mapping[str, View], foreign: Mapping[str, ForeignRelation]
) -> dict[str, View]:
    """The views; those whose names an output may write, and only Spark knows, with what decides them."""
    written: set[str] = set()
    waiting = [key for key, view in views.items() if view.has_output]
    while waiting:
        key = waiting.pop()
        if key not in written and key in views and not views[key].column_names:
            written.add(key)
            waiting += [fold(read.relation) for read in views[key].reads]
    if not written:
        return dict(views)

    def columns_of(key: str) -> tuple[str, ...]:
        return (tables.get(key) or foreign.get(key) or views[key]).column_names

    def spelled_names(view: View) -> SpelledNames:
        read = sorted({fold(one.relation) for one in view.reads})
        columns = {key: names for key in read if (names := columns_of(key))}
        return SpelledNames(canonical_text(view.query, Spelling.CASE_OF_NAMES), columns)

    return {key: replace(view, spelled_names=spelled_names(view)) if key in written else view for key, view in views.items()}


def respelled(before: Iterable[str], after: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name that differs from what it was in letter case alone: (as it was, as it is), in today's order."""
    former_names, names = tuple(before), tuple(after)
    if former_names == names and _differ(names):
        return
    known = {fold(name): name for name in former_names}
    for name in names:
        former = known.get(fold(name), name)
        if former != name:
            yield former, name


@lru_cache(maxsize=1 << 16)
def _differ(names: tuple[str, ...]) -> bool:
    """Whether no two are the same name. Remembered: a plan asks for those of each relation several times."""
    return len(set(map(fold, names))) == len(names)


def respelled_columns(applied: Program, desired: Program) -> dict[str, list[tuple[str, str]]]:
    """What `respelled` gives of the columns of each relation, by its key: tables and views, as far as their columns are
    known, and what is read of other pipelines."""
    found: dict[str, list[tuple[str, str]]] = {}
    for sides in ((applied.tables, desired.tables), (applied.foreign, desired.foreign), (applied.views, desired.views)):
        for key in sides[0].keys() & sides[1].keys():
            pairs = list(respelled(sides[0][key].column_names, sides[1][key].column_names))
            if pairs:
                found[key] = pairs
    return found


def spelled_content(view: View) -> JsonObject:
    """What a fingerprint takes of `spelled_names`: the text and the columns that are not all in small letters. What is
    in small letters is left out, so that a view without others means what it always meant."""
    names = view.spelled_names
    if names is None:
        return {}
    text = names.text if names.text != fold(names.text) else ""
    spelled = {key: sorted(name for name in one if name != fold(name)) for key, one in sorted(names.columns.items())}
    columns = {key: one for key, one in spelled.items() if one}
    return {"written_by": [text, columns]} if text or columns else {}
