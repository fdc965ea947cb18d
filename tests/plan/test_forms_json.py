"""The JSON of a plan against its published schema: every kind of cause and step, and everything described."""

from dataclasses import fields
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from reconciler.base.declarations import ViewKind
from reconciler.base.schema_files import schema
from reconciler.diff.causes import Cause, ColumnAdded, Path, QueryChanged, ReadsChanged
from reconciler.diff.model import Fate
from reconciler.plan.json_form import cause_to_json
from reconciler.plan.model import Outcome
from reconciler.plan.operations.evolve_table import ColumnSource, EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.step import Step

SCHEMA = schema("plan.schema.json")
EXAMPLES: dict[str, Any] = {
    "str": "a",
    "bool": True,
    "int": 1,
    "str | None": None,
    "tuple[str, ...]": ("a", "b"),
    "tuple[str, ...] | None": None,
    "tuple[tuple[str, str] | None, ...]": (("a", "b"), None),
    "tuple[tuple[str, str | None, str | None], ...]": (("a", "b", None),),
    "Path": Path(("a", "b"), 1),
    "ViewKind": ViewKind.LOCAL,
}


def fits(value: Any, *pointer: str) -> bool:
    part: Any = {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/" + "/".join(pointer)}
    return bool(Draft202012Validator(part).is_valid(value))


def example(kind: type) -> Cause:
    def member(name: str, annotation: Any) -> Any:
        if name == "origin":
            return ColumnAdded("a", "INT")
        return EXAMPLES[
            annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
        ]

    found: Cause = kind(*(member(field.name, field.type) for field in fields(kind)))
    return found


@pytest.mark.parametrize("kind", get_args(Cause), ids=lambda kind: kind.__name__)
def test_every_kind_of_cause_has_its_form(kind: type) -> None:
    value = cause_to_json(example(kind))
    assert fits(value, "cause")
    assert not fits({**value, "more": 1}, "cause")
    assert not fits({key: part for key, part in value.items() if key != "words"}, "cause")


def test_origins_are_causes_and_columns_may_be_given() -> None:
    value = cause_to_json(ReadsChanged("a", ("x",), Path(("a", "b")), QueryChanged(("x",))))
    assert value["origin"] == {"kind": "query_changed", "words": "query changed in x only", "columns": ["x"]}
    assert fits(value, "cause")
    assert fits(cause_to_json(ReadsChanged("a", (), Path(("a",)), None)), "cause")


def test_the_schema_knows_every_step_outcome_and_fate() -> None:
    plan = SCHEMA["$defs"]["plan"]["properties"]
    kinds = plan["steps"]["items"]["properties"]["kind"]["enum"]
    assert len(kinds) == len(get_args(Step))
    outcomes = plan["connector_outcomes"]["items"]["properties"]["outcome"]["enum"]
    assert set(outcomes) == {outcome.value for outcome in Outcome}
    assert set(plan["relations"]["items"]["properties"]["fate"]["enum"]) == {*(fate.value for fate in Fate), None}
    item = {"$defs": SCHEMA["$defs"], **plan["steps"]["items"]}
    for step in (EvolveTable("a", "b", (ColumnSource("x", "INT", None),)), ExtendTable("a", ("x",))):
        assert Draft202012Validator(item).is_valid({**step.to_json(), "description": ""})
