"""Views that pipeline.yaml gives a table of their own, though SQL does not say MATERIALIZED: `stored: true`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from reconciler.base.declarations import ViewDeclaration, ViewKind
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import fold
from reconciler.project.manifest.check import part
from reconciler.project.manifest.document import Document


def with_stored(
    views: Iterable[ViewDeclaration], value: Mapping[str, Any], document: Document
) -> tuple[tuple[ViewDeclaration, ...], list[Diagnostic]]:
    """The views as pipeline.yaml has them. A LOCAL one that is to be stored is an error (M193)."""
    entries = part(value, "spec", "views")
    said = entries if isinstance(entries, Mapping) else {}
    names = {fold(name): name for name, entry in said.items() if part(entry, "stored") is True}
    found: list[ViewDeclaration] = []
    problems: list[Diagnostic] = []
    for view in views:
        name = names.get(fold(view.name))
        if name is not None and view.kind is ViewKind.LOCAL:
            message = f"view {view.name} is LOCAL: only views of its pipeline can read it, so it has no table of its own"
            place = document.of_key(("spec", "views", name, "stored"))
            problems.append(Diagnostic("M193", message, place, "remove LOCAL, or remove stored"))
        is_plain = name is not None and view.kind is ViewKind.PLAIN
        found.append(replace(view, kind=ViewKind.MATERIALIZED) if is_plain else view)
    return tuple(found), problems
