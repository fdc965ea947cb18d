"""Streams whose watermark is the least of those of values: what comes from one site late, is not late for it."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project

PROGRAM = "CREATE TABLE readings (site STRING, id INT, at TIMESTAMP) WITH ('append_only' = 'true');\n"
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: plant}
spec:
  bootstrap_policy: allow
  streams:
    - name: timed
      assign_timestamps_and_watermarks: {input: readings, event_time: at, delay: 0s, per: [site]}
    - name: hourly
      aggregate_over_window: {input: timed, keys: [site], window: {tumbling: 1h}, aggregates: {readings: count(*)}}
"""


def open_plant(root: Path, engine: Engine) -> Pipeline:
    return Project.open(root, engine=engine).pipeline("plant")


def write_plant(root: Path, yaml: str = YAML) -> None:
    folder = root / "pipelines" / "plant"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(PROGRAM)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")


def read(root: Path, engine: Engine, *rows: tuple[str | None, str]) -> None:
    """One step, with readings of sites at some times of one day."""
    values = (f"({'NULL' if site is None else repr(site)}, 1, TIMESTAMP '2026-01-01 {time}:00Z')" for site, time in rows)
    open_plant(root, engine).execute(f"INSERT INTO readings VALUES {', '.join(values)}")


def hours(root: Path, engine: Engine) -> list[tuple[Any, ...]]:
    asked = "SELECT site, hour(window_start), readings FROM hourly ORDER BY site NULLS FIRST, window_start"
    return [tuple(row.values()) for row in open_plant(root, engine).query(asked)]


def stream(root: Path, engine: Engine) -> Any:
    return next(one.stream for one in open_plant(root, engine).status().relations if one.name == "hourly")


def test_the_watermark_waits_for_the_value_that_is_furthest_behind(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path)
    open_plant(tmp_path, spark_engine).apply()
    read(tmp_path, spark_engine, ("north", "10:10"), ("south", "10:20"), (None, "10:30"))
    read(tmp_path, spark_engine, ("south", "15:00"), (None, "13:00"))
    # North was cut off: by a watermark of all rows, its windows would be closed.
    assert hours(tmp_path, spark_engine) == []
    status = stream(tmp_path, spark_engine)
    assert (status.watermark, status.furthest_behind) == ("2026-01-01T10:10:00.000+00:00", "site = north")
    read(tmp_path, spark_engine, ("north", "10:50"), ("north", "11:40"), ("south", "15:30"))
    assert hours(tmp_path, spark_engine) == [(None, 10, 1), ("north", 10, 2), ("south", 10, 1)]
    assert stream(tmp_path, spark_engine).late == 0
    # Another site takes nothing back, and what it brings of a window that is closed is late.
    read(tmp_path, spark_engine, ("west", "10:05"), ("west", "11:10"))
    status = stream(tmp_path, spark_engine)
    assert (status.watermark, status.late) == ("2026-01-01T11:40:00.000+00:00", 1)
    assert status.furthest_behind == "site = west"
    read(tmp_path, spark_engine, ("north", "16:00"), ("south", "16:00"), ("west", "16:00"), (None, "16:00"))
    given = hours(tmp_path, spark_engine)
    assert given == [
        (None, 10, 1),
        (None, 13, 1),
        ("north", 10, 2),
        ("north", 11, 1),
        ("south", 10, 1),
        ("south", 15, 2),
        ("west", 11, 1),
    ]
    assert stream(tmp_path, spark_engine).furthest_behind is None
    assert open_plant(tmp_path, spark_engine).plan().diff.is_empty


def test_a_stream_that_was_bootstrapped_goes_on_by_each_value(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path, YAML.split("  streams:")[0])
    open_plant(tmp_path, spark_engine).apply()
    read(tmp_path, spark_engine, ("north", "10:10"), ("south", "12:20"))
    read(tmp_path, spark_engine, ("north", "11:05"), ("south", "14:00"))
    write_plant(tmp_path)
    open_plant(tmp_path, spark_engine).apply()
    assert hours(tmp_path, spark_engine) == [("north", 10, 1)]
    read(tmp_path, spark_engine, ("north", "11:10"), ("south", "14:10"))
    assert hours(tmp_path, spark_engine) == [("north", 10, 1)]
    read(tmp_path, spark_engine, ("north", "13:00"))
    assert hours(tmp_path, spark_engine) == [("north", 10, 1), ("north", 11, 2), ("south", 12, 1)]


def test_times_that_differ_by_a_microsecond_are_two_values(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path, YAML.replace("per: [site]", "per: [began]"))
    program = tmp_path / "pipelines" / "plant" / "program.sql"
    program.write_text(PROGRAM.replace("id INT", "began TIMESTAMP"))
    open_plant(tmp_path, spark_engine).apply()
    rows = (
        f"('north', TIMESTAMP '2026-01-01 00:00:00.{began}Z', TIMESTAMP '2026-01-01 {time}:00Z')"
        for began, time in (("000001", "10:10"), ("000002", "12:00"))
    )
    open_plant(tmp_path, spark_engine).execute(f"INSERT INTO readings VALUES {', '.join(rows)}")
    assert stream(tmp_path, spark_engine).watermark == "2026-01-01T10:10:00.000+00:00"


def test_a_value_that_is_idle_is_waited_for_so_long_and_no_longer(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path, YAML.replace("per: [site]", "per: [site], idle_after: 2h"))
    open_plant(tmp_path, spark_engine).apply()
    read(tmp_path, spark_engine, ("north", "10:10"), ("south", "10:20"))
    read(tmp_path, spark_engine, ("south", "12:00"))
    assert hours(tmp_path, spark_engine) == []
    read(tmp_path, spark_engine, ("south", "13:00"))
    assert hours(tmp_path, spark_engine) == [("north", 10, 1), ("south", 10, 1)]


def test_a_name_that_what_assigns_the_time_gets_takes_no_watermark_back(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path)
    open_plant(tmp_path, spark_engine).apply()
    read(tmp_path, spark_engine, ("north", "11:10"), ("north", "10:20"))
    read(tmp_path, spark_engine, ("west", "10:05"))
    assert hours(tmp_path, spark_engine) == [("north", 10, 1)]
    renamed = YAML.replace("timed", "sited").replace("spec:\n", "spec:\n  moved:\n    - {from: timed, to: sited}\n")
    write_plant(tmp_path, renamed)
    open_plant(tmp_path, spark_engine).apply()
    read(tmp_path, spark_engine, ("north", "12:00"), ("west", "12:30"))
    assert hours(tmp_path, spark_engine) == [("north", 10, 1), ("north", 11, 1)]
    assert stream(tmp_path, spark_engine).watermark == "2026-01-01T12:00:00.000+00:00"


def test_more_values_than_a_head_can_have_stop_the_step(tmp_path: Path, spark_engine: Engine) -> None:
    write_plant(tmp_path, YAML.replace("per: [site]", "per: [id]"))
    open_plant(tmp_path, spark_engine).apply()
    many = "INSERT INTO readings SELECT 'north', CAST(id AS INT), TIMESTAMP '2026-01-01 10:00:00Z' FROM range({})"
    open_plant(tmp_path, spark_engine).execute(many.format(1_000))
    with pytest.raises(EngineError) as raised:
        open_plant(tmp_path, spark_engine).execute(many.format(1_001))
    assert raised.value.code == "X759"
    open_plant(tmp_path, spark_engine).execute(many.format(999))
