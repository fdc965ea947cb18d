"""Views that read another pipeline whose columns have other names since, and earlier versions of such views."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.diff.causes import MeaningChanged, ReadsChanged
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
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


SAID = "it reads the former column sales.t.net, which is now sales.t.gross, and another column now has its name"


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


OF_A_VIEW = "CREATE MATERIALIZED VIEW net AS SELECT id, net FROM t;\n"
READERS = """\
CREATE MATERIALIZED VIEW total AS SELECT sum(net) AS s FROM sales.t;
CREATE MATERIALIZED VIEW through AS SELECT net FROM sales.net;
CREATE MATERIALIZED VIEW others AS SELECT id FROM sales.net;
CREATE MATERIALIZED VIEW ids AS SELECT count(id) AS n FROM sales.t;
"""


def traded(pair: Pair) -> None:
    pair.brought("sales", TRADED + OF_A_VIEW, TRADE)
    pair.brought("sales", TRADED + OF_A_VIEW)


def used_again(pair: Pair) -> None:
    netto = T.replace("net", "netto")
    following = OF_A_VIEW.replace("id, net", "id, netto AS net")
    pair.brought("sales", netto + following, "  moved: [{from: t.net, to: t.netto}]\n")
    pair.brought("sales", netto.replace(");", ", net INT);") + OF_A_VIEW)


@pytest.mark.parametrize("move", [traded, used_again])
def test_a_reader_is_told_what_no_file_says_any_more(pair: Pair, move: Callable[[Pair], None]) -> None:
    """Its plan says that it is computed anew, over what has these names now."""
    pair.brought("sales", T + OF_A_VIEW)
    pair.brought("grades", READERS)
    move(pair)
    plan = pair.pipeline("grades").plan()
    told = {one.name: one.causes for one in plan.diff.relations}
    assert {"total", "through"} <= set(told)
    (cause,) = told["total"]
    assert isinstance(cause, ReadsChanged)
    assert isinstance(cause.origin, MeaningChanged)
    pair.pipeline("grades").apply()
    assert pair.pipeline("grades").plan().is_empty


def test_a_reader_of_what_was_never_renamed_is_spared_as_ever(pair: Pair) -> None:
    pair.brought("sales", T + OF_A_VIEW)
    pair.brought("grades", READERS)
    pair.brought("sales", T.replace(");", ", more INT);") + OF_A_VIEW)
    assert pair.pipeline("grades").plan().diff.relations == ()
