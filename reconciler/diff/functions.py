"""Functions compared: (applied, desired) → what changed of each, and which others a change reaches.

A function is changed if its parameters, its type, its body, a module that it imports from the pipeline's folder, its
requirements, its determinism, what it does where it fails, or the minor version of Python differ; not by comments, layout
or a description. It is reached by a change if its body in SQL calls, directly or through others, a function that is
changed, added or of another kind. What that does to views is `compare`'s: a view is modified when a function that it calls
is reached.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import FunctionBody, FunctionDeclaration, PythonBody, SqlBody
from reconciler.base.names import fold, is_version, without_version
from reconciler.diff.causes import Path
from reconciler.diff.model import Action, FunctionChange
from reconciler.project.program.model import Function
from reconciler.project.snapshot.fingerprint import function_content
from reconciler.project.snapshot.functions import closures
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.python_meaning import python_meaning
from reconciler.sql.calls import canonical_expression
from reconciler.sql.spelling import Spelling


def compare_functions(applied: Snapshot, desired: Snapshot) -> tuple[FunctionChange, ...]:
    """The functions that differ, sorted by name."""
    before, after = applied.program.functions, desired.program.functions
    if not before and not after:
        return ()
    # Both sides by one rule, as for queries.
    spelling = max(applied.program.spelling, desired.program.spelling)
    found: list[FunctionChange] = []
    # Recorded versions are what they are; what becomes of their callers is seen by these.
    for key in sorted(key for key in {*before, *after} if not is_version(key)):
        if key not in before:
            found.append(FunctionChange(Action.ADDED, after[key].name))
        elif key not in after:
            found.append(FunctionChange(Action.REMOVED, before[key].name))
        elif function_content(before[key], spelling) != function_content(after[key], spelling):
            causes = _causes(before[key].declaration, after[key].declaration, spelling)
            found.append(FunctionChange(Action.MODIFIED, after[key].name, causes))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ChangedCalls:
    """What changed of what views call. `paths`: see `changed_paths`. `before` and `after` tell what functions do of which a
    recorded version is called on either side (`closures`), by key; `names` are those of desired."""

    paths: Mapping[str, Path]
    before: Mapping[str, str]
    after: Mapping[str, str]
    names: Mapping[str, str]

    def path(self, former: str | None, call: str) -> Path | None:
        """The path to where a function (its key) that is called began to change; None where it does what it did. `former`
        is what the view called under that name before."""
        if former is None or not (is_version(former) or is_version(call)):
            return self.paths.get(call)
        # One of them is recorded, and what it does is told by itself alone.
        return None if self.before.get(former) == self.after.get(call) else Path((self.names[call],))


def changed_calls(applied: Snapshot, desired: Snapshot, changes: Iterable[FunctionChange]) -> ChangedCalls:
    """What these changes of functions mean to views. Each function is digested once, however many views call it."""
    programs = applied.program, desired.program
    spelling = max(one.spelling for one in programs)
    recorded = {without_version(key) for one in programs for key in one.functions if is_version(key)}
    before, after = (
        closures(one.functions, [key for key in one.functions if without_version(key) in recorded], spelling)
        for one in programs
    )
    names = {key: desired.program.functions[key].name for key in after}
    return ChangedCalls(changed_paths(applied, desired, changes), before, after, names)


def changed_paths(applied: Snapshot, desired: Snapshot, changes: Iterable[FunctionChange]) -> Mapping[str, Path]:
    """For each function of desired (folded) that is changed or calls what is changed: the names from it to the changed one.
    An added function counts as changed: what called it before, if anything did, was another."""
    after = desired.program.functions
    paths = {fold(change.name): Path((change.name,)) for change in changes if change.action is not Action.REMOVED}
    callers: dict[str, list[str]] = {}
    for key, function in after.items():
        for one in function.calls:
            callers.setdefault(one, []).append(key)
    # In the order of nearness, so that each gets its shortest path, ties by name.
    reached = sorted(paths)
    while reached:
        through: dict[str, str] = {}
        for one in reached:
            for key in callers.get(one, ()):
                if key not in paths:
                    through.setdefault(key, one)
        reached = sorted(through)
        paths |= {key: paths[through[key]].after(after[key].name) for key in reached}
    return dict(sorted(paths.items()))


def _causes(applied: FunctionDeclaration, desired: FunctionDeclaration, spelling: Spelling) -> tuple[str, ...]:
    """What differs, in words."""
    causes: list[str] = []
    if _signature(applied, spelling) != _signature(desired, spelling):
        causes.append("signature changed")
    causes += _body_causes(applied.body, desired.body, spelling)
    written_in_python = isinstance(applied.body, PythonBody) and isinstance(desired.body, PythonBody)
    if written_in_python and applied.deterministic != desired.deterministic:
        causes.append("is now deterministic" if desired.deterministic else "is no longer deterministic")
    # One spelling of the name became another: Python tells them apart.
    return tuple(causes) or ("spelling of the name changed",)


def _signature(function: FunctionDeclaration, spelling: Spelling) -> object:
    content = function_content(Function(function), spelling)
    return content["parameters"], content["returns"]


def _body_causes(applied: FunctionBody, desired: FunctionBody, spelling: Spelling) -> list[str]:
    match applied:
        case SqlBody():
            if isinstance(desired, PythonBody):
                return ["is now written in Python"]
            texts = [canonical_expression(one.expression, spelling) for one in (applied, desired)]
            return [] if texts[0] == texts[1] else ["body changed"]
        case PythonBody():
            return ["is now written in SQL"] if isinstance(desired, SqlBody) else _python_causes(applied, desired)
        case _:
            assert_never(applied)


def _python_causes(applied: PythonBody, desired: PythonBody) -> list[str]:
    causes: list[str] = []
    if applied.module != desired.module:
        causes.append(f"module changed from {applied.module} to {desired.module}")
    before, after = python_meaning(applied.sources), python_meaning(desired.sources)
    for path in sorted({*applied.sources, *desired.sources}):
        if path not in applied.sources:
            causes.append(f"udf/{path} added")
        elif path not in desired.sources:
            causes.append(f"udf/{path} removed")
        elif before[path] != after[path] and applied.sources[path] != desired.sources[path]:
            causes.append(f"udf/{path} changed")
    if sorted(applied.requirements) != sorted(desired.requirements):
        causes.append("requirements changed")
    if applied.gives_null_on_error != desired.gives_null_on_error:
        causes.append("now returns NULL on errors" if desired.gives_null_on_error else "no longer returns NULL on errors")
    if applied.python != desired.python:
        causes.append(f"Python {applied.python} → {desired.python}")
    return causes
