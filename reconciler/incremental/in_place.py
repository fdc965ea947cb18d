"""Views that are computed in place: their queries are written into those of the views that read them, so that these follow
what changes in stored relations."""

from typing import Final

from reconciler.base.names import fold
from reconciler.incremental.model import Recompute
from reconciler.project.program.model import Program, View

_MOST: Final = 20
"""So many views are written into one query. A text grows with each, and is read again for each."""


def views_in_place(program: Program, view: View) -> tuple[View, ...]:
    """The views that are computed in place where this one is computed, each once, after those that it reads."""
    found: set[str] = set()
    waiting = [view]
    while waiting:
        for read in waiting.pop().reads:
            key = fold(read.relation)
            other = program.views.get(key)
            if other is not None and not other.is_stored and key not in found:
                found.add(key)
                waiting.append(other)
    return tuple(program.views[key] for key in program.order if key in found) if found else ()


def written_query(program: Program, view: View) -> str | Recompute:
    """The query of a view, with those of views that are computed in place written into it."""
    within = views_in_place(program, view)
    if not within:
        return view.query
    if len(within) > _MOST:
        hint = f"make some MATERIALIZED, such as {within[-1].name}"
        return Recompute(f"it reads {len(within)} views that are computed in place", hint)
    unfit = next((one for one in within if one.stream is not None or one.declaration.column_names), None)
    if unfit is not None:
        return Recompute(f"it reads {unfit.name}, which is computed in place", f"make {unfit.name} MATERIALIZED")
    from reconciler.sql.inlined import inlined, without_names

    bodies: dict[str, str] = {}
    for one in (*within, view):
        written = inlined(without_names(one.query) or one.query, bodies)
        if written is None:
            known = ", ".join(program.views[key].name for key in bodies)
            return Recompute(f"{known} can't surely be written into its query", f"make {known} MATERIALIZED")
        bodies[fold(one.name)] = written
    return bodies[fold(view.name)]
