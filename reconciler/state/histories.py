"""The histories of versions, as far as they count: what versions of objects were active when, and what they are.

Names are told apart from what has them: an object that is renamed stays itself, and so does a column of a table (`RENAMES`).

They are written before the head's commit that switches. So a row alone proves nothing: one beyond the published step is
none, nor is one of an apply or a restore that was taken back (`numbering`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.protocol import History, Registry
from reconciler.state.step_history import WITHDRAWN

FORMERLY: Final = "formerly"
"""Stands before the id of an object that is gone, and whose name another one has."""


def versions_at(registry: Registry, head: Head, step: int | None) -> dict[str, ObjectVersions]:
    """The versions of all objects as of a published step (None: the last one), as the histories tell them."""

    def rows(history: History, *columns: str) -> list[Mapping[str, str]]:
        found = published_rows(registry, head, history, ("object", "step", *columns))
        return [row for row in found if step is None or int(row["step"]) <= step]

    last: dict[str, int] = {}
    for row in rows(History.VERSIONS, "number"):
        last[row["object"]] = max(int(row["number"]), last.get(row["object"], 0))
    active = {row["object"]: row for row in rows(History.ACTIVATIONS, "number", "name") if row["object"] in last}
    columns = {row["object"]: json.loads(row["columns"]) for row in rows(History.RENAMES, "columns")}
    found: dict[str, ObjectVersions] = {}
    # What is there takes its name before what was.
    for name, row in sorted(active.items(), key=lambda pair: (not pair[1]["number"], pair[0])):
        key = f"{name.partition(':')[0]}:{row['name']}"
        number = int(row["number"]) if row["number"] else None
        found[key if key not in found else f"{FORMERLY}:{name}"] = ObjectVersions(
            name, number, last[name], columns.get(name, {})
        )
    return dict(sorted(found.items()))


def published_rows(
    registry: Registry,
    head: Head,
    history: History,
    columns: Sequence[str],
    by: str = "step",
    limit: int | None = None,
    **equal: str,
) -> tuple[Mapping[str, str], ...]:
    """`Registry.last_rows` of these histories (`step` among the columns), less those that tell of a switch that did not take
    place: of a step that was put back, or is not published."""
    rows = registry.last_rows(history, head.pipeline, columns, by, limit, None, **equal)
    put_back = registry.last_rows(History.STEPS, head.pipeline, ("step",), "step", None, kind=WITHDRAWN)
    withdrawn = {int(row["step"]) for row in put_back}
    last = head.published.step if head.published is not None else head.last_step
    return tuple(row for row in rows if (step := int(row["step"])) <= last and step not in withdrawn)


def known_versions(registry: Registry, head: Head) -> Mapping[str, ObjectVersions]:
    """The versions of all objects as the head has them; where an older version of reconciler has lost them, as the histories
    tell."""
    if head.versions or head.applied is None:
        return head.versions
    return versions_at(registry, head, None)
