"""What runs make of streams, on Spark: rows are added step by step, and what a stream remembers belongs to the step.

What each transformation gives, tests/streams shows."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.diff.model import Fate
from reconciler.engine.dead_letters import DEAD_LETTER_FOLDER
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.held_rows import MOST_ROWS
from reconciler.plan.explain.model import KeyCount
from reconciler.run.step_words import describe_step_result
from reconciler.service.project import Project
from tests.cells import mostly_slow
from tests.docs.test_streams_page import files_of
from tests.engine.delta_writer import DeltaWriter
from tests.streams.pond import (
    BATCHES,
    HOURLY,
    PIPELINE,
    PROGRAM,
    YAML,
    contents,
    head_of,
    hourly,
    open_pond,
    placement,
    put,
    put_batches,
    rows,
    write_pond,
)


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """The pond after all its batches. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("pond")
    write_pond(root)
    open_pond(root, spark_engine).apply()
    put_batches(root)
    open_pond(root, spark_engine).run_once()
    return root


def copy_of(pond: Path, to: Path) -> Path:
    shutil.copytree(pond, to / "pond")
    return to / "pond"


def test_each_step_adds_what_its_rows_give(pond: Path, spark_engine: Engine) -> None:
    assert hourly(pond) == sorted(HOURLY)
    assert [row[0] for row in rows(pond, "once")] == ["a", "b", "c"]
    assert rows(pond, "hottest") == [("a", 9), ("b", 4)]
    assert open_pond(pond, spark_engine).plan().diff.is_empty


def test_outputs_follow(pond: Path) -> None:
    lines = [json.loads(line) for file in sorted((pond / "out").rglob("part-*")) for line in file.read_text().splitlines()]
    told = [(row["device"], row["readings"], row["firing"]) for change in lines for row in [change["insert"]]]
    assert sorted(told) == sorted((device, readings, firing) for device, _, readings, _, firing in HOURLY)


def test_status_says_what_a_stream_remembers(pond: Path, spark_engine: Engine) -> None:
    relations = {one.name: one for one in open_pond(pond, spark_engine).status().relations}
    stream = relations["hourly"].stream
    assert stream is not None
    assert (stream.rows, stream.watermark, stream.late) == (1, "2026-01-01T13:59:00.000+00:00", 1)
    assert stream.behind_seconds is not None
    assert relations["timed"].kind == "stream"
    assert relations["timed"].stream is None, "it remembers nothing"


def test_what_was_remembered_two_steps_ago_is_gone(pond: Path) -> None:
    stands = placement(pond, "hourly")
    assert stands.state is not None
    assert stands.state.former is not None
    folders = {path.name for path in (pond / "warehouse" / stands.location).glob("v-*")}
    assert {stands.state.folder, stands.state.former.folder} <= folders
    states = [folder for folder in folders if _is_state(pond / "warehouse" / stands.location / folder)]
    assert len(states) == 2


def _is_state(folder: Path) -> bool:
    log = folder / "_delta_log" / f"{0:020d}.json"
    return log.exists() and "__until" in log.read_text()


def test_a_step_that_is_withdrawn_leaves_streams_as_they_were(tmp_path: Path, spark_engine: Engine) -> None:
    risky = "CREATE MATERIALIZED VIEW risky AS SELECT 1 / temperature AS share FROM readings;\n"
    write_pond(tmp_path, program=PROGRAM + risky)
    open_pond(tmp_path, spark_engine).apply()
    put_batches(tmp_path, 0, 2)
    open_pond(tmp_path, spark_engine).run_once()
    before = contents(tmp_path)

    put(tmp_path, 2, ("a", "11:40", 0), ("b", "12:30", 7))
    with pytest.raises(EngineError):
        open_pond(tmp_path, spark_engine).run_once()
    assert contents(tmp_path) == before

    put_batches(tmp_path, 2)
    open_pond(tmp_path, spark_engine).run_once()
    assert hourly(tmp_path) == sorted(HOURLY)


