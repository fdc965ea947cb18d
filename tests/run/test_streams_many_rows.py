"""A step with so many rows that they are put together first gives what steps with few rows give."""

from pathlib import Path
from typing import Any

from reconciler.engine.protocol import Engine
from reconciler.materialize.stream_keys import MANY_ROWS
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.folders import staging_folder

PROGRAM = "CREATE TABLE readings (device STRING, at TIMESTAMP, value INT) WITH ('append_only' = 'true');\n"
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: plant}
spec:
  bootstrap_policy: allow
  streams:
    - name: timed
      assign_timestamps_and_watermarks: {input: readings, event_time: at, delay: 1m}
    - name: hourly
      aggregate_over_window:
        input: timed
        keys: [device]
        window: {tumbling: 1h}
        aggregates: {readings: count(*), total: sum(value), average: avg(value)}
    - name: visits
      aggregate_over_window:
        input: timed
        keys: [device]
        window: {session: 2m}
        aggregates: {readings: count(*), total: sum(value)}
        late_rows: dead_letters
"""
# Each device rests for five minutes after five minutes; some rows have no event time.
ROWS = """
SELECT concat('d', id % 7) AS device,
  CASE WHEN id % 50000 = 0 THEN NULL
    ELSE timestamp_micros(1767261600000000 + id * 60000 + id * 60000 div 300000000 * 300000000) END AS at,
  CAST(id % 1000 AS INT) AS value
FROM range({begin}, {end})
"""
STREAMS = ("hourly", "visits")


def open_plant(root: Path, engine: Engine) -> Pipeline:
    return Project.open(root, engine=engine).pipeline("plant")


def made(root: Path, engine: Engine, steps: list[str]) -> dict[str, Any]:
    """What streams give, remember and count as late after these steps."""
    folder = root / "pipelines" / "plant"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(PROGRAM)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    open_plant(root, engine).apply()
    for rows in steps:
        open_plant(root, engine).execute(f"INSERT INTO readings {rows}")
    found: dict[str, Any] = {}
    for name in STREAMS:
        order = "device, window_start"
        found[name] = [
            tuple(row.values()) for row in open_plant(root, engine).query(f"SELECT * FROM {name} ORDER BY {order}")
        ]
    for one in open_plant(root, engine).status().relations:
        if one.name in STREAMS:
            assert one.stream is not None
            found[f"{one.name} remembers"] = (one.stream.watermark, one.stream.late)
    assert open_plant(root, engine).plan().diff.is_empty
    return found


def test_many_rows_give_what_the_same_rows_give_in_small_steps(tmp_path: Path, spark_engine: Engine) -> None:
    step = MANY_ROWS
    late = "SELECT 'd1', TIMESTAMP '2026-01-01 10:04:30', 5"
    first, second = (ROWS.format(begin=number * step, end=(number + 1) * step) for number in (0, 1))
    parts = step // 2
    small = [ROWS.format(begin=place * parts, end=(place + 1) * parts) for place in range(4)]
    many = made(tmp_path / "many", spark_engine, [first, f"{second} UNION ALL {late}"])
    few = made(tmp_path / "few", spark_engine, [*small[:3], f"{small[3]} UNION ALL {late}"])
    assert many == few
    assert [many[f"{name} remembers"][1] for name in STREAMS] == [5, 5]
    assert len(many["visits"]) > 100
    # Nothing is left of what was put together.
    gone = {staging_folder("plant", "folded", str(number), name) for number in range(9) for name in STREAMS}
    for name in STREAMS:
        below = {path.name for path in (tmp_path / "many" / "warehouse" / "plant" / name).iterdir()}
        assert staging_folder("plant", "step", "2", name) in below
        assert below.isdisjoint(gone)
