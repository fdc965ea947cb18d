"""Rows that come later than the LATENESS of their table: what a run does with them. On Delta tables, without Spark."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED
from reconciler.engine.by_size import EngineBySize
from reconciler.registry.placements import Placement
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.service.prometheus import prometheus_text
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.runs import commands

HOURLY = "seen TIMESTAMP LATENESS INTERVAL 1 HOUR"
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: shop}}
spec:
  bootstrap_policy: allow
  evolution: {evolution}
  connectors:
    - {{name: first, table: log, {more}transport: {{name: file_input, config: {{path: first}}}}, format: {{name: json}}}}
    - {{name: second, table: log, transport: {{name: file_input, config: {{path: second}}}}, format: {{name: json}}}}
"""
PROGRAM = """\
CREATE TABLE log ({columns});
CREATE MATERIALIZED VIEW numbers AS SELECT n FROM log;
"""
Way = type[EngineBySize] | type[RecordingEngine]


class Shop:
    """A pipeline of one table, `log`, which two inputs write."""

    def __init__(self, root: Path, by: Way) -> None:
        self.root, self.by, self.files = root, by, 0
        (root / "pipelines/shop").mkdir(parents=True)
        (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
        for folder in ("first", "second"):
            (root / folder).mkdir()

    def declare(self, *columns: str, more: str = "", evolution: str = "clear") -> None:
        """Write the definition and apply it."""
        (self.root / "pipelines/shop/pipeline.yaml").write_text(YAML.format(more=more, evolution=evolution))
        (self.root / "pipelines/shop/program.sql").write_text(PROGRAM.format(columns=", ".join(columns)))
        self.pipeline().apply()

    def pipeline(self) -> Pipeline:
        recording = RecordingEngine(DeltaWriter())
        engine = recording if self.by is RecordingEngine else EngineBySize(recording, dict)
        return Project.open(self.root, engine=engine).pipeline("shop")

    def put(self, *hours: str | None, folder: str = "first", **fields: Any) -> None:
        """Rows for the next step, each with the hour of a day at which it was seen."""
        self.files += 1
        rows = [{"n": self.files, "seen": None if hour is None else f"2026-01-01T{hour}:00Z", **fields} for hour in hours]
        (self.root / folder / f"{self.files:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def step(self, *hours: str | None, folder: str = "first") -> Mapping[str, int]:
        """Bring rows in; how many were late, by connector."""
        self.put(*hours, folder=folder)
        (done,) = self.pipeline().run_once().steps
        return done.late

    def placement(self) -> Placement:
        stored = self.pipeline().target.registry.head("shop")
        assert stored is not None
        assert stored.value.published is not None
        return stored.value.published.relations["log"]

    def rows(self) -> list[tuple[Any, ...]]:
        """The hours that stand in the table, with the number of the file that brought them."""
        placement = self.placement()
        location = str(self.root / "warehouse" / placement.location)
        rows = DeltaWriter().read(location, placement.version).rows
        return in_order([(row[0], None if row[1] is None else f"{row[1]:%H:%M}") for row in rows])


@pytest.fixture(params=[EngineBySize, RecordingEngine], ids=["small", "fake"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop", request.param)


def test_rows_are_judged_by_the_steps_before(shop: Shop) -> None:
    shop.declare("n INT", HOURLY)

    assert shop.step("10:00", "05:00", None) == {}, "rows of one step make none of each other late"
    assert shop.step("08:59", "09:00", "12:00") == {"log.first": 1}
    assert shop.step("10:59", "11:00", None) == {"log.first": 1}
    assert shop.step("01:00") == {"log.first": 1}
    assert shop.step("11:01") == {}
    first, second, third = [(1, None), (1, "05:00"), (1, "10:00")], [(2, "09:00"), (2, "12:00")], [(3, None), (3, "11:00")]
    assert shop.rows() == in_order([*first, *second, *third, (5, "11:01")])


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: (row[0], row[1] or ""))


def test_two_inputs_of_a_step_do_not_judge_each_other(shop: Shop) -> None:
    shop.declare("n INT", HOURLY)
    shop.step("10:00")

    shop.put("20:00", "08:00")
    shop.put("09:30", "07:00", "06:00", folder="second")
    (done,) = shop.pipeline().run_once().steps

    assert done.late == {"log.first": 1, "log.second": 2}
    assert shop.step("18:59") == {"log.first": 1}
    assert shop.rows() == [(1, "10:00"), (2, "20:00"), (3, "09:30")]


def test_a_lateness_that_is_new_judges_by_the_rows_that_are_there(shop: Shop) -> None:
    shop.declare("n INT", "seen TIMESTAMP")
    assert shop.step("10:00", "01:00") == {}
    assert shop.step("02:00") == {}

    shop.declare("n INT", HOURLY)
    assert shop.step("08:59", "09:00") == {"log.first": 1}

    shop.declare("n INT", "seen TIMESTAMP LATENESS INTERVAL 2 HOURS")
    assert shop.step("08:00", "07:59") == {"log.first": 1}

    shop.declare("n INT", "seen TIMESTAMP")
    assert shop.step("12:00", "00:00") == {}
    assert shop.placement().greatest == {}, "nobody keeps up what nobody asks for"

    shop.declare("n INT", HOURLY)
    assert shop.step("10:59") == {"log.first": 1}


def test_a_greatest_row_that_is_deleted_has_been(shop: Shop) -> None:
    shop.declare("n INT PRIMARY KEY", HOURLY, more="")
    yaml = shop.root / "pipelines/shop/pipeline.yaml"
    deletes = yaml.read_text().replace(
        "format: {name: json}", "format: {name: json, config: {update_format: insert_delete}}"
    )
    yaml.write_text(deletes)
    shop.pipeline().apply()

    def put(*changes: Mapping[str, Any]) -> Mapping[str, int]:
        shop.files += 1
        (shop.root / f"first/{shop.files}.json").write_text("".join(json.dumps(one) + "\n" for one in changes))
        (done,) = shop.pipeline().run_once().steps
        return done.late

    put({"insert": {"n": 1, "seen": "2026-01-01T10:00:00Z"}}, {"insert": {"n": 2, "seen": "2026-01-01T05:00:00Z"}})
    assert put({"delete": {"n": 1}}) == {}, "of a delete by key only the key is judged"
    assert put({"insert": {"n": 3, "seen": "2026-01-01T08:00:00Z"}}) == {"log.first": 1}
    assert shop.rows() == [(2, "05:00")]


def test_a_table_that_is_cleared_starts_anew(shop: Shop) -> None:
    shop.declare("n INT", HOURLY)
    shop.step("10:00")

    shop.declare("n BIGINT", HOURLY)
    assert shop.rows() == []
    assert shop.step("01:00") == {}
    assert shop.rows() == [(1, "10:00"), (2, "01:00")], "the input is read again from its start"


def test_a_column_at_the_end_changes_nothing_of_it(shop: Shop) -> None:
    shop.declare("n INT", HOURLY, evolution="evolve")
    shop.step("10:00")

    shop.declare("n INT", HOURLY, "more INT LATENESS 3", evolution="evolve")
    assert shop.placement().greatest == {"seen": "1767261600000000"}
    assert shop.step("08:00") == {"log.first": 1}
    assert shop.placement().greatest == {"more": "", "seen": "1767261600000000"}


PLACES = ("intent", BEFORE), ("step", INTENDED), ("table", BEFORE), ("table", EFFECTED), ("view", EFFECTED), ("step", BEFORE)


@pytest.mark.parametrize("boundary", [f"{what}:{when}" for what, when in PLACES])
def test_a_step_that_is_killed_is_judged_again_as_it_was(shop: Shop, boundary: str) -> None:
    shop.declare("n INT", HOURLY)
    shop.step("10:00")
    shop.put("15:00", "08:00")
    shop.put("09:00", "03:00", folder="second")

    with pytest.raises(Crash):
        shop.pipeline().observed(boundary=crash_at(boundary)).run_once()
    assert shop.placement().greatest == {"seen": "1767261600000000"}
    shop.pipeline().run_once()

    assert shop.rows() == [(1, "10:00"), (2, "15:00"), (3, "09:00")]
    assert shop.placement().greatest == {"seen": "1767279600000000"}


def test_late_records_are_kept_where_the_connector_says_so(shop: Shop) -> None:
    shop.declare("n INT", HOURLY, more="late_rows: dead_letters, max_rejected: 0, ")
    shop.step("10:00")

    assert shop.step("08:00", "09:00", "07:00") == {"log.first": 2}
    assert shop.step("08:00", folder="second") == {"log.second": 1}

    letters = shop.pipeline().query("SELECT * FROM dead_letters")
    assert sorted((row["step"], row["connector"], row["reason"]) for row in letters) == [
        (2, "log.first", "X725: the row is late: its seen is 2026-01-01 07:00:00Z"),
        (2, "log.first", "X725: the row is late: its seen is 2026-01-01 08:00:00Z"),
    ]


def test_everybody_is_told(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.declare("n INT", HOURLY)
    shop.step("10:00")
    reconcile = commands(shop.root, capsys)
    shop.step("08:00", "09:30")
    shop.step("08:00")

    status = shop.pipeline().status()
    assert {one.name: one.late for one in status.connectors} == {"log.first": 2, "log.second": 0}
    assert "log.first: 2 records were late, and left out" in reconcile("status", "shop")
    labels = 'pipeline="shop",environment="dev",connector="log.first",direction="input"'
    assert f"reconcile_connector_late_total{{{labels}}} 2" in prometheus_text([status])
    logged = json.loads(reconcile("events", "shop", "--format", "json"))["events"]
    assert [one["details"]["late"] for one in logged if "late" in one["details"]] == [{"log.first": 1}, {"log.first": 1}]
