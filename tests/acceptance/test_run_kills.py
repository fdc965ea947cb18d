"""`reconcile run --once` in a process of its own, killed with SIGKILL at random moments and started again until it ends by
itself: what is there then is what an undisturbed run leaves.

Thirty kills in the slow suite, in parts that can be run by themselves; what is killed in every run of the tests stands in
`test_run_crashes` (every place, without Spark). The slow suite also stops ten runs with SIGSTOP, lets a second run take over
once their lease has expired, and lets the first go on: what is there then is the same.
The moments are fractions, from a seed, of the time that an undisturbed run works; they count from its first effect, because
most of a short process is the start of its JVM. A run that ends before its moment is checked; then another copy is run until
all kills have landed.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.river import PIPELINE, OnSpark, assert_settled, contents, files_written, netted_messages, positions

pytestmark = pytest.mark.spark

KILLS, STOPS, PARTS = 6, 2, range(5)
"""How many of each part, and which parts there are."""

LONGEST_RUN = 600
LEASE_SECONDS = 8
COMMAND = [sys.executable, "-c", "from reconciler.cli.main import main; main()", "run", PIPELINE, "--once", "--repo"]


class Measured(NamedTuple):
    """Where copies start; what an undisturbed run leaves; how long it works, from its first effect."""

    start: OnSpark
    left: dict[str, Any]
    seconds: float


def left_by(root: Path, start: OnSpark, begin: int) -> dict[str, Any]:
    """Everything that readers find, of the topic what was there when copies started and what stands from `begin` on; nothing
    may be under way any more."""
    assert_settled(root)
    messages = [*start.earlier, *start.messages()[begin:]]
    everything = {"contents": contents(root), "positions": positions(root)}
    return {**everything, "totals.told": netted_messages(messages), "visited.files": files_written(root)}


def start_run(root: Path) -> "subprocess.Popen[bytes]":
    with (root / "run.log").open("ab") as log:
        env = {**os.environ, "RECONCILE_LEASE_SECONDS": str(LEASE_SECONDS)}
        # In a session of its own: what is stopped goes on by itself when the shell that started its process group ends.
        return subprocess.Popen([*COMMAND, str(root)], stdout=log, stderr=log, env=env, start_new_session=True)


def effects(root: Path) -> frozenset[str]:
    """All files of the pipeline's tables and of its outputs."""
    places = (root / "warehouse" / PIPELINE, root / "lake", root / "out")
    return frozenset(str(path) for place in places for path in place.rglob("*"))


def wait_for_effect(process: "subprocess.Popen[bytes]", root: Path, before: frozenset[str]) -> None:
    deadline = time.monotonic() + LONGEST_RUN
    while process.poll() is None and effects(root) <= before:
        assert time.monotonic() < deadline, "the run does nothing"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def undisturbed(river_on_spark: OnSpark, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measure(river_on_spark, tmp_path_factory.mktemp("undisturbed") / "river")


def measure(start: OnSpark, root: Path) -> Measured:
    shutil.copytree(start.root, root)
    before, begin = effects(root), len(start.messages())
    process = start_run(root)
    try:
        wait_for_effect(process, root, before)
        began = time.monotonic()
        assert process.wait(LONGEST_RUN) == 0, (root / "run.log").read_text()
    finally:
        process.kill()
        process.wait()
    return Measured(start, left_by(root, start, begin), time.monotonic() - began)


def killed_it_ends_the_same(part: int, measured: Measured, tmp_path: Path) -> None:
    chance, landed, copies = random.Random(f"kills {part}"), 0, 0
    while landed < KILLS:
        copies += 1
        assert copies <= 3 * KILLS, "runs end before they are killed"
        root = tmp_path / f"river-{copies}"
        shutil.copytree(measured.start.root, root)
        begin = len(measured.start.messages())
        while not ended_by_itself(root, chance.random() * measured.seconds if landed < KILLS else None):
            landed += 1
        assert left_by(root, measured.start, begin) == measured.left
        shutil.rmtree(root)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_first_run_that_is_killed_at_some_moments_ends_as_if_nothing_had_happened(
    part: int, undisturbed: Measured, tmp_path: Path
) -> None:
    killed_it_ends_the_same(part, undisturbed, tmp_path)


def ended_by_itself(root: Path, kill_after: float | None) -> bool:
    """Start the run, and kill it so long after its first effect, if it still runs then."""
    before = effects(root)
    process = start_run(root)
    try:
        if kill_after is not None:
            wait_for_effect(process, root, before)
            try:
                process.wait(kill_after)
            except subprocess.TimeoutExpired:
                process.kill()
        code = process.wait(LONGEST_RUN)
    finally:
        process.kill()
        process.wait()
    if code == -signal.SIGKILL:
        return False
    assert code == 0, (root / "run.log").read_text()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_runs_that_are_stopped_taken_over_and_come_back_leave_what_an_undisturbed_run_does(
    part: int, undisturbed: Measured, tmp_path: Path
) -> None:
    chance, stopped, copies = random.Random(f"stops {part}"), 0, 0
    while stopped < STOPS:
        copies += 1
        assert copies <= 3 * STOPS, "runs end before they are stopped"
        root = tmp_path / f"river-{copies}"
        shutil.copytree(undisturbed.start.root, root)
        begin = len(undisturbed.start.messages())
        if is_taken_over(root, chance.random() * undisturbed.seconds):
            stopped += 1
            assert left_by(root, undisturbed.start, begin) == undisturbed.left
        shutil.rmtree(root)


def is_taken_over(root: Path, stop_after: float) -> bool:
    """Start the run, stop it so long after its first effect, and let it go on when another run has ended; False where it
    ended before its moment. What it says in the end is that it holds the lease no more."""
    before = effects(root)
    process = start_run(root)
    try:
        wait_for_effect(process, root, before)
        try:
            process.wait(stop_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGSTOP)
        else:
            return False
        time.sleep(LEASE_SECONDS + 1)
        said = (root / "run.log").stat().st_size
        assert ended_by_itself(root, None)
        between = (root / "run.log").stat().st_size
        assert between > said, "the second run says what it did"
        process.send_signal(signal.SIGCONT)
        code = process.wait(LONGEST_RUN)
        # A run that was stopped after the last thing it writes under the lease has nothing left to lose.
        assert code == 0 or "A503" in (root / "run.log").read_text()[between:], (root / "run.log").read_text()
    finally:
        process.kill()
        process.wait()
    return True
