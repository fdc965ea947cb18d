"""A pipeline that reads another one: planned against what it means, applied after it, and following its steps."""

import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.base.errors import EXIT_PENDING, EngineError, ManifestInvalid, PlanRejected, UpstreamDiffers
from reconciler.cli.main import run
from reconciler.engine.protocol import Selection
from reconciler.materialize.following import ForeignStates, newer_steps
from reconciler.plan.text_form import render_text
from reconciler.project.program.model import Program
from reconciler.registry.codec import head_to_json
from reconciler.registry.model import Readers
from reconciler.registry.protocol import Registry
from reconciler.state.step_history import read_step
from reconciler.testing.crashes import Crash, crash_at
from reconciler.workspace.foreign import read_applied_state
from reconciler.workspace.pipeline_order import apply_order
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.another_version import run_version, write_another_version
from tests.shops.two_pipelines import GRADES, SALES, Pair, RefusingEngine, two_pipelines

CENTS = SALES.replace("SUM(price) AS total", "SUM(price) * 100 AS total")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, applied once for all tests."""
    root = tmp_path_factory.mktemp("applied")
    two_pipelines(root).apply("sales", "grades")
    return root


@pytest.fixture
def pair(applied: Path, tmp_path: Path) -> Pair:
    return Pair(Path(shutil.copytree(applied, tmp_path, dirs_exist_ok=True)), RefusingEngine(DeltaWriter()))


def planned(pair: Pair, name: str = "grades") -> str:
    return render_text(plan_pipeline(pair.project.target, name))


def applied_program(pair: Pair) -> Program:
    found = read_applied_state(pair.project.target, "grades")
    assert found is not None
    return found.program


def views_built(pair: Pair) -> list[str]:
    return [call.view for call in pair.engine.calls if hasattr(call, "view")]


def test_nothing_changes_after_both_are_applied(pair: Pair) -> None:
    assert "no changes" in planned(pair)
    assert "no changes" in planned(pair, "sales")
    assert pair.read_steps() == {"sales": 0}


def test_all_pipelines_are_applied_after_what_they_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = two_pipelines(tmp_path)
    assert apply_order(pair.project.target, ["grades", "sales"]) == ("sales", "grades")
    assert run(["apply", "--repo", str(tmp_path)], engine=pair.engine) == 0
    told = capsys.readouterr().out
    assert told.index("sales: applied") < told.index("grades: applied")


def test_a_pipeline_that_reads_what_is_not_applied_waits_for_it(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path)
    with pytest.raises(UpstreamDiffers) as refused:
        pair.apply("grades")
    assert (refused.value.code, refused.value.exit_code) == ("A560", EXIT_PENDING)
    assert pair.project.target.registry.head("grades") is None


def test_a_run_follows_what_it_reads(pair: Pair) -> None:
    before = pair.rows("good"), pair.rows("everybody"), pair.rows("bounds")
    pair.sell((1, "Ada", 30))
    assert (pair.rows("good"), pair.rows("everybody"), pair.rows("bounds")) == before
    assert "everybody, good" in pair.run()[0]
    assert pair.read_steps() == {"sales": 1}
    after = pair.rows("good"), pair.rows("everybody"), pair.rows("bounds")
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, True, False]
    assert pair.run() == []


def test_all_that_is_read_of_a_pipeline_is_of_one_step(pair: Pair) -> None:
    pair.sell((1, "Ada", 30))
    pair.sell((2, "Bob", 5))
    pair.engine.calls.clear()
    pair.run()
    of_sales = read_step(pair.project.target.registry, pair.head("sales"), 2).relations
    sources = {source.name: source.version for call in pair.engine.calls for source in call.sources}
    assert sources["sales.revenue"] == of_sales["revenue"].version
    assert sources["sales.orders"] == of_sales["orders"].version


def test_a_step_of_the_other_pipeline_with_nothing_that_is_read_makes_no_step(pair: Pair) -> None:
    pair.write("sales", SALES + "CREATE TABLE unread (id BIGINT);")
    pair.apply("sales")
    pair.pipeline("sales").execute("INSERT INTO unread VALUES (1)")
    assert pair.run() == []
    assert "no changes" in planned(pair)


def test_a_change_of_both_is_planned_and_approved_as_one(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path)
    pair.apply("sales", "grades")
    pair.write("sales", CENTS)
    before = plan_pipeline(pair.project.target, "grades")
    assert "reads sales.revenue.total, whose query changed" in render_text(before)
    assert [change.name for change in before.diff.relations] == ["good"]
    with pytest.raises(UpstreamDiffers):
        pair.apply("grades")
    pair.apply("sales")
    assert plan_pipeline(pair.project.target, "grades").digest == before.digest
    pair.apply("grades")
    assert "no changes" in planned(pair)


def test_a_run_stays_where_it_is_until_it_is_applied_anew(pair: Pair) -> None:
    pair.sell((1, "Ada", 30))
    pair.run()
    before = pair.rows("good"), pair.read_steps()
    pair.write("sales", CENTS)
    pair.apply("sales")
    pair.sell((2, "Bob", 5))
    told = pair.run()
    assert ["A561" in line for line in told] == [True]
    # What it has read can be read on.
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 10)")
    assert pair.read_steps() == before[1]
    assert pair.rows("good") != before[0]
    pair.apply("grades")
    assert pair.read_steps() == {"sales": 3}
    assert pair.run() == []


@pytest.mark.parametrize(
    ("before", "after", "built", "read"),
    [
        # `everybody` is not changed, but what it reads stands elsewhere at the step that `good` is computed from.
        ("r.total >= l.least", "r.total > l.least", ["everybody", "good"], {"sales": 1}),
        # Where nothing of it is computed, the other pipeline stays where it was read.
        ("MAX(least)", "MIN(least)", ["bounds"], {"sales": 0}),
    ],
)
def test_an_apply_brings_along_everything_that_reads_the_other_pipeline_where_it_computes_any_of_it(
    pair: Pair, before: str, after: str, built: list[str], read: dict[str, int]
) -> None:
    pair.sell((1, "Ada", 30))
    pair.write("grades", GRADES.replace(before, after))
    pair.engine.calls.clear()
    pair.apply("grades")
    assert sorted(views_built(pair)) == built
    assert pair.read_steps() == read
    assert (pair.run() == []) is (read == {"sales": 1})


def test_a_column_that_is_not_read_may_change(pair: Pair) -> None:
    pair.write("sales", SALES.replace("COUNT(*) AS number", "COUNT(*) + 1 AS number"))
    assert not plan_pipeline(pair.project.target, "grades").diff.relations
    pair.apply("sales")
    assert "A561" in pair.run()[0]
    pair.apply("grades")
    assert pair.run() == []


def test_what_is_only_written_otherwise_changes_no_reader(pair: Pair) -> None:
    pair.write("sales", "-- what customers bring\n" + SALES)
    assert "no changes" in planned(pair)
    pair.apply("sales")
    assert "no changes" in planned(pair)
    pair.sell((1, "Ada", 30))
    assert len(pair.run()) == 1


def test_a_rename_that_the_other_pipeline_declares_changes_no_rows(pair: Pair) -> None:
    pair.sell((1, "Ada", 30))
    moved = SALES.replace("orders", "sold")
    pair.write("sales", moved)
    folder = pair.root / "pipelines" / "sales"
    text = (folder / "pipeline.yaml").read_text() + "  moved:\n    - {from: orders, to: sold}\n"
    (folder / "pipeline.yaml").write_text(text)
    pair.write("grades", GRADES.replace("sales.orders", "sales.sold"))
    plan = plan_pipeline(pair.project.target, "grades")
    assert [change.name for change in plan.diff.relations] == ["everybody"]
    pair.apply("sales", "grades")
    assert "no changes" in planned(pair)
    assert pair.run() == []


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(
        [
            *("intent:before", "step:intended", "view:before", "view:intended", "view:effected", "step:before"),
            *("history:recorded", "step:recorded"),
        ],
        *("step:intended", "view:effected", "history:recorded"),
    ),
)
def test_a_step_that_follows_is_finished_after_a_crash(pair: Pair, boundary: str) -> None:
    pair.sell((1, "Ada", 30))
    with pytest.raises(Crash):
        pair.run(boundary=crash_at(boundary))
    pair.run()
    assert pair.read_steps() == {"sales": 1}
    published = pair.head().published
    assert published is not None
    assert (published.step, pair.head().intent) == (1, None)
    found = pair.rows("good"), pair.rows("everybody")
    other = two_pipelines(pair.root / "other")
    other.apply("sales", "grades")
    other.sell((1, "Ada", 30))
    other.run()
    assert (other.rows("good"), other.rows("everybody")) == found


def test_a_step_that_the_engine_refuses_is_put_back_and_tried_at_the_next_one(pair: Pair) -> None:
    before = pair.rows("good"), pair.rows("everybody")
    pair.sell((1, "Ada", 30))
    pair.engine.refused = {"good"}
    with pytest.raises(EngineError, match="divides by zero"):
        pair.run()
    assert (pair.rows("good"), pair.rows("everybody")) == before
    assert pair.read_steps() == {"sales": 0}
    pair.engine.refused = set()
    pair.run()
    assert pair.read_steps() == {"sales": 1}
    assert pair.rows("good") != before[0]


def test_a_table_that_was_made_anew_is_not_taken_for_the_one_that_was_read(pair: Pair) -> None:
    pair.write("sales", "CREATE TABLE orders (id BIGINT, customer STRING, price INT);")
    pair.apply("sales")
    pair.write("sales", SALES)
    pair.write("grades", GRADES)
    pair.apply("sales")
    # Its meaning is what it was: the run follows to the table that is there now.
    assert len(pair.run()) == 1
    pair.write("sales", CENTS.replace("revenue", "turnover"))
    pair.apply("sales")
    pair.write("sales", CENTS)
    pair.apply("sales")
    with pytest.raises(EngineError) as gone:
        pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 10)")
    assert gone.value.code == "X738"
    pair.apply("grades")
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 10)")


def test_a_plain_view_is_read_at_every_step_as_it_was(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path)
    pair.write("grades", GRADES + "CREATE VIEW names AS SELECT customer FROM sales.orders;")
    pair.apply("sales", "grades")
    pair.pipeline("grades").select("SELECT * FROM names")
    pair.sell((1, "Ada", 30))
    pair.pipeline("grades").select("SELECT * FROM names")
    pair.run()
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 10)")
    for step in (0, 1, 2, None):
        pair.pipeline("grades").select("SELECT * FROM names", step)
    asked = [call for call in pair.engine.calls if isinstance(call, Selection)]
    versions = [{source.name: source.version for source in one.sources if hasattr(source, "version")} for one in asked]
    assert [one["sales.orders"] for one in versions] == [0, 0, 0, 1, 1, 1]


def test_a_checkpoint_goes_back_to_what_was_read_then(pair: Pair) -> None:
    pair.sell((1, "Ada", 30))
    pair.run()
    before = pair.rows("good"), pair.rows("everybody")
    pair.pipeline("grades").checkpoint("then")
    pair.sell((2, "Bob", 5))
    pair.run()
    assert pair.read_steps() == {"sales": 2}
    pair.pipeline("grades").restore("then")
    assert pair.read_steps() == {"sales": 1}
    assert (pair.rows("good"), pair.rows("everybody")) == before
    pair.run()
    assert pair.read_steps() == {"sales": 2}


def test_a_checkpoint_can_be_taken_over_with_what_it_reads(pair: Pair) -> None:
    pair.sell((1, "Ada", 30))
    pair.run()
    pair.pipeline("grades").checkpoint("then")
    pair.project.new_pipeline("marks").restore("then", "grades")
    assert pair.rows("everybody", "marks") == pair.rows("everybody")
    readers = pair.project.target.registry.document("sales", Readers)
    assert readers is not None
    assert readers.value.pipelines == ("grades", "marks")


def test_the_program_of_a_reader_is_shown_as_it_was(pair: Pair) -> None:
    found = pair.pipeline("grades").program_at(datetime.now(UTC))
    assert [(one.kind, one.name) for one in found.objects if one.kind != "settings"] == [
        ("table", "limits"),
        ("view", "bounds"),
        ("view", "everybody"),
        ("view", "good"),
    ]


def test_readers_are_named_where_they_lose_something(pair: Pair) -> None:
    pair.write("sales", SALES.replace("SUM(price) AS total, ", ""))
    plan = plan_pipeline(pair.project.target, "sales")
    assert [one.message for one in plan.hazards if one.code == "H915"] == [
        "view revenue, which grades.good reads, loses column total"
    ]
    pair.write("sales", SALES.replace(", COUNT(*) AS number", ""))
    plan = plan_pipeline(pair.project.target, "sales")
    assert [one.message for one in plan.hazards if one.code == "H915"] == []
    pair.write("sales", "CREATE TABLE other (id BIGINT);")
    plan = plan_pipeline(pair.project.target, "sales")
    assert [one.message for one in plan.hazards if one.code == "H915"] == [
        "table orders, which grades.everybody reads, is removed",
        "view revenue, which grades.good reads, is removed",
    ]


def test_readers_are_named_where_a_restore_takes_something_from_them(pair: Pair) -> None:
    pair.pipeline("sales").checkpoint("before")
    pair.write("sales", SALES + "CREATE MATERIALIZED VIEW prices AS SELECT price FROM orders;\n")
    pair.apply("sales")
    pair.write("grades", GRADES + "CREATE MATERIALIZED VIEW most AS SELECT MAX(price) AS price FROM sales.prices;\n")
    pair.apply("grades")
    (pair.root / "policy.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: H915, verdict: deny, reason: ask them}]\n"
    )
    with pytest.raises(PlanRejected, match=r"H915 view prices, which grades\.most reads, is removed \(ask them\)"):
        pair.pipeline("sales").restore("before")
    (pair.root / "policy.yaml").unlink()
    pair.pipeline("sales").restore("before")


def test_a_reader_that_reads_no_more_is_not_named(pair: Pair) -> None:
    pair.write("grades", "CREATE TABLE limits (customer STRING, least INT);")
    pair.apply("grades")
    pair.write("sales", "CREATE TABLE other (id BIGINT);")
    assert [one for one in plan_pipeline(pair.project.target, "sales").hazards if one.code == "H915"] == []


def test_a_pipeline_is_removed_before_the_reader_that_goes_with_it(pair: Pair) -> None:
    pair.write("grades", "CREATE TABLE limits (customer STRING, least INT);")
    assert apply_order(pair.project.target, ["grades", "sales"]) == ("sales", "grades")
    shutil.rmtree(pair.root / "pipelines" / "sales")
    pair.apply("sales", "grades")
    assert pair.read_steps() == {}


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ("SELECT * FROM sale.revenue", "P372", "pipeline 'sale' has no files here"),
        ("SELECT * FROM parquet.`/in/x`", "S216", "'parquet./in/x' reads files directly, which is not allowed in a query"),
        (
            "SELECT * FROM parquet.`/in/x.parquet`",
            "S216",
            "'parquet./in/x.parquet' reads files directly, which is not allowed in a query",
        ),
        ("SELECT * FROM csv.people", "S216", "'csv.people' reads files directly, which is not allowed in a query"),
        ("SELECT * FROM sales.`/in/x`", "S216", "'sales./in/x' reads files directly, which is not allowed in a query"),
        ("SELECT * FROM sales.revenues", "P370", "pipeline sales has no table or view 'revenues'"),
        ("SELECT * FROM sales.plain", "P370", "sales.plain is a plain view"),
        ("SELECT * FROM sales.hidden", "P370", "sales.hidden is a LOCAL view"),
        ("SELECT * FROM grades.limits", "P371", "belongs to this pipeline"),
        ("SELECT * FROM sales.`revenue@v1`", "A524", "does not allow reading versions"),
        ("SELECT nothing FROM sales.revenue", "S221", "unknown column 'nothing'"),
        ("SELECT * FROM a.b.c", "S220", "'a.b.c' is not a relation of this pipeline"),
        ("SELECT * FROM broken.r", "P374", "its files have errors: S220"),
    ],
)
def test_what_can_t_be_read_is_told_where_it_stands(pair: Pair, query: str, code: str, words: str) -> None:
    pair.write("broken", "CREATE MATERIALIZED VIEW r AS SELECT * FROM nowhere;")
    pair.write("sales", SALES + "CREATE VIEW plain AS SELECT 1 AS one;\nCREATE LOCAL VIEW hidden AS SELECT 1 AS one;")
    pair.write("grades", f"CREATE TABLE limits (least INT);\nCREATE MATERIALIZED VIEW v AS\n{query};")
    found = pair.pipeline("grades").validate().diagnostics
    assert [one.code for one in found] == [code]
    assert words in found[0].message
    assert (found[0].location.file, found[0].location.line) == ("pipelines/grades/program.sql", 3)  # type: ignore[union-attr]
    with pytest.raises(ManifestInvalid):
        planned(pair)


def test_pipelines_that_read_each_other_are_told_with_the_way_round(pair: Pair) -> None:
    pair.write("sales", SALES + "CREATE MATERIALIZED VIEW back AS SELECT * FROM marks.m;")
    pair.write("marks", "CREATE MATERIALIZED VIEW m AS SELECT * FROM grades.good;")
    for name, circle in (
        ("grades", "grades → sales → marks → grades"),
        ("sales", "sales → marks → grades → sales"),
        ("marks", "marks → grades → sales → marks"),
    ):
        found = {(one.code, one.message) for one in pair.pipeline(name).validate().diagnostics}
        assert found == {("P373", f"circular dependency between pipelines: {circle}")}
    pair.write("reader", "CREATE MATERIALIZED VIEW r AS SELECT * FROM sales.orders;")
    (found_there,) = pair.pipeline("reader").validate().diagnostics
    assert found_there.code == "P374"
    assert "circular dependency" in found_there.message


def test_a_pipeline_of_another_repository_is_read_as_it_is_applied(pair: Pair) -> None:
    pair.write("sales", CENTS)
    shutil.rmtree(pair.root / "pipelines" / "sales")
    assert "no changes" in planned(pair)
    pair.sell((1, "Ada", 30))
    assert len(pair.run()) == 1


def test_a_head_that_reads_nothing_says_nothing_of_it(pair: Pair) -> None:
    assert "foreign" not in head_to_json(pair.head("sales"))["published"]
    assert "foreign" in head_to_json(pair.head("grades"))["published"]


def test_a_chain_of_pipelines_is_followed_to_its_end(pair: Pair) -> None:
    pair.write("marks", "CREATE MATERIALIZED VIEW m AS SELECT customer FROM grades.good;")
    pair.apply("marks")
    pair.write("sales", CENTS)
    assert "reads grades.good.customer, which reads sales.revenue, whose query changed" in planned(pair, "marks")
    assert apply_order(pair.project.target, ["grades", "marks", "sales"]) == ("sales", "grades", "marks")
    pair.apply("sales", "grades", "marks")
    assert "no changes" in planned(pair, "marks")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=Ann", "-c", "user.email=a@example.org", *arguments], cwd=root, check=True)


def test_one_pull_request_that_changes_both_is_approved_by_two_locks(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path, policy="await_approval")
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitignore").write_text(".reconcile/\n")

    def merge() -> None:
        assert run(["plan", "--write-lock", "--repo", str(tmp_path)], engine=pair.engine) == 0
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "merged")
        assert run(["apply", "--repo", str(tmp_path)], engine=pair.engine) == 0
        assert "no changes" in planned(pair)
        assert "no changes" in planned(pair, "sales")

    merge()
    pair.sell((1, "Ada", 30))
    pair.run()
    pair.write("sales", CENTS)
    merge()
    # A relation goes together with its last reader: the lock names the reader, which is applied after.
    pair.write("sales", "CREATE TABLE orders (id BIGINT, customer STRING, price INT);")
    pair.write("grades", "CREATE MATERIALIZED VIEW everybody AS SELECT customer FROM sales.orders;")
    merge()
    lock = (tmp_path / "pipelines" / "sales" / "plan.lock").read_text()
    assert "H915 view revenue, which grades.good reads, is removed" in lock


def test_a_reader_whose_registry_is_damaged_may_read_everything(pair: Pair) -> None:
    shutil.rmtree(pair.root / ".reconcile" / "warehouse" / "_registry" / "grades" / "snapshots")
    pair.write("sales", "CREATE TABLE orders (id BIGINT, customer STRING, price INT);")
    hazards = plan_pipeline(pair.project.target, "sales").hazards
    assert [one.message for one in hazards if one.code == "H915"] == ["view revenue, which grades reads, is removed"]


def test_what_can_t_be_compared_any_more_has_changed_for_good(pair: Pair) -> None:
    shutil.rmtree(pair.root / ".reconcile" / "warehouse" / "_registry" / "sales" / "snapshots")
    pair.write("sales", CENTS)
    text = planned(pair)
    assert "reads sales.revenue.customer, sales.revenue.total, which changed" in text


class Counting:
    """A registry that notes what it is asked for."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self._registry, name)


