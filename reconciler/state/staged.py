"""What is staged, as it stands in the head: its words, its folders, where its rows are read. What stages: `staging`."""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.names import fold, is_version
from reconciler.plan.model import Plan, StagedVersion
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.model import Head, Staged, StagedView
from reconciler.registry.placements import Placement


def staged_folders(head: Head) -> frozenset[str]:
    """The staging folders (below the warehouse) that are named by what is staged: nobody removes them before it is promoted
    or dropped."""
    views = head.staged.views if head.staged is not None else {}
    return frozenset(one.folder for one in views.values())


def staged_number(head: Head, key: str) -> int | None:
    """The number of the version of an object (`kind:folded name`) that is staged; None: none is."""
    return head.staged.numbers.get(key) if head.staged is not None else None


def staged_names(staged: Staged) -> str:
    """For example: `per_day@v1, revenue@v3`, those that are to be kept up to date among them. Where nothing has another
    version, the views that were computed."""
    found = [f"{key.partition(':')[2]}@v{number}" for key, number in staged.numbers.items()]
    found += [view for view in staged.views if is_version(view)]
    return ", ".join(sorted(found or staged.views))


def describe_promotion(staged: Staged | None, view: str, folder: str) -> str:
    """How rows of a view that is applied came to be, for people: nothing to say where none were staged."""
    one = staged.views.get(fold(view)) if staged is not None else None
    if staged is None or one is None:
        return ""
    if one.staging == folder:
        return f", as staged at step {staged.step}: nothing computed"
    return f", recomputed: its input changed after it was staged at step {staged.step}"


def staged_placements(staged: Staged) -> Mapping[str, Placement]:
    """Where the rows of staged views (folded) can be read: each a table of one version."""
    return placements_of(staged.views)


def placements_of(views: Mapping[str, StagedView]) -> dict[str, Placement]:
    """Where rows that were built beside what is in force can be read, by folded name of their views."""
    return {key: Placement(one.folder, 0, one.result.rows, one.result.columns) for key, one in sorted(views.items())}


def with_staged(plan: Plan, staged: Staged, desired: Snapshot | None) -> Plan:
    """A plan that says what it does to what is staged."""
    promotes = desired is not None and desired.digest == staged.digest and not plan.changes_nothing
    found = []
    for key, number in sorted(staged.numbers.items()):
        kind, _, name = key.partition(":")
        found.append(StagedVersion(kind, name, number, staged.step, promotes))
    return replace(plan, staged=tuple(found))
