"""A run that crashes anywhere and is started again ends as if nothing had happened: tables, views, dead letters, positions,
and what its outputs have written, as multisets.

Where it can crash is not listed here: an undisturbed run writes down every boundary that it passes, every call of the
engine and every write of the registry, and each of these is a place to crash: before it, after it, or with its answer lost
to a process that lives on. What `delta.publishing.publish` commits lies between `view:intended` and `view:effected`.

Without Spark, over real Delta tables and files, with outputs to tables and files as the product writes them: in every run
of the tests one place of each third name, all places in the slow suite. On Spark: `test_run_crashes_on_spark`.
"""

import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from reconciler.registry.protocol import History
from reconciler.testing.crashes import Crash
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.recording_sinks import Sinks
from tests.acceptance.faults import EFFECTS, WRITES, Fault, Faults, Style, run_with
from tests.acceptance.river import (
    PIPELINE,
    assert_settled,
    contents,
    exact_state,
    files_written,
    mend,
    netted_rows,
    netted_sink,
    open_river,
    positions,
    second_half,
    spoil,
    write_river,
)
from tests.engine.delta_writer import DeltaWriter

BOUNDARIES = {
    "intent:before",
    "step:intended",
    "table:before",
    "table:effected",
    "compaction:before",
    "compaction:effected",
    "view:before",
    "view:intended",
    "view:effected",
    "step:before",
    "history:recorded",
    "step:recorded",
    "emit:before",
    "emit:effected",
}
"""Those that are known to lie on the way of a step; a run may pass more."""

WITHDRAWAL = {"withdrawal:intended", "withdrawal:effected"}
CALLS = {*EFFECTS, *WRITES}

STEPS_AT_MOST = 20
"""Of one run. It takes a handful; one that reads the same again and again would never end."""


class Bounded(Faults):
    """Faults of a run that may not go on for ever."""

    def boundary(self, name: str) -> None:
        if name == "step:intended" and (name, STEPS_AT_MOST) in self.reached:
            pytest.fail(f"a run that is not done after {STEPS_AT_MOST} steps")
        super().boundary(name)


class Undisturbed(NamedTuple):
    """What became of a run with nothing in its way, and the places that it passed."""

    contents: dict[str, Any]
    positions: dict[str, Any]
    exact: dict[str, Any]
    sinks: dict[str, Any]
    compactions: dict[str, int]
    reached: list[tuple[str, int]]


class River:
    """A copy of the baseline, and what the recording engine's sinks got in all the runs over it."""

    def __init__(self, baseline: Path, root: Path) -> None:
        self.root = root
        shutil.copytree(baseline, root)
        self.sinks = Sinks()

    def engine(self) -> Engine:
        return EngineBySize(RecordingEngine(DeltaWriter(), sinks=self.sinks), dict, many_files=2)

    def run(self, fault: Fault | None = None) -> Faults:
        faults = Bounded(fault)
        run_with(self.root, PIPELINE, self.engine(), faults)
        return faults

    def run_through(self, fault: Fault, must_strike: bool = True) -> None:
        """A run in which a fault happens, and which fails by it, or ends in spite of it."""
        faults = Bounded(fault)
        fails: tuple[type[BaseException], ...] = (Crash,) if fault.style is not Style.LOST else (EngineError, RegistryError)
        try:
            run_with(self.root, PIPELINE, self.engine(), faults)
        except fails:
            assert faults.has_struck
        else:
            assert fault.style is Style.LOST or not faults.has_struck
        assert faults.has_struck or not must_strike

    def told(self) -> dict[str, Any]:
        """What readers of the other outputs have in the end, and what they were given."""
        told = {name: netted_sink(given) for name, given in sorted(self.sinks.messages.items())}
        files = {"totals.told": "out/told", "visited.files": "out/visited"}
        return {**told, **{name: netted_rows(files_written(self.root, place)) for name, place in files.items()}}

    def compactions(self) -> dict[str, int]:
        """How often small files of a table were put together."""
        logs = Counter[str]()
        for entry in (self.root / "warehouse").rglob("_delta_log/*.json"):
            logs[entry.parents[1].name] += '"operation":"OPTIMIZE"' in entry.read_text()
        return {name: count for name, count in sorted(logs.items()) if count}

    def withdrawn_steps(self) -> int:
        rows = open_river(self.root, self.engine()).target.registry.history(History.STEPS, PIPELINE)
        return sum(row["kind"] == "withdrawn" for row in rows)


def some_faults(reached: Sequence[tuple[str, int]]) -> list[Fault]:
    """What can happen at the first and the last place of each name. Just before and just after the engine's effects there
    are boundaries, so that only lost answers are left for them."""
    last = Counter(name for name, _ in reached)
    found = all_faults([(name, number) for name, number in reached if number in (1, last[name])])
    return [fault for fault in found if fault.style is Style.LOST or fault.name not in EFFECTS]


