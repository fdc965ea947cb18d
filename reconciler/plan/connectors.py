"""What becomes of each connector. Rules: the seed, "How different types of changes are handled", Connectors.

| connector | its relation | outcome |
|---|---|---|
| input, unchanged | unchanged | resumes from its position |
| input, unchanged | table modified | reset, because its table is cleared |
| input, added | any | starts from its configuration, once the plan is applied |
| input, modified | any | reset to its new configuration; rows that it brought stay |
| input, removed | any | detached; rows that it brought stay |
| output, any | view new or modified | sends the view's full contents |
| output, added or modified | view unchanged | sends only new changes |
| output, unchanged | view unchanged | resumes |
| output, removed | any | detached |
"""

from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, Diff
from reconciler.names import fold
from reconciler.plan.model import ConnectorOutcome, Outcome
from reconciler.program.model import Connector, Program


def connector_outcomes(diff: Diff, applied: Program, desired: Program) -> tuple[ConnectorOutcome, ...]:
    """One outcome for each connector of either program, sorted by qualified name."""
    changes = {fold(change.name): change.action for change in diff.connectors}
    relations = {fold(change.name): change.action for change in diff.relations if change.action is not Action.REMOVED}
    outcomes = [
        _outcome(connector, changes.get(fold(connector.qualified_name)), relations.get(fold(connector.relation)))
        for connector in desired.connectors.values()
    ]
    outcomes += [
        _detached(connector, desired) for key, connector in applied.connectors.items() if key not in desired.connectors
    ]
    return tuple(sorted(outcomes, key=lambda outcome: fold(outcome.connector)))


def _outcome(connector: Connector, change: Action | None, relation: Action | None) -> ConnectorOutcome:
    name = connector.qualified_name
    if connector.direction is Direction.OUTPUT:
        if relation is not None:
            return ConnectorOutcome(name, Outcome.SENDS_FULL_CONTENTS, f"view {connector.relation} is {_newness(relation)}")
        if change is None:
            return ConnectorOutcome(name, Outcome.RESUMES, "neither it nor its view changed")
        return ConnectorOutcome(name, Outcome.SENDS_NEW_CHANGES, f"it is {_newness(change)}, its view is not")
    if change is Action.ADDED:
        return ConnectorOutcome(name, Outcome.STARTS, "new: starts from its configuration")
    if relation is Action.MODIFIED:
        return ConnectorOutcome(name, Outcome.RESETS, f"table {connector.relation} is modified and cleared")
    if change is Action.MODIFIED:
        return ConnectorOutcome(name, Outcome.RESETS, "its configuration changed; rows that it brought stay")
    return ConnectorOutcome(name, Outcome.RESUMES, "neither it nor its table changed; resumes from its position")


def _detached(connector: Connector, desired: Program) -> ConnectorOutcome:
    if connector.direction is Direction.INPUT and desired.relation(connector.relation) is not None:
        return ConnectorOutcome(connector.qualified_name, Outcome.DETACHES, "removed; rows that it brought stay")
    return ConnectorOutcome(connector.qualified_name, Outcome.DETACHES, "removed")


def _newness(action: Action) -> str:
    return "new" if action is Action.ADDED else "modified"
