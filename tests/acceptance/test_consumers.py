"""Consumers in other pipelines, by the command line over real Delta tables, with the recording engine: what they read is in
the digest of their plan, the order of applies, who is named when something is taken away, staging what reads elsewhere."""

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reconciler.testing.crashes import Crash, crash_at
from tests.acceptance.command_line import CommandLine
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.two_pipelines import GRADES, SALES, Pair, RefusingEngine, two_pipelines
from tests.workspace.test_reading_pipelines import CENTS, views_built

pytestmark = pytest.mark.both_ways

READS = "  versions: {reads: true}\n"
LESS = GRADES.replace("r.total >= l.least", "r.total > l.least")
OLD = """\
CREATE TABLE limits (customer STRING, least INT);
CREATE MATERIALIZED VIEW good AS SELECT o.total FROM sales.`revenue@v0` o JOIN limits l ON l.customer = o.customer;
"""

Said = Callable[..., str]


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales, and grades, which reads it; applied, with rows."""
    pair = two_pipelines(tmp_path_factory.mktemp("applied"))
    allow(pair, "sales")
    pair.apply("sales", "grades")
    pair.sell((1, "Ada", 30))
    pair.run()
    return pair.root


@pytest.fixture
def pair(applied: Path, tmp_path: Path) -> Pair:
    return Pair(Path(shutil.copytree(applied, tmp_path, dirs_exist_ok=True)), RefusingEngine(DeltaWriter()))


@pytest.fixture
def said(pair: Pair, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(pair.root, capsys, pair.engine)


def allow(pair: Pair, name: str, more: str = "", program: str = "") -> None:
    """A pipeline's files, with versions that may be read, and more below `spec`."""
    if program:
        pair.write(name, program)
    file = pair.root / "pipelines" / name / "pipeline.yaml"
    file.write_text(file.read_text() + READS + more)


def digest(said: Said, name: str) -> str:
    (plan,) = json.loads(said("plan", name, "--format", "json"))["plans"]
    return str(plan["digest"])


def built(pair: Pair) -> list[str]:
    """The views computed since this was asked for last."""
    found = sorted(views_built(pair))
    pair.engine.calls.clear()
    return found


def states(said: Said, name: str) -> dict[str, str]:
    found = json.loads(said("versions", "list", name, "--format", "json"))
    return {
        one["version"]: "active" if one["active"] else "staged" if found["staged"] == one["version"] else ""
        for one in found["versions"]
    }


def test_what_is_read_elsewhere_is_in_the_reader_s_digest(pair: Pair, said: Said) -> None:
    pair.write("grades", LESS)
    before = digest(said, "grades")
    allow(pair, "sales", program=f"-- what was sold\n{SALES}CREATE MATERIALIZED VIEW more AS SELECT id FROM orders;\n")
    # Nothing that is read means something else.
    assert digest(said, "grades") == before
    allow(pair, "sales", program=CENTS)
    assert digest(said, "grades") != before


def test_so_is_the_version_that_is_read(pair: Pair, said: Said) -> None:
    allow(pair, "sales", program=CENTS)
    said("apply", "sales")
    found = []
    for version in ("v0", "v1"):
        pair.write("grades", OLD.replace("@v0", f"@{version}"))
        found.append(digest(said, "grades"))
    assert len(set(found)) == 2
    said("apply", "grades")
    assert "no changes" in said("plan", "grades")
    pair.write("grades", OLD)
    assert "~ view good" in said("plan", "grades")


def test_pipelines_are_applied_each_after_those_that_it_reads(pair: Pair, said: Said) -> None:
    pair.write("all_after", "CREATE MATERIALIZED VIEW last AS SELECT customer FROM grades.good;\n")
    allow(pair, "sales", program=CENTS)
    pair.write("grades", LESS)
    told = [line.partition(":")[0] for line in said("apply").splitlines() if ": applied" in line]
    assert told == ["sales", "grades", "all_after"]


def test_pipelines_that_read_each_other_are_an_error(pair: Pair, said: Said) -> None:
    allow(pair, "sales", program=SALES + "CREATE MATERIALIZED VIEW back AS SELECT customer FROM grades.good;\n")
    for words in (("validate",), ("plan", "sales"), ("apply",), ("apply", "grades")):
        told = said(*words, code=1)
        assert "P373" in told or "P374" in told
    assert "grades → sales → grades" in said("validate", "grades", code=1)
    assert "pipelines/sales/program.sql:3" in said("validate", "sales", code=1)