def one_of_each(faults: Sequence[Fault]) -> list[Fault]:
    """Every name once, by turns: where it comes last and where it comes first, in each way that it can go wrong."""
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        kinds.setdefault(fault.name, []).append(fault)
    return [found[-1 - number % len(found)] for number, found in enumerate(kinds.values())]


def plain_name(fault: Fault) -> str:
    """A name for a folder; what is written without Spark goes to plain ones only."""
    return re.sub(r"\W+", "-", str(fault))


PARTS = 8
IN_PARTS = pytest.mark.parametrize("part", range(PARTS))
"""The long matrices go in parts, which may be run one by one, and beside one another."""


def all_faults(reached: Sequence[tuple[str, int]]) -> list[Fault]:
    """Everything that can happen. A boundary has no effect and no answer: there is only being there. How often a run tells
    of itself depends on the clock; that it does is certain once."""
    return [
        Fault(name, number, style)
        for name, number in reached
        for style in (Style if name in CALLS else (Style.BEFORE,))
        if number == 1 or name != "replace_report"
    ]


@pytest.fixture(scope="module")
def river(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline, applied, with all its input and nothing read. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("river")
    write_river(root)
    second_half(root)
    # By itself in its step: appended without an engine, to a table that has a small file already.
    (root / "source/archive/2.csv").write_text("customer,page\neve,/c\nann,/c\n")
    open_river(root, RecordingEngine(DeltaWriter())).apply()
    return root


@pytest.fixture(scope="module")
def undisturbed(river: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    one = River(river, tmp_path_factory.mktemp("undisturbed") / "river")
    reached = one.run().reached
    assert_settled(one.root)
    return Undisturbed(
        contents(one.root), positions(one.root), exact_state(one.root), one.told(), one.compactions(), reached
    )


@pytest.fixture(scope="module")
def mended(river: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The run in which the engine refuses a step, then, the file being mended, another one. The places are of the first."""
    one = River(river, tmp_path_factory.mktemp("mended") / "river")
    spoil(one.root)
    faults = Bounded()
    with pytest.raises(EngineError, match=r"orders\.spoiled"):
        run_with(one.root, PIPELINE, one.engine(), faults)
    assert one.withdrawn_steps() == 1
    mend(one.root)
    one.run()
    assert_settled(one.root)
    return Undisturbed(contents(one.root), positions(one.root), {}, one.told(), {}, faults.reached)


def ends_the_same(one: River, undisturbed: Undisturbed) -> None:
    assert_settled(one.root)
    assert contents(one.root) == undisturbed.contents
    assert positions(one.root) == undisturbed.positions
    assert one.told() == undisturbed.sinks


def crashes_and_ends_the_same(faults: Sequence[Fault], river: Path, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """One run after the other, each with its fault, then one that ends by itself."""
    one = River(river, tmp_path / plain_name(faults[0]))
    for number, fault in enumerate(faults):
        # What the first one left, the next may have nothing more to do with.
        one.run_through(fault, must_strike=number == 0)
    one.run()
    ends_the_same(one, undisturbed)
    if not one.withdrawn_steps():
        # And nothing was done twice. An output whose answer was lost catches up with fewer emissions.
        differs = {"outputs"} if any(fault.style is Style.LOST for fault in faults) else set()
        exact = exact_state(one.root)
        assert {key: exact[key] for key in exact.keys() - differs} == {
            key: undisturbed.exact[key] for key in exact.keys() - differs
        }
    shutil.rmtree(one.root)


def test_the_scenario_takes_some_steps_and_passes_every_boundary(undisturbed: Undisturbed, mended: Undisturbed) -> None:
    assert undisturbed.exact["step"] == 3
    names = {name for name, _ in undisturbed.reached}
    assert names >= BOUNDARIES
    assert names >= {"ingest", "build_view", "emit", "replace_head", "append", "replace_report"}
    assert {name for name, _ in mended.reached} >= {*BOUNDARIES, *WITHDRAWAL}
    assert all(undisturbed.contents.values())
    assert len(undisturbed.contents["dead letters"]) == 5
    assert undisturbed.compactions == {"clicks": 1}
    # The engine that runs it makes one row of a view, by all that it read: no other contents have the same.
    assert undisturbed.sinks == {
        "totals.told": Counter(undisturbed.contents["totals"]),
        "visited.files": Counter(undisturbed.contents["visited"]),
    }
    assert undisturbed.contents["lake"] == undisturbed.contents["totals"]
    assert len(mended.contents["orders"]) == len(undisturbed.contents["orders"]) + 2


def test_a_run_that_ended_does_nothing_when_it_is_started_again(
    river: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    one = River(river, tmp_path / "river")
    one.run()
    again = one.run()
    assert not {name for name, _ in again.reached} & {*EFFECTS, *BOUNDARIES, *WITHDRAWAL}
    ends_the_same(one, undisturbed)
    assert exact_state(one.root) == undisturbed.exact


def test_a_run_ends_the_same_wherever_it_crashes(
    river: Path, undisturbed: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    faults = one_of_each(some_faults(undisturbed.reached))
    assert {fault.name for fault in faults} >= {*BOUNDARIES, "ingest", "build_view", "emit", "replace_head", "append"}
    for fault in faults[::3]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same([fault], river, undisturbed, tmp_path)


def test_a_run_ends_the_same_that_crashes_where_small_files_are_put_together(
    river: Path, undisturbed: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    # The last write of the run is the one after which they are. Who dies just before and just after it dies at a boundary.
    last = dict(undisturbed.reached)
    styles = {"compaction:before": (Style.BEFORE,), "compact": (Style.LOST,), "compaction:effected": (Style.BEFORE,)}
    for name in styles:
        for style in styles[name]:
            fault = Fault(name, last[name], style)
            with subtests.test(str(fault)):
                crashes_and_ends_the_same([fault], river, undisturbed, tmp_path)


@pytest.mark.slow
@IN_PARTS
def test_a_run_ends_the_same_wherever_it_crashes_in_full(
    part: int, river: Path, undisturbed: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for fault in all_faults(undisturbed.reached)[part::PARTS]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same([fault], river, undisturbed, tmp_path)


@pytest.mark.parametrize("count", [2, pytest.param(150, marks=pytest.mark.slow)])
def test_a_run_that_crashes_again_and_again_ends_the_same(
    count: int, river: Path, undisturbed: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    chance = random.Random(count)
    for _ in range(count):
        # The first third of a run is where there is most left to be done by the next.
        early = all_faults(undisturbed.reached[: len(undisturbed.reached) // 3])
        faults = [chance.choice(early) for _ in range(3)]
        with subtests.test(", ".join(map(str, faults))):
            crashes_and_ends_the_same(faults, river, undisturbed, tmp_path)


def withdrawn_and_ends_the_same(fault: Fault, tries_again: bool, river: Path, mended: Undisturbed, tmp_path: Path) -> int:
    """A fault in a run with a step that the engine refuses; then the file is mended, at once or after another try. How many
    steps were withdrawn: none, if the fault came before the refusal and there was no other try."""
    one = River(river, tmp_path / plain_name(fault))
    spoil(one.root)
    one.run_through(fault)
    if tries_again:
        with pytest.raises(EngineError, match=r"orders\.spoiled"):
            one.run()
    mend(one.root)
    one.run()
    ends_the_same(one, mended)
    withdrawn = one.withdrawn_steps()
    shutil.rmtree(one.root)
    return withdrawn


def refused_call(mended: Undisturbed) -> int:
    """Where among the places the call is that the engine refused."""
    at = mended.reached.index(("withdrawal:intended", 1))
    while mended.reached[at][0] != "ingest":
        at -= 1
    return at


def faults_of_withdrawal(mended: Undisturbed) -> list[Fault]:
    """From the call that the engine refused until the intent is closed."""
    begin = refused_call(mended)
    end = mended.reached.index(("withdrawal:effected", 1))
    while mended.reached[end][0] != "replace_head":
        end += 1
    return all_faults(mended.reached[begin + 1 : end + 1])


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_step_that_is_refused_is_put_back_wherever_that_crashes(
    is_whole: bool, river: Path, mended: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    faults = faults_of_withdrawal(mended)
    faults = faults if is_whole else one_of_each(faults)
    assert {fault.name for fault in faults} >= {*WITHDRAWAL, "replace_head", "append"}
    for number, fault in enumerate(faults if is_whole else faults[::2]):
        with subtests.test(str(fault)):
            assert withdrawn_and_ends_the_same(fault, bool(number % 2), river, mended, tmp_path) >= 1


@pytest.mark.slow
@IN_PARTS
def test_a_run_with_a_step_that_is_refused_ends_the_same_wherever_it_crashes(
    part: int, river: Path, mended: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    refused = refused_call(mended)
    # What is refused has no effect after which a process could die.
    places = [*mended.reached[:refused], *mended.reached[refused + 1 :]]
    for fault in all_faults(places)[part::PARTS]:
        with subtests.test(str(fault)):
            withdrawn_and_ends_the_same(fault, False, river, mended, tmp_path)
