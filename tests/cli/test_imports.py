"""What a plan imports: nothing changed needs next to nothing, and no plan needs Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter

_ASK = """
import json, sys
from reconciler.cli.main import run
code = run(sys.argv[1:])
ours = {name for name in sys.modules if name.startswith("reconciler.")}
print(json.dumps(sorted(ours | {name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""
_HEAVY = {"sqlglot", "jsonschema", "deepdiff", "git", "pyspark", "py4j", "pandas", "pyarrow", "yaml"}
# Of the standard library: what shows rows or the size of a terminal, what writes temporary folders.
_SELDOM = {"csv", "decimal", "shutil", "tempfile"}
_OF_WORK_UNDER_WAY = {"reconciler.registry.entries", "reconciler.registry.intents"}
_OF_MAKING_TABLES = {"reconciler.delta.tables", "reconciler.delta.transactions", "reconciler.delta.arrow_rows"}


def _imported(repository: Path, *arguments: str) -> tuple[str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", _ASK, "plan", "--repo", str(repository), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    shown, _, names = done.stdout.rstrip("\n").rpartition("\n")
    return shown, set(json.loads(names))


_MANIFEST = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop}}\nspec: {{bootstrap_policy: {policy}}}\n"
_TABLES = "CREATE TABLE orders (id BIGINT, qty INT);\n"
_VIEWS = "CREATE MATERIALIZED VIEW big AS SELECT id FROM orders WHERE qty > {least};\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pipeline that is applied."""
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "repository" / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(_MANIFEST.format(policy="allow"))
    (folder / "tables.sql").write_text(_TABLES)
    (folder / "views.sql").write_text(_VIEWS.format(least=1))
    assert run(["apply", "--repo", str(tmp_path / "repository")], engine=RecordingEngine(DeltaWriter())) == 0
    return folder


def test_a_plan_imports_what_it_needs(tmp_path: Path, folder: Path) -> None:
    shown, names = _imported(tmp_path / "repository")
    assert "no changes" in shown
    shown, names = _imported(tmp_path / "repository")
    assert "no changes" in shown
    assert names & (_HEAVY | _SELDOM) == set()

    (folder / "views.sql").write_text(_VIEWS.format(least=2))
    shown, names = _imported(tmp_path / "repository")
    assert "1 to bootstrap" in shown
    # The one query that changed is parsed; what was right before is not checked again.
    assert names & _HEAVY == {"sqlglot"}
    assert names & (_OF_WORK_UNDER_WAY | _OF_MAKING_TABLES | {"reconciler.connectors.code_options"}) == set()


def test_a_plan_parses_no_query_that_is_known(tmp_path: Path, folder: Path) -> None:
    _imported(tmp_path / "repository")
    (folder / "pipeline.yaml").write_text(_MANIFEST.format(policy="await_approval"))
    shown, names = _imported(tmp_path / "repository")
    assert "bootstrap_policy" in shown
    assert names & _HEAVY == {"yaml", "jsonschema"}


def test_a_view_that_is_computed_anew_is_not_parsed_again(tmp_path: Path, folder: Path) -> None:
    _imported(tmp_path / "repository")
    (tmp_path / "repository" / "reconcile.yaml").write_text(
        "default: dev\nenvironments:\n  dev:\n    warehouse: .reconcile/warehouse\n"
        "    spark: {spark.sql.session.timeZone: Europe/Berlin}\n"
    )
    shown, names = _imported(tmp_path / "repository")
    assert "1 to bootstrap" in shown
    assert "sqlglot" not in names