@pytest.mark.parametrize(
    ("program", "more", "words"),
    [
        (
            SALES.replace("SUM(price) AS total, ", ""),
            "",
            ["H915 view revenue, which grades.good reads, loses column total"],
        ),
        (SALES.partition("CREATE MATERIALIZED")[0], "", ["H915 view revenue, which grades.good reads, is removed"]),
        (
            SALES.replace("price INT", "price BIGINT"),
            "  tables: {orders: {used_by: [Bob]}}\n",
            ["H915 table orders, which Bob reads, changes column price from INT to BIGINT"],
        ),
        (
            SALES.replace(", COUNT(*) AS number", ""),
            "  views: {revenue: {used_by: [the weekly report, Bob]}}\n",
            ["H915 view revenue, which Bob, the weekly report read, loses column number"],
        ),
        (
            SALES.replace(", customer STRING, price INT", ", customer STRING, price INT, note STRING"),
            "  tables: {orders: {used_by: [Bob]}}\n",
            [],
        ),
    ],
)
def test_what_is_taken_away_from_readers_is_a_hazard_that_names_them(
    pair: Pair, said: Said, program: str, more: str, words: list[str]
) -> None:
    allow(pair, "sales", more, program=SALES)
    said("apply", "sales")
    allow(pair, "sales", more, program=program)
    told = [line.strip() for line in said("plan", "sales").splitlines() if "H915" in line]
    assert told == words
    # Best is to change the reader first.
    (plan,) = json.loads(said("plan", "sales", "--format", "json"))["plans"]
    assert [f"H915 {one['message']}" for one in plan["hazards"] if one["code"] == "H915"] == words


def test_a_version_of_what_reads_elsewhere_is_staged_and_promoted(pair: Pair, said: Said) -> None:
    pair.write("grades", LESS)
    before = pair.head()
    assert "staged: good@v1" in said("apply", "grades", "--no-promote")
    assert built(pair) == ["good"]
    head = pair.head()
    assert (head.published, head.applied) == (before.published, before.applied)
    assert states(said, "grades.good") == {"v0": "active", "v1": "staged"}
    rows = pair.rows("everybody")
    told = said("promote", "grades.good@v1")
    assert "nothing computed" in told
    assert built(pair) == []
    assert pair.rows("everybody") == rows
    assert pair.read_steps() == {"sales": 1}
    assert pair.run() == []
    assert "no changes" in said("plan", "grades")


def test_what_moved_on_there_is_read_by_what_is_promoted(pair: Pair, said: Said) -> None:
    """An apply that computes a view reads the newest step there, and brings along whatever else reads there."""
    pair.write("grades", LESS)
    said("apply", "grades", "--no-promote")
    pair.sell((2, "Bob", 50))
    built(pair)
    told = said("promote", "grades.good@v1")
    assert "bootstrap good" in told
    after = {name: pair.rows(name) for name in ("good", "everybody")}
    assert pair.read_steps() == {"sales": 2}
    assert pair.run() == []
    assert "no changes" in said("plan", "grades")
    # All of it is as an apply without staging would have it.
    pair.write("grades", GRADES)
    said("apply", "grades")
    pair.write("grades", LESS)
    said("apply", "grades")
    assert {name: pair.rows(name) for name in after} == after


def test_what_an_apply_brings_along_is_counted(pair: Pair, said: Said) -> None:
    pair.write("grades", LESS)
    assert "1 to bootstrap, 0 to add, 1 to modify" in said("plan", "grades")
    pair.sell((2, "Bob", 50))
    told = said("apply", "grades")
    counted = "2 to bootstrap (1 since another pipeline moved on), 0 to add, 1 to modify, 0 to remove"
    assert f"grades: applied: {counted}" in told.splitlines()
    assert told.count("] bootstrap ") == 2
    assert counted in said("history", "grades")


def test_a_run_that_followed_meanwhile_loses_nothing(pair: Pair, said: Said) -> None:
    pair.write("grades", LESS)
    said("apply", "grades", "--no-promote")
    pair.sell((2, "Bob", 50))
    said("run", "grades", "--once")
    assert pair.read_steps() == {"sales": 2}
    said("promote", "grades.good@v1")
    assert pair.read_steps() == {"sales": 2}
    assert states(said, "grades.good") == {"v0": "", "v1": "active"}
    pair.sell((3, "Cyd", 70))
    assert "good" in pair.run()[0]
    assert "no changes" in said("plan", "grades")


