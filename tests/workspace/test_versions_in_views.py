"""Views that read versions: `revenue@v0` in backquotes, of their own pipeline or of another one."""

import shutil
from pathlib import Path

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.base.errors import EngineError
from reconciler.plan.text_form import render_text
from reconciler.project.program.model import Program
from reconciler.state.step_history import read_step
from tests.engine.delta_writer import DeltaWriter
from tests.shops.two_pipelines import SALES, Pair, RefusingEngine, two_pipelines
from tests.workspace.test_reading_pipelines import CENTS, applied_program, planned

OWN = (
    CENTS
    + "CREATE MATERIALIZED VIEW both AS SELECT n.total FROM revenue n JOIN `revenue@v0` o ON n.customer = o.customer;\n"
)
OTHER = """\
CREATE TABLE limits (customer STRING, least INT);
CREATE MATERIALIZED VIEW good AS SELECT o.total FROM sales.`revenue@v0` o JOIN limits l ON l.customer = o.customer;
"""

MAINTAINED = "  views: {revenue: {versions: {v0: {maintain: true}}}}\n"


def allow(pair: Pair, name: str, more: str = "") -> None:
    """Let versions of a pipeline's relations be read."""
    yaml = pair.root / "pipelines" / name / "pipeline.yaml"
    yaml.write_text(yaml.read_text() + "  versions: {reads: true}\n" + more)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales with a step of rows, and a grades that reads nothing of it. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("applied")
    found = two_pipelines(root)
    found.write("grades", "CREATE TABLE limits (customer STRING, least INT);")
    found.apply("sales", "grades")
    found.sell((1, "Ada", 30))
    return root


@pytest.fixture
def pair(applied: Path, tmp_path: Path) -> Pair:
    shutil.copytree(applied, tmp_path, dirs_exist_ok=True)
    return Pair(tmp_path, RefusingEngine(DeltaWriter()))


def versions_read(program: Program) -> list[tuple[str, str, int | None]]:
    """The versions that a program's views read: (pipeline, name, number)."""
    return [(one.pipeline, one.name, one.version) for one in program.foreign.values() if one.version is not None]


def read_at(pair: Pair, pipeline: str, key: str) -> tuple[int, int]:
    """The step and the Delta version at which a version is read."""
    published = pair.head(pipeline).published
    assert published is not None
    found = published.foreign[key]
    return found.step, found.relations[""].version


def sources(pair: Pair, view: str) -> dict[str, int]:
    """What a view was computed from, the last time."""
    build = [call for call in pair.engine.calls if getattr(call, "view", None) == view][-1]
    return {source.name: source.version for source in build.sources}


def test_a_change_and_a_view_over_both_versions_come_together(pair: Pair) -> None:
    before = pair.head("sales").published
    assert before is not None
    pair.write("sales", OWN)
    allow(pair, "sales")
    plan = plan_pipeline(pair.project.target, "sales")
    assert [one.message for one in plan.hazards if one.code == "H940"] == [
        "view both reads revenue@v0, which is no longer active: its rows are no longer updated"
    ]
    pair.apply("sales")
    assert sources(pair, "both")["revenue@v0"] == before.relations["revenue"].version
    assert read_at(pair, "sales", "revenue@v0") == (1, before.relations["revenue"].version)
    assert "no changes" in planned(pair, "sales")


def test_a_version_does_not_move(pair: Pair) -> None:
    pair.write("sales", OWN)
    allow(pair, "sales")
    pair.apply("sales")
    where, rows = read_at(pair, "sales", "revenue@v0"), pair.rows("both", "sales")
    pair.sell((2, "Bob", 5))
    assert pair.rows("both", "sales") != rows
    assert sources(pair, "both")["revenue@v0"] == where[1]
    pair.write("sales", OWN.replace("SELECT n.total", "SELECT n.total + 1 AS total"))
    allow(pair, "sales")
    pair.apply("sales")
    assert read_at(pair, "sales", "revenue@v0") == where
    # Not even if it becomes active again.
    allow(pair, "sales", "  views: {revenue: {version: v0}}\n")
    yaml = pair.root / "pipelines" / "sales" / "pipeline.yaml"
    yaml.write_text(yaml.read_text().replace("  versions: {reads: true}\n", "", 1))
    pair.apply("sales")
    assert read_at(pair, "sales", "revenue@v0") == where


