"""Completion tokens: whether rows that came, or all that connectors had read by then, were processed.

A token names the life of its pipeline, a table and the number of a request, or no table and the number of a step. A request
is complete when a published step has read it, and every output has that step. Numbers begin anew with every life
(`registry.model.Deployment.life`), so a token of an earlier life is refused.
"""

import base64
import json
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.rest.errors import Refused
from reconciler.rest.read_requests import position_of
from reconciler.rest.requests import outputs_have_all
from reconciler.rest.shared import Service

_STEPS: Final = ""
"""Stands in a token for a table, where its number is that of a step."""


def token_of(service: Service, pipeline: str, table: str, number: int) -> str:
    """The token of a request."""
    life = service.deployments.wish(pipeline).life
    return base64.urlsafe_b64encode(json.dumps([life, table, number]).encode()).decode()


def token_of_steps(service: Service, pipeline: str) -> str:
    """The token of all that connectors have read by now: complete when the last step that was begun is published."""
    stored = service.target.registry.head(pipeline)
    return token_of(service, pipeline, _STEPS, stored.value.last_step if stored is not None else 0)


def completion(service: Service, pipeline: str, token: str) -> JsonObject:
    """Whether a token's rows were processed. Raises Refused for what is no token of what is stored now."""
    target = service.target
    try:
        life, table, number = json.loads(base64.urlsafe_b64decode(token))
        number = int(number)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Refused(400, "InvalidToken", f"{token!r} is no completion token") from error
    if life != service.deployments.wish(pipeline).life:
        message = f"the token was given before the storage of pipeline {pipeline} was cleared: its rows are gone"
        raise Refused(410, "StaleToken", message)
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.published is None:
        return {"status": "inprogress", "step": None}
    head, step = stored.value, stored.value.published.step
    reached = step + 1 if table == _STEPS else position_of(head, str(table))
    if number >= reached:
        return {"status": "inprogress", "step": None}
    is_complete = outputs_have_all(head, target.registry.report(pipeline) or {})
    return {"status": "complete" if is_complete else "inprogress", "step": step}