def test_what_is_planned_for_files_of_the_other_that_are_not_applied_is_not_staged(pair: Pair, said: Said) -> None:
    allow(pair, "sales", program=CENTS)
    pair.write("grades", LESS)
    head = pair.head()
    assert "A560" in said("apply", "grades", "--no-promote", code=2)
    assert pair.head() == head
    assert built(pair) == []
    # Both at once, each after those that it reads; what the other one means is applied only once it is promoted there.
    told = said("apply", "sales", "--no-promote")
    assert "staged: revenue@v1" in told
    assert "A560" in said("apply", "grades", "--no-promote", code=2)
    said("promote", "sales.revenue@v1")
    assert "staged: good@v1" in said("apply", "grades", "--no-promote")
    assert "A560" not in said("promote", "grades.good@v1")
    assert "no changes" in said("plan")


def test_what_is_staged_is_not_promoted_over_something_else(pair: Pair, said: Said) -> None:
    """What the other one means changed in between: the staged plan was approved for what it meant."""
    pair.write("grades", LESS)
    said("apply", "grades", "--no-promote")
    allow(pair, "sales", program=CENTS)
    said("apply", "sales")
    told = said("promote", "grades.good@v1", code=2)
    assert "A560" in told
    assert states(said, "grades.good") == {"v0": "active", "v1": "staged"}
    # Staged again, it is the same version, for what is read now.
    assert "staged: good@v1" in said("apply", "grades", "--no-promote")
    said("promote", "grades.good@v1")
    assert states(said, "grades.good") == {"v0": "", "v1": "active"}
    assert "no changes" in said("plan", "grades")


@pytest.mark.parametrize(
    ("point", "moves"),
    mostly_slow(
        list(
            product(
                ["stage_view:effected", "stage:intended", "stage:recorded", "open:recorded", "publish_view:effected"],
                [True, False],
            )
        ),
        ("stage_view:effected", True),
        ("stage:recorded", False),
        ("publish_view:effected", True),
    ),
)
def test_killed_while_it_is_staged_or_promoted_it_ends_the_same(pair: Pair, said: Said, point: str, moves: bool) -> None:
    pair.write("grades", LESS)
    if point.startswith("stage"):
        with pytest.raises(Crash):
            pair.pipeline("grades").observed(boundary=crash_at(point)).stage()
    else:
        said("apply", "grades", "--no-promote")
        with pytest.raises(Crash):
            pair.pipeline("grades").observed(boundary=crash_at(point)).promote()
    if moves:
        pair.sell((2, "Bob", 50))
    said("apply", "grades")
    assert states(said, "grades.good") == {"v0": "", "v1": "active"}
    said("run", "grades", "--once")
    assert pair.read_steps() == {"sales": 2 if moves else 1}
    assert "no changes" in said("plan", "grades")
    assert pair.head().staged is None


def test_versions_are_read_nowhere_unless_the_setting_says_so(pair: Pair, said: Said) -> None:
    pair.write("sales", CENTS)
    said("apply", "sales")

    def refused(*words: str) -> None:
        told = said(*words, code=1)
        assert "A524" in told
        assert "spec.versions.reads" in told

    refused("query", "sales", "SELECT * FROM revenue@v0")
    refused("query", "sales", "SELECT n.total FROM revenue n JOIN `revenue@v1` o ON n.customer = o.customer")
    refused("versions", "diff", "revenue@v0", "revenue@v1", "--data")
    pair.write("grades", OLD)
    refused("validate", "grades")
    refused("plan", "grades")
    pair.write("sales", CENTS + "CREATE MATERIALIZED VIEW own AS SELECT total FROM `revenue@v0`;\n")
    refused("plan", "sales")
    pair.write("sales", CENTS)
    file = pair.root / "pipelines/sales/pipeline.yaml"
    file.write_text(file.read_text() + "  views: {revenue: {versions: {v0: {maintain: true}}}}\n")
    told: Any = said("plan", "sales")
    assert "+ view revenue@v0" in told
    said("apply", "sales")
    refused("query", "sales", "SELECT * FROM revenue@v0")
