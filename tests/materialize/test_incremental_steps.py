"""Views that follow what changes: which way a step takes with each, and what it leaves."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import RowsNotFound
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Built, ColumnType, RowChanges, ViewBuild
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import CHEAPEST
from reconciler.incremental.model import Way
from reconciler.registry.protocol import History
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project
from reconciler.state.step_history import ToldOfStep
from reconciler.testing.tables import Contents
from tests.engine.delta_writer import DeltaWriter
from tests.incremental.small import ComputingEngine
from tests.incremental.till import (
    BATCHES,
    FOLLOWING,
    PIPELINE,
    PROGRAM,
    QUERIES,
    apply,
    engine,
    placement,
    put,
    require_right,
    rows,
    run,
    sale,
    write_till,
)

KEPT = ("by_good", "by_kind", "often", "whole", "seen_by_kind", "as_often")


def ways(root: Path) -> list[dict[str, Any]]:
    """Which way each view took, step by step."""
    rows = Project.open(root).target.registry.history(History.STEPS, PIPELINE)
    told = [ToldOfStep.of_row(row) for row in sorted(rows, key=lambda row: int(row["step"]))]
    return [dict(one.ways) for one in told if one.ways]


def folders_of(root: Path, name: str) -> set[str]:
    """The folders of staged tables below that of a relation."""
    return {path.parent.name for path in (root / "warehouse" / placement(root, name).location).glob("*/_delta_log")}


@pytest.fixture
def till(tmp_path: Path) -> Path:
    write_till(tmp_path)
    apply(tmp_path)
    return tmp_path


def test_views_hold_what_their_queries_give_after_every_step(till: Path) -> None:
    for number in range(len(BATCHES)):
        put(till, number)
        run(till)
        require_right(till)
    taken = ways(till)
    assert set(taken[0]) == set(QUERIES)
    assert taken[0]["seen"] == Way.NO_RULE, "a table that it has no rule for changed, too"
    assert {taken[0][name] for name in KEPT} == {Way.ANEW}, "nothing is kept of what was bootstrapped"
    later = [way for step in taken[1:] for name, way in step.items() if name in KEPT]
    assert later.count(Way.CHANGES) > len(later) / 2
    largest = [step["largest"] for step in taken[1:] if "largest" in step]
    assert set(largest) == {Way.ANEW, Way.CHANGES}, "anew where the greatest value went"
    assert [step["seen"] for step in taken if "seen" in step].count(Way.ADDED) >= 2


def test_rows_that_come_are_added_and_what_reads_them_follows(till: Path) -> None:
    put(till, 0)
    run(till)
    before, version = rows(till, "seen"), placement(till, "seen").version
    (till / "source/visits/100.json").write_text('{"insert": {"good": "tea", "who": 9}}\n')
    run(till)
    assert ways(till)[-1] == {"seen": Way.ADDED, "seen_by_kind": Way.CHANGES}
    assert rows(till, "seen") - before == {("tea", 9, "food"): 1}
    assert placement(till, "seen").version > version
    require_right(till)
    (till / "source/goods/100.json").write_text('{"insert": {"good": "tea", "kind": "drink"}}\n')
    run(till)
    assert ways(till)[-1]["seen"] == Way.NO_RULE, "where the other side of a LEFT JOIN changes"
    require_right(till)


def test_rows_that_go_are_taken_out(till: Path) -> None:
    put(till, 0)
    run(till)
    (till / "source/sales/100.json").write_text('{"insert": {"id": 100, "good": "tea", "amount": 70}}\n')
    run(till)
    assert ways(till)[-1]["doubled"] == Way.ADDED
    assert ways(till)[-1]["pairs"] == Way.CHANGES, "a row that comes to the other side of a LEFT JOIN takes rows away"
    before = rows(till, "doubled")
    (till / "source/sales/101.json").write_text('{"delete": {"id": 100}}\n')
    run(till)
    assert ways(till)[-1]["doubled"] == ways(till)[-1]["doubled_by_good"] == ways(till)[-1]["pairs"] == Way.CHANGES
    assert before - rows(till, "doubled") == {("tea", 140): 1, ("tea", 100): 1}
    require_right(till)


def test_groups_that_changed_are_computed_anew(till: Path) -> None:
    put(till, 0)
    run(till)
    before, folders = rows(till, "numbers"), folders_of(till, "numbers")
    assert before[(2, "tea", 2)] == 1
    (till / "source/sales/100.json").write_text('{"insert": {"id": 100, "good": "tea", "amount": 70}}\n')
    run(till)
    assert ways(till)[-1]["numbers"] == Way.CHANGES
    assert (before - rows(till, "numbers"), rows(till, "numbers") - before) == ({(2, "tea", 2): 1}, {(3, "tea", 3): 1})
    (till / "source/sales/101.json").write_text('{"delete": {"id": 3}}\n{"delete": {"id": 5}}\n')
    run(till)
    assert ways(till)[-1]["numbers"] == Way.CHANGES
    require_right(till)
    assert folders_of(till, "numbers") == folders, "neither keys nor staged rows stay"


def test_groups_that_are_too_many_to_be_kept_are_computed_anew(till: Path) -> None:
    put(till, 0)
    run(till)
    many = replace(FOLLOWING, many_kept=1)
    for number in range(1, len(BATCHES)):
        put(till, number)
        run(till, choice=many)
        require_right(till)
    taken = ways(till)[1:]
    for name in ("by_good", "by_kind", "largest", "seen_by_kind"):
        assert {step[name] for step in taken if name in step} == {Way.CHANGES}, name
        assert placement(till, name).state is None, "nothing is kept"
    assert placement(till, "whole").state is not None, "it is one group"
    assert placement(till, "often").state is not None, "its rows are not those of single groups"


def test_how_much_is_kept_is_known_while_the_query_is_asked(till: Path) -> None:
    """Else a view of which too much would be kept has it computed anew in every second step."""
    put(till, 0)
    run(till)
    kept = placement(till, "by_good").state
    put(till, 1)
    run(till, choice=replace(FOLLOWING, way=lambda method, sizes: Way.RECOMPUTED))
    assert ways(till)[-1]["by_good"] == Way.DEARER
    assert placement(till, "by_good").state == kept
    require_right(till)
    put(till, 2)
    run(till)
    assert ways(till)[-1]["by_good"] == Way.ANEW, "it is not that of the step before"
    require_right(till)


def test_groups_are_computed_anew_where_what_is_kept_has_no_rule(tmp_path: Path) -> None:
    query = (
        "SELECT v.who, MAX(s.amount) AS amount, COUNT(*) AS n FROM visits v LEFT JOIN sales s ON s.id = v.who GROUP BY v.who"
    )
    tables = PROGRAM.partition("CREATE MATERIALIZED")[0]
    write_till(tmp_path, f"{tables}\nCREATE MATERIALIZED VIEW most AS {query};")
    apply(tmp_path)
    put(tmp_path, 0)
    numbers = ComputingEngine(DeltaWriter(), texts=frozenset({"good", "kind"}))
    run(tmp_path, numbers)
    for number, amount in enumerate((99, 1), 100):
        record = {"insert": {"id": 1, "good": "tea", "amount": amount}}
        (tmp_path / f"source/sales/{number}.json").write_text(json.dumps(record) + "\n")
        run(tmp_path, numbers)
        assert ways(tmp_path)[-1]["most"] == Way.CHANGES
        assert rows(tmp_path, "most") == {(1, amount, 2): 1, (None, None, 1): 1}


class NotFinding(ComputingEngine):
    """Finds no rows by their keys of what is kept of `largest`."""

    def build_view(self, build: ViewBuild) -> Built:
        if build.view == "largest (kept)" and build.terms:
            raise RowsNotFound("X700", "too many rows")
        return ComputingEngine.build_view(self, build)


def test_where_rows_are_not_found_the_query_is_asked_at_once_and_then_more_often(till: Path) -> None:
    put(till, 0)
    run(till)
    of = engine()
    not_finding = NotFinding(of.writer, texts=of.texts, doubles=of.doubles)
    for number in range(7):
        (till / f"source/sales/{100 + number}.json").write_text(json.dumps(sale(100 + number, "tea", 3)) + "\n")
    run(till, not_finding)
    gave_up, anew, asked = Way.GIVEN_UP, Way.ANEW, Way.NOT_TRIED
    assert [step["largest"] for step in ways(till)[-7:]] == [gave_up, anew, gave_up, asked, anew, gave_up, asked]
    require_right(till)


def test_many_groups_are_computed_at_once(till: Path) -> None:
    put(till, 0)
    run(till)
    put(till, 1)
    run(till, choice=replace(FOLLOWING, share_of_groups=0.1))
    assert ways(till)[-1]["numbers"] == Way.DEARER
    require_right(till)


def test_groups_that_fail_are_computed_from_the_query(till: Path) -> None:
    put(till, 0)
    run(till)
    for number, refused in enumerate(("__key_0", "__own"), 100):
        failing = engine()
        failing.refuses.append(refused)
        sale = {"insert": {"id": number, "good": "tea", "amount": number}}
        (till / f"source/sales/{number}.json").write_text(json.dumps(sale) + "\n")
        run(till, failing)
        assert ways(till)[-1]["numbers"] == Way.GIVEN_UP
        require_right(till)


def test_a_view_that_somebody_else_wrote_is_computed_from_its_query(till: Path) -> None:
    put(till, 0)
    run(till)
    columns = (ColumnType("good", "string"), ColumnType("amount", "bigint"))
    location = str(till / "warehouse" / placement(till, "doubled").location)
    DeltaWriter().write(location, Contents(columns, (("tea", 1),)), None)
    put(till, 1)
    run(till)
    assert ways(till)[-1]["doubled"] == Way.DEARER
    require_right(till)


@pytest.mark.parametrize("what", ["delete", "insert"])
def test_who_writes_the_table_of_a_view_while_a_step_computes_it_is_not_followed(what: str, till: Path) -> None:
    put(till, 0)
    run(till)
    location = str(till / "warehouse" / placement(till, "doubled").location)
    columns = (ColumnType("good", "string"), ColumnType("amount", "bigint"))

    class Meddling(ComputingEngine):
        def build_view(self, build: ViewBuild) -> Built:
            built = super().build_view(build)
            if build.view == "doubled" and "__changed_sales" in build.query:
                DeltaWriter().write(location, Contents(columns, (("tea", 1),)), None)
            return built

    meddling = Meddling(DeltaWriter(), texts=frozenset({"good", "kind", "key_0", "__key_0"}), doubles=frozenset({"mean"}))
    record = {"delete": {"id": 2}} if what == "delete" else {"insert": {"id": 90, "good": "cup", "amount": 90}}
    (till / "source/sales/200.json").write_text(json.dumps(record) + "\n")
    run(till, meddling)
    assert ways(till)[-1]["doubled"] == Way.GIVEN_UP
    require_right(till)


def test_rows_that_are_not_taken_out_are_computed_from_the_query(till: Path) -> None:
    """The engine does it where it is sure and cheap; here it says so at the last moment."""
    put(till, 0)
    run(till)

    class Refusing(EngineBySize):
        def change_rows(self, changes: RowChanges) -> int | None:
            return None

    put(till, 1)
    session = Session(Refusing(engine(), dict, many_files=2), choice=FOLLOWING)
    run_pipeline(open_target(till, None), PIPELINE, session, Pace(once=True))
    assert {ways(till)[-1][name] for name in ("doubled", "pairs")} == {Way.GIVEN_UP}
    require_right(till)


def test_a_view_that_gives_up_again_and_again_is_left_to_its_query_for_a_while(till: Path) -> None:
    put(till, 0)
    run(till)
    failing = engine()
    failing.refuses.append("__changed_visits")
    session = Session(EngineBySize(failing, dict, many_files=2), choice=FOLLOWING)
    for number in range(5):
        row = {"insert": {"good": "tea", "who": number}}
        (till / f"source/visits/{100 + number}.json").write_text(f"{json.dumps(row)}\n")
        run_pipeline(open_target(till, None), PIPELINE, session, Pace(once=True))
    found = [step["seen"] for step in ways(till)[-5:]]
    assert found == [Way.GIVEN_UP, Way.GIVEN_UP, Way.NOT_TRIED, Way.GIVEN_UP, Way.NOT_TRIED]
    require_right(till)


def test_an_engine_that_takes_no_rows_out_is_not_asked_for_what_changed(till: Path) -> None:
    put(till, 0)
    run(till)
    put(till, 1)
    session = Session(EngineBySize(engine(), lambda: {"spark.sql.parquet.compression.codec": "zstd"}), choice=FOLLOWING)
    run_pipeline(open_target(till, None), PIPELINE, session, Pace(once=True))
    assert {ways(till)[-1][name] for name in ("doubled", "pairs")} == {Way.DEARER}
    require_right(till)


def test_rows_that_can_not_be_added_are_computed_from_the_query(till: Path) -> None:
    put(till, 0)
    run(till)
    failing = engine()
    failing.refuses.append("__changed_visits")
    (till / "source/visits/100.json").write_text('{"insert": {"good": "tea", "who": 9}}\n')
    run(till, failing)
    assert ways(till)[-1] == {"seen": Way.GIVEN_UP, "seen_by_kind": Way.CHANGES}
    require_right(till)


def test_what_is_kept_of_the_step_before_goes(till: Path) -> None:
    put(till, 0, 1, 2)
    run(till)
    place = placement(till, "by_good")
    assert place.state is not None
    assert place.state.former is not None
    folders = {path.parent.name for path in (till / "warehouse" / place.location).glob("v-*/_delta_log")}
    assert {place.state.folder, place.state.former.folder} <= folders


def test_what_is_kept_and_is_gone_is_computed_anew(till: Path) -> None:
    put(till, 0)
    run(till)
    place = placement(till, "by_good")
    assert place.state is not None
    shutil.rmtree(till / "warehouse" / place.location / place.state.folder)
    put(till, 1)
    run(till)
    require_right(till)
    assert ways(till)[-1]["by_good"] == Way.ANEW
    assert ways(till)[-1]["often"] == Way.CHANGES


def test_small_relations_are_computed_from_the_query(till: Path) -> None:
    put(till, 0, 1)
    run(till, choice=CHEAPEST)
    require_right(till)
    assert {way for step in ways(till) for way in step.values()} == {Way.SMALL}
    assert placement(till, "by_good").state is None


def test_a_view_whose_query_changed_keeps_something_else(till: Path) -> None:
    put(till, 0, 1)
    run(till)
    changed = {**QUERIES, "by_good": QUERIES["by_good"].replace("FROM sales", "FROM sales WHERE amount <> 5")}
    write_till(till, PROGRAM.replace(QUERIES["by_good"], changed["by_good"]))
    apply(till)
    assert placement(till, "by_good").state is None
    assert placement(till, "often").state is not None
    put(till, 2)
    run(till)
    require_right(till, changed)
    assert ways(till)[-1]["by_good"] == Way.ANEW


def test_a_relation_that_an_apply_wrote_is_followed_from_there(till: Path) -> None:
    """What is kept says of which versions it is: others than those before the step are never taken for them."""
    put(till, 0, 1)
    run(till)
    # The table is written anew under the new columns, and the views that don't read the new one are spared.
    write_till(till, PROGRAM.replace("good STRING, amount BIGINT", "good STRING, note STRING, amount BIGINT"))
    apply(till)
    before = len(ways(till))
    put(till, 2)
    run(till)
    assert next(step["by_good"] for step in ways(till)[before:] if "by_good" in step) == Way.ANEW
    put(till, 3, 4)
    run(till)
    assert ways(till)[-1]["by_good"] == Way.CHANGES


def test_what_fails_on_the_way_is_done_from_the_query(till: Path) -> None:
    put(till, 0)
    run(till)
    failing = engine()
    failing.refuses.append("__kept`.`sum_0`")
    put(till, 1)
    run(till, failing)
    require_right(till)
    assert ways(till)[-1]["by_good"] == Way.GIVEN_UP
    assert ways(till)[-1]["often"] == Way.CHANGES
    put(till, 2)
    run(till)
    require_right(till)
    assert ways(till)[-1]["by_good"] == Way.CHANGES, "what is kept went on"


def test_what_can_not_be_kept_is_tried_again_by_the_next_step(till: Path) -> None:
    put(till, 0)
    run(till)
    failing = engine()
    failing.refuses.append("__changed_sales")
    put(till, 1)
    run(till, failing)
    require_right(till)
    assert {ways(till)[-1][name] for name in ("by_good", "by_kind", "often")} == {Way.GIVEN_UP}
    assert placement(till, "by_good").state is None
    put(till, 2)
    run(till)
    require_right(till)
    assert ways(till)[-1]["by_good"] == Way.ANEW


def test_a_view_whose_relations_did_not_change_costs_nothing(till: Path) -> None:
    put(till, 0)
    run(till)
    before = placement(till, "by_good")
    (till / "source/goods/100.json").write_text('{"insert": {"good": "jar", "kind": "ware"}}\n')
    run(till)
    assert placement(till, "by_good") == before
    assert set(ways(till)[-1]) == {"by_kind", "whole", "seen", "seen_by_kind"}


def test_a_view_without_rows_keeps_something_all_the_same(till: Path) -> None:
    (till / "source/sales/000.json").write_text('{"insert": {"id": 1, "good": "tea", "amount": -1}}\n')
    run(till)
    assert not rows(till, "often")
    assert placement(till, "often").state is not None
    put(till, 1)
    run(till)
    require_right(till)
    assert ways(till)[-1]["often"] == Way.CHANGES


def test_a_checkpoint_brings_back_what_was_kept(till: Path) -> None:
    put(till, 0, 1)
    run(till)
    pipeline = Project.open(till, engine=engine()).pipeline(PIPELINE)
    pipeline.checkpoint("before")
    put(till, 2, 3)
    run(till)
    Project.open(till, engine=engine()).pipeline(PIPELINE).restore("before")
    require_right(till)
    run(till)
    require_right(till)