def test_a_checkpoint_has_what_belongs_to_it(pond: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(pond, tmp_path)
    open_pond(root, spark_engine).checkpoint("before")
    state = placement(root, "hourly").state

    put(root, 5, ("c", "14:30", 2))
    put(root, 6, ("d", "15:30", 1))
    open_pond(root, spark_engine).run_once()
    then = hourly(root)
    assert then == sorted([*HOURLY, ("c", "14:00", 2, 2, "on_time")])
    open_pond(root, spark_engine).prune()
    open_pond(root, spark_engine).restore("before")
    assert placement(root, "hourly").state == state
    assert hourly(root) == sorted(HOURLY)

    open_pond(root, spark_engine).run_once()
    assert hourly(root) == then


def test_a_stream_that_is_renamed_keeps_what_it_remembers(pond: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(pond, tmp_path)
    state = placement(root, "once").state
    moved = YAML.replace("name: once", "name: first")
    moved = moved.replace("  streams:", "  moved:\n    - {from: once, to: first}\n  streams:")
    write_pond(root, moved)
    open_pond(root, spark_engine).apply()
    assert placement(root, "first").state == state

    put(root, 5, ("c", "14:30", 2), ("d", "14:31", 1))
    open_pond(root, spark_engine).run_once()
    assert [row[0] for row in rows(root, "first")] == ["a", "b", "c", "d"]


def test_a_stream_that_is_changed_is_computed_from_the_rows_that_are_there(
    pond: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(pond, tmp_path)
    write_pond(root, YAML.replace("tumbling: 1h", "tumbling: 2h"))
    open_pond(root, spark_engine).apply()
    # None of the rows is late where all come at once.
    assert hourly(root) == [("a", "10:00", 5, 9, "on_time"), ("b", "10:00", 3, 4, "on_time")]
    assert placement(root, "hourly").state is None

    put(root, 5, ("c", "16:30", 2))
    open_pond(root, spark_engine).run_once()
    assert hourly(root)[2:] == [("c", "14:00", 1, 1, "on_time")]
    assert open_pond(root, spark_engine).plan().diff.is_empty


def test_batches_are_steps(pond: Path) -> None:
    published = head_of(pond).published
    assert published is not None
    assert published.step == len(BATCHES)


def test_a_stream_goes_back_to_an_earlier_version_and_on_from_there(
    pond: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(pond, tmp_path)
    write_pond(root, YAML.replace("tumbling: 1h", "tumbling: 2h"))
    open_pond(root, spark_engine).apply()
    assert [one.number for one in open_pond(root, spark_engine).versions("hourly").versions] == [0, 1]

    open_pond(root, spark_engine).rollback("hourly@v0")
    assert hourly(root) == sorted(HOURLY), "nothing came since: the rows are those that were there"
    put(root, 5, ("c", "14:30", 2), ("c", "15:30", 3))
    open_pond(root, spark_engine).run_once()
    assert hourly(root) == sorted([*HOURLY, ("c", "14:00", 2, 2, "on_time")])


def test_a_stream_is_staged_and_promoted(pond: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(pond, tmp_path)
    write_pond(root, YAML.replace("tumbling: 1h", "tumbling: 2h"))
    open_pond(root, spark_engine).stage()
    assert hourly(root) == sorted(HOURLY)
    open_pond(root, spark_engine).promote()
    assert hourly(root) == [("a", "10:00", 5, 9, "on_time"), ("b", "10:00", 3, 4, "on_time")]
    put(root, 5, ("c", "16:30", 2))
    open_pond(root, spark_engine).run_once()
    assert hourly(root)[2:] == [("c", "14:00", 1, 1, "on_time")]


def test_another_expiry_goes_on_with_what_is_remembered(pond: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(pond, tmp_path)
    state = placement(root, "once").state
    write_pond(root, YAML.replace("keys: [device], expiry: 2h", "keys: [device], expiry: 3h"))
    open_pond(root, spark_engine).apply()
    assert placement(root, "once").state == state
    assert [row[0] for row in rows(root, "once")] == ["a", "b", "c"]

    # By the old expiry, `a` and `b` are forgotten when the watermark is 13:59: that was so, and stays so.
    put(root, 5, ("b", "14:10", 2), ("c", "14:20", 2))
    open_pond(root, spark_engine).run_once()
    assert [row[0] for row in rows(root, "once")] == ["a", "b", "b", "c"]


def test_early_firings_that_are_new_go_on_with_the_rows_that_are_remembered(
    pond: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(pond, tmp_path)
    early = "allowed_lateness: 10m\n        trigger: {after_watermark: {early: {count: 2}, late: {count: 1}}}"
    write_pond(root, YAML.replace("allowed_lateness: 10m", early))
    open_pond(root, spark_engine).apply()
    assert hourly(root) == sorted(HOURLY)
    put(root, 5, ("c", "14:30", 2))
    open_pond(root, spark_engine).run_once()
    assert hourly(root) == sorted([*HOURLY, ("c", "14:00", 2, 2, "early")])


def test_a_state_that_is_gone_is_computed_anew_and_told(pond: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(pond, tmp_path)
    stands = placement(root, "once")
    assert stands.state is not None
    shutil.rmtree(root / "warehouse" / stands.location / stands.state.folder)
    put(root, 5, ("c", "14:30", 2), ("d", "14:31", 1))
    (done,) = open_pond(root, spark_engine).run_once().steps
    assert done.lost_states == ("once",)
    assert "the state of once was gone" in describe_step_result("pond", done)
    assert [row[0] for row in rows(root, "once")] == ["a", "b", "c", "d"]


def test_a_stream_goes_on_where_what_assigns_its_event_time_is_renamed(
    pond: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(pond, tmp_path)
    moved = YAML.replace("name: timed", "name: clocked").replace("input: timed", "input: clocked")
    write_pond(root, moved.replace("  streams:", "  moved:\n    - {from: timed, to: clocked}\n  streams:"))
    open_pond(root, spark_engine).apply()
    assert hourly(root) == sorted(HOURLY)
    assert placement(root, "hourly").state == placement(pond, "hourly").state, "it goes on"

    # By a watermark that begins anew, 12:00 would not be late, and the hour of `c` would have no end.
    put(root, 5, ("c", "15:30", 2), ("a", "12:00", 1))
    open_pond(root, spark_engine).run_once()
    assert hourly(root) == sorted([*HOURLY, ("c", "14:00", 1, 1, "on_time")])


@pytest.mark.parametrize("folder", mostly_slow(["plain", "of {a,b}"], "plain"))
def test_many_rows_are_added_wherever_they_stand(folder: str, tmp_path: Path, spark_engine: Engine) -> None:
    """So many that Spark reads their files, whose paths it may take for patterns."""
    root = tmp_path / folder
    root.mkdir()
    write_pond(root)
    open_pond(root, spark_engine).apply()
    count = MOST_ROWS + 1
    put(root, 0, *[("a", "10:05", number) for number in range(count)])
    put(root, 1, ("a", "12:30", 1))
    open_pond(root, spark_engine).run_once()
    assert hourly(root) == [("a", "10:00", count, count - 1, "on_time")]


def letters(root: Path, engine: Engine) -> list[tuple[Any, ...]]:
    query = "SELECT * FROM dead_letters ORDER BY step, `table`, record"
    return [tuple(row.values()) for row in open_pond(root, engine).query(query)]


def stored_letters(root: Path) -> tuple[tuple[Any, ...], ...]:
    writer, folder = DeltaWriter(), str(root / "warehouse" / PIPELINE / DEAD_LETTER_FOLDER)
    return writer.read(folder, writer.latest(folder) or 0).rows


def test_late_rows_are_kept_where_that_is_asked_for_and_go_with_their_step(tmp_path: Path, spark_engine: Engine) -> None:
    kept = YAML.replace("allowed_lateness: 10m", "allowed_lateness: 10m\n        late_rows: dead_letters")
    write_pond(tmp_path, kept)
    open_pond(tmp_path, spark_engine).apply()
    put_batches(tmp_path)
    put(tmp_path, 5, ("a", "10:59", 1), ("c", "14:30", 2))
    open_pond(tmp_path, spark_engine).run_once()
    late = ("hourly", '{"stream":"timed"}')
    watermarks = {4: "11:29:00", 6: "13:59:00"}
    found = {4: ("a", "10:50", 7), 6: ("a", "10:59", 1)}
    wanted = [
        (
            step,
            None,
            *late,
            f"X725: the row is late: its event time is 2026-01-01 {at}:00.000000, the watermark was 2026-01-01 "
            f"{watermarks[step]}.000000, and its windows were closed, 10m after their end",
            f'{{"device":"{device}","at":"2026-01-01T{at}:00.000Z","temperature":{value}}}',
        )
        for step, (device, at, value) in found.items()
    ]
    assert letters(tmp_path, spark_engine) == wanted

    # A change of what becomes of them changes nothing else.
    write_pond(tmp_path, YAML)
    (change,) = open_pond(tmp_path, spark_engine).plan().diff.relations
    assert (change.name, change.fate) == ("hourly", Fate.KEPT)
    write_pond(tmp_path, kept)

    def fail(name: str) -> None:
        if name == "letters:effected":
            assert len(stored_letters(tmp_path)) == 3
            raise EngineError("X700", "no more")

    put(tmp_path, 6, ("b", "09:00", 1))
    with pytest.raises(EngineError, match="no more"):
        open_pond(tmp_path, spark_engine).observed(boundary=fail).run_once()
    assert len(stored_letters(tmp_path)) == 2
    put(tmp_path, 7, ("b", "09:01", 1))
    open_pond(tmp_path, spark_engine).run_once()
    assert [letter[0] for letter in letters(tmp_path, spark_engine)[2:]] == sorted(
        letter[0] for letter in stored_letters(tmp_path)
    )[2:]
    assert len(stored_letters(tmp_path)) == 4

    # A stream that is computed anew has what was late before: the event log says as of which step.
    write_pond(tmp_path, kept.replace("max(temperature)", "min(temperature)"))
    open_pond(tmp_path, spark_engine).apply()
    first, *_, last = (event for event in open_pond(tmp_path, spark_engine).events() if event.event == "apply switched")
    assert (first.details["streams"], last.details["streams"]) == (["hourly", "once"], ["hourly"])
    assert last.step is not None
    assert last.step > max(letter[0] for letter in letters(tmp_path, spark_engine))
    assert ("b", "09:00", 2, 1, "on_time") in hourly(tmp_path)


def test_keys_that_have_most_of_the_rows_are_told(tmp_path: Path, spark_engine: Engine) -> None:
    write_pond(tmp_path)
    open_pond(tmp_path, spark_engine).apply()
    of_one = "CASE WHEN id % 4 = 0 THEN concat('b', id) WHEN id % 4 = 1 THEN NULL ELSE 'a' END"
    rows = f"SELECT {of_one}, TIMESTAMP '2026-01-01 10:00:00', 1 FROM range(100000)"
    done = open_pond(tmp_path, spark_engine).execute(f"INSERT INTO readings {rows}")
    uneven = "device = a has 50%, device = NULL has 25% of the 100,000 rows of step 1: the rows of a key are one task's"
    assert f"keys of once: {uneven}" in describe_step_result(PIPELINE, done)
    status = {one.name: one.stream for one in open_pond(tmp_path, spark_engine).status().relations}["once"]
    assert status is not None
    assert (status.uneven_keys, status.largest_part) == (uneven, 0.5)
    assert status.keys is not None
    assert (status.keys.keys, status.keys.rows, status.keys.constant) == (25_002, 100_000, ())
    explained = open_pond(tmp_path, spark_engine).explain("once").relation
    assert explained is not None
    assert explained.stored is not None
    assert explained.stored.keys == KeyCount(25_002, 100_000, 1)

    # They are not looked at in each step.
    put(tmp_path, 0, ("c", "10:30", 2))
    open_pond(tmp_path, spark_engine).run_once()
    state = placement(tmp_path, "once").state
    assert state is not None
    assert state.keys == status.keys


def test_a_function_follows_the_rows_of_each_key_from_step_to_step(tmp_path: Path, spark_engine: Engine) -> None:
    """The example of docs/streams.md; then its function is changed."""
    folder = tmp_path / "pipelines" / "alarms"
    for file, text in files_of("alarms").items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    connectors = CONNECTORS.replace("  connectors:", "  bootstrap_policy: allow\n  connectors:")
    (folder / "pipeline.yaml").write_text((folder / "pipeline.yaml").read_text() + connectors)
    (tmp_path / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    (tmp_path / "source").mkdir()
    pipeline = Project.open(tmp_path, engine=spark_engine).pipeline("alarms")
    pipeline.apply()
    put(tmp_path, 0, ("a", "10:00", 35), ("a", "10:02", 20), ("b", "10:01", 40))
    put(tmp_path, 1, ("a", "10:05", 35), ("b", "10:06", 40), ("c", "10:06", 40))
    put(tmp_path, 2, ("a", "10:07", 35), ("b", "10:07", 40))
    assert Project.open(tmp_path, engine=spark_engine).pipeline("alarms").run_once().step_count == 3

    def alarms() -> list[tuple[Any, ...]]:
        query = "SELECT device, date_format(event_time, 'HH:mm') AS at, hot FROM alarms ORDER BY device, at"
        return [tuple(row.values()) for row in Project.open(tmp_path, engine=spark_engine).pipeline("alarms").query(query)]

    assert alarms() == [("a", "10:07", 2), ("b", "10:06", 2)]

    function = folder / "udf" / "alarm.py"
    function.write_text(function.read_text().replace("hot == 2", "hot == 1"))
    changed = Project.open(tmp_path, engine=spark_engine).pipeline("alarms")
    assert not changed.plan().diff.is_empty
    changed.apply()
    assert [(device, at) for device, at, _ in alarms()] == [("a", "10:00"), ("a", "10:05"), ("b", "10:01"), ("c", "10:06")]
    assert Project.open(tmp_path, engine=spark_engine).pipeline("alarms").plan().diff.is_empty


CONNECTORS = """\
  connectors:
    - name: files
      table: readings
      max_batch_size: 1
      transport: {name: file_input, config: {path: source}}
      format: {name: json}
"""
