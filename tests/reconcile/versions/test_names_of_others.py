"""Versions of views that read another pipeline whose columns and tables have other names since."""

from pathlib import Path

import pytest

from reconciler.engine.recording import RecordingEngine
from reconciler.errors import ReconcileError
from reconciler.reconcile.api import Pipeline, Project
from tests.engine.delta_writer import DeltaWriter

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: {name}}}
spec:
  bootstrap_policy: allow
  evolution: evolve
  versions: {{reads: true}}
"""
T, TRADED = "CREATE TABLE t (id BIGINT, net INT, gross INT);\n", "CREATE TABLE t (id BIGINT, gross INT, net INT);\n"
TRADE = "  moved: [{from: t.net, to: t.gross}, {from: t.gross, to: t.net}]\n"
V0 = "CREATE MATERIALIZED VIEW total AS SELECT sum(net) AS s FROM sales.t;\n"
V1 = V0.replace("AS s", "AS s, count(*) AS n")
MAINTAIN = "  views: {total: {versions: {v0: {maintain: true}}}}\n"


class Pair:
    """`sales`, and `grades` that reads it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine = RecordingEngine(DeltaWriter())

    def brought(self, name: str, program: str, more: str = "") -> Pipeline:
        self.write(name, program, more)
        found = self.pipeline(name)
        found.apply()
        return found

    def write(self, name: str, program: str, more: str = "") -> None:
        folder = self.root / "pipelines" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pipeline.yaml").write_text(YAML.format(name=name) + more)
        (folder / "program.sql").write_text(program)

    def pipeline(self, name: str) -> Pipeline:
        return Project.open(self.root, engine=self.engine).pipeline(name)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Two versions of a view that reads a column of the other pipeline, and a row there."""
    (tmp_path / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    pair = Pair(tmp_path)
    pair.brought("sales", T).execute("INSERT INTO t VALUES (1, 10, 200)")
    pair.brought("grades", V0)
    pair.brought("grades", V1)
    return pair


SAID = "it reads sales.t.net as it was: that is sales.t.gross now, and another column has its name"


def test_a_version_that_reads_a_column_which_traded_its_name_is_not_computed(pair: Pair) -> None:
    pair.brought("sales", TRADED, TRADE)
    pair.brought("grades", V1.replace("net", "gross"))
    grades = pair.pipeline("grades")
    with pytest.raises(ReconcileError, match=SAID) as refused:
        grades.refresh_version("total@v0")
    assert refused.value.code == "A593"
    with pytest.raises(ReconcileError, match=SAID.removeprefix("it ")) as refused:
        grades.plan_rollback("total@v0")
    assert refused.value.code == "A541"
    pair.write("grades", V1.replace("net", "gross"), MAINTAIN)
    with pytest.raises(ReconcileError, match=SAID) as refused:
        pair.pipeline("grades").plan()
    assert refused.value.code == "A527"
    # They give the names back.
    pair.brought("sales", TRADED)
    pair.brought("sales", T, TRADE)
    pair.brought("grades", V1).refresh_version("total@v0")


def test_what_is_kept_up_to_date_does_not_follow_names_of_others(pair: Pair) -> None:
    pair.brought("grades", V1, MAINTAIN)
    pair.brought("sales", TRADED, TRADE)
    pair.write("grades", V1.replace("net", "gross"), MAINTAIN)
    with pytest.raises(ReconcileError, match=SAID):
        pair.pipeline("grades").plan()
    before = len(pair.engine.calls)
    pair.pipeline("grades").run_once()
    assert not [call for call in pair.engine.calls[before:] if hasattr(call, "staging")]
