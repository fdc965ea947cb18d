"""A running pipeline: connectors, upserts, what is applied goes on, two writers, handover. Real Spark and Delta."""

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.boundaries import no_boundary
from reconciler.base.errors import EngineError, LeaseHeld, NotFound, ReconcileError
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.installation import installation
from reconciler.environment.session import Session
from reconciler.registry.model import Lease
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.crashes import Crash, crash_at
from tests.acceptance.shop import AFTER, BEFORE, copy_of, open_shop, stored_rows, write_shop
from tests.waiting import wait_until

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]

FILES = """\
CREATE TABLE events (id BIGINT NOT NULL PRIMARY KEY, kind VARCHAR, amount DECIMAL(10,2));
CREATE TABLE log (id BIGINT, line VARCHAR);
CREATE MATERIALIZED VIEW by_kind AS SELECT kind, SUM(amount) AS amount FROM events GROUP BY kind;
CREATE MATERIALIZED VIEW lines AS SELECT COUNT(*) AS n FROM log;
"""
CONNECTORS = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  connectors:
    - name: history
      table: events
      labels: [events.historical]
      transport: {name: delta_table_input, config: {uri: "source/events", mode: snapshot}}
    - name: live
      table: events
      start_after: events.historical
      max_rejected: 0
      transport: {name: file_input, config: {path: source/live}}
      format: {name: json}
    - name: lines
      table: log
      transport: {name: file_input, config: {path: source/log}}
      format: {name: csv, config: {header: true}}
"""


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A repository whose pipeline reads history from Delta, then JSON files; and CSV files. Applied. Copy it; don't change
    it."""
    import arro3.core
    from deltalake import write_deltalake

    root = tmp_path_factory.mktemp("applied")
    write_shop(root, FILES)
    (root / "pipelines/shop/pipeline.yaml").write_text(CONNECTORS)
    data = arro3.core.Table.from_pydict(
        {
            "id": arro3.core.Array([1, 2], type=arro3.core.DataType.int64()),
            "kind": arro3.core.Array(["a", "b"], type=arro3.core.DataType.utf8()),
            "amount": arro3.core.Array(["1.50", "2.00"], type=arro3.core.DataType.utf8()),
        }
    )
    write_deltalake(str(root / "source/events"), data)
    for folder in ("live", "log"):
        (root / "source" / folder).mkdir()
    write_lines(root, "one.json", [{"id": 2, "kind": "b", "amount": 5}, {"id": 3, "kind": "b", "amount": 1.25}])
    (root / "source/log/one.csv").write_text("id,line\n1,hello\n2,\n")
    open_shop(root, spark_engine).apply()
    return root


