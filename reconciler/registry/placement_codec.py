"""Placements, and what was read of other pipelines, to JSON. `json_objects` reads them."""

from collections.abc import Mapping
from dataclasses import asdict

from reconciler.base.digest import JsonObject
from reconciler.registry.placements import ForeignStep, Placement

# Of a placement, what heads of older versions lack.
_MEASURES = ("bytes", "seconds", "rows_read", "id")


def placement_to_json(placement: Placement) -> JsonObject:
    """One placement as it stands in a head. What is not known is left out, and failed calls where there are none."""
    value = {key: part for key, part in asdict(placement).items() if key not in _MEASURES or part is not None}
    if not placement.failed_calls:
        del value["failed_calls"]
    return value


def placements_to_json(relations: Mapping[str, Placement]) -> JsonObject:
    """Placements by key."""
    return {key: placement_to_json(placement) for key, placement in relations.items()}


def foreign_to_json(foreign: Mapping[str, ForeignStep]) -> JsonObject:
    """What was read of other pipelines, as it stands in heads and intents."""
    return {
        name: {"step": one.step, "relations": placements_to_json(one.relations), "ids": dict(one.ids)}
        for name, one in foreign.items()
    }
