"""Which objects a change gives another version: (applied, desired, their diff) → those that are new, changed, renamed, gone.

- A table's version changes with its columns, key or properties; a view's with its query, the names of its columns, its kind
  or the settings that decide results, with its output columns, also where only what it reads brought them, and with the
  functions that it calls; a function's with its parameters, what it returns, its body, or a function that it calls.
- A view whose query follows the rename of what it reads is another version, too, though its rows stay: what was recorded
  names what is there no more, and nobody could go back to it.
- Nothing else does: not being renamed itself (`moved`), not rows that are computed anew because of what is read, not
  descriptions, tags, owners, connectors, or settings of the runtime.
- Types of a view's columns make versions, too. They are known once it was computed, and so is that version (`numbering`).
"""

from collections.abc import Iterable

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.base.names import fold, is_version
from reconciler.diff.causes import (
    Cause,
    ColumnNamesChanged,
    FunctionChanged,
    KindChanged,
    QueryChanged,
    RelationRenamed,
    SettingsChanged,
    StreamChanged,
    WrittenNamesChanged,
)
from reconciler.diff.model import Action, Diff, RelationChange
from reconciler.project.program.model import Program
from reconciler.project.snapshot.fingerprint import canonical_under
from reconciler.project.snapshot.functions import closures
from reconciler.project.snapshot.objects import object_key, object_keys
from reconciler.sql.spelling import Spelling

_OF_A_VIEW = (
    QueryChanged,
    StreamChanged,
    ColumnNamesChanged,
    WrittenNamesChanged,
    KindChanged,
    SettingsChanged,
    FunctionChanged,
)


@dataclass(frozen=True, slots=True)
class ObjectChanges:
    """By key (`snapshot.objects`): `redefined` are new or mean something else now; `renamed` maps what has another name to
    the key that it had; `gone` are no more. All sorted."""

    redefined: tuple[str, ...]
    renamed: dict[str, str]
    gone: tuple[str, ...]


def changed_objects(applied: Program | None, desired: Program | None, diff: Diff) -> ObjectChanges:
    """See the module. None: nothing is applied, or nothing desired."""
    before = set(object_keys(applied)) if applied is not None else set()
    after = set(object_keys(desired)) if desired is not None else set()
    if applied is None or desired is None:
        return ObjectChanges(tuple(sorted(after)), {}, tuple(sorted(before)))
    changes = [one for one in (*diff.relations, *diff.local_changes) if not is_version(one.name)]
    renamed = dict(
        sorted(
            (_object_key(change, change.name), _object_key(change, change.renamed_from))
            for change in changes
            if change.renamed_from is not None
        )
    )
    redefined = {key for key in after if renamed.get(key, key) not in before}
    redefined |= {object_key("function", key) for key in _changed_functions(applied, desired, diff)}
    redefined |= {
        _object_key(change, change.name)
        for change in changes
        if change.action is not Action.REMOVED and _is_redefined(change, applied, desired)
    }
    redefined |= _following(renamed, applied, desired, after)
    kept = {renamed.get(key, key) for key in after}
    return ObjectChanges(tuple(sorted(redefined)), renamed, tuple(sorted(before - kept)))


def _object_key(change: RelationChange, name: str) -> str:
    """What has versions is a table or a view: a stream is a view there."""
    return object_key("table" if change.kind is RelationKind.TABLE else "view", name)


def _changed_functions(applied: Program, desired: Program, diff: Diff) -> set[str]:
    """The functions that do something else now, be it that one which they call does."""
    changed = {fold(one.name) for one in diff.functions if one.action is not Action.REMOVED}
    versions = {key for program in (applied, desired) for key in program.functions if is_version(key)}
    if not changed and not versions:
        return set()
    spelling = max(applied.spelling, desired.spelling)
    both = [key for key in desired.functions if key in applied.functions and not is_version(key)]
    before, after = (closures(one.functions, both, spelling) for one in (applied, desired))
    return {key for key in both if before[key] != after[key]}


def _following(renamed: dict[str, str], applied: Program, desired: Program, keys: set[str]) -> set[str]:
    """The views whose query is another and may yet be no change, as it follows renames."""
    if not desired.moves:
        return set()
    spelling = max(applied.spelling, desired.spelling)
    found = set()
    for name, view in desired.views.items():
        key = object_key("view", name)
        before = applied.views.get(renamed.get(key, key).partition(":")[2])
        if (
            key in keys
            and before is not None
            and canonical_under(before, applied, spelling) != canonical_under(view, desired, spelling)
        ):
            found.add(key)
    return found


def _is_redefined(change: RelationChange, applied: Program, desired: Program) -> bool:
    if change.action is Action.ADDED:
        # Also a view that became LOCAL, or ceased to be: its kind is another.
        return True
    if fold(change.name) in desired.tables:
        return any(not isinstance(cause, RelationRenamed) for cause in change.causes)
    # Both sides by one rule, as `compare` looks at them.
    spelling = max(applied.spelling, desired.spelling)
    names = [
        _columns(name, program, spelling)
        for name, program in ((change.renamed_from or change.name, applied), (change.name, desired))
    ]
    return _has(change.causes, _OF_A_VIEW) or names[0] != names[1]


def _has(causes: Iterable[Cause], kinds: tuple[type, ...]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes)


def _columns(name: str, program: Program, spelling: Spelling) -> list[str]:
    view = program.views.get(fold(name))
    names = view.column_names if view is not None else ()
    return list(names) if spelling else [fold(one) for one in names]
