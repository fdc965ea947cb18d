"""Explanations as JSON (schemas/explain.schema.json), versioned."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.incremental.model import Maintenance, Recompute
from reconciler.incremental.words import describe_maintenance, method_name
from reconciler.plan.explain.model import ColumnExplanation, RelationExplanation, RelationLine, Stored
from reconciler.plan.explain.origins import Origins
from reconciler.plan.json_form import hazard_to_json

FORM = "reconciler/explain/v1"


def explanation_to_json(
    pipeline: str,
    environment: str,
    summary: str | None,
    lines: Sequence[RelationLine],
    relation: RelationExplanation | None,
) -> JsonObject:
    """A pipeline's relations, or one of them. `summary` is that of the plan, None when there is none."""
    return {
        "form": FORM,
        "pipeline": pipeline,
        "environment": environment,
        "summary": summary,
        "relations": [{**asdict(line), "state": line.state.value} for line in lines],
        "relation": _relation(relation) if relation is not None else None,
    }


def _relation(one: RelationExplanation) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "state": one.state.value,
        "effect": one.effect,
        "why": list(one.why),
        "declared": asdict(one.declared) if one.declared is not None else None,
        "stored": _stored(one.stored) if one.stored is not None else None,
        "columns": [_column(column) for column in one.columns],
        "rows_from": _origins(one.rows_from) if one.rows_from is not None else None,
        "reads": [{"relation": read.relation, "columns": list(read.columns)} for read in one.reads],
        "read_by": list(one.read_by),
        "fingerprint": [asdict(part) for part in one.parts],
        "written": [asdict(written) for written in one.written],
        "same_meaning": masked_in_code(one.same_meaning)[0] if one.same_meaning is not None else None,
        "connectors": [
            {"name": item.connector, "outcome": item.outcome.value, "reason": item.reason} for item in one.connectors
        ],
        "hazards": [hazard_to_json(hazard) for hazard in one.hazards],
        **({"maintained": _maintained(one.maintained)} if one.maintained is not None else {}),
    }


def _maintained(one: Maintenance) -> dict[str, Any]:
    reason, hint = (one.reason, one.hint) if isinstance(one, Recompute) else (None, None)
    return {"method": method_name(one), "reason": reason, "hint": hint, "words": list(describe_maintenance(one))}


def _stored(stored: Stored) -> dict[str, Any]:
    measure = stored.measure
    return {
        "location": stored.location,
        "version": stored.version,
        "rows": measure.rows,
        "bytes": measure.bytes,
        "bootstrap_seconds": measure.seconds,
        "bootstrap_rows_read": measure.rows_read,
        **({"state": {"rows": stored.state.rows, "bytes": stored.state.bytes}} if stored.state is not None else {}),
        **({"keys": asdict(stored.keys)} if stored.keys is not None else {}),
    }


def _column(column: ColumnExplanation) -> dict[str, Any]:
    origins = _origins(column.origins) if column.origins is not None else None
    return {"name": column.name, "type": column.type, "nullable": column.nullable, "from": origins}


def _origins(origins: Origins) -> dict[str, Any]:
    return {"columns": list(origins.columns), "exact": origins.is_exact}
