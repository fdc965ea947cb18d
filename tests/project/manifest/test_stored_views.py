"""A view that pipeline.yaml gives a table of its own is what SQL calls MATERIALIZED."""

from pathlib import Path

import pytest

from reconciler.environment.target import open_target
from reconciler.project.program.model import Program
from reconciler.workspace.desired import validate_pipeline

PROGRAM = "CREATE TABLE items (id BIGINT);\nCREATE{} VIEW counted AS SELECT count(*) AS n FROM items;\n"


def program_of(folder: Path, kind: str, settings: str) -> Program:
    files = folder / "pipelines" / "shop"
    files.mkdir(parents=True)
    (folder / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    (files / "program.sql").write_text(PROGRAM.format(kind))
    (files / "pipeline.yaml").write_text(
        f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop}}\nspec:\n  views: {{{settings}}}\n"
    )
    validated = validate_pipeline(open_target(folder, None), "shop")
    assert validated.diagnostics == ()
    assert validated.program is not None
    return validated.program


@pytest.mark.parametrize(
    ("kind", "settings", "is_stored"),
    [
        ("", "", False),
        ("", "counted: {stored: false}", False),
        ("", "COUNTED: {stored: true}", True),
        (" MATERIALIZED", "", True),
        (" MATERIALIZED", "counted: {stored: true}", True),
        (" MATERIALIZED", "counted: {stored: false}", True),
    ],
)
def test_either_says_so(tmp_path: Path, kind: str, settings: str, is_stored: bool) -> None:
    view = program_of(tmp_path, kind, settings).views["counted"]
    assert view.is_stored is is_stored
    materialized = program_of(tmp_path / "other", " MATERIALIZED", "").views["counted"]
    assert (view.kind is materialized.kind) is is_stored
