"""Placements, and what was read of other pipelines, to JSON and back.

A value that does not have the shape it should raises KeyError, TypeError or ValueError: whoever reads the whole document
says which one is damaged.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.engine.stored import ColumnType, FailedCalls
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


def placement_from_json(value: Mapping[str, Any]) -> Placement:
    """One placement as it stands in a head."""
    return Placement(
        location=value["location"],
        version=value["version"],
        rows=value["rows"],
        columns=tuple(ColumnType(**column) for column in value["columns"]),
        **{name: value.get(name) for name in _MEASURES},
        failed_calls=failed_calls_from_json(value),
    )


def foreign_to_json(foreign: Mapping[str, ForeignStep]) -> JsonObject:
    """What was read of other pipelines, as it stands in heads and intents."""
    return {
        name: {"step": one.step, "relations": placements_to_json(one.relations), "ids": dict(one.ids)}
        for name, one in foreign.items()
    }


def foreign_from_json(value: Mapping[str, Any]) -> dict[str, ForeignStep]:
    """What was read of other pipelines."""
    return {name: _foreign_step(one) for name, one in value.items()}


def _foreign_step(value: Mapping[str, Any]) -> ForeignStep:
    relations = {key: placement_from_json(part) for key, part in value["relations"].items()}
    return ForeignStep(value["step"], relations, value["ids"])


def failed_calls_from_json(value: Mapping[str, Any]) -> tuple[FailedCalls, ...]:
    """The failed calls of a placement, or of what a journal records of a view's build."""
    return tuple(FailedCalls(**one) for one in value.get("failed_calls", ()))
