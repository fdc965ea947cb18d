"""What an apply can put in force, and what it takes to do so in an environment that names a branch.

| takes | |
|---|---|
| APPROVAL | a lock that is merged, with all files |
| MERGE | that the files are merged |

`back` is what it takes to undo it.
"""

# ruff: noqa: E501 (a table is read by its lines)

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final


class Takes(StrEnum):
    APPROVAL = "approval"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Thing:
    """`edit` changes the working tree."""

    takes: Takes
    edit: Callable[[Path], None]
    back: Takes = Takes.APPROVAL
    pipeline: str = "shop"


def replaced(file: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        text = (root / file).read_text()
        assert old in text, (file, old)
        (root / file).write_text(text.replace(old, new))

    return edit


SQL: Final = "pipelines/shop/program.sql"
YAML: Final = "pipelines/shop/pipeline.yaml"
FREE: Final = "pipelines/free/program.sql"


def fresh(root: Path) -> None:
    folder = root / "pipelines" / "fresh"
    folder.mkdir()
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: fresh}\n")
    (folder / "program.sql").write_text("CREATE TABLE t (id BIGINT);\n")


THINGS: Final = {
    "a view is added": Thing(Takes.APPROVAL, replaced(SQL, "CREATE VIEW totals", "CREATE VIEW more AS SELECT id FROM orders;\nCREATE VIEW totals")),
    "a view's query": Thing(Takes.APPROVAL, replaced(SQL, "SUM(", "MAX(")),
    "a view is removed": Thing(Takes.APPROVAL, replaced(SQL, "CREATE VIEW totals AS SELECT SUM(amount) AS total FROM orders;", "")),
    "a table is dropped": Thing(Takes.APPROVAL, replaced(SQL, "CREATE TABLE other (id BIGINT);", "")),
    "a column is added": Thing(Takes.APPROVAL, replaced(SQL, "other (id BIGINT", "other (id BIGINT, more INT")),
    "a function's body": Thing(Takes.APPROVAL, replaced(SQL, "x + x", "x - x")),
    "a connector is added": Thing(Takes.APPROVAL, replaced(YAML, "  connectors:\n", "  connectors:\n    - {name: more, table: other, transport: {name: file_input, config: {path: more}}, format: {name: json}}\n")),
    "a connector's path": Thing(Takes.APPROVAL, replaced(YAML, "${var:folder}", "elsewhere")),
    "a connector is removed": Thing(Takes.APPROVAL, replaced(YAML, '    - {name: history, table: orders, paused: false, transport: {name: file_input, config: {path: "${var:folder}"}}, format: {name: json}}\n', "    []\n")),
    "a setting that decides results": Thing(Takes.APPROVAL, replaced(YAML, "workers: 1", "workers: 1, spark: {spark.sql.session.timeZone: Asia/Tokyo}")),
    "bootstrap_policy is loosened": Thing(Takes.APPROVAL, replaced(YAML, "await_approval", "allow"), back=Takes.MERGE),
    "protection is lifted": Thing(Takes.APPROVAL, replaced(YAML, "protect: true", "protect: false"), back=Takes.MERGE),
    "evolution": Thing(Takes.APPROVAL, replaced(YAML, "  runtime", "  evolution: evolve\n  runtime")),
    "retention is shortened": Thing(Takes.APPROVAL, replaced(YAML, "versions: 5", "versions: 1"), back=Takes.MERGE),
    "a reader is named no longer": Thing(Takes.APPROVAL, replaced(YAML, ", used_by: [tax office]", ""), back=Takes.MERGE),
    "a variable of the environment": Thing(Takes.APPROVAL, replaced("reconcile.yaml", "folder: in", "folder: out")),
    "a setting of the environment": Thing(Takes.APPROVAL, replaced("reconcile.yaml", "branch: main,", "branch: main, spark: {spark.sql.session.timeZone: Asia/Tokyo},")),
    "a description": Thing(Takes.MERGE, replaced(YAML, "What we sell", "What we sold"), back=Takes.MERGE),
    "a comment": Thing(Takes.MERGE, replaced(SQL, "amount DECIMAL(10,2));", "amount DECIMAL(10,2) COMMENT 'euro');"), back=Takes.MERGE),
    "workers": Thing(Takes.MERGE, replaced(YAML, "workers: 1", "workers: 2"), back=Takes.MERGE),
    "a connector is paused": Thing(Takes.APPROVAL, replaced(YAML, "paused: false", "paused: true"), back=Takes.MERGE),
    "more may be rejected": Thing(Takes.APPROVAL, replaced(YAML, "paused: false", "max_rejected: 1000000"), back=Takes.MERGE),
    "fewer may be rejected": Thing(Takes.MERGE, replaced(YAML, "paused: false", "max_rejected: 0"), back=Takes.APPROVAL),
    "bootstrap_policy is tightened": Thing(Takes.MERGE, replaced(YAML, "await_approval", "reject"), back=Takes.APPROVAL),
    "retention is lengthened": Thing(Takes.MERGE, replaced(YAML, "versions: 5", "versions: 9"), back=Takes.APPROVAL),
    "versions may be read": Thing(Takes.MERGE, replaced(YAML, "  runtime", "  versions: {reads: true}\n  runtime"), back=Takes.MERGE),
    "a version is pinned": Thing(Takes.MERGE, replaced(YAML, "  runtime", "  views: {totals: {version: v0}}\n  runtime"), back=Takes.MERGE),
    "a view of who allows": Thing(Takes.MERGE, replaced(FREE, "SUM(", "MAX("), back=Takes.MERGE, pipeline="free"),
    "a table dropped of who allows": Thing(Takes.MERGE, replaced(FREE, "CREATE TABLE other (id BIGINT);", ""), back=Takes.MERGE, pipeline="free"),
    "a first apply": Thing(Takes.MERGE, fresh, pipeline="fresh"),
}  # fmt: skip
