"""What a plan changes, as the client is told it."""

from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.diff.model import approval_diff
from reconciler.plan.model import Plan
from reconciler.rest.descriptions import HTTP_CONNECTOR

_CONNECTORS: Final = "_connectors"


def shown_diff(plan: Plan) -> JsonObject:
    """The seed's diff object of a plan, without the connectors by which rows come over HTTP: nobody declared those."""
    own = f".{HTTP_CONNECTOR}"
    return {
        name: [one for one in found if not one.endswith(own)] if name.endswith(_CONNECTORS) else found
        for name, found in approval_diff(plan.diff).items()
    }


def list_changed(diff: JsonObject) -> str:
    """What changed, in words: `; modified views: named`."""
    parts = {**(diff["program_diff"] or {}), **{name: diff[name] for name in diff if name.endswith(_CONNECTORS)}}
    return "".join(f"; {name.replace('_', ' ')}: {', '.join(found)}" for name, found in parts.items() if found)
