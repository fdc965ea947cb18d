"""The history of steps: every step can be read as it was, what never was can't, and what is gone says so."""

import json
import shutil
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError, NotFound
from reconciler.delta.opening import open_table
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import StoredSource
from reconciler.registry.model import Applied, Approval, Head, Published
from reconciler.registry.placements import Placement
from reconciler.service.project import Project
from reconciler.state.step_history import ToldOfStep, next_step, read_step, record_step, record_withdrawal, rows_back
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.memory import MemoryRegistry
from tests.shops.recorded import (
    PROGRAM,
    STORED,
    feed,
    head_of,
    ingestions,
    open_project,
    recording,
    rows_of,
    steps_recorded,
    write_project,
)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Applied, with no step. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("applied")
    write_project(root)
    open_project(root).apply()
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(applied, tmp_path, dirs_exist_ok=True))


def ids(root: Path, step: int | None, relation: str = "a") -> list[int]:
    rows = open_project(root).read_step([relation], step).relations[relation].rows
    return sorted(row[0] for row in rows)


def test_every_step_can_be_read_as_it_was(shop: Path) -> None:
    for number in (1, 2, 3):
        feed(shop, "left", str(number), {"id": number})
        open_project(shop).run_once()
    assert [ids(shop, step) for step in (0, 1, 2, 3, None)] == [[], [1], [1, 2], [1, 2, 3], [1, 2, 3]]
    assert steps_recorded(shop) == [(0, "apply"), (1, "ingest"), (2, "ingest"), (3, "ingest")]


