"""What a pipeline's relations are to another pipeline that reads them.

- Tables and materialized views can be read: they have rows of their own, at a Delta version that can be named. A plain view
  has none, and a LOCAL view is nobody else's business.
- What a relation means to its readers is the digest of its own fingerprint and of those of everything that it is computed
  from: relations, functions, and what its pipeline reads of others. It says that something may have changed, never what:
  `diff.foreign` compares.
"""

from typing import assert_never

from reconciler.base.declarations import ForeignRelation, ViewKind
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import digest_json
from reconciler.base.names import did_you_mean, fold
from reconciler.project.program.model import Program, Relation, Table, View
from reconciler.project.snapshot.model import Snapshot


def foreign_relation(snapshot: Snapshot, name: str) -> ForeignRelation | Diagnostic:
    """A relation of this snapshot's pipeline as others know it; a diagnostic without a place (P370) if it
    can't be read."""
    program = snapshot.program
    relation = program.relation(name)
    if relation is None:
        known = [f"{program.name}.{one}" for one in _visible_names(program)]
        message = f"pipeline {program.name} has no table or view {name!r}"
        return Diagnostic("P370", message, None, did_you_mean(f"{program.name}.{name}", known))
    columns = _readable_columns(program, relation)
    if isinstance(columns, Diagnostic):
        return columns
    return ForeignRelation(
        pipeline=program.name,
        name=relation.name,
        kind=relation.relation_kind,
        columns=columns,
        meaning=_meaning(snapshot, fold(name)),
        record=snapshot.record,
        names_are_data=program.names_are_data,
    )


def _visible_names(program: Program) -> tuple[str, ...]:
    """The relations that others can see, sorted."""
    return tuple(sorted((one.name for one in program.relations.values() if not one.is_local), key=fold))


def _readable_columns(program: Program, relation: Relation) -> tuple[tuple[str, str | None], ...] | Diagnostic:
    name = f"{program.name}.{relation.name}"
    match relation:
        case Table():
            return tuple((column.name, column.type) for column in relation.columns)
        case View(kind=ViewKind.LOCAL):
            return Diagnostic("P370", f"{name} is a LOCAL view: only views of its pipeline can read it", None)
        case View(kind=ViewKind.PLAIN):
            message = f"{name} is a plain view: it stores no rows that another pipeline could read"
            return Diagnostic("P370", message, None, f"make it a MATERIALIZED VIEW in pipeline {program.name}")
        case View(column_names=()):
            message = f"the columns of {name} are known only to Spark"
            return Diagnostic("P370", message, None, "name them: CREATE MATERIALIZED VIEW name (column, …) AS …")
        case View():
            # What is inferred of types serves messages only, and is left out of what is stored.
            return tuple((column, None) for column in relation.column_names)
        case _:
            assert_never(relation)


def _meaning(snapshot: Snapshot, key: str) -> str:
    """See the module."""
    program = snapshot.program
    found: set[str] = set()
    waiting = [_fingerprint_key(program, key)]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        kind, _, name = one.partition(":")
        if kind == "view":
            view = program.views[name]
            waiting += [_fingerprint_key(program, fold(read.relation)) for read in view.reads]
            waiting += [f"function:{call}" for call in view.calls]
        elif kind == "function":
            waiting += [f"function:{call}" for call in program.functions[name].calls]
    return digest_json({one: snapshot.fingerprints[one] for one in sorted(found)})


def _fingerprint_key(program: Program, key: str) -> str:
    relation = program.relations.get(key)
    return f"foreign:{key}" if relation is None else f"{relation.relation_kind}:{key}"
