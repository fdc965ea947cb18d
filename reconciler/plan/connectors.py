"""What becomes of each connector. Rules: the seed, "How different types of changes are handled", Connectors; and what
design lifts: declared renames, rows that outlive a change of their table, `on_bootstrap`.

| connector | its relation | outcome |
|---|---|---|
| input, unchanged | unchanged, or modified with its rows kept | resumes from its position |
| input, unchanged | table modified and cleared | reset, because its table is cleared |
| input, added | any | starts from its configuration, once the plan is applied |
| input, modified | any | reset to its new configuration; rows that it brought stay |
| input, modified in `columns` only | not cleared | resumes: what is read from now on is read under the new names |
| input, removed | any | detached; rows that it brought stay |
| output, any | view new | sends the view's full contents |
| output, added or modified | view modified | sends the view's full contents |
| output, unchanged | view modified | as its `on_bootstrap` says: the difference, full contents, an emptied sink, nothing |
| output, added | view unchanged | sends only new changes; its full contents with `send_snapshot` |
| output, modified | view unchanged | resumes: goes on from what it sent last; its full contents with `send_snapshot` |
| output, unchanged | view unchanged | resumes |
| output, removed | any | detached |
| output, writing where an output of its view wrote before | any | as one that was there: goes on from what was sent there |

A connector or relation that was only renamed (`moved`) is unchanged.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from reconciler.base.names import fold
from reconciler.connectors.catalogue import on_bootstrap, place, sink_can_delete
from reconciler.connectors.columns import COLUMNS
from reconciler.connectors.transport import Direction
from reconciler.diff.fields import describe_fields, field_changes
from reconciler.diff.model import Action, ConnectorChange, Diff, Fate, RelationChange
from reconciler.diff.moves import Renames
from reconciler.plan.model import ConnectorOutcome, Outcome
from reconciler.plan.unchanged import UNCHANGED_REASONS
from reconciler.project.program.model import Connector, Program

_OF_A_BOOTSTRAP = {
    "changes": (Outcome.SENDS_DIFFERENCE, "only the difference between old and new contents, deletes included"),
    "full": (Outcome.SENDS_FULL_CONTENTS, "on_bootstrap: full; its sink keeps the rows that it has"),
    "truncate": (Outcome.TRUNCATES, "on_bootstrap: truncate"),
    "silent": (Outcome.SENDS_NOTHING_OF_IT, "on_bootstrap: silent; only later changes are sent"),
}

# Where the sink can't take rows back; by outcome, and whether the connector says so itself.
_OF_A_SINK_THAT_GROWS = {
    (
        Outcome.SENDS_DIFFERENCE,
        True,
    ): "on_bootstrap: changes; its sink can't delete, so it keeps rows that the view no longer has",
    (Outcome.SENDS_FULL_CONTENTS, False): "its sink can't delete: it gets all rows and keeps those that it has",
}


def connector_outcomes(
    diff: Diff, applied: Program, desired: Program, renames: Renames, back: Collection[str] = ()
) -> tuple[ConnectorOutcome, ...]:
    """One outcome for each connector of either program, sorted by qualified name. `back` as in `Beside`."""
    changes = {fold(change.name): change for change in diff.connectors if change.action is not Action.REMOVED}
    relations = {fold(change.name): change for change in diff.relations if change.action is not Action.REMOVED}
    outcomes = []
    went_on: set[str] = set()
    for key, connector in desired.connectors.items():
        old_key = renames.applied_connector(key)
        old = applied.connectors.get(old_key)
        change = changes.get(key)
        if old is not None and (change is None or change.action is not Action.ADDED):
            went_on.add(old_key)
        renamed_from = old.qualified_name if old is not None and old_key != key and old_key in went_on else None
        relation, goes_back = relations.get(fold(connector.relation)), key in back
        outcome, reason = (
            _outcome_of_one_that_is_back(relation, connector) if goes_back else _outcome(old, connector, change, relation)
        )
        if old is not None and old_key in went_on and connector.direction is Direction.INPUT:
            fields = describe_fields(field_changes(applied, desired, renames, old, connector))
            reason += f"; {fields}" if fields else ""
        outcomes.append(ConnectorOutcome(connector.qualified_name, outcome, reason, renamed_from, goes_back))
    outcomes += [_detached(connector, desired) for key, connector in applied.connectors.items() if key not in went_on]
    return tuple(sorted(outcomes, key=lambda outcome: (fold(outcome.connector), outcome.outcome)))


def say_what_is_sent_again(
    outcomes: tuple[ConnectorOutcome, ...],
    applied: Program,
    desired: Program,
    renames: Renames,
    retyped: Callable[[], Mapping[str, Mapping[str, object]]],
) -> tuple[ConnectorOutcome, ...]:
    """The outcomes, where those that send the difference say that it is every row: rows of other columns are never the same,
    nor are values of two types. `retyped` gives the columns that surely have another type by relation, and is asked only
    where it matters."""
    if not any(one.outcome is Outcome.SENDS_DIFFERENCE for one in outcomes):
        return outcomes
    types = retyped()

    def why(view: str) -> str:
        before, after = applied.views.get(renames.applied_key(view)), desired.views.get(view)
        names = [[fold(name) for name in one.column_names] if one is not None else [] for one in (before, after)]
        if all(names) and names[0] != names[1]:
            return "its columns changed"
        columns = sorted(types.get(view, ()))
        return f"{', '.join(columns)} {'have other types' if len(columns) > 1 else 'has another type'}" if columns else ""

    reasons = [
        why(fold(one.connector.partition(".")[0])) if one.outcome is Outcome.SENDS_DIFFERENCE else "" for one in outcomes
    ]
    return tuple(
        replace(one, reason=f"{one.reason}; that is every row, because {reason}") if reason else one
        for one, reason in zip(outcomes, reasons, strict=True)
    )


def _outcome(
    old: Connector | None, connector: Connector, change: ConnectorChange | None, relation: RelationChange | None
) -> tuple[Outcome, str]:
    added = change is not None and change.action is Action.ADDED
    modified = change is not None and change.action is Action.MODIFIED and bool(change.differences)
    if change is not None and modified and changes_names_only(change):
        modified = False
        if relation is None or relation.fate is not Fate.CLEARED:
            return Outcome.RESUMES, "only field names changed; it keeps its position, and rows already read stay"
    if connector.direction is Direction.OUTPUT:
        renamed = change is not None and change.renamed_from is not None
        return _output_outcome(old, connector, added, modified, renamed, relation)
    if added:
        return Outcome.STARTS, "new: starts from its configuration"
    if relation is not None and relation.action is Action.MODIFIED and relation.fate is Fate.CLEARED:
        return Outcome.RESETS, f"table {connector.relation} is modified and cleared"
    if modified:
        return Outcome.RESETS, "its configuration changed; rows already read stay"
    if relation is not None and relation.action is Action.MODIFIED:
        return Outcome.RESUMES, f"table {connector.relation} keeps its rows, the connector its position"
    if change is not None and change.renamed_from is not None:
        return Outcome.RESUMES, "only its name changed; resumes from its position"
    return Outcome.RESUMES, UNCHANGED_REASONS["input"]


def _outcome_of_one_that_is_back(relation: RelationChange | None, connector: Connector) -> tuple[Outcome, str]:
    what = "an earlier output of its view wrote to the same place; it continues from the rows sent there"
    if relation is None or (relation.action is not Action.ADDED and relation.fate is Fate.KEPT):
        return Outcome.RESUMES, what
    outcome, reason = _of_a_bootstrap(connector)
    newness = _newness(relation.action is Action.ADDED)
    return outcome, f"{what}; {relation.kind.value} {connector.relation} is {newness}, {reason}"


def _of_a_bootstrap(connector: Connector) -> tuple[Outcome, str]:
    """What an output that was there does when its view is computed anew."""
    outcome, reason = _OF_A_BOOTSTRAP[on_bootstrap(connector.settings)]
    if not sink_can_delete(connector.settings):
        reason = _OF_A_SINK_THAT_GROWS.get((outcome, "on_bootstrap" in connector.settings), reason)
    return outcome, reason


def _output_outcome(
    old: Connector | None,
    connector: Connector,
    added: bool,
    modified: bool,
    renamed: bool,
    relation: RelationChange | None,
) -> tuple[Outcome, str]:
    if relation is not None and relation.action is Action.ADDED:
        return Outcome.SENDS_FULL_CONTENTS, f"{relation.kind.value} {connector.relation} is new"
    if relation is not None and relation.fate is not Fate.KEPT:
        if added or modified:
            return (
                Outcome.SENDS_FULL_CONTENTS,
                f"it is {_newness(added)}, and {relation.kind.value} {connector.relation} is modified",
            )
        outcome, reason = _of_a_bootstrap(connector)
        return outcome, f"{relation.kind.value} {connector.relation} is modified; {reason}"
    if (added or modified) and connector.settings.get("send_snapshot"):
        return Outcome.SENDS_FULL_CONTENTS, f"it is {_newness(added)}; send_snapshot: true"
    if added:
        return Outcome.SENDS_NEW_CHANGES, "it is new, its view is not"
    if modified:
        return (
            Outcome.RESUMES,
            f"it is modified, its view is not; it continues from what it sent last{_elsewhere(old, connector)}",
        )
    if renamed:
        return Outcome.RESUMES, "only its name changed"
    return Outcome.RESUMES, UNCHANGED_REASONS["output"]


def _elsewhere(old: Connector | None, connector: Connector) -> str:
    """What to say of what an output has yet to send, where it writes to another place than before."""
    if old is None or (old.transport, place(old.settings)) == (connector.transport, place(connector.settings)):
        return ""
    emptied = "truncate" in (on_bootstrap(old.settings), on_bootstrap(connector.settings))
    also = "; if the old sink was still to be emptied, the new one is emptied instead" if emptied else ""
    return f"; what it has not sent yet goes to the new place{also}"


def changes_names_only(change: ConnectorChange) -> bool:
    """Whether an input that is modified only takes its columns from other fields."""
    return bool(change.differences) and all(one.path.split(".")[0] == COLUMNS for one in change.differences)


def _detached(connector: Connector, desired: Program) -> ConnectorOutcome:
    if connector.direction is Direction.INPUT and desired.relation(connector.relation) is not None:
        return ConnectorOutcome(connector.qualified_name, Outcome.DETACHES, "removed; rows already read stay")
    if connector.direction is Direction.OUTPUT:
        reason = "removed; changes not sent yet are never sent"
        return ConnectorOutcome(connector.qualified_name, Outcome.DETACHES, reason)
    return ConnectorOutcome(connector.qualified_name, Outcome.DETACHES, "removed")


def _newness(added: bool) -> str:
    return "new" if added else "modified"