def test_a_run_looks_at_heads_only_where_nothing_was_published(pair: Pair) -> None:
    registry = Counting(pair.project.target.registry)
    states = ForeignStates(replace(pair.project.target, registry=registry))
    program, head = applied_program(pair), pair.head()
    assert newer_steps(states, head, program).newer == {}
    registry.asked.clear()
    assert newer_steps(states, head, program).newer == {}
    assert registry.asked == ["head"]
    # What was published there is nothing that is read: its tables are looked at once, and whether one took another's name.
    pair.write("sales", SALES + "CREATE TABLE unread (id BIGINT);")
    pair.apply("sales")
    for asked in (["head", "snapshot", "head", "snapshot", "head", "last_rows", "head"], ["head"]):
        registry.asked.clear()
        assert newer_steps(states, head, program).newer == {}
        assert registry.asked == asked


def test_a_pinned_version_may_read_what_the_files_do_not_name(pair: Pair) -> None:
    pair.write("grades", GRADES.replace("SELECT customer FROM sales.orders", "SELECT customer FROM limits"))
    pair.apply("grades")
    yaml = pair.root / "pipelines" / "grades" / "pipeline.yaml"
    yaml.write_text(yaml.read_text() + "  views: {everybody: {version: v0}}\n")
    plan = plan_pipeline(pair.project.target, "grades")
    assert [change.name for change in plan.diff.relations] == ["everybody"]
    pair.apply("grades")
    pair.sell((1, "Ada", 30))
    assert "everybody" in pair.run()[0]


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(
        [
            *("open:before", "open:recorded", "bootstrap_view:intended", "bootstrap_view:effected", "publish_view:effected"),
            *("commit_snapshot:intended", "commit_snapshot:effected"),
        ],
        *("open:recorded", "bootstrap_view:effected", "commit_snapshot:intended"),
    ),
)
def test_an_apply_that_is_finished_by_another_reads_what_the_first_one_pinned(pair: Pair, boundary: str) -> None:
    pair.sell((1, "Ada", 30))
    pair.write("grades", GRADES.replace("r.total >= l.least", "r.total > l.least"))
    with pytest.raises(Crash):
        pair.pipeline("grades").observed(boundary=crash_at(boundary)).apply()
    pair.sell((2, "Bob", 5))
    pair.apply("grades")
    # Nothing was pinned before the journal was open.
    assert pair.read_steps() == {"sales": 2 if boundary == "open:before" else 1}
    other = two_pipelines(pair.root / "other")
    other.apply("sales", "grades")
    other.sell((1, "Ada", 30))
    if boundary == "open:before":
        other.sell((2, "Bob", 5))
    other.write("grades", GRADES.replace("r.total >= l.least", "r.total > l.least"))
    other.apply("grades")
    assert (pair.rows("good"), pair.rows("everybody")) == (other.rows("good"), other.rows("everybody"))
    pair.run()
    assert pair.read_steps() == {"sales": 2}
    assert pair.run() == []


def test_another_version_of_reconciler_takes_no_reader_s_relations_for_others(pair: Pair, tmp_path: Path) -> None:
    before, version = pair.head(), write_another_version(tmp_path / "another")
    repository = ("--repo", str(pair.root))
    assert "no changes" in run_version(version, "plan", "grades", *repository)
    pair.sell((1, "Ada", 30))
    assert "grades: 1 step(s)" in run_version(version, "run", "grades", "--once", *repository)
    assert pair.head().applied == before.applied
    pair.write("sales", CENTS)
    assert "whose query changed" in run_version(version, "plan", "grades", *repository)


def test_a_pipeline_may_be_called_like_a_format(pair: Pair) -> None:
    pair.write("json", "CREATE TABLE people (id BIGINT);")
    pair.write("grades", "CREATE MATERIALIZED VIEW v AS SELECT id FROM json.people;")
    pair.apply("json", "grades")
    assert set(pair.read_steps()) == {"json"}
    pair.write("grades", "CREATE MATERIALIZED VIEW v AS SELECT id FROM json.`people.json`;")
    assert [one.code for one in pair.pipeline("grades").validate().diagnostics] == ["S216"]