def test_relations_that_are_read_together_are_of_one_step(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO a VALUES (1)")
    open_project(shop).execute("INSERT INTO b VALUES (7, 'x')")
    engine = recording()
    found = open_project(shop, engine).read_step(["a", "over_a", "b"], 1)
    assert found.step == 1
    assert [len(found.relations[name].rows) for name in ("a", "b")] == [1, 0]
    assert found.relations["over_a"].rows == open_project(shop).read_step(["over_a"]).relations["over_a"].rows


def test_relations_that_are_read_together_while_steps_pass_are_of_one_step(shop: Path) -> None:
    over, failures = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            for number in range(100):
                feed(shop, "left", str(number), {"id": number})
                feed(shop, "right", str(number), {"id": number, "note": "x"})
                open_project(shop).run_once()
                if number > 6 and len({step for step, _ in seen}) >= 3:
                    break
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            over.set()

    def read(step: int | None = None) -> tuple[int, dict[str, list[tuple[Any, ...]]]]:
        found = open_project(shop).read_step(list(STORED), step)
        return found.step, {name: sorted(one.rows, key=repr) for name, one in found.relations.items()}

    seen = list[tuple[int, dict[str, list[tuple[Any, ...]]]]]()
    writer = threading.Thread(target=work)
    writer.start()
    while not over.is_set():
        seen.append(read())
    writer.join()

    assert failures == []
    steps = [step for step, _ in seen]
    assert steps == sorted(steps)
    assert len(set(steps)) >= 3, "steps passed meanwhile"
    # What a view holds here is a row for all that it read, so that no two steps give the same.
    later = {step: read(step)[1] for step in set(steps)}
    assert [step for step, found in seen if found != later[step]] == []
    assert len({repr(found) for found in later.values()}) == len(later)


def test_an_answer_says_its_step_and_is_given_by_the_program_of_that_step(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO a VALUES (1)")
    write_project(shop, PROGRAM.replace("over_b AS SELECT id", "newer AS SELECT note"))
    open_project(shop).apply()
    assert open_project(shop).answer("SELECT * FROM newer").step == 2
    with pytest.raises(Exception, match="unknown table or view 'newer'"):
        open_project(shop).answer("SELECT * FROM newer", 1)
    assert open_project(shop).answer("SELECT * FROM a", 1).step == 1


def test_steps_that_never_were_are_told_from_those_that_are_to_come(shop: Path) -> None:
    for step, why in ((5, "the last published step is 0"),):
        with pytest.raises(NotFound, match=why) as caught:
            ids(shop, step)
        assert caught.value.code == "A515"
    feed(shop, "left", "bad", *[{"id": "no number"}] * 101)  # more than may be rejected
    with pytest.raises(EngineError, match="101"):
        open_project(shop).run_once()
    feed(shop, "left", "bad", {"id": 4})
    open_project(shop).run_once()
    with pytest.raises(NotFound, match="the step was withdrawn"):
        ids(shop, 1)
    assert ids(shop, 2) == [4]
    assert steps_recorded(shop) == [(0, "apply"), (1, "withdrawn"), (2, "ingest")]


@pytest.mark.parametrize("boundary", ["step:before", "history:recorded", "step:recorded"])
def test_a_step_that_is_replayed_is_recorded_once(shop: Path, boundary: str) -> None:
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at(boundary)).execute("INSERT INTO a VALUES (1)")
    open_project(shop).run_once()
    assert steps_recorded(shop) == [(0, "apply"), (1, "statement")]
    assert ids(shop, 1) == [1]


def test_data_that_is_gone_is_named(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO a VALUES (1)")
    open_project(shop).execute("DELETE FROM a")
    table = open_table(str(shop / "warehouse/shop/a"))
    assert table is not None
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(EngineError) as caught:
        ids(shop, 1)
    assert caught.value.code == "X730"
    assert "a can't be read at step 1" in caught.value.message
    assert ids(shop, 2) == []


def test_a_folder_that_was_made_again_is_not_taken_for_what_it_was(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO b VALUES (1, 'old')")
    (shop / "pipelines/shop/pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec: {bootstrap_policy: allow}\n"
    )
    (shop / "pipelines/shop/program.sql").write_text(
        "CREATE TABLE a (id BIGINT);\nCREATE MATERIALIZED VIEW over_a AS SELECT id FROM a;\n"
    )
    open_project(shop).apply()
    write_project(shop)
    open_project(shop).apply()
    open_project(shop).execute("INSERT INTO b VALUES (2, 'new')")
    with pytest.raises(EngineError, match="a later apply removed its folder") as caught:
        ids(shop, 1, "b")
    assert caught.value.code == "X730"
    assert ids(shop, 1, "a") == []


def test_commits_say_what_they_were_made_from(shop: Path) -> None:
    feed(shop, "left", "one", {"id": 1})
    engine = recording()
    open_project(shop, engine).run_once()
    (ingestion,) = ingestions(engine)
    assert ingestion.commit["pipeline"] == "shop"
    assert (ingestion.commit["step"], ingestion.commit["epoch"]) == (1, 0)
    assert set(ingestion.commit["inputs"]) == {"a.left"}
    assert ingestion.dead_letters is not None
    assert (ingestion.dead_letters.step, ingestion.dead_letters.limit) == (1, 100)
    assert ingestion.dead_letters.location.endswith("/shop/dead-letters")
    table = open_table(str(shop / "warehouse/shop/over_both"))
    assert table is not None
    said = json.loads(table.history(1)[0]["userMetadata"])
    head = head_of(shop)
    assert head.published is not None
    versions = {name: head.published.relations[name].version for name in ("a", "b")}
    assert said == {"pipeline": "shop", "step": 1, "epoch": 0, "inputs": versions}
    builds = {call.view: call for call in engine.calls if isinstance(call, ViewBuild)}
    read = {source.name: source.version for source in builds["over_both"].sources if isinstance(source, StoredSource)}
    assert read == versions


def test_phases_are_measured(shop: Path) -> None:
    result = open_project(shop).execute("INSERT INTO a VALUES (1)")
    assert set(result.seconds) == {"ingest", "views", "publish"}
    assert all(seconds > 0 for seconds in result.seconds.values())


def test_a_table_that_changed_leaves_what_does_not_read_it(shop: Path) -> None:
    before = head_of(shop)
    open_project(shop).execute("INSERT INTO a VALUES (1)")
    after = head_of(shop)
    assert before.published is not None
    assert after.published is not None
    moved = {name for name, place in after.published.relations.items() if before.published.relations[name] != place}
    assert moved == {"a", "over_a", "over_both"}


def test_a_removed_pipeline_that_comes_back_uses_no_number_again(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO a VALUES (1)")
    shutil.rmtree(shop / "pipelines/shop")
    open_project(shop).apply()
    write_project(shop)
    open_project(shop).apply()
    published = head_of(shop).published
    assert published is not None
    assert published.step == 3
    with pytest.raises(EngineError, match="a later apply removed its folder"):
        ids(shop, 1)
    with pytest.raises(NotFound, match="that step removed the pipeline"):
        ids(shop, 2)
    assert rows_of(shop, "a") == []


APPLIED = Applied("d", "r", "", "", "", "", "", Approval("first"), "", "")


def published(step: int, version: int) -> Head:
    """A head after a step that brought relation `t` to this version."""
    return Head(
        "shop", applied=APPLIED, published=Published(step, "2026", {"t": Placement("shop/t", version)}), last_step=step
    )


def test_a_late_row_of_a_step_that_was_withdrawn_counts_for_nothing() -> None:
    registry, heads = MemoryRegistry(), {step: published(step, step) for step in range(4)}
    record_step(registry, Head("shop"), heads[0], ToldOfStep("apply"))
    record_withdrawal(registry, heads[0], 1)
    record_step(registry, heads[0], heads[1], ToldOfStep("ingest"))
    record_step(registry, heads[0], heads[2], ToldOfStep("ingest"))
    record_step(registry, heads[2], heads[3], ToldOfStep("ingest"))
    with pytest.raises(NotFound, match="withdrawn"):
        read_step(registry, heads[3], 1)
    assert read_step(registry, heads[3], 2).relations["t"].version == 2


def test_what_is_told_of_a_step_stands_in_its_row() -> None:
    registry, nobody_knows = MemoryRegistry(), None
    steps = (
        ToldOfStep("apply"),
        ToldOfStep("ingest", {"t.a": "2026-01-01T00:00:00.000+00:00", "t.b": nobody_knows}, ("t.a", "v")),
        ToldOfStep("ingest", {}, ()),
    )
    for step, told in enumerate(steps):
        record_step(registry, published(step, step), published(step, step), told)
    rows = [row for _, row in rows_back(registry, "shop", 9)][::-1]
    assert [ToldOfStep.of_row(row) for row in rows] == list(steps)
    # As versions wrote it that told nothing.
    assert ToldOfStep.of_row({**rows[1], "told": ""}) == ToldOfStep("ingest")


def test_a_step_that_is_recorded_and_not_published_is_to_come() -> None:
    registry = MemoryRegistry()
    record_step(registry, Head("shop"), published(0, 0), ToldOfStep("apply"))
    record_step(registry, published(0, 0), published(1, 0), ToldOfStep("restore"))
    with pytest.raises(NotFound, match="the last published step is 0"):
        read_step(registry, published(0, 0), 1)
    assert read_step(registry, published(0, 0), 0).step == 0


def test_a_history_with_a_gap_or_without_a_beginning_is_not_guessed() -> None:
    registry = MemoryRegistry()
    record_step(registry, published(4, 4), published(5, 5), ToldOfStep("ingest"))
    with pytest.raises(NotFound, match="the history of steps begins with 6"):
        read_step(registry, published(6, 6), 5)
    record_step(registry, published(5, 5), published(6, 6), ToldOfStep("apply"))
    record_step(registry, published(7, 7), published(8, 8), ToldOfStep("ingest"))
    with pytest.raises(NotFound, match="the registry has no record of step 7"):
        read_step(registry, published(9, 9), 8)


def test_each_hundredth_step_holds_everything() -> None:
    registry = MemoryRegistry()
    for step in (99, 100, 101):
        record_step(registry, published(step - 1, 7), published(step, 7), ToldOfStep("ingest"))
    assert read_step(registry, published(102, 7), 101).relations["t"].version == 7


def test_numbers_only_rise() -> None:
    assert next_step(Head("shop")) == 0
    assert next_step(published(0, 0)) == 1
    assert next_step(replace(published(3, 3), last_step=8)) == 9
    assert next_step(replace(published(3, 3), published=None)) == 4


def test_the_step_is_told_with_the_rows(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reconciler.cli.main import run

    open_project(shop).execute("INSERT INTO a VALUES (5)")
    for arguments, shown in (
        (["--format", "json"], '"step": 1'),
        (["--format", "json", "--at-step", "0"], '"step": 0'),
        ([], "(1 row, step 1)"),
        (["--at-step", "0"], "(0 rows, step 0)"),
    ):
        assert run(["query", "shop", "SELECT * FROM a", "--repo", str(shop), *arguments], recording()) == 0
        assert shown in capsys.readouterr().out
    assert run(["query", "shop", "SELECT * FROM a", "--repo", str(shop), "--at-step", "9"], recording()) == 1
    assert "A515" in capsys.readouterr().err
    assert Project.open(shop, engine=recording()).pipeline("shop").select("SELECT * FROM a").rows == ((5,),)


def test_a_time_is_that_of_the_last_step_by_then(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reconciler.cli.main import run

    pipeline = open_project(shop)
    for number in (5, 6):
        pipeline.execute(f"INSERT INTO a VALUES ({number})")
    states = [read_step(pipeline.target.registry, head_of(shop), step) for step in (0, 1, 2)]
    moments = [datetime.fromisoformat(state.at) for state in states]
    assert [pipeline.step_at(moment) for moment in moments] == [0, 1, 2]
    assert pipeline.step_at(moments[1] - timedelta(milliseconds=1)) == 0
    assert pipeline.step_at(moments[2] + timedelta(days=1)) == 2
    words = ["query", "shop", "SELECT * FROM a", "--repo", str(shop), "--at"]
    assert run([*words, moments[1].isoformat()], recording()) == 0
    assert "(1 row, step 1)" in capsys.readouterr().out
    for more, code in ((["2020-01-31"], "A515"), (["soon"], "U819"), (["2020-01-31", "--at-step", "1"], "U850")):
        assert run([*words, *more], recording()) == 1
        assert code in capsys.readouterr().err
