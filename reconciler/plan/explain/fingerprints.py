"""What of a relation is hashed, part by part, and what is written and not hashed.

Both sides are hashed by one rule of spelling, as the diff compares them. Functions are hashed by themselves, and shown with
each view that calls them, because a view is another when they are. A query that is written otherwise and means the
same has one canonical text on both sides.
"""

from dataclasses import replace
from typing import Any, assert_never

from reconciler.base.digest import digest_json, short
from reconciler.plan.explain.model import Part, Sides, Written
from reconciler.project.program.model import Program, Relation, Table, View
from reconciler.project.snapshot.fingerprint import canonical_under, function_content, table_content, view_content
from reconciler.project.snapshot.functions import called_closely
from reconciler.sql.spelling import Spelling


def fingerprint_parts(sides: Sides, before: Relation | None, after: Relation | None) -> tuple[Part, ...]:
    """Digests of the parts that `snapshot.fingerprint` hashes, in its order."""
    old = _content(before, sides.applied, sides.spelling)
    new = _content(after, sides.desired, sides.spelling)
    return tuple(Part(name, old.get(name), new.get(name)) for name in {**old, **new})


def _content(relation: Relation | None, program: Program | None, spelling: Spelling) -> dict[str, str]:
    if relation is None or program is None:
        return {}
    content: dict[str, Any]
    match relation:
        case Table():
            content = table_content(relation, program.settings, spelling)
        case View():
            view = replace(relation, canonical=canonical_under(relation, program, spelling))
            content = view_content(view, program.settings, spelling)
            called = [program.functions[key] for key in sorted(called_closely(program.functions, relation.calls))]
            content |= {f"function {one.name}": function_content(one, spelling) for one in called}
        case _:
            assert_never(relation)
    return {name: short(digest_json(value)) for name, value in content.items()}


def texts_of_one_meaning(
    sides: Sides, before: Relation | None, after: Relation | None
) -> tuple[str, tuple[str, str]] | None:
    """The canonical text, and both texts as written, of a query that is written otherwise and means the same."""
    if not isinstance(before, View) or not isinstance(after, View) or before.query == after.query:
        return None
    assert sides.applied is not None
    assert sides.desired is not None
    canonical = canonical_under(after, sides.desired, sides.spelling)
    if canonical != canonical_under(before, sides.applied, sides.spelling):
        return None
    return canonical, (before.query, after.query)


def written_besides(
    sides: Sides, applied_key: str, key: str, before: Relation | None, after: Relation | None
) -> tuple[Written, ...]:
    """What is kept of the definition besides its meaning, and whether it differs."""
    old = _metadata(sides.applied, applied_key, before)
    new = _metadata(sides.desired, key, after)
    both = bool(old) and bool(new)
    return tuple(Written(what, both and old.get(what) != new.get(what)) for what in {**old, **new})


def _metadata(program: Program | None, key: str, relation: Relation | None) -> dict[str, Any]:
    if program is None or relation is None:
        return {}
    found: dict[str, Any] = {
        "SQL text": relation.declaration.sql,
        "description": program.settings.descriptions.get(key),
        "protect": key in program.settings.protected,
    }
    if isinstance(relation, Table):
        found["comments of columns"] = [column.comment for column in relation.columns]
        found["evolution"] = program.evolution_of(key).value
    return found
