"""Killed anywhere and applied again, a pipeline ends as if nothing had happened. Real Spark and Delta; the crash is
injected in this process, and everything is opened from the disk again afterwards."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import ManifestInvalid
from reconciler.engine.protocol import Engine
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.crashes import POINTS, Crash, crash_at
from tests.acceptance.shop import (
    AFTER,
    EVOLVE,
    EVOLVED,
    EVOLVING,
    MOVED,
    STORED_AFTER,
    STORED_BEFORE,
    contents,
    copy_of,
    open_shop,
    state,
    stored_columns,
    stored_rows,
    write_shop,
)
from tests.cells import mostly_slow

pytestmark = pytest.mark.spark

STEP_KINDS = ("create_table", "bootstrap_view", "clear_table", "publish_view", "drop_relation", "commit_snapshot")
APPLY_BOUNDARIES = [
    "open:before",
    "open:recorded",
    *(f"{kind}:{point}" for kind in STEP_KINDS for point in POINTS),
    "bootstrap_view:effected#2",
    "publish_view:effected#3",
]
EVOLUTION_KINDS = ("evolve_table", "extend_table", "publish_table", "rename_relation")
STEP_BOUNDARIES = [
    "intent:before",
    "step:intended",
    "table:effected",
    "view:intended",
    "view:effected",
    "view:effected#2",
    "step:before",
    "step:recorded",
]


INSERT = "INSERT INTO kept VALUES (4, 1.00), (5, NULL)"


def _crash(boundary: str) -> Any:
    name, _, occurrence = boundary.partition("#")
    return crash_at(name, int(occurrence or "1"))


def test_the_scenario_takes_every_kind_of_step(baseline: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    plan = open_shop(root, spark_engine).plan()
    assert {step.to_json()["kind"] for step in plan.steps} == set(STEP_KINDS)


def test_undisturbed_it_gives_the_expected_rows(undisturbed: dict[str, Any]) -> None:
    found = undisturbed["contents"]
    assert sorted(found) == sorted(STORED_AFTER)
    assert len(found["kept"]) == 3
    assert found["alter_me"] == []
    assert found["fresh"] == []
    assert [str(value) for value in found["changed"][0]] == ["3", "40.00"]
    assert found["over_altered"] == [(0,)]
    assert len(found["added"]) == 3


# In every run after the effect that Spark has most to do with, where a repeat has most to tell. The other places are in the
# slow suite, and without Spark in tests/run, tests/apply and tests/materialize.
@pytest.mark.parametrize("boundary", mostly_slow(APPLY_BOUNDARIES, "bootstrap_view:effected"))
def test_an_apply_killed_there_and_applied_again_ends_the_same(
    boundary: str, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    before = contents(root)
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=_crash(boundary)).apply()
    _readers_see_whole_states(root, before, undisturbed["contents"])

    result = open_shop(root, spark_engine).apply()

    committed = boundary in ("commit_snapshot:effected", "commit_snapshot:recorded")
    assert result.did_nothing is committed
    assert state(root, spark_engine) == undisturbed["state"]
    assert contents(root) == undisturbed["contents"]
    assert open_shop(root, spark_engine).plan().changes_nothing
    assert open_shop(root, spark_engine).apply().did_nothing


@contextmanager
def _held_by_a_run(root: Path, engine: Engine) -> Iterator[None]:
    """The pipeline is held as by a live run, which lets go when it is asked to."""
    held, ended = threading.Event(), threading.Event()

    def run() -> None:
        registry = open_shop(root, engine).target.registry
        with hold_lease(registry, "shop", this_process("run")) as lease:
            held.set()
            while not lease.wanted() and not ended.is_set():
                ended.wait(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert held.wait(60)
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(["", "prebuild:effected#2", "prebuild:recorded", "bootstrap_view:effected"], "prebuild:effected#2"),
)
def test_an_apply_beside_a_run_killed_there_and_applied_again_ends_the_same(
    boundary: str, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    told: list[str] = []
    with _held_by_a_run(root, spark_engine):
        if boundary:
            with pytest.raises(Crash):
                open_shop(root, spark_engine).observed(boundary=_crash(boundary)).apply()
        else:
            open_shop(root, spark_engine).observed(report=lambda one: told.append(one.detail)).apply()
    # Nothing moved: what was built beside the run is what is published.
    assert len([detail for detail in told if "built beside" in detail]) == (0 if boundary else 2 * 3)

    open_shop(root, spark_engine).apply()

    assert state(root, spark_engine) == undisturbed["state"]
    assert contents(root).items() >= undisturbed["contents"].items()


def test_a_journal_is_finished_under_its_own_digest_though_the_files_changed(
    baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=crash_at("bootstrap_view:effected")).apply()
    copied = (root / "pipelines/shop/program.sql").read_text().replace("MAX(twice)", "MIN(twice)")
    (root / "pipelines/shop/program.sql").write_text(copied)

    result = open_shop(root, spark_engine).apply()

    assert result.finished
    assert result.plan is not None
    assert [str(value) for value in (stored_rows(root, "changed") or [])[0]] == ["3", "0.50"]
    pipeline = open_shop(root, spark_engine)
    from reconciler.registry.protocol import History

    applies = pipeline.target.registry.history(History.APPLIES, "shop")
    assert [row["plan_digest"] for row in applies][1] == undisturbed["state"]["plan"]
    assert len(applies) == 3


@pytest.mark.slow
def test_a_journal_is_finished_though_the_files_are_broken(
    baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=crash_at("publish_view:effected")).apply()
    (root / "pipelines/shop/program.sql").write_text("CREATE NONSENSE;")
    with pytest.raises(ManifestInvalid):
        open_shop(root, spark_engine).apply()
    assert state(root, spark_engine) == undisturbed["state"]
    assert contents(root) == undisturbed["contents"]


def test_queries_are_answered_from_the_published_step_while_an_apply_is_open(
    baseline: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=crash_at("drop_relation:before")).apply()
    pipeline = open_shop(root, spark_engine)
    rows = list(pipeline.query("SELECT c.total, o.n FROM changed c CROSS JOIN over_altered o"))
    assert [(str(row["total"]), row["n"]) for row in rows] == [("61.50", 2)]


@pytest.mark.parametrize("boundary", mostly_slow(STEP_BOUNDARIES, "table:effected"))
def test_a_statement_killed_there_is_finished_by_whoever_comes_next_and_never_doubled(
    boundary: str, baseline: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=_crash(boundary)).execute(INSERT)

    open_shop(root, spark_engine).run_once()

    lost = boundary == "intent:before"
    assert len(stored_rows(root, "kept") or []) == (3 if lost else 5)
    assert stored_rows(root, "same") == [(number,) for number in range(1, 4 if lost else 6)]
    assert (stored_rows(root, "changed") or [])[0][0] == (3 if lost else 5)
    assert state(root, spark_engine)["intent"] is None


@pytest.mark.slow
def test_an_apply_replays_a_step_that_was_left_open_first(baseline: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=crash_at("table:effected")).execute(INSERT)
    open_shop(root, spark_engine).apply()
    assert (stored_rows(root, "changed") or [])[0][0] == 5


def test_an_engine_failure_before_the_switch_takes_the_apply_back(
    baseline: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    from reconciler.base.errors import EngineError

    failing = AFTER.replace("MAX(twice) AS total", "MAX(1 / (id - id)) AS total")
    root = copy_of(baseline, tmp_path / "shop", failing)
    before, head = contents(root), state(root, spark_engine)
    with pytest.raises(EngineError):
        open_shop(root, spark_engine).apply()
    assert contents(root) == before
    assert state(root, spark_engine) == head
    assert not list((root / "warehouse" / "shop").glob("added*"))
    open_shop(root, spark_engine).execute(INSERT)
    (root / "pipelines/shop/program.sql").write_text(AFTER)
    open_shop(root, spark_engine).apply()
    assert len(stored_rows(root, "added") or []) == 5


def test_another_reader_sees_old_rows_then_new_ones_and_nothing_else_while_views_are_bootstrapped(
    baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    old, new = contents(root)["changed"], undisturbed["contents"]["changed"]
    seen: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(stored_rows(root, "changed"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        open_shop(root, spark_engine).apply()
    finally:
        done.set()
        reader.join()
    seen.append(stored_rows(root, "changed"))
    switch = seen.index(new)
    assert switch > 10
    assert all(rows == old for rows in seen[:switch])
    assert all(rows == new for rows in seen[switch:])


@pytest.fixture(scope="module")
def evolving(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A repository with EVOLVING applied and filled. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("evolving")
    write_shop(root, EVOLVING, more=EVOLVE)
    pipeline = open_shop(root, spark_engine)
    pipeline.apply()
    for statement in (
        "INSERT INTO wide VALUES (1, 'a', 10), (2, NULL, NULL)",
        "INSERT INTO long VALUES (5)",
        "INSERT INTO first_name VALUES (7)",
    ):
        pipeline.execute(statement)
    return root


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory, evolving: Path, spark_engine: Engine) -> dict[str, Any]:
    """State and contents after EVOLVED was applied to a copy, with nothing in the way."""
    root = copy_of(evolving, tmp_path_factory.mktemp("evolved") / "shop", EVOLVED, more=MOVED)
    kinds = {step.to_json()["kind"] for step in open_shop(root, spark_engine).plan().steps}
    assert kinds == {*EVOLUTION_KINDS, "bootstrap_view", "publish_view", "commit_snapshot"}
    open_shop(root, spark_engine).apply()
    return {"state": state(root, spark_engine), "contents": contents(root)}


# Without Spark in every run: tests/materialize/test_evolving.py.
@pytest.mark.slow
@pytest.mark.parametrize("boundary", [f"{kind}:{point}" for kind in EVOLUTION_KINDS for point in POINTS])
def test_tables_that_evolve_keep_their_rows_wherever_the_apply_is_killed(
    boundary: str, evolving: Path, evolved: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(evolving, tmp_path / "shop", EVOLVED, more=MOVED)
    before = contents(root)
    with pytest.raises(Crash):
        open_shop(root, spark_engine).observed(boundary=_crash(boundary)).apply()
    found = contents(root)
    for relation, rows in evolved["contents"].items():
        assert found.get(relation) in (before.get(relation), rows), relation

    open_shop(root, spark_engine).apply()

    assert contents(root) == evolved["contents"]
    assert contents(root)["wide"] == [(10, 1, None), (None, 2, None)]
    assert contents(root)["long"] == [(5, None)]
    assert contents(root)["first_name"] == [(7,)]
    assert state(root, spark_engine) == evolved["state"]
    assert open_shop(root, spark_engine).plan().changes_nothing


def _readers_see_whole_states(root: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    """At every permanent path another reader finds the old rows or the new ones, with the declared columns."""
    for relation in {*STORED_BEFORE, *STORED_AFTER}:
        allowed = [before.get(relation), after.get(relation)]
        assert stored_rows(root, relation) in allowed, relation
    assert stored_columns(root, "changed") == ["n", "total"]