def test_a_version_of_another_pipeline_is_read_where_that_one_allows_it(pair: Pair) -> None:
    pair.write("grades", OTHER)
    (refused,) = pair.pipeline("grades").validate().diagnostics
    assert refused.code == "A524"
    assert "spec.versions.reads" in (refused.hint or "")
    assert (refused.location.line, refused.location.column) == (2, 54)  # type: ignore[union-attr]
    pair.write("sales", CENTS)
    allow(pair, "sales")
    pair.apply("sales")
    pair.apply("grades")
    assert read_at(pair, "grades", "sales.revenue@v0")[0] == 1
    pair.sell((2, "Bob", 5))
    assert pair.run() == []
    assert versions_read(applied_program(pair)) == [("sales", "revenue", 0)]
    assert "no changes" in planned(pair)


def test_a_version_needs_the_setting_of_its_own_pipeline(pair: Pair) -> None:
    pair.write("sales", OWN)
    assert [one.code for one in pair.pipeline("sales").validate().diagnostics] == ["A524"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("`revenue@v7`", "A522", "has no version 'v7'"),
        ("`revenue@stable`", "P375", "names a version by a name that may change its meaning"),
        ("`revenues@v0`", "A520", "'revenues' has no version"),
        ("sales.`revenue@v0`", "P371", "belongs to this pipeline"),
        ("grades.`limits@v0`", "A524", "pipeline grades does not allow reading versions"),
        ("nobody.`limits@v0`", "A522", "pipeline nobody was never applied"),
        ("`plain@v0`", "P370", "a view that stored no rows"),
    ],
)
def test_what_can_t_be_read_is_told(pair: Pair, name: str, code: str, words: str) -> None:
    pair.write("sales", SALES + "CREATE VIEW plain AS SELECT 1 AS one;")
    pair.apply("sales")
    pair.write("sales", f"{SALES}CREATE MATERIALIZED VIEW v AS SELECT * FROM {name};")
    allow(pair, "sales")
    (found,) = pair.pipeline("sales").validate().diagnostics
    assert found.code == code
    assert words in found.message
    assert (found.location.line) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("revenue", ["", "CREATE VIEW revenue AS SELECT 1 AS one;\n"])
def test_a_version_goes_with_its_table(pair: Pair, revenue: str) -> None:
    pair.write("sales", OWN)
    allow(pair, "sales")
    pair.apply("sales")
    lonely = "CREATE TABLE orders (id BIGINT, customer STRING, price INT);\n" + revenue
    lonely += "CREATE MATERIALIZED VIEW both AS SELECT o.total, x.id FROM `revenue@v0` o JOIN orders x ON true;\n"
    pair.write("sales", lonely)
    allow(pair, "sales")
    (found,) = pair.pipeline("sales").validate().diagnostics
    assert found.code == "P376"
    # What is applied goes on.
    pair.sell((2, "Bob", 5))


def test_rows_that_are_gone_are_told_before_anything_is_touched(pair: Pair) -> None:
    pair.write("sales", CENTS)
    allow(pair, "sales")
    pair.apply("sales")
    log = pair.root / ".reconcile" / "warehouse" / "sales" / "revenue"
    for file in log.rglob("*.parquet"):
        file.unlink()
    pair.write("grades", OTHER)
    before = pair.head("grades")
    with pytest.raises(EngineError) as gone:
        pair.apply("grades")
    assert gone.value.code == "X730"
    assert pair.head("grades") == before


def test_a_pipeline_that_reads_its_own_versions_can_t_be_taken_over(pair: Pair) -> None:
    pair.write("sales", OWN)
    allow(pair, "sales")
    pair.apply("sales")
    pair.pipeline("sales").checkpoint("then")
    with pytest.raises(Exception, match="versions of its own relations"):
        pair.project.new_pipeline("copy").restore("then", "sales")
    pair.sell((2, "Bob", 5))
    pair.pipeline("sales").restore("then")
    assert read_at(pair, "sales", "revenue@v0")[0] == 1
    pair.sell((3, "Cid", 5))


