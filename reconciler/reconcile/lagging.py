"""How far an output lags: the steps that its sink was not told of, by the history of steps.

A sink shows what its view held at a Delta version. The lag begins with the first step at which the view stood at a later
version, and counts each step published from there on; withdrawn ones never were. It is known only where the history has that
version in the view's present folder: not of an output that never sent anything, and not beyond where the history begins.
"""

import json

from reconciler.errors import RegistryError
from reconciler.names import fold
from reconciler.program.model import Connector
from reconciler.reconcile.steps import WITHDRAWN
from reconciler.registry.model import Head
from reconciler.registry.protocol import History, Registry


def lagging_steps(registry: Registry, head: Head, connector: Connector) -> int | None:
    """The steps of which an output's sink was not told; None where that is not known."""
    view, output = fold(connector.relation), head.outputs.get(fold(connector.qualified_name))
    placement = head.published.relations.get(view) if head.published is not None else None
    if head.published is None or placement is None or output is None or output.sent is None:
        return None
    if output.sent == placement.version:
        return 0
    try:
        rows = registry.history(History.STEPS, head.pipeline)
    except RegistryError:
        # It is told, and decides nothing.
        return None
    withdrawn = {int(row["step"]) for row in rows if row["kind"] == WITHDRAWN}
    published = {int(row["step"]): row for row in rows if int(row["step"]) <= head.published.step}
    steps, seen, first = sorted(set(published) - withdrawn), False, None
    for step in steps:
        place = json.loads(published[step]["relations"]).get(view)
        if place is None or place["location"] != placement.location:
            continue
        if place["version"] > output.sent:
            first = step
            break
        seen = seen or place["version"] == output.sent
    return sum(step >= first for step in steps) if seen and first is not None else None
