"""A small pipeline that, between its two states, takes every kind of plan step; and how its results are compared.

From `EVOLVING` to `EVOLVED`: table `wide` is evolved, `long` extended, `first_name` renamed, each with rows in it.

From `BEFORE` to `AFTER`: table `fresh` is created, `alter_me` is cleared, `gone` is dropped; views `changed` and
`over_altered` are modified, `added` is new, `dropped` goes; `same` stays, and so do the rows of `kept`.
"""

import shutil
from pathlib import Path
from typing import Any

from reconciler.delta.opening import open_table
from reconciler.engine.protocol import Engine
from reconciler.registry.model import Head
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project

PIPELINE_YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata:
  name: shop
spec:
  bootstrap_policy: {policy}
"""

BEFORE = """\
CREATE TABLE kept (id BIGINT, price DECIMAL(10,2)) WITH ('materialized' = 'true');
CREATE TABLE alter_me (id BIGINT, note VARCHAR) WITH ('materialized' = 'true');
CREATE TABLE gone (id BIGINT) WITH ('materialized' = 'true');
CREATE VIEW doubled AS SELECT id, price * 2 AS twice FROM kept;
CREATE MATERIALIZED VIEW same AS SELECT id FROM kept;
CREATE MATERIALIZED VIEW changed AS SELECT COUNT(*) AS n, SUM(twice) AS total FROM doubled;
CREATE MATERIALIZED VIEW over_altered AS SELECT COUNT(*) AS n FROM alter_me;
CREATE MATERIALIZED VIEW dropped AS SELECT id FROM gone;
"""

AFTER = """\
CREATE TABLE kept (id BIGINT, price DECIMAL(10,2)) WITH ('materialized' = 'true');
CREATE TABLE alter_me (id BIGINT, note VARCHAR, more INT) WITH ('materialized' = 'true');
CREATE TABLE fresh (id BIGINT NOT NULL PRIMARY KEY) WITH ('materialized' = 'true');
CREATE VIEW doubled AS SELECT id, price * 2 AS twice FROM kept;
CREATE MATERIALIZED VIEW same AS SELECT id FROM kept;
CREATE MATERIALIZED VIEW changed AS SELECT COUNT(*) AS n, MAX(twice) AS total FROM doubled;
CREATE MATERIALIZED VIEW over_altered AS SELECT COUNT(*) AS n FROM alter_me;
CREATE MATERIALIZED VIEW added AS SELECT d.id, d.twice FROM doubled d JOIN same s ON d.id = s.id;
"""

EVOLVING = """\
CREATE TABLE wide (id INT NOT NULL, gone STRING, qty INT);
CREATE TABLE long (id BIGINT);
CREATE TABLE first_name (id BIGINT);
CREATE MATERIALIZED VIEW over_wide AS SELECT id, qty FROM wide;
CREATE MATERIALIZED VIEW over_name AS SELECT id FROM first_name;
"""

EVOLVED = """\
CREATE TABLE wide (quantity BIGINT, id INT, note STRING);
CREATE TABLE long (id BIGINT, added STRING DEFAULT 'x');
CREATE TABLE last_name (id BIGINT);
CREATE MATERIALIZED VIEW over_wide AS SELECT id, quantity FROM wide;
CREATE MATERIALIZED VIEW over_name AS SELECT id FROM last_name;
CREATE MATERIALIZED VIEW over_long AS SELECT id, added FROM long;
"""

EVOLVE = "  evolution: evolve\n"
MOVED = EVOLVE + "  moved: [{from: wide.qty, to: wide.quantity}, {from: first_name, to: last_name}]\n"

INSERTS = (
    "INSERT INTO kept VALUES (1, 10.50), (2, 20.00), (3, 0.25)",
    "INSERT INTO alter_me VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO gone VALUES (7)",
)

STORED_BEFORE = ("kept", "alter_me", "gone", "same", "changed", "over_altered", "dropped")
STORED_AFTER = ("kept", "alter_me", "fresh", "same", "changed", "over_altered", "added")


def write_shop(root: Path, program: str, policy: str = "allow", more: str = "") -> None:
    """Write the pipeline's files; `more` goes below `spec`."""
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(PIPELINE_YAML.format(policy=policy) + more)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")


def open_shop(root: Path, engine: Engine) -> Pipeline:
    """The pipeline, with all state read anew from the disk."""
    return Project.open(root, engine=engine).pipeline("shop")


def make_baseline(root: Path, engine: Engine) -> None:
    """Apply BEFORE and fill its tables."""
    write_shop(root, BEFORE)
    pipeline = open_shop(root, engine)
    pipeline.apply()
    for statement in INSERTS:
        pipeline.execute(statement)


def copy_of(baseline: Path, to: Path, program: str = AFTER, policy: str = "allow", more: str = "") -> Path:
    """A copy of a baseline whose files ask for another program."""
    shutil.copytree(baseline, to)
    write_shop(to, program, policy, more)
    return to


def stored_rows(root: Path, relation: str, version: int | None = None) -> list[tuple[Any, ...]] | None:
    """The rows that another reader of Delta (deltalake) finds at the relation's permanent path; None: no table."""
    from deltalake import QueryBuilder

    table = open_table(str(root / "warehouse" / "shop" / relation), version)
    if table is None:
        return None
    rows = QueryBuilder().register("t", table).execute("select * from t").read_all()
    columns = [rows[name].to_pylist() for name in rows.schema.names]
    return sorted(zip(*columns, strict=True), key=repr) if columns else []


def stored_columns(root: Path, relation: str) -> list[str]:
    """The columns that another reader finds there."""
    table = open_table(str(root / "warehouse" / "shop" / relation))
    assert table is not None
    return [field.name for field in table.schema().fields]


def contents(root: Path) -> dict[str, Any]:
    """Everything stored, by name."""
    folder = root / "warehouse" / "shop"
    return {path.name: stored_rows(root, path.name) for path in sorted(folder.iterdir()) if path.is_dir()}


def state(root: Path, engine: Engine) -> dict[str, Any]:
    """The registry's head less what differs between two runs of the same (ids, times, epochs of leases)."""
    stored = open_shop(root, engine).target.registry.head("shop")
    assert stored is not None
    head: Head = stored.value
    assert head.applied is not None
    assert head.published is not None
    return {
        "digest": head.applied.digest,
        "record": head.applied.record,
        "plan": head.applied.plan_digest,
        "approval": head.applied.approval.kind,
        "step": head.published.step,
        "relations": dict(head.published.relations),
        "positions": dict(head.positions),
        "journal": head.journal,
        "intent": head.intent,
    }
