"""What a plan changes, as the client is told it; and which rows are lost, of which Feldera's diff says nothing."""

from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.diff.model import approval_diff
from reconciler.plan.model import Plan
from reconciler.rest.descriptions import HTTP_CONNECTOR

_CONNECTORS: Final = "_connectors"
_LOST: Final = "lost_rows"
_LOSES_ROWS: Final = frozenset({"H901", "H902", "H906", "H911", "H913"})


def shown_diff(plan: Plan) -> JsonObject:
    """The seed's diff object of a plan, without the connectors by which rows come over HTTP: nobody declared those. Where
    rows are lost, `lost_rows` has the messages of the hazards that say so."""
    own = f".{HTTP_CONNECTOR}"
    lost = masked_in_code(*(hazard.message for hazard in plan.hazards if hazard.code in _LOSES_ROWS))
    diff = {
        name: [one for one in found if not one.endswith(own)] if name.endswith(_CONNECTORS) else found
        for name, found in approval_diff(plan.diff).items()
    }
    return {**diff, _LOST: list(lost)} if lost else diff


def list_changed(diff: JsonObject) -> str:
    """What changed, in words: `; modified views: named`; then which rows are lost."""
    parts = {**(diff["program_diff"] or {}), **{name: diff[name] for name in diff if name.endswith(_CONNECTORS)}}
    words = [f"{name.replace('_', ' ')}: {', '.join(found)}" for name, found in parts.items() if found]
    return "".join(f"; {one}" for one in (*words, *diff.get(_LOST, ())))
