"""How far an output lags: the steps that its sink was not told of, by the history of steps.

A sink shows what its view held at a Delta version. The lag begins with the first step at which the view stood at a later
version, and counts each step published from there on; withdrawn ones never were. It is known only where the history has that
version in the view's present folder: not of an output that never sent anything, and not beyond where the history begins.
"""

import json
from collections.abc import Iterable

from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.project.program.model import Connector
from reconciler.registry.model import Head
from reconciler.registry.protocol import Registry
from reconciler.state.step_history import WITHDRAWN, Row, rows_back


def lagging_steps(registry: Registry, head: Head, connector: Connector) -> int | None:
    """The steps of which an output's sink was not told; None where that is not known."""
    view, output = fold(connector.relation), head.outputs.get(fold(connector.qualified_name))
    placement = head.published.relations.get(view) if head.published is not None else None
    if head.published is None or placement is None or output is None or output.sent is None:
        return None
    if output.sent == placement.version:
        return 0
    try:
        return _lag(rows_back(registry, head.pipeline, head.published.step), placement.location, output.sent)
    except RegistryError:
        # It is told, and decides nothing.
        return None


def _lag(rows: Iterable[tuple[int, Row]], location: str, sent: int) -> int | None:
    """Of steps from the last one backwards. The view is told by its folder: it may have had another name."""
    passed = lag = 0
    for _, row in rows:
        passed += row["kind"] != WITHDRAWN
        relations = json.loads(row["relations"]).values()
        version = next((place["version"] for place in relations if place["location"] == location), None)
        if version is None and row["whole"] == "true":
            return None
        if version is None:
            continue
        if version <= sent:
            return lag if version == sent and lag else None
        lag = passed
    return None
