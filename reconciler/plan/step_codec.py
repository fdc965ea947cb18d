"""Steps of a plan to JSON and back, as plans in JSON and the journals of applies have them. Names of kinds are permanent."""

from dataclasses import asdict
from typing import Any, assert_never

from reconciler.base.digest import JsonObject
from reconciler.diff.model import RelationKind
from reconciler.plan.model import (
    BootstrapView,
    ClearTable,
    ColumnSource,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    EvolveTable,
    ExtendTable,
    PublishTable,
    PublishView,
    RenameRelation,
    Step,
)


def kind_of(step: Step) -> str:
    """The name of a step's kind."""
    return str(step_to_json(step)["kind"])


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as {kind, …}."""
    match step:
        case CreateTable():
            return {"kind": "create_table", "relation": step.table}
        case BootstrapView():
            return {"kind": "bootstrap_view", "relation": step.view, "reads": list(step.reads)}
        case ClearTable():
            return {"kind": "clear_table", "relation": step.table}
        case EvolveTable():
            columns = [asdict(column) for column in step.columns]
            return {"kind": "evolve_table", "relation": step.table, "applied": step.applied, "columns": columns}
        case ExtendTable():
            return {"kind": "extend_table", "relation": step.table, "columns": list(step.columns)}
        case PublishTable():
            return {"kind": "publish_table", "relation": step.table}
        case PublishView():
            return {"kind": "publish_view", "relation": step.view}
        case RenameRelation():
            kind = step.kind.value
            return {"kind": "rename_relation", "relation": step.desired, "applied": step.applied, "relation_kind": kind}
        case DropRelation():
            return {"kind": "drop_relation", "relation": step.relation, "relation_kind": step.kind.value}
        case CommitSnapshot():
            return {"kind": "commit_snapshot"}
        case _:
            assert_never(step)


def step_from_json(value: JsonObject) -> Step:
    """The step of its JSON object. Raises ValueError for a kind that this version does not know."""
    match value["kind"]:
        case "create_table":
            return CreateTable(value["relation"])
        case "bootstrap_view":
            return BootstrapView(value["relation"], tuple(value["reads"]))
        case "clear_table":
            return ClearTable(value["relation"])
        case "evolve_table":
            columns = tuple(ColumnSource(**column) for column in value["columns"])
            return EvolveTable(value["relation"], value["applied"], columns)
        case "extend_table":
            return ExtendTable(value["relation"], tuple(value["columns"]))
        case "publish_table":
            return PublishTable(value["relation"])
        case "publish_view":
            return PublishView(value["relation"])
        case "rename_relation":
            return RenameRelation(value["applied"], value["relation"], RelationKind(value["relation_kind"]))
        case "drop_relation":
            return DropRelation(value["relation"], RelationKind(value["relation_kind"]))
        case "commit_snapshot":
            return CommitSnapshot()
        case unknown:
            raise ValueError(f"unknown step kind {unknown!r}")
