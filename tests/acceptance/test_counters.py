"""The counts of connectors go on over restarts and never fall, whatever dies when: a run that is killed anywhere, and the
next one that is killed while it replays, begins or ends. After every write of the registry and every call of the engine the
report is looked at, by whoever reads it then."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError, RegistryError
from reconciler.run.reporting import Reporter
from reconciler.state.lease import this_process
from reconciler.testing.crashes import Crash
from reconciler.testing.memory import MemoryRegistry
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.faults import Fault, Faults, Style, run_with
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import connector, make, opened, put
from tests.shops.runs import status

COUNTS = ("rows", "inserted", "deleted", "rejected", "unmatched", "dropped")
BEFORE = {"lineitem.history": 2, "lineitem.live": 1, "log.lines": 3}
"""What was read, and counted, before anything dies."""


@dataclass(slots=True)
class Watched(Faults):
    """Faults, with a look at the report after everything that is reached. `seen` goes on over processes."""

    look: Callable[[], dict[str, int]] = dict
    seen: dict[str, int] = field(default_factory=dict)

    def call(self, name: str, effect: Callable[[], Any], error: Callable[[], Exception]) -> Any:
        try:
            return Faults.call(self, name, effect, error)
        finally:
            for count, number in (found := self.look()).items():
                assert number >= self.seen.get(count, 0), f"{count} fell from {self.seen[count]} to {number} at {name}"
            self.seen |= found


def counts(root: Path) -> dict[str, int]:
    """All counts of all connectors, as the report has them."""
    report = opened(root).target.registry.report("shop") or {}
    known: JsonObject = report.get("connectors") or {}
    absent = {f"{key} {count}": 0 for key in BEFORE for count in COUNTS}
    return absent | {f"{key} {count}": int(told.get(count) or 0) for key, told in known.items() for count in COUNTS}


def run(root: Path, seen: dict[str, int], fault: Fault | None = None) -> Watched:
    """A run to its end, or to the death that the fault is."""
    faults = Watched(fault, look=lambda: counts(root), seen=seen)
    with suppress(Crash, ReconcileError):
        run_with(root, "shop", RecordingEngine(DeltaWriter()), faults)
    return faults


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has read something, and has more to read."""
    root = make(tmp_path_factory.mktemp("counters") / "shop")
    put(root, "log", "1.json", {"line": "a"}, {"line": "b"}, {"line": "c"})
    put(root, "live", "1.json", {"id": 3, "part": "c"}, {"id": "no number"})
    opened(root).run_once()
    assert {name: connector(root, name).rows for name in BEFORE} == BEFORE
    put(root, "log", "2.json", {"line": "d"})
    put(root, "live", "2.json", {"id": 4, "part": "d"})
    return root


def places(origin: Path, to: Path) -> list[tuple[str, int]]:
    """Everything that an undisturbed run comes to."""
    shutil.copytree(origin, to)
    return run(to, {}).reached


def die_twice(origin: Path, root: Path, first: Fault, second: Fault) -> None:
    shutil.copytree(origin, root)
    seen = counts(root)
    run(root, seen, first)
    run(root, seen, second)
    run(root, seen)
    run(root, seen)
    found = status(root)
    assert found.state.value == "Stopped"
    for one in found.connectors:
        assert one.rows >= BEFORE[one.name]


STYLES = (Style.BEFORE, Style.AFTER)


def pairs(origin: Path, to: Path) -> list[tuple[Fault, Fault]]:
    reached = places(origin, to)
    # A run that is killed where another one was killed already has not come far.
    early = [place for place in reached if Counter(name for name, _ in reached)[place[0]] == 1 or place[1] <= 2]
    return [
        (Fault(*first, style), Fault(*second, Style.BEFORE))
        for first in reached
        for style in STYLES
        for second in (*early, ("table:before", 1), ("step:intended", 1))
    ]


@pytest.mark.parametrize("number", mostly_slow(range(4), 0, 1))
def test_counts_never_fall_where_two_runs_die(number: int, origin: Path, tmp_path: Path) -> None:
    first, second = random.Random(number).choice(pairs(origin, tmp_path / "undisturbed"))
    die_twice(origin, tmp_path / "shop", first, second)


def test_a_run_that_dies_while_it_replays_what_another_left_open(origin: Path, tmp_path: Path) -> None:
    first, second = Fault("table:effected", 1, Style.BEFORE), Fault("table:before", 1, Style.BEFORE)
    die_twice(origin, tmp_path / "shop", first, second)


@pytest.mark.slow
def test_counts_never_fall_wherever_two_runs_die(origin: Path, tmp_path: Path) -> None:
    """Each place once as that of the first death, with some place of the second."""
    every, seed = pairs(origin, tmp_path / "undisturbed"), random.Random(42)
    chosen = dict(seed.sample(every, len(every)))
    for number, (first, second) in enumerate(chosen.items()):
        try:
            die_twice(origin, tmp_path / str(number), first, second)
        except BaseException:
            print(f"first {first}, then {second}")
            raise
        shutil.rmtree(tmp_path / str(number))


def test_status_shows_the_counts_while_a_run_replays(origin: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    shutil.copytree(origin, root)
    run(root, {}, Fault("table:effected", 1, Style.BEFORE))
    shown: list[tuple[str, int]] = []

    def look() -> dict[str, int]:
        told = (opened(root).target.registry.report("shop") or {})["state"]
        shown.append((told, connector(root, "log.lines").rows))
        return counts(root)

    with suppress(Crash):
        run_with(root, "shop", RecordingEngine(DeltaWriter()), Watched(None, look=look))
    replaying = [rows for state, rows in shown if state == "Replaying"]
    assert replaying
    assert min(replaying) == 3


def test_a_report_that_can_not_be_read_at_first_is_gone_on_from_later() -> None:
    """Nothing is told before that; it would be told from nothing."""

    class Unreadable(MemoryRegistry):
        is_away = False

        def report(self, pipeline: str) -> JsonObject | None:
            if self.is_away:
                raise RegistryError("G602", "away")
            return super().report(pipeline)

    registry = Unreadable()
    before = {"rows": 1220, "direction": "input", "activity": "running"}
    registry.replace_report("shop", {"connectors": {"log.lines": before}})
    registry.is_away = True
    reporter = Reporter(registry, "shop", this_process("run"), once=False)
    reporter.write(at_once=True)
    registry.is_away = False
    assert (registry.report("shop") or {})["connectors"]["log.lines"]["rows"] == 1220
    reporter.write(at_once=True)
    told = registry.report("shop") or {}
    assert (told["state"], told["connectors"]["log.lines"]["rows"]) == ("Initializing", 1220)
