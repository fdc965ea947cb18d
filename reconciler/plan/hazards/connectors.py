"""What moves between the pipeline and the world: rows that come in twice (H904), sinks that keep old ones (H905),
inputs that may wait for ever (H936), sinks that are another pipeline's, too (H939)."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.base.declarations import RelationKind
from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.connectors.catalogue import canonical_settings, ends, on_bootstrap, sink_can_delete
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, Diff, Fate
from reconciler.plan.connectors import changes_names_only
from reconciler.plan.hazards.removal import is_cleared
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Connector, Program


def inputs_read_again(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H904: a connector that starts over, into a table that keeps its rows and has no key to find them by. One that is new
    starts over where another one, which is removed, read the same into that table."""
    renamed = {fold(change.name): fold(change.renamed_from or "") for change in diff.relations if change.renamed_from}
    cleared = {fold(change.name) for change in diff.relations if is_cleared(change)}
    for change in diff.connectors:
        if change.action is Action.REMOVED or change.direction is not Direction.INPUT:
            continue
        relation = fold(change.name.partition(".")[0])
        table = desired.tables.get(relation)
        if table is None or relation in cleared or table.primary_key:
            continue
        before = ""
        if change.action is Action.ADDED:
            settings = desired.connectors[fold(change.name)].settings
            before = _removed_alike(diff, applied, renamed.get(relation, relation), settings)
        if before or (change.differences and not changes_names_only(change)):
            what = f"is new and reads what {before} read," if before else "starts over"
            hint = "; if it is the same connector, declare the rename under moved" if before else ""
            yield Hazard(
                "H904",
                change.name,
                f"connector {change.name} {what} while table {table.name} keeps its rows and has no primary key: "
                f"rows that it reads again are then there twice{hint}",
            )


def _removed_alike(diff: Diff, applied: Program, relation: str, settings: JsonObject) -> str:
    """The input of an applied table that is removed and read the same; empty when there is none."""
    if relation not in applied.tables:
        return ""
    wanted = canonical_settings(settings)
    removed = [
        applied.connectors[fold(change.name)]
        for change in diff.connectors
        if change.action is Action.REMOVED and change.direction is Direction.INPUT
    ]
    alike = [one for one in removed if fold(one.relation) == relation and canonical_settings(one.settings) == wanted]
    return alike[0].qualified_name if alike else ""


def inputs_may_wait(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H936: an input starts after another one of which its settings do not say that it ends; told when either is new or
    changes. One that surely never ends is an error of the files (P345)."""
    touched = {fold(change.name) for change in diff.connectors if change.action is not Action.REMOVED}
    touched |= {fold(one.subject) for one in diff.metadata if one.what in ("start_after", "labels")}
    open_ended: dict[str, list[str]] = {}
    for key, connector in sorted(desired.connectors.items()):
        if connector.direction is Direction.INPUT and ends(connector.settings) is None:
            for label in _texts(connector.settings.get("labels")):
                open_ended.setdefault(label, []).append(key)
    touched_of = {label: [key for key in keys if key in touched] for label, keys in open_ended.items()}
    for key, connector in sorted(desired.connectors.items()):
        for label in sorted(_texts(connector.settings.get("start_after"))):
            others = (open_ended if key in touched else touched_of).get(label)
            if others:
                yield _may_wait(connector, label, desired.connectors[others[0]], len(others) - 1)


def _may_wait(connector: Connector, label: str, first: Connector, more: int) -> Hazard:
    which = f"{first.qualified_name} and {more} more of that label" if more else first.qualified_name
    whether = "whether they ever end" if more else "whether it ever ends"
    return Hazard(
        "H936",
        connector.qualified_name,
        f"{connector.qualified_name} starts after {label!r}, and the settings of {which} do not say {whether} (a file does, "
        "a folder does not)",
    )


def _texts(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset({value})
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, Sequence) else frozenset()


def sinks_left_stale(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H905: an output that went on before the view was computed anew, and is not told what is gone. A new output's sink
    is not known to hold anything."""
    computed = {
        fold(change.name)
        for change in diff.relations
        if change.kind is not RelationKind.TABLE and change.action is Action.MODIFIED and change.fate is not Fate.KEPT
    }
    changes = {fold(change.name): change for change in diff.connectors if change.action is not Action.REMOVED}
    for key, connector in sorted(desired.connectors.items()):
        change = changes.get(key)
        if connector.direction is not Direction.OUTPUT or fold(connector.relation) not in computed:
            continue
        if change is not None and change.action is Action.ADDED:
            continue
        name, view = connector.qualified_name, connector.relation
        if change is not None and change.differences:
            message = (
                f"{name} starts over and sends the new {view} in full: if its sink holds rows of the old one, clear it first"
            )
            yield Hazard("H905", name, message)
            continue
        mode = on_bootstrap(connector.settings)
        if mode == "full":
            message = f"the sink of {name} holds rows of the old {view} and gets the new contents in full: clear it first"
            yield Hazard("H905", name, message)
        elif mode == "silent":
            message = f"the sink of {name} keeps rows of the old {view} and gets nothing of the new contents"
            yield Hazard("H905", name, message)
        elif mode == "changes" and not sink_can_delete(connector.settings):
            message = f"the sink of {name} can't delete: it keeps rows of the old {view} that the new one does not have"
            yield Hazard("H905", name, message)


def touched_outputs(diff: Diff, desired: Program) -> tuple[str, ...]:
    """The folded names of outputs that are new or changed, also in what a sink holds after a bootstrap."""
    found = {fold(change.name) for change in diff.connectors if change.action is not Action.REMOVED}
    found |= {fold(one.subject) for one in diff.metadata if one.what == "on_bootstrap"}
    return tuple(
        key for key in sorted(found) if key in desired.connectors and desired.connectors[key].direction is Direction.OUTPUT
    )


def sinks_of_others(desired: Program, writers: Mapping[str, Sequence[str]]) -> Iterator[Hazard]:
    """H939: an output that is new or changed writes where others do. `writers` are outputs of other pipelines, as applied,
    by the folded name of the connector of this one."""
    for key, others in sorted(writers.items()):
        name = desired.connectors[key].qualified_name
        who = f"{', '.join(others)} {'do' if len(others) > 1 else 'does'}"
        message = f"{name} writes where {who}: if one of them empties or overwrites that place, the other loses its rows"
        yield Hazard("H939", name, message, tuple(others))