def test_readers_of_a_version_lose_it_with_its_relation_only(pair: Pair) -> None:
    pair.write("sales", CENTS)
    allow(pair, "sales")
    pair.apply("sales")
    pair.write("grades", OTHER)
    pair.apply("grades")
    pair.write("sales", SALES.replace("SUM(price) AS total, ", ""))
    allow(pair, "sales")
    assert "H915" not in render_text(plan_pipeline(pair.project.target, "sales"))
    shutil.rmtree(pair.root / "pipelines" / "sales")
    assert "view revenue, which grades.good reads, is removed" in render_text(plan_pipeline(pair.project.target, "sales"))


@pytest.fixture
def maintaining(pair: Pair) -> Pair:
    """Sales in cents, which keeps the version before up to date, and grades, which reads that."""
    pair.write("sales", CENTS)
    allow(pair, "sales", MAINTAINED)
    pair.write("grades", OTHER)
    assert "H940" not in planned(pair)
    pair.apply("sales", "grades")
    return pair


def kept(pair: Pair) -> int:
    """At which Delta version sales has the version that it keeps up to date."""
    published = pair.head("sales").published
    assert published is not None
    return published.relations["revenue@v0"].version


def test_a_version_that_is_kept_up_to_date_is_followed_by_other_pipelines(maintaining: Pair) -> None:
    assert maintaining.read_steps() == {"sales": 2}
    maintaining.sell((2, "Bob", 5))
    before = maintaining.rows("good")
    assert "good" in maintaining.run()[0]
    assert maintaining.rows("good") != before
    assert sources(maintaining, "good")["sales.revenue@v0"] == kept(maintaining)
    assert maintaining.read_steps() == {"sales": 3}
    assert "no changes" in planned(maintaining)
    assert versions_read(applied_program(maintaining)) == []


def test_its_steps_are_known_later_as_they_were(maintaining: Pair) -> None:
    before = maintaining.head().published
    assert before is not None
    maintaining.pipeline("grades").checkpoint("now")
    maintaining.sell((2, "Bob", 5))
    maintaining.run()
    state = read_step(maintaining.project.target.registry, maintaining.head(), before.step)
    assert {name: (one.step, one.ids) for name, one in state.foreign.items()} == {
        name: (one.step, one.ids) for name, one in before.foreign.items()
    }
    maintaining.pipeline("grades").restore("now")
    assert maintaining.read_steps() == {"sales": 2}
    maintaining.run()
    assert maintaining.read_steps() == {"sales": 3}
    assert sources(maintaining, "good")["sales.revenue@v0"] == kept(maintaining)


def test_who_read_its_rows_as_they_were_is_modified_once_it_is_kept_up_to_date(pair: Pair) -> None:
    pair.write("sales", CENTS)
    allow(pair, "sales")
    pair.apply("sales")
    pair.write("grades", OTHER)
    pair.apply("grades")
    pair.sell((2, "Bob", 5))
    assert pair.run() == []
    assert read_at(pair, "grades", "sales.revenue@v0")[0] == 1
    pair.write("sales", CENTS)
    allow(pair, "sales", MAINTAINED)
    pair.apply("sales")
    assert "~ view good" in planned(pair)
    pair.apply("grades")
    assert pair.read_steps() == {"sales": 4}
    assert "no changes" in planned(pair)


def test_taking_it_away_names_its_readers(maintaining: Pair) -> None:
    maintaining.write("sales", CENTS)
    allow(maintaining, "sales")
    assert "view revenue@v0, which grades.good reads, is removed" in planned(maintaining, "sales")
    assert "~ view good" in planned(maintaining)
    maintaining.sell((2, "Bob", 5))
    maintaining.apply("sales", "grades")
    assert read_at(maintaining, "grades", "sales.revenue@v0")[0] == 1
    assert "no changes" in planned(maintaining)


def test_it_needs_the_setting_of_its_pipeline(maintaining: Pair) -> None:
    maintaining.write("sales", CENTS)
    yaml = maintaining.root / "pipelines" / "sales" / "pipeline.yaml"
    yaml.write_text(yaml.read_text() + MAINTAINED)
    assert [one.code for one in maintaining.pipeline("grades").validate().diagnostics] == ["A524"]


def test_a_circle_through_one_is_an_error(maintaining: Pair) -> None:
    maintaining.write("sales", CENTS + "CREATE MATERIALIZED VIEW of_grades AS SELECT total FROM grades.good;\n")
    allow(maintaining, "sales", MAINTAINED)
    assert "P373" in [one.code for one in maintaining.pipeline("sales").validate().diagnostics]
