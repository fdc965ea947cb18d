"""Writes the registry of a generated repository as an apply of it would have left it, without computing a row.

    python -m bench.applied REPOSITORY VIEWS

What `reconcile plan` reads is all there: the stored definitions, a head with the applied snapshot and every relation
published, and of each table the two commits by which a plan knows that it stands.
"""

import json
import sys
from pathlib import Path

from bench.programs import PIPELINE, column_types, make_program
from reconciler import __version__
from reconciler.base.digest import digest_text
from reconciler.engine.protocol import ColumnType
from reconciler.environment.target import open_target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.registry.model import Applied, Approval, Head, Published
from reconciler.registry.placements import Placement
from reconciler.workspace.desired import read_desired

_AT = "2025-01-01T00:00:00.000+00:00"
_ROWS = 1000
_BYTES = 100_000


def write_applied(root: Path, types: dict[str, dict[str, str]]) -> None:
    """Record the repository's files as applied and published. `types`: relation → column → Spark type."""
    target = open_target(root, None)
    desired = read_desired(target, PIPELINE)
    if desired is None:
        raise SystemExit(f"no pipeline {PIPELINE} in {root}")
    target.registry.write_snapshot(PIPELINE, desired.record, encode_program(desired.program))
    plan_digest = digest_text("the first plan")
    applied = Applied(
        digest=desired.digest,
        record=desired.record,
        apply_id="first",
        plan_digest=plan_digest,
        at=_AT,
        by="bench",
        commit="",
        approval=Approval("first"),
        reconciler=__version__,
        follows=plan_digest,
    )
    placements = _placements(desired.program, types)
    for placement in placements.values():
        _write_log(Path(target.warehouse) / placement.location, str(placement.id))
    published = Published(step=0, at=_AT, relations=placements)
    target.registry.replace_head(None, Head(PIPELINE, applied=applied, published=published), "first")


def _placements(program: Program, types: dict[str, dict[str, str]]) -> dict[str, Placement]:
    return {
        key: Placement(
            location=f"{PIPELINE}/{key}",
            version=1,
            rows=_ROWS,
            columns=tuple(ColumnType(name, type_) for name, type_ in types[key].items()),
            bytes=_BYTES,
            id=key,
        )
        for key in sorted({*program.tables, *program.views})
    }


def _write_log(table: Path, identity: str) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True)
    for version, action in enumerate(({"metaData": {"id": identity}}, {"commitInfo": {}})):
        (log / f"{version:020d}.json").write_text(json.dumps(action) + "\n")


if __name__ == "__main__":
    write_applied(Path(sys.argv[1]), column_types(make_program(int(sys.argv[2]))))
