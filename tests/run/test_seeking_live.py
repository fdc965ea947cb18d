"""Outputs that are put somewhere beside a live run, in a thread and in another process; and by the API."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.controls import read_controls
from tests.engine.delta_writer import DeltaWriter
from tests.shops.emissions import connector
from tests.shops.lineitem import YAML, happened, live, make, opened, put
from tests.shops.runs import commands, rows, status
from tests.shops.sea import Sea, lagging, vacuum
from tests.waiting import wait_until


@contextmanager
def running(sea: Sea) -> Iterator[None]:
    """A live run over this engine, in a thread."""
    stopping = threading.Event()
    going = threading.Thread(
        target=lambda: run_pipeline(
            sea.target, "shop", Session(sea.engine), Pace(once=False, interval_seconds=0.1, stop=stopping.is_set)
        )
    )
    going.start()
    try:
        yield
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()


@pytest.mark.parametrize(
    ("output", "to"),
    [
        ("v.lake", "snapshot"),
        pytest.param("v.topic", "latest", marks=pytest.mark.slow),
        pytest.param("v.lake", "latest", marks=pytest.mark.slow),
        pytest.param("v.topic", "snapshot", marks=pytest.mark.slow),
    ],
)
def test_a_live_run_puts_a_failing_output_there_and_tries_it_at_once(sea: Sea, output: str, to: str) -> None:
    lagging(sea, output)
    vacuum(sea)

    def found() -> Any:
        (one,) = [one for one in sea.pipeline.status().connectors if one.name == output]
        return one

    with running(sea):
        # Two before it, and four of its own: the next one is eight seconds away.
        wait_until(lambda: len(sea.emissions(output)) >= 6)
        assert found().activity == "failing"
        assert "X730" in found().reason
        tries = len(sea.emissions(output))
        if to == "snapshot":
            sea.wipe(output)
        put = sea.seek(output, to)
        assert (put.done, put.live) == (False, True)
        wait_until(lambda: found().activity == "running", seconds=6)
        if to == "snapshot":
            wait_until(lambda: sea.held(output) == [2, 4, 5], seconds=6)
        assert len(sea.emissions(output)) == tries + (to == "snapshot")
    assert read_controls(sea.target.registry, "shop").seeks == {}
    sea.step(2, 4, 5, 6)
    sea.run()
    assert sea.held(output) == ([2, 4, 5, 6] if to == "snapshot" else [1, 2, 6])
    (sought,) = sea.sought()
    assert (sought["to"], sought["by"]) == (to, "somebody")


WITH_LAKE = YAML + connector("lake", "delta_table_output", "lake").replace("view: v,", "view: parts,")


def test_a_live_run_in_another_process_fills_a_sink_that_was_wiped_and_leaves_out_what_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "shop", WITH_LAKE)
    reconcile = commands(root, capsys)
    writer = DeltaWriter()

    def held() -> set[object]:
        version = writer.latest(str(root / "lake"))
        return set() if version is None else set(writer.read(str(root / "lake"), version).rows)

    with live(root):
        wait_until(lambda: status(root).step == 1 and held() == set(rows(root, "parts")))
        first = set(rows(root, "parts"))
        shutil.rmtree(root / "lake")
        said = reconcile("connector", "seek", "shop", "lake", "--to", "snapshot")
        assert said == "parts.lake sends full contents, after the current step of the live run\n"
        wait_until(lambda: held() == first)
        reconcile("connector", "pause", "shop", "lake")
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until(lambda: status(root).step == 2)
        left_out = set(rows(root, "parts"))
        said = reconcile("connector", "seek", "shop", "lake", "--to", "latest")
        assert "of the live run; it skips the changes that it has not sent: its lag was 1 step" in said
        wait_until(lambda: happened(root).count("connector put at a position parts.lake") == 2)
        reconcile("connector", "resume", "shop", "lake")
        put(root, "live", "2.json", {"id": 4, "part": "d"})
        wait_until(lambda: status(root).step == 3 and set(rows(root, "parts")) <= held())
        assert held() == first | set(rows(root, "parts"))
        assert not held() & left_out
        assert run(["stop", "shop", "--repo", str(root)]) == 0


def test_the_api_puts_outputs_as_well(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", WITH_LAKE)
    opened(root).run_once()
    assert opened(root).seek_connector("parts.lake", "latest").done
