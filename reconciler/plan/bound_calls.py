"""What goes on calling an old version of a function although the plan changes that function: views and functions that are
rolled back or pinned call what was recorded with them. Without a word a reader takes the change for one of theirs, too.

Versions of views that are kept up to date are what they were by their very name, and are not told.
"""

from reconciler.base.names import fold, is_version, without_version
from reconciler.diff.model import Diff
from reconciler.plan.model import BoundCall
from reconciler.project.program.model import Program


def bound_calls(diff: Diff, desired: Program) -> tuple[BoundCall, ...]:
    """See the module; sorted."""
    changed = {fold(change.name) for change in diff.functions}
    if not changed:
        return ()
    found: list[BoundCall] = []
    objects = [("function", key, one.name, one.calls) for key, one in sorted(desired.functions.items())]
    objects += [("view", key, view.name, view.calls) for key, view in sorted(desired.views.items())]
    for kind, key, name, calls in objects:
        called = sorted(one for one in _versions_called(desired, calls) if without_version(one) in changed)
        if called and not is_version(key):
            found.append(BoundCall(kind, name, _state(desired, kind, key), tuple(called)))
    return tuple(found)


def _versions_called(program: Program, calls: tuple[str, ...]) -> set[str]:
    """The recorded versions of functions that are called, by what is called as well."""
    found: set[str] = set()
    waiting = [call for call in calls if is_version(call)]
    while waiting:
        name = waiting.pop()
        if name not in found and name in program.functions:
            found.add(name)
            waiting += [call for call in program.functions[name].calls if is_version(call)]
    return found


def _state(program: Program, kind: str, key: str) -> str:
    held = program.settings.held.get(f"{kind}:{key}")
    if held is not None and held.number is not None:
        return f"rolled back to v{held.number}"
    pin = (program.settings.pins if kind == "view" else program.settings.function_pins).get(key)
    return f"pinned at v{pin.number}" if pin is not None else "bound to an earlier version"
