"""A run with streams that crashes anywhere and is started again ends as if nothing had happened: rows are added once, and
what a stream remembers is that of its last step.

Where it can crash an undisturbed run tells, as in `test_run_crashes`. Without Spark, over real Delta tables: in every run of
the tests one place of each name that streams have to do with, all places in the slow suite. What is so of any step, wherever
it crashes, `test_run_crashes` shows in every run. On Spark, with rows that mean something: `tests/run/test_streams` (a step
that is withdrawn), and the kills here.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import ColumnType, Engine
from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents
from tests.acceptance.faults import Fault, Faults, Style, run_with
from tests.acceptance.test_run_crashes import all_faults, one_of_each, plain_name, some_faults
from tests.engine.delta_writer import DeltaWriter
from tests.streams.pond import (
    BATCHES,
    HOURLY,
    PIPELINE,
    YAML,
    contents,
    head_of,
    hourly,
    open_pond,
    put_batches,
    rows,
    write_pond,
)

CHAINED = (
    YAML
    + """\
    - name: hours
      deduplicate: {input: hourly, keys: [device], expiry: 1d}
"""
)
STREAMS = ("hourly", "once", "hours")
OF_STREAMS = (
    "step:intended",
    "build_view",
    "view:before",
    "view:intended",
    "view:effected",
    "compact",
    "compaction:effected",
    "replace_head",
    "remove",
)
"""Where rows are added, what a stream remembers is written and published, and what it remembered before goes."""
PARTS = 4


class _NoneIsLate(dict[str, Contents]):
    """Of how many rows came too late, the answer is none: the engine without Spark evaluates no SQL."""

    def __contains__(self, sql: object) -> bool:
        return isinstance(sql, str) and "AS `late`" in sql

    def __missing__(self, sql: str) -> Contents:
        return Contents((ColumnType("late", "BIGINT"),), ((0,),))


class Ended(NamedTuple):
    """What a run left, and the places that it passed."""

    contents: dict[str, Any]
    states: dict[str, Any]
    reached: Sequence[tuple[str, int]]


def engine() -> Engine:
    return EngineBySize(RecordingEngine(DeltaWriter(), answers=_NoneIsLate()), dict, many_files=2)


def left(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is published, and what streams remember, in what folders."""
    published = head_of(root).published
    assert published is not None
    states = {name: published.relations[name].state for name in STREAMS}
    for name, state in states.items():
        assert state is not None
        folder = root / "warehouse" / published.relations[name].location / state.folder
        assert (folder / "_delta_log").is_dir(), f"what {name} remembers is gone"
    return {**contents(root), "hours": rows(root, "hours")}, states


def run(root: Path, fault: Fault | None = None) -> Faults:
    faults = Faults(fault)
    run_with(root, PIPELINE, engine(), faults)
    return faults


def withdrawn_steps(root: Path) -> int:
    history = Project.open(root).target.registry.history(History.STEPS, PIPELINE)
    return sum(row["kind"] == "withdrawn" for row in history)


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline, applied, with its input there and nothing read. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("pond")
    write_pond(root, CHAINED)
    open_pond(root, engine()).apply()
    put_batches(root, 0, 3)
    return root


@pytest.fixture(scope="module")
def undisturbed(pond: Path, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    root = shutil.copytree(pond, tmp_path_factory.mktemp("undisturbed") / "pond")
    reached = run(root).reached
    return Ended(*left(root), reached)


def crashes_and_ends_the_same(fault: Fault, pond: Path, undisturbed: Ended, tmp_path: Path) -> None:
    root = shutil.copytree(pond, tmp_path / plain_name(fault))
    fails: tuple[type[BaseException], ...] = (Crash,) if fault.style is not Style.LOST else (EngineError, RegistryError)
    faults = Faults(fault)
    try:
        run_with(root, PIPELINE, engine(), faults)
    except fails:
        assert faults.has_struck
    assert faults.has_struck
    run(root)
    found, states = left(root)
    if withdrawn_steps(root):
        # What this engine gives tells the number of its step, and a step that was withdrawn used one up.
        assert {name: len(of) for name, of in found.items()} == {name: len(of) for name, of in undisturbed.contents.items()}
    else:
        assert found == undisturbed.contents
        assert states == undisturbed.states
    shutil.rmtree(root)


def test_each_step_adds_rows_and_remembers(undisturbed: Ended) -> None:
    assert {name: len(undisturbed.contents[name]) for name in STREAMS} == dict.fromkeys(STREAMS, 4), (
        "one of the bootstrap, one of each step"
    )
    names = {name for name, _ in undisturbed.reached}
    assert names >= {"view:before", "view:intended", "view:effected", "compaction:effected", "build_view"}


def test_a_run_ends_the_same_wherever_it_crashes(
    pond: Path, undisturbed: Ended, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    faults = one_of_each(some_faults([place for place in undisturbed.reached if place[0] in OF_STREAMS]))
    assert len(faults) >= 8
    # The others, and all other places, in the slow suite.
    for fault in faults[::3]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same(fault, pond, undisturbed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_ends_the_same_wherever_it_crashes_in_full(
    part: int, pond: Path, undisturbed: Ended, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for fault in all_faults(undisturbed.reached)[part::PARTS]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same(fault, pond, undisturbed, tmp_path)


@pytest.mark.slow
def test_a_run_on_spark_that_is_killed_twenty_times_ends_as_if_nothing_had_happened(
    tmp_path: Path, spark_engine: Engine
) -> None:
    """Real kills, at moments by chance, of a process of its own; after each the next one goes on. The first step is not
    disturbed: it says how long a run takes here."""
    write_pond(tmp_path)
    open_pond(tmp_path, spark_engine).apply()
    command = [sys.executable, "-c", "from reconciler.cli.main import main; main()", "run", PIPELINE, "--once", "--repo"]
    chance, kills = random.Random(20), 0
    put_batches(tmp_path, 0, 1)
    began = time.monotonic()
    subprocess.run([*command, str(tmp_path)], stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - began
    for number in range(1, len(BATCHES)):
        put_batches(tmp_path, number, number + 1)
        for _ in range(20 // (len(BATCHES) - 1)):
            process = subprocess.Popen([*command, str(tmp_path)], stdout=subprocess.DEVNULL, start_new_session=True)
            time.sleep(chance.uniform(0.3, 1.0) * whole)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
    open_pond(tmp_path, spark_engine).run_once()
    assert kills >= 10, "most of them came in time"
    assert hourly(tmp_path) == sorted(HOURLY)
    assert [row[0] for row in rows(tmp_path, "once")] == ["a", "b", "c"]
