"""A step with so many rows that they are put together first gives what steps with few rows give, also where it is killed and
begins anew."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from reconciler.engine.protocol import Engine
from reconciler.materialize.stream_keys import MANY_ROWS
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.folders import staging_folder
from reconciler.testing.crashes import Crash
from tests.acceptance.faults import Fault, Faults, Style, run_with

PROGRAM = "CREATE TABLE readings (device STRING, at TIMESTAMP, value INT) WITH ('append_only' = 'true');\n"
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: plant}
spec:
  bootstrap_policy: allow
  connectors:
    - name: files
      table: readings
      transport: {name: file_input, config: {path: source}}
      format: {name: parquet}
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
STREAMS = ("hourly", "visits")


def open_plant(root: Path, engine: Engine) -> Pipeline:
    return Project.open(root, engine=engine).pipeline("plant")


def rows(begin: int, end: int) -> pa.Table:
    """These rows of all. Each device rests for five minutes after five minutes; some rows have no event time."""
    times = [
        None if one % 50_000 == 0 else 1_767_261_600_000_000 + one * 60_000 + one * 60_000 // 300_000_000 * 300_000_000
        for one in range(begin, end)
    ]
    return pa.table(
        {
            "device": [f"d{one % 7}" for one in range(begin, end)],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "value": pa.array([one % 1000 for one in range(begin, end)], pa.int32()),
        }
    )


LATE = pa.table(
    {
        "device": ["d1"],
        "at": pa.array([1_767_261_870_000_000], pa.timestamp("us", "UTC")),
        "value": pa.array([5], pa.int32()),
    }
)


def made(root: Path, engine: Engine, steps: list[pa.Table], faults: tuple[Fault, ...] = ()) -> dict[str, Any]:
    """What streams give, remember and count as late after these steps, the last of which is killed in these ways first."""
    folder = root / "pipelines" / "plant"
    folder.mkdir(parents=True)
    (root / "source").mkdir()
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(PROGRAM)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    open_plant(root, engine).apply()
    for number, added in enumerate(steps):
        pyarrow.parquet.write_table(added, root / "source" / f"{number}.parquet")
        for fault in faults if number == len(steps) - 1 else ():
            with pytest.raises(Crash):
                run_with(root, "plant", engine, Faults(fault))
        assert open_plant(root, engine).run_once().step_count == 1
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
    parts = MANY_ROWS // 2
    small = [rows(place * parts, (place + 1) * parts) for place in range(4)]
    # Each of two streams puts rows together, gives and remembers.
    killed = tuple(Fault("build_view", number, Style.AFTER) for number in (1, 2, 4))
    steps = [pa.concat_tables(small[:2]), pa.concat_tables([*small[2:], LATE])]
    many = made(tmp_path / "many", spark_engine, steps, killed)
    few = made(tmp_path / "few", spark_engine, [*small[:3], pa.concat_tables([small[3], LATE])])
    assert many == few
    assert [many[f"{name} remembers"][1] for name in STREAMS] == [5, 5]
    assert len(many["visits"]) > 100
    # Nothing is left of what was put together.
    gone = {staging_folder("plant", "folded", str(number), name) for number in range(9) for name in STREAMS}
    for name in STREAMS:
        below = {path.name for path in (tmp_path / "many" / "warehouse" / "plant" / name).iterdir()}
        assert staging_folder("plant", "step", "2", name) in below
        assert below.isdisjoint(gone)