@pytest.fixture(scope="module")
def drained(applied: Path, tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """The same with all that was there read. Copy it; don't change it."""
    root = Path(shutil.copytree(applied, tmp_path_factory.mktemp("drained") / "repository"))
    open_shop(root, spark_engine).run_once()
    return root


@pytest.fixture
def files(applied: Path, tmp_path: Path) -> Path:
    """A copy that has read nothing yet."""
    return Path(shutil.copytree(applied, tmp_path / "repository"))


@pytest.fixture
def read_files(drained: Path, tmp_path: Path) -> Path:
    """A copy that has read all that was there."""
    return Path(shutil.copytree(drained, tmp_path / "repository"))


def write_lines(root: Path, name: str, rows: list[dict[str, object]]) -> None:
    (root / "source/live" / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


# In every run: on Spark with Kafka test_history_then_live.py, with files and without Spark tests/run/test_running.py.
@pytest.mark.slow
def test_history_first_then_live_and_nothing_is_read_twice(files: Path, spark_engine: Engine) -> None:
    pipeline = open_shop(files, spark_engine)
    first = pipeline.run_once()
    assert [dict(step.rows) for step in first.steps] == [
        {"events.history": 2, "log.lines": 2},
        {"events.live": 2},
    ]
    rows = {row["kind"]: str(row["amount"]) for row in pipeline.query("SELECT * FROM by_kind")}
    assert rows == {"a": "1.50", "b": "6.25"}
    assert list(pipeline.query("SELECT n FROM lines")) == [{"n": 2}]
    assert open_shop(files, spark_engine).run_once().steps == ()

    write_lines(files, "two.json", [{"id": 1, "kind": "a", "amount": 7}])
    second = open_shop(files, spark_engine).run_once()
    assert [dict(step.rows) for step in second.steps] == [{"events.live": 1}]
    assert [step.views for step in second.steps] == [("by_kind",)]
    assert len(stored_rows(files, "events") or []) == 3
    status = pipeline.status()
    assert {connector.name for connector in status.connectors if connector.position} == {
        "events.history",
        "events.live",
        "log.lines",
    }


ON_A_MACHINE_WITHOUT_S3 = """
import json
from pathlib import Path
from reconciler.base.errors import EngineError
from reconciler.engine.spark.engine import spark_engine
from tests.acceptance.shop import open_shop
from tests.few_rows import FEW_ROWS
pipeline = open_shop(Path.cwd(), spark_engine(FEW_ROWS))
pipeline.apply()
try:
    pipeline.run_once()
    refused = None
except EngineError as error:
    refused = [error.code, error.hint]
connectors = {one.name: one for one in pipeline.status().connectors}
read = sorted(name for name, one in connectors.items() if one.position)
print(json.dumps([refused, list(pipeline.query("SELECT n FROM lines")), connectors["events.live"].last_error["code"], read]))
"""


# A process of its own: what the tests share may have what S3 needs.
@pytest.mark.slow
@pytest.mark.parametrize("place", ["s3://lake/live/*.json", "s3://lake/live/"])
def test_an_input_on_s3_fails_alone_where_the_jars_for_it_are_missing(files: Path, tmp_path: Path, place: str) -> None:
    manifest = files / "pipelines/shop/pipeline.yaml"
    manifest.write_text(CONNECTORS.replace("path: source/live", f'path: "{place}"'))
    here = installation()
    jars = tmp_path / "home" / here.folder.name / "jars"
    jars.mkdir(parents=True)
    for jar in here.jars:
        (jars / jar.name).symlink_to(jar)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ON_A_MACHINE_WITHOUT_S3],
        cwd=files,
        env={**os.environ, "RECONCILE_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    refused, lines, code, read = json.loads(ran.stdout)
    assert (refused, code) == (["U807", "run: reconcile setup --s3"], "U807")
    assert (lines, read) == ([{"n": 2}], ["events.history", "log.lines"])


def test_unchanged_connectors_resume_after_a_change_and_the_source_may_be_gone(
    read_files: Path, spark_engine: Engine
) -> None:
    (read_files / "source").rename(read_files / "source-moved-away")
    program = read_files / "pipelines/shop/program.sql"
    program.write_text(program.read_text().replace("SUM(amount)", "MAX(amount)"))
    pipeline = open_shop(read_files, spark_engine)
    plan = pipeline.plan()
    assert {item.outcome.value for item in plan.connectors} == {"resumes"}
    pipeline.apply()
    rows = {row["kind"]: str(row["amount"]) for row in pipeline.query("SELECT * FROM by_kind")}
    assert rows == {"a": "1.50", "b": "5.00"}


def test_another_checkout_of_the_repository_reads_no_file_again(
    drained: Path, read_files: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    elsewhere = read_files.rename(tmp_path / "elsewhere")
    assert open_shop(elsewhere, spark_engine).run_once().steps == ()
    assert str(drained) not in str(open_shop(elsewhere, spark_engine).status())


@pytest.mark.slow
def test_a_file_that_does_not_fit_stops_the_step_and_nothing_of_it_is_written(
    read_files: Path, spark_engine: Engine
) -> None:
    pipeline = open_shop(read_files, spark_engine)
    write_lines(read_files, "bad.json", [{"id": 9, "kind": "c", "amount": "not a number"}])
    with pytest.raises(EngineError):
        pipeline.run_once()
    assert len(stored_rows(read_files, "events") or []) == 3
    assert len(list(pipeline.query("SELECT * FROM by_kind"))) == 2
    write_lines(read_files, "bad.json", [{"id": 9, "kind": "c", "amount": 4}])
    open_shop(read_files, spark_engine).run_once()
    assert len(stored_rows(read_files, "events") or []) == 4


@pytest.mark.slow
def test_a_connector_that_fails_does_not_stop_the_others(files: Path, spark_engine: Engine) -> None:
    write_lines(files, "bad.json", [{"id": 9, "kind": "c", "amount": "not a number"}])
    pipeline = open_shop(files, spark_engine)
    with pytest.raises(EngineError) as caught:
        pipeline.run_once()
    assert "events.live" in caught.value.message
    assert len(stored_rows(files, "events") or []) == 2
    assert list(pipeline.query("SELECT n FROM lines")) == [{"n": 2}]


# Where putting back crashes itself: every place without Spark (test_run_crashes), one on Spark (test_run_crashes_on_spark).
@pytest.mark.parametrize(
    "boundary",
    [None, *(pytest.param(f"withdrawal:{point}", marks=pytest.mark.slow) for point in ("intended", "effected"))],
)
def test_a_statement_over_which_a_view_fails_is_put_back_whole(
    boundary: str | None, tmp_path: Path, spark_engine: Engine
) -> None:
    program = BEFORE + "CREATE MATERIALIZED VIEW shares AS SELECT id, 1 / price AS share FROM kept;\n"
    write_shop(tmp_path, program)
    pipeline = open_shop(tmp_path, spark_engine)
    pipeline.apply()
    pipeline.execute("INSERT INTO kept VALUES (1, 4)")
    with pytest.raises(Crash if boundary else EngineError):
        pipeline.observed(boundary=crash_at(boundary) if boundary else no_boundary).execute("INSERT INTO kept VALUES (2, 0)")
    if boundary is None:
        assert len(stored_rows(tmp_path, "kept") or []) == 1
        assert len(stored_rows(tmp_path, "same") or []) == 1
    open_shop(tmp_path, spark_engine).execute("INSERT INTO kept VALUES (3, 2)")
    assert [row["id"] for row in pipeline.query("SELECT id FROM shares ORDER BY id")] == [1, 3]
    assert stored_rows(tmp_path, "same") == [(1,), (3,)]
    assert [row["n"] for row in pipeline.query("SELECT n FROM changed")] == [2]
    write_shop(tmp_path, program.replace("1 / price", "1 / (price + 1)"))
    open_shop(tmp_path, spark_engine).apply()
    open_shop(tmp_path, spark_engine).execute("INSERT INTO kept VALUES (2, 0)")
    assert len(stored_rows(tmp_path, "shares") or []) == 3


def test_what_is_merged_but_not_approved_never_runs(baseline: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(baseline, tmp_path / "shop", AFTER, policy="await_approval")
    pipeline = open_shop(root, spark_engine)
    pipeline.execute("INSERT INTO kept VALUES (4, 100)")
    assert str((stored_rows(root, "changed") or [])[0][1]) == "261.50"
    pipeline.run_once()
    assert [str(row["total"]) for row in pipeline.query("SELECT total FROM changed")] == ["261.50"]
    with pytest.raises(ReconcileError) as caught:
        list(pipeline.query("SELECT * FROM added"))
    assert "unknown" in caught.value.message
    with pytest.raises(ReconcileError):
        pipeline.execute("INSERT INTO fresh VALUES (1)")
    assert sorted(path.name for path in (root / "warehouse/shop").iterdir()) == sorted(
        path.name for path in (baseline / "warehouse/shop").iterdir()
    )


def test_broken_files_do_not_stop_what_is_applied(baseline: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(baseline, tmp_path / "shop", "CREATE NONSENSE;")
    pipeline = open_shop(root, spark_engine)
    pipeline.execute("DELETE FROM kept WHERE id = 1")
    assert len(list(pipeline.query("SELECT * FROM same"))) == 2
    assert "error" in pipeline.status().pending


def test_queries_see_plain_views_but_not_local_ones(tmp_path: Path, spark_engine: Engine) -> None:
    write_shop(tmp_path, BEFORE.replace("VIEW doubled", "LOCAL VIEW doubled"))
    pipeline = open_shop(tmp_path, spark_engine)
    with pytest.raises(NotFound):
        list(pipeline.query("SELECT 1 AS one"))
    pipeline.apply()
    with pytest.raises(ReconcileError) as caught:
        list(pipeline.query("SELECT * FROM doubled"))
    assert "LOCAL" in caught.value.message
    assert list(pipeline.query("SELECT n FROM changed")) == [{"n": 0}]


def test_two_applies_at_once_one_applies_the_other_says_who_holds_the_lease(
    baseline: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    inside, go_on = threading.Event(), threading.Event()

    def pause(boundary: str) -> None:
        if boundary == "bootstrap_view:effected" and not inside.is_set():
            inside.set()
            assert go_on.wait(60)

    first = threading.Thread(target=lambda: open_shop(root, spark_engine).observed(boundary=pause).apply())
    first.start()
    assert inside.wait(60)
    with pytest.raises(LeaseHeld) as caught:
        open_shop(root, spark_engine).apply()
    go_on.set()
    first.join(60)
    assert "reconcile apply" in caught.value.message
    assert "since 20" in caught.value.message
    assert open_shop(root, spark_engine).plan().changes_nothing


def test_a_live_run_hands_over_to_an_apply_at_a_step_boundary_and_goes_on(files: Path, spark_engine: Engine) -> None:
    stop = threading.Event()
    told: list[str] = []

    def live() -> None:
        target = open_shop(files, spark_engine).target
        run_pipeline(
            target, "shop", Session(spark_engine, tell=told.append), Pace(once=False, interval_seconds=0.1, stop=stop.is_set)
        )

    thread = threading.Thread(target=live)
    thread.start()
    try:
        wait_until(lambda: open_shop(files, spark_engine).status().step == 2)
        program = files / "pipelines/shop/program.sql"
        program.write_text(program.read_text().replace("SUM(amount)", "MIN(amount)"))
        open_shop(files, spark_engine).apply()
        write_lines(files, "three.json", [{"id": 8, "kind": "z", "amount": 3}])
        wait_until(lambda: len(stored_rows(files, "by_kind") or []) == 3)
    finally:
        stop.set()
        thread.join(60)
    assert any("handed shop over" in message for message in told)
    assert not thread.is_alive()


def test_an_apply_takes_over_from_a_process_that_died(baseline: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    registry = Project.open(root, engine=spark_engine).target.registry
    mine = this_process("apply")
    found = registry.document("shop", Lease)
    assert found is not None
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    dead = Lease("dead", "apply", mine.host, "999999999:1", found.value.epoch + 1, "2026-01-01", later)
    registry.replace_document("shop", found.token, dead, "dead")
    open_shop(root, spark_engine).apply()
    registry.replace_document("shop", _token(registry), replace(dead, host="elsewhere", released=False), "dead2")
    with pytest.raises(LeaseHeld), hold_lease(registry, "shop", mine):
        pytest.fail("a lease that is alive elsewhere was taken")


def _token(registry: object) -> int:
    found = registry.document("shop", Lease)  # type: ignore[attr-defined]
    assert found is not None
    return int(found.token)
