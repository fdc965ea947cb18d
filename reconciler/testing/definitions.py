"""What a view is defined as, in terms that say since when its rows and columns have been the same: for `simulate`.

That a text is the same is compared here, and where it is not, `sql.query_difference` tells in which columns. Of what the
plan's diff says of texts only one thing is believed: that one which differs only follows declared renames.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.base.digest import digest_json
from reconciler.base.names import fold, without_version
from reconciler.diff.causes import QueryChanged
from reconciler.diff.model import Diff
from reconciler.project.program.model import Program, View
from reconciler.project.program.settings import decisive_settings
from reconciler.project.snapshot.fingerprint import function_content
from reconciler.sql.canonicalise import canonical_query, canonical_text
from reconciler.sql.query_difference import changed_outputs
from reconciler.sql.spelling import Spelling

Term: TypeAlias = str
"""A digest, or a few words: equal only for what surely is equal."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a view is defined as. `folded` and `spelled` are all that decides it, letter case of names aside and not:
    `query` and `spelled_query` are their canonical texts. Of the former, `around` is a digest of the rest, `functions` one
    of each function that it calls. `names` are its columns in order, folded, and `is_named` says that a list gives them.
    `rows` and `columns` (by name) are terms of the texts that its rows and columns have been the same since."""

    folded: str
    spelled: str
    query: str
    spelled_query: str
    around: str
    functions: Mapping[str, str]
    names: tuple[str, ...]
    is_named: bool
    rows: Term
    columns: Mapping[str, Term]


_NO_CALLS: Final = ""
"""No function's name: among functions it stands for the settings by themselves."""


def definition_of(program: Program, view: View) -> Definition:
    """The definition of a view by itself."""
    plainly = Spelling.EVENED_OUT
    query, around = canonical_query(view.query), _around(program, view.calls, plainly)
    functions = {name: _around(program, (name,), plainly) for name in (_NO_CALLS, *view.calls)}
    folded = digest_json([query, around])
    rule = max(program.spelling, Spelling.CASE_OF_NAMES)
    spelled_query = canonical_text(view.query, rule)
    spelled = digest_json([spelled_query, _around(program, view.calls, rule), list(view.declaration.column_names)])
    names = tuple(fold(name) for name in view.column_names)
    columns = {name: f"{folded} {index} {name}" for index, name in enumerate(names)}
    is_named = bool(view.declaration.column_names)
    return Definition(folded, spelled, query, spelled_query, around, functions, names, is_named, folded, columns)


def _around(program: Program, calls: Iterable[str], spelling: Spelling) -> str:
    """What besides its text decides a view: settings, and the functions that it calls."""
    functions: dict[str, Any] = {}
    waiting = list(calls)
    while waiting:
        name = waiting.pop()
        if name not in functions and name in program.functions:
            functions[name] = function_content(program.functions[name], spelling)
            waiting += program.functions[name].calls
    return digest_json([dict(decisive_settings(program.settings)), functions])


def definitions_after(
    diff: Diff, applied: Mapping[str, Definition], names_are_data: bool, desired: Program
) -> dict[str, Definition]:
    """The definitions of desired's views, as far as possible in terms of the applied ones, among which letter case of names
    decided if `names_are_data`."""
    changes = {fold(change.name): change for change in diff.relations if change.kind is not RelationKind.TABLE}
    moved = {fold(move.target): fold(move.source) for move in desired.moves if "." not in move.target}
    as_spelled = names_are_data or desired.names_are_data
    as_written = desired.spelling is Spelling.LAYOUT_ASIDE
    found: dict[str, Definition] = {}
    for key, view in desired.views.items():
        fresh = definition_of(desired, view)
        old = applied.get(key) or applied.get(moved.get(key, key))
        causes = changes[key].causes if key in changes else ()
        queries = [cause for cause in causes if isinstance(cause, QueryChanged)]
        if old is None:
            found[key] = fresh
        elif (old.spelled == fresh.spelled if as_spelled else old.folded == fresh.folded) or (desired.moves and not queries):
            found[key] = _going_on(old, fresh, frozenset())
        elif old.query == fresh.query and not as_spelled and (computed := _computed_otherwise(view, old, fresh)) is not None:
            found[key] = _going_on(old, fresh, computed)
        elif as_written or desired.moves or old.is_named or fresh.is_named or old.around != fresh.around:
            found[key] = fresh
        else:
            texts = (old.spelled_query, fresh.spelled_query) if as_spelled else (old.query, fresh.query)
            functions = {without_version(name) for name in (*old.functions, *fresh.functions)}
            changed = changed_outputs(*texts, old.names, fresh.names, functions)
            found[key] = fresh if changed is None else _going_on(old, fresh, changed)
    return found


def _computed_otherwise(view: View, old: Definition, fresh: Definition) -> frozenset[str] | None:
    """The columns of a view, of the same text as before, that functions compute which are not what they were; None where
    rows may differ, or settings do."""
    changed = {name for name, digest in fresh.functions.items() if old.functions.get(name) != digest}
    nothing_called = _NO_CALLS in old.functions and old.functions[_NO_CALLS] == fresh.functions[_NO_CALLS]
    if view.lineage is None or not nothing_called or not changed.isdisjoint(view.lineage.rows_functions):
        return None
    columns = {fold(one.name): changed.intersection(one.functions) for one in view.lineage.outputs}
    if not changed.issubset(set().union(*columns.values())):
        return None
    return frozenset(name for name, by in columns.items() if by)


def _going_on(old: Definition, fresh: Definition, changed: frozenset[str]) -> Definition:
    """The fresh definition, in terms of the old one where it is the same: columns by name, and by place too where a list
    gives the names."""

    def is_same(index: int, name: str) -> bool:
        if name in changed or name not in old.columns:
            return False
        return not (old.is_named or fresh.is_named) or old.names[index : index + 1] == (name,)

    same = [name for index, name in enumerate(fresh.names) if is_same(index, name)]
    return replace(fresh, rows=old.rows, columns={**fresh.columns, **{name: old.columns[name] for name in same}})
