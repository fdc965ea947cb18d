"""How fresh what is published is, and since when something waits. Over real Delta tables and the recording engine."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.base.moments import moment_of_milliseconds, seconds_between
from reconciler.engine.protocol import Built, Check, Emission, Emitted, Ingestion, ViewBuild, Written, unchecked
from reconciler.run.freshness import LAST_STEPS, Freshness
from reconciler.service.prometheus import prometheus_text
from reconciler.state.step_history import ToldOfStep, rows_back
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import YAML, connector, events, make, opened, put
from tests.shops.runs import commands, status

MINUTE = 60.0


def test_a_moment_that_nobody_can_mean_is_none() -> None:
    assert moment_of_milliseconds(1_700_000_000_123) == "2023-11-14T22:13:20.123+00:00"
    assert [moment_of_milliseconds(one) for one in (0, -1, 10**17, 10**30)] == [None] * 4


def test_between_clocks_that_differ_nothing_is_known() -> None:
    early, late = "2026-01-01T00:00:00.000+00:00", "2026-01-01T01:00:01.500+01:00"
    assert (seconds_between(early, late), seconds_between(early, early)) == (1.5, 0.0)
    assert (seconds_between(late, early), seconds_between(None, late)) == (None, None)


def test_the_freshness_of_a_step_is_that_of_its_oldest_change_where_all_are_known() -> None:
    fresh = Freshness()
    assert fresh.to_json() == {"last": None, "median": None, "highest": None, "steps": 0}
    for step in ({"a": 1.0, "b": 3.0}, {"a": 2.0}, {}, {"a": 5.0, "b": 0.0}):
        fresh.add(step)
    assert fresh.to_json() == {"last": 5.0, "median": 3.0, "highest": 5.0, "steps": 3}
    fresh.add({"a": 1.0, "b": None})
    assert fresh.to_json() == {"last": None, "median": 3.0, "highest": 5.0, "steps": 3}
    for _ in range(LAST_STEPS):
        fresh.add({"a": 0.5})
    assert fresh.to_json() == {"last": 0.5, "median": 0.5, "highest": 0.5, "steps": LAST_STEPS}


def put_of(root: Path, name: str, seconds_ago: float | None) -> None:
    """A file with a line, modified so long ago; None: at no time that can be meant."""
    put(root, "log", name, {"line": name})
    moment = 0.0 if seconds_ago is None else time.time() - seconds_ago
    os.utime(root / "source/log" / name, (moment, moment))


def only_lines(tmp_path: Path) -> Path:
    """The shop with files alone, whose times are known."""
    head, _, rest = YAML.partition("    - name: history")
    return make(tmp_path / "shop", head + "    - name: lines" + rest.partition("    - name: lines")[2])


def test_from_the_time_of_a_file_to_the_step_that_publishes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = only_lines(tmp_path)
    put_of(root, "1.json", 10 * MINUTE)
    put_of(root, "2.json", 2 * MINUTE)

    opened(root).run_once()

    found, lines = status(root), connector(root, "log.lines")
    assert lines.freshness is not None
    assert 10 * MINUTE <= lines.freshness < 12 * MINUTE
    assert found.run is not None
    assert found.run.freshness == dict.fromkeys(("last", "median", "highest"), lines.freshness) | {"steps": 1}
    assert (lines.waiting_since, lines.waiting_seconds) == (None, None)
    told = [event.details for event in events(root) if event.event == "step published"][-1]
    assert told["freshness"] == {"log.lines": lines.freshness}
    assert f"freshness: {lines.freshness:.2f} s; of 1 step(s): median" in commands(root, capsys)("status", "shop")
    text = prometheus_text([found])
    for metric in ("pipeline_freshness", "pipeline_freshness_median", "pipeline_freshness_highest", "connector_freshness"):
        assert f"\nreconcile_{metric}_seconds{{" in text
    assert "reconcile_connector_waiting_seconds{" not in text
    pipeline = opened(root)
    _, row = next(rows_back(pipeline.target.registry, "shop", found.step or 0))
    since = ToldOfStep.of_row(row).since["log.lines"]
    assert seconds_between(since, row["at"]) == lines.freshness


@pytest.mark.parametrize("seconds_ago", [None, -MINUTE], ids=["no time", "a clock that is ahead"])
def test_what_is_not_known_is_not_zero(
    seconds_ago: float | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = only_lines(tmp_path)
    put_of(root, "1.json", seconds_ago)

    opened(root).run_once()

    found = status(root)
    assert found.run is not None
    assert found.run.freshness == {"last": None, "median": None, "highest": None, "steps": 0}
    assert connector(root, "log.lines").freshness is None
    assert "freshness: unknown" in commands(root, capsys)("status", "shop")
    assert "freshness" not in "".join(line for line in prometheus_text([found]).splitlines() if line[0] != "#")


def test_a_step_of_which_one_input_does_not_tell_is_not_known(root: Path) -> None:
    # The recording engine does not tell when a Delta table was written.
    put_of(root, "1.json", MINUTE)

    opened(root).run_once()

    run = status(root).run
    assert run is not None
    assert run.freshness["last"] is None
    assert connector(root, "log.lines").freshness is not None


def test_who_finishes_a_step_of_another_process_knows_how_old_its_changes_are(tmp_path: Path) -> None:
    root = only_lines(tmp_path)
    put_of(root, "1.json", 10 * MINUTE)
    with pytest.raises(Crash):
        opened(root).observed(boundary=crash_at("table:effected")).run_once()

    opened(root).run_once()

    found = connector(root, "log.lines").freshness
    assert found is not None
    assert 10 * MINUTE <= found < 12 * MINUTE


def test_what_an_input_that_fails_leaves_waiting_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = only_lines(tmp_path)
    (root / "source/log/1.json").write_text("no record\n" * 200)
    os.utime(root / "source/log/1.json", (time.time() - 10 * MINUTE,) * 2)
    with pytest.raises(ReconcileError, match=r"log\.lines"):
        opened(root).run_once()

    lines = connector(root, "log.lines")
    assert lines.waiting_seconds is not None
    assert 10 * MINUTE <= lines.waiting_seconds < 12 * MINUTE
    assert lines.freshness is None
    assert f"has not read is of {lines.waiting_since} (" in commands(root, capsys)("status", "shop")
    assert "\nreconcile_connector_waiting_seconds{" in prometheus_text([status(root)])


class Small(RecordingEngine):
    """Says that it did all of it without Spark."""

    def build_view(self, build: ViewBuild) -> Built:
        return replace(super().build_view(build), without_spark=True)

    def ingest(self, ingestion: Ingestion) -> Written:
        return replace(super().ingest(ingestion), without_spark=True)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        return replace(super().emit(emission, check), without_spark=True)


OUTPUT = "    - {name: lake, view: parts, transport: {name: delta_table_output, config: {uri: lake}}}\n"


def test_what_a_step_wrote_without_spark_is_in_its_row_and_in_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "shop", YAML + OUTPUT)
    opened(root, Small(DeltaWriter())).run_once()

    found = status(root)
    assert found.run is not None
    assert found.run.without_spark == ("lineitem.history", "parts", "parts.lake")
    said = commands(root, capsys)("status", "shop")
    assert "written without Spark in the last step: lineitem.history, parts, parts.lake\n" in said
    _, row = next(rows_back(opened(root).target.registry, "shop", found.step or 0))
    # Outputs follow what is published: what they were sent is in the log of events.
    assert ToldOfStep.of_row(row).without_spark == ("lineitem.history", "parts")
    assert [event.details["without_spark"] for event in events(root) if event.event == "emission"] == [1, 1]

    put(root, "live", "1.json", {"id": 9, "part": "x"})
    opened(root).run_once()
    assert "written without Spark in the last step: none\n" in commands(root, capsys)("status", "shop")
