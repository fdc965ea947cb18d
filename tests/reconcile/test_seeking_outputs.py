"""Outputs that are put somewhere: full contents anew, or only what changes from now on; with and without a live run, after
half of an emission, after a crash at any point, and after a vacuum took what they needed."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from reconciler.cli.main import run
from reconciler.engine.protocol import Emission, Emitted
from reconciler.engine.recording import Contents, RecordingEngine
from reconciler.engine.recording_sinks import Message
from reconciler.errors import EngineError, NotFound, ReconcileError
from reconciler.reconcile.boundaries import Boundary, Crash, crash_at, no_boundary
from reconciler.reconcile.controls import read_controls, seek_connector
from reconciler.reconcile.emitting import Place, put_output
from reconciler.reconcile.events import read_events
from reconciler.reconcile.lagging import lagging_steps
from reconciler.reconcile.pausing import Put, put_connector
from reconciler.reconcile.running import Running, run_pipeline
from reconciler.registry.model import Placement, Published
from reconciler.registry.protocol import History
from tests.engine.delta_writer import DeltaWriter
from tests.reconcile.emissions import OTHER_QUERY, Shop, connector, files, lake, topic
from tests.reconcile.lineitem import YAML, happened, live, make, opened, put, wait_until
from tests.reconcile.runs import commands, rows, status

SINKS: dict[str, Callable[[], str]] = {"v.lake": lake, "v.files": files, "v.topic": topic}
EVERY_SINK = pytest.mark.parametrize("output", list(SINKS))


class VacuumedWriter(DeltaWriter):
    """Real Delta tables; a version that can't be read any more is an error of the engine."""

    code = "X730"

    def read(self, location: str, version: int) -> Contents:
        try:
            return super().read(location, version)
        except Exception as error:
            # deltalake has several classes for a log and for files that are not there.
            raise EngineError(self.code, f"the table at {location} has no version {version}", "vacuum") from error


class FilesGone(VacuumedWriter):
    """The same, as it may be told where the log still knows the version."""

    code = "X714"


@dataclass(slots=True)
class HalfWriting(RecordingEngine):
    """An engine that fails in the middle of emissions of outputs that `breaking` names: a sink that keeps transactions has
    the whole then, any other the first half of it."""

    breaking: set[str] = field(default_factory=set)

    def emit(self, emission: Emission) -> Emitted:
        emitted = RecordingEngine.emit(self, emission)
        if emission.connector in self.breaking:
            given = self.sinks.messages.get(emission.connector)
            if given:
                half = given[-1].inserted[: len(given[-1].inserted) // 2]
                given[-1] = replace(given[-1], inserted=half, deleted=())
            raise EngineError("X750", f"connector {emission.connector}: the sink went away")
        return emitted


class Sea(Shop):
    """The shop with an engine that can break, and runs instead of single emissions."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.engine: HalfWriting = HalfWriting(VacuumedWriter(), answers=self.answers)

    @property
    def target(self) -> Any:
        return self.pipeline._project.target

    def run(self, boundary: Boundary = no_boundary) -> str:
        """A run until nothing is new; the code that it ended with, if it did."""
        try:
            run_pipeline(self.target, "shop", Running(self.engine, boundary=boundary), once=True)
        except EngineError as error:
            return error.code
        return ""

    def seek(self, output: str, to: Any, boundary: Boundary = no_boundary) -> Put:
        return put_connector(self.target, "shop", output, to, "somebody", boundary=boundary)

    def wish(self, output: str, to: Any) -> None:
        seek_connector(self.target.registry, "shop", output, to, "somebody")

    def emissions(self, output: str) -> list[Emission]:
        return [one for one in self.engine.calls if isinstance(one, Emission) and one.connector == output]

    def wipe(self, output: str) -> None:
        shutil.rmtree(self.root / "lake", ignore_errors=True)
        self.engine.sinks.messages.pop(output, None)

    def held(self, output: str) -> list[int]:
        """What somebody who follows a sink from its beginning has now: for messages, those of a serial once, the last time
        that it was written."""
        if output == "v.lake":
            return [] if self.commits() is None else self.lake()
        last: dict[int, Message] = {}
        for message in self.messages(output):
            last[message.serial] = message
        found: list[int] = []
        for _, message in sorted(last.items()):
            found = [] if message.replaces else found
            for (gone,) in message.deleted:
                if gone in found:
                    found.remove(gone)
            found += [row[0] for row in message.inserted]
        return sorted(found)

    def sought(self) -> list[dict[str, Any]]:
        found = read_events(self.target.registry, "shop")
        return [dict(event.details) for event in found if event.event == "connector put at a position"]


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    return Sea(tmp_path)


def lagging(sea: Sea, output: str) -> None:
    """The output was sent (1, 2), and nothing of three steps since: 4 is pinned, 5 and then 1 are not."""
    sea.rows(1, 2)
    sea.apply(SINKS[output]())
    assert sea.run() == ""
    sea.engine.sinks.failing.add(output)
    sea.step(1, 2, 4)
    assert sea.run() == "X750"
    sea.step(1, 2, 4, 5)
    sea.step(2, 4, 5)
    sea.engine.sinks.failing.clear()


# Where an output can go, and what its sink gets.


@EVERY_SINK
def test_snapshot_sends_full_contents_of_the_published_step_next(sea: Sea, output: str) -> None:
    lagging(sea, output)
    before = sea.head().outputs[output]
    sea.wipe(output)
    assert sea.seek(output, "snapshot").done
    state, published = sea.head().outputs[output], sea.head().published
    assert published is not None
    assert state.sending is not None
    assert (state.sending.before, state.sending.after) == (None, published.relations["v"].version)
    assert (state.sending.step, state.sending.replaces, state.skips) == (published.step, False, ())
    assert sea.run() == ""
    assert sea.held(output) == [2, 4, 5]
    sea.step(2, 4, 5, 6)
    assert sea.run() == ""
    assert sea.held(output) == [2, 4, 5, 6]
    assert [one.transaction.version for one in sea.emissions(output)][-2:] == [before.serial + 1, before.serial + 2]
    assert len({one.transaction.application for one in sea.emissions(output)}) == 1, "its sink knows it by its id"


@EVERY_SINK
def test_full_contents_come_on_top_of_what_a_sink_holds(sea: Sea, output: str) -> None:
    lagging(sea, output)
    sea.seek(output, "snapshot")
    sea.run()
    assert sea.held(output) == [1, 2, 2, 4, 5], "as `on_bootstrap: full` does"


@EVERY_SINK
def test_latest_sends_only_what_changes_after_the_published_step(sea: Sea, output: str) -> None:
    lagging(sea, output)
    before = sea.head().outputs[output]
    put = sea.seek(output, "latest")
    assert (put.done, put.lagged_steps) == (True, 3)
    state, published = sea.head().outputs[output], sea.head().published
    assert published is not None
    assert (state.sent, state.sending, state.serial) == (published.relations["v"].version, None, before.serial)
    known = len(sea.emissions(output))
    assert sea.run() == ""
    assert sea.held(output) == [1, 2]
    assert len(sea.emissions(output)) == known, "nothing is due"
    sea.step(2, 4, 5, 6)
    assert sea.run() == ""
    assert sea.held(output) == [1, 2, 6]
    assert sea.emissions(output)[-1].transaction.version == before.serial + 1


def test_the_other_outputs_go_on_as_they_were(sea: Sea) -> None:
    sea.rows(1)
    sea.apply(lake(), files(), topic())
    sea.run()
    sea.engine.sinks.failing.update(SINKS)
    sea.step(1, 2)
    sea.run()
    others = {key: state for key, state in sea.head().outputs.items() if key != "v.lake"}
    sea.seek("v.lake", "latest")
    assert {key: state for key, state in sea.head().outputs.items() if key != "v.lake"} == others
    sea.engine.sinks.failing.clear()
    assert sea.run() == ""
    assert {output: sea.held(output) for output in SINKS} == {"v.lake": [1], "v.files": [1, 2], "v.topic": [1, 2]}


def test_an_output_that_lacks_nothing_is_sent_everything_again_or_nothing(sea: Sea) -> None:
    sea.rows(1, 2)
    sea.apply(topic())
    sea.run()
    assert sea.seek("topic", "latest").lagged_steps == 0
    sea.run()
    assert len(sea.messages("v.topic")) == 1
    sea.seek("topic", "snapshot")
    sea.run()
    first, second = sea.messages("v.topic")
    assert (first.inserted, first.deleted) == (second.inserted, second.deleted)
    assert second.serial > first.serial, "nobody takes it for the first one's repeat"


@pytest.mark.parametrize(("to", "held"), [("snapshot", [3]), ("latest", [1, 2])])
def test_a_sink_that_was_to_be_emptied_is_before_full_contents_and_never_at_latest(
    sea: Sea, to: str, held: list[int]
) -> None:
    sea.rows(1, 2)
    truncates = lake(more=", on_bootstrap: truncate")
    sea.apply(truncates)
    sea.run()
    sea.rows(3)
    sea.apply(truncates, program=OTHER_QUERY)
    sea.seek("v.lake", to)
    assert sea.run() == ""
    assert sea.held("v.lake") == held
    sea.step(3, 4)
    sea.run()
    assert sea.held("v.lake") == sorted([*held, 4])


@pytest.mark.parametrize(("to", "held"), [("snapshot", [7, 8, 9]), ("latest", [])])
def test_what_was_to_be_skipped_is_no_matter_any_more(sea: Sea, to: str, held: list[int]) -> None:
    sea.rows(1)
    silent = lake(more=", on_bootstrap: silent")
    sea.apply(silent)
    sea.run()
    sea.engine.sinks.failing.add("v.lake")
    sea.step(1, 2)
    sea.run()
    sea.step(1, 2, 3)
    sea.rows(7, 8)
    sea.apply(silent, program=OTHER_QUERY)
    sea.step(7, 8, 9)
    sea.engine.sinks.failing.clear()
    assert sea.head().outputs["v.lake"].skips
    sea.wipe("v.lake")
    sea.seek("v.lake", to)
    for _ in range(3):
        assert sea.run() == ""
    assert sea.held("v.lake") == held
    sea.step(7, 8, 9, 10)
    sea.run()
    assert sea.held("v.lake") == [*held, 10]


def test_an_output_of_an_older_version_has_no_state_and_can_be_put_anywhere(sea: Sea) -> None:
    sea.rows(1, 2)
    sea.apply(lake())
    head, program = replace(sea.head(), outputs={}), sea.program()
    output = program.connectors["v.lake"]
    version = head.published.relations["v"].version if head.published else None
    full = put_output(head, program, output, Place.SNAPSHOT, "an id").outputs["v.lake"]
    assert full.sending is not None
    assert (full.sending.before, full.sending.after, full.id != "") == (None, version, True)
    latest = put_output(head, program, output, Place.LATEST, "an id").outputs["v.lake"]
    assert (latest.sent, latest.sending, latest.sought) == (version, None, "an id")
    emptied = replace(head, outputs={"v.lake": replace(latest, replaces=True)})
    assert put_output(emptied, program, output, Place.LATEST, "another").outputs["v.lake"].replaces is False
    sending = put_output(emptied, program, output, Place.SNAPSHOT, "another").outputs["v.lake"].sending
    assert sending is not None
    assert sending.replaces
    nothing = replace(head, published=Published(1, "now", {"t": Placement("shop/t", 1)}))
    with pytest.raises(ReconcileError) as caught:
        put_output(nothing, program, output, Place.LATEST, "an id")
    assert caught.value.code == "A512"


@pytest.mark.parametrize("to", ["earliest", 3, None, True, ["latest"], {"offsets": [1]}, {"latest": 1}, "Snapshot", ""])
def test_it_can_go_nowhere_else(sea: Sea, to: Any) -> None:
    sea.apply(*(sink() for sink in SINKS.values()))
    before = sea.head()
    for output in SINKS:
        with pytest.raises(ReconcileError) as caught:
            sea.seek(output, to)
        assert caught.value.code == "A512"
        assert "snapshot" in (caught.value.hint or "")
        assert "latest" in (caught.value.hint or "")
    assert sea.head() == before
    assert read_controls(sea.target.registry, "shop").seeks == {}


def test_an_output_that_nobody_knows_is_an_error_with_a_suggestion(sea: Sea) -> None:
    sea.apply(lake())
    with pytest.raises(NotFound) as caught:
        sea.seek("v.lakes", "snapshot")
    assert caught.value.code == "A511"
    assert caught.value.hint == "did you mean 'v.lake'?"
    assert sea.seek("LAKE", "snapshot").connector.qualified_name == "v.lake"


def test_what_outputs_take_inputs_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reconcile = commands(make(tmp_path / "shop"), capsys)
    for name in ("lineitem.history", "live"):
        said = reconcile("connector", "seek", "shop", name, "--to", "snapshot", code=1)
        assert "A512" in said
        assert "earliest" in said


# What was half written when its pin was dropped.


@pytest.mark.parametrize(
    ("to", "held"),
    [
        # What a sink without transactions has of the dropped emission stays half.
        ("snapshot", {"v.lake": [1, 3, 3, 4, 4, 5, 5], "v.files": [1, 2, 3, 3, 4, 5], "v.topic": [1, 2, 3, 3, 4, 5]}),
        ("latest", {"v.lake": [1, 3, 4, 5], "v.files": [1, 2, 3], "v.topic": [1, 2, 3]}),
    ],
)
@EVERY_SINK
def test_a_dropped_emission_of_which_a_sink_has_something_is_never_taken_for_the_next(
    sea: Sea, output: str, to: str, held: dict[str, list[int]]
) -> None:
    sea.rows(1, 2)
    sea.apply(SINKS[output]())
    sea.run()
    sea.engine.breaking.add(output)
    sea.step(1, 3, 4, 5)
    assert sea.run() == "X750"
    sea.engine.breaking.clear()
    (*_, dropped) = sea.emissions(output)
    sea.step(3, 4, 5)
    sea.seek(output, to)
    assert sea.run() == ""
    assert sea.held(output) == held[output]
    sea.step(3, 4, 5, 9)
    assert sea.run() == ""
    assert sea.held(output) == [*held[output], 9]
    later = [
        one.transaction.version for one in sea.emissions(output) if one.transaction.version > dropped.transaction.version
    ]
    assert later == sorted(set(later)), "each is a new one"
    asked_again = [one for one in sea.emissions(output) if one.transaction == dropped.transaction]
    assert len(asked_again) == 1, "nobody asks for what was dropped"


# Crashes.


@pytest.mark.parametrize("name", ["seek:before", "seek:effected"])
@pytest.mark.parametrize(("to", "held"), [("snapshot", [1, 2, 2, 4, 5]), ("latest", [1, 2])])
@EVERY_SINK
def test_a_command_that_dies_is_finished_once_by_the_next_run(
    sea: Sea, output: str, to: str, held: list[int], name: str
) -> None:
    lagging(sea, output)
    with pytest.raises(Crash):
        sea.seek(output, to, crash_at(name))
    assert output in read_controls(sea.target.registry, "shop").seeks
    if name == "seek:effected" and to == "latest":
        # What changed since the seek is no part of what was lost, although the wish still stands.
        sea.step(2, 4, 5, 6)
        held = [*held, 6]
    assert sea.run() == ""
    assert read_controls(sea.target.registry, "shop").seeks == {}
    assert sea.run() == ""
    assert sea.held(output) == held
    assert len([one for one in sea.emissions(output) if one.before is None]) == 1 + (to == "snapshot")


@pytest.mark.parametrize("name", ["seek:before", "seek:effected", "emit:before", "emit:effected"])
@EVERY_SINK
def test_a_run_that_dies_over_a_snapshot_sends_it_once_and_nothing_of_the_backlog(sea: Sea, output: str, name: str) -> None:
    lagging(sea, output)
    sea.wipe(output)
    sea.wish(output, "snapshot")
    with pytest.raises(Crash):
        sea.run(crash_at(name))
    assert sea.run() == ""
    assert sea.held(output) == [2, 4, 5]
    assert {message.serial for message in sea.messages(output)} in (set(), {sea.head().outputs[output].serial})
    assert read_controls(sea.target.registry, "shop").seeks == {}
    sea.step(2, 4, 5, 6)
    assert sea.run() == ""
    assert sea.held(output) == [2, 4, 5, 6]


def test_a_wish_that_was_carried_out_is_only_taken_away(sea: Sea) -> None:
    lagging(sea, "v.topic")
    with pytest.raises(Crash):
        sea.seek("v.topic", "snapshot", crash_at("seek:effected"))
    sea.run()
    assert len([one for one in sea.emissions("v.topic") if one.before is None]) == 2, "the first one, and that of the seek"
    assert sea.sought() == []
    again = sea.seek("v.topic", "snapshot")
    assert again.done, "another wish is another one"
    sea.run()
    assert len([one for one in sea.emissions("v.topic") if one.before is None]) == 3


def test_a_wish_that_comes_to_nothing_costs_nothing_that_was_written(sea: Sea) -> None:
    sea.rows(1)
    sea.apply(topic())
    sea.wish("v.gone", "snapshot")
    told: list[str] = []
    running = Running(sea.engine, told.append)
    run_pipeline(sea.target, "shop", running, once=True)
    assert any("no connector v.gone any more" in message for message in told)
    assert sea.head().outputs["v.topic"].sending is None, "what was sent is ticked off"
    sea.run()
    assert len(sea.messages("v.topic")) == 1


# What a vacuum took.


def vacuum(sea: Sea, relation: str = "v", log: bool = True) -> None:
    """Take all versions of a relation but the newest: log and files, or the files alone."""
    folder = sea.root / "warehouse" / sea.head().published.relations[relation].location  # type: ignore[union-attr]
    table = DeltaTable(str(folder))
    needed = {Path(uri).name for uri in table.file_uris()}
    files = [path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts and path.name not in needed]
    assert files, "there is something to take"
    for path in files:
        path.unlink()
    if log:
        table.create_checkpoint()
        for path in (folder / "_delta_log").glob("*.json"):
            if int(path.stem) < table.version():
                path.unlink()


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("to", ["snapshot", "latest"])
@EVERY_SINK
def test_an_output_whose_versions_are_gone_is_brought_back(sea: Sea, output: str, to: str, log: bool) -> None:
    lagging(sea, output)
    vacuum(sea, log=log)
    with pytest.raises(EngineError) as caught:
        run_pipeline(sea.target, "shop", Running(sea.engine), once=True)
    assert caught.value.code == "X730"
    assert f"reconcile connector seek shop {output} --to snapshot" in (caught.value.hint or "")
    assert f"reconcile connector seek shop {output} --to latest" in (caught.value.hint or "")
    assert sea.run() == "X730", "for ever"
    if to == "snapshot":
        sea.wipe(output)
    sea.seek(output, to)
    assert sea.run() == ""
    held = [2, 4, 5] if to == "snapshot" else [1, 2]
    assert sea.held(output) == held
    sea.step(2, 4, 5, 6)
    assert sea.run() == ""
    assert sea.held(output) == [*held, 6]


@pytest.mark.parametrize("before_that", [[], [1, 2]])
def test_files_that_are_gone_have_the_same_way_out(sea: Sea, before_that: list[int]) -> None:
    lagging(sea, "v.lake")
    sea.engine.writer = FilesGone()
    vacuum(sea, log=False)
    with pytest.raises(EngineError) as caught:
        run_pipeline(sea.target, "shop", Running(sea.engine), once=True)
    assert caught.value.code == "X714"
    assert "reconcile connector seek shop v.lake --to snapshot" in (caught.value.hint or "")
    if not before_that:
        sea.wipe("v.lake")
    sea.seek("v.lake", "snapshot")
    assert sea.run() == ""
    assert sea.held("v.lake") == sorted([*before_that, 2, 4, 5])


def test_no_other_failure_is_said_to_need_it(sea: Sea) -> None:
    sea.apply(lake())
    sea.engine.sinks.failing.add("v.lake")
    with pytest.raises(EngineError) as caught:
        run_pipeline(sea.target, "shop", Running(sea.engine), once=True)
    assert (caught.value.code, "seek" in (caught.value.hint or "")) == ("X750", False)


# How far it lagged.


def test_the_lag_is_counted_from_the_first_step_that_a_sink_was_not_told_of(sea: Sea) -> None:
    lagging(sea, "v.topic")
    registry, head = sea.target.registry, sea.head()
    output = sea.program().connectors["v.topic"]
    assert lagging_steps(registry, head, output) == 3
    published = head.published
    assert published is not None
    state = head.outputs["v.topic"]

    def lag(sent: int | None, **changes: Any) -> int | None:
        outputs = {"v.topic": replace(state, sent=sent)}
        return lagging_steps(registry, replace(head, outputs=outputs, **changes), output)

    version = published.relations["v"].version
    assert [lag(sent) for sent in (version, version - 1, version - 2, version - 3)] == [0, 1, 2, 3]
    assert lag(None) is None, "it never was sent anything"
    assert lag(version - 4 - 100) is None, "the history does not know that version"
    assert lag(version - 3, published=None) is None
    elsewhere = {**published.relations, "v": Placement("elsewhere", version)}
    assert lag(version - 3, published=replace(published, relations=elsewhere)) is None
    assert lagging_steps(registry, replace(head, outputs={}), output) is None
    # A row of a step that is open, and of one that was withdrawn.
    row = dict(registry.history(History.STEPS, "shop")[-1])
    registry.append(History.STEPS, "shop", [{**row, "step": str(published.step + 1)}], published.step + 1)
    assert lag(version - 1) == 1
    later = replace(published, step=published.step + 1)
    assert lag(version - 1, published=later) == 2
    withdrawn = {**row, "step": str(published.step + 1), "kind": "withdrawn", "relations": "{}"}
    registry.append(History.STEPS, "shop", [withdrawn], None)
    assert lag(version - 1, published=later) == 1


# What is told of it.


def test_it_is_in_the_event_log_and_what_is_due_in_the_status(sea: Sea) -> None:
    lagging(sea, "v.topic")
    sent = sea.head().outputs["v.topic"].sent
    sea.seek("v.topic", "latest")
    sea.seek("v.topic", "snapshot")
    (position,) = [one.position for one in sea.pipeline.status().connectors if one.name == "v.topic"]
    assert position == {"sent_version": None, "pending": True}
    latest, snapshot = sea.sought()
    assert (latest["from"], latest["to"]) == ({"sent_version": sent, "pending": True}, "latest")
    assert (latest["by"], latest["lagged_steps"]) == ("somebody", 3)
    assert snapshot["to"] == "snapshot"
    assert snapshot["from"]["pending"] is False
    assert "lagged_steps" not in snapshot
    assert latest["asked_at"] <= snapshot["asked_at"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (0, "v.topic is sent what changes from now on; there is nothing that it was not sent"),
        (1, "v.topic is sent what changes from now on; what it was not sent yet is lost to it: it lagged 1 step"),
        (2, "v.topic is sent what changes from now on; what it was not sent yet is lost to it: it lagged 2 steps"),
        (None, "what it was not sent yet is lost to it; of how many steps is not known"),
    ],
)
def test_the_command_says_in_one_line_what_is_lost(
    sea: Sea, capsys: pytest.CaptureFixture[str], steps: int | None, words: str
) -> None:
    sea.rows(1)
    sea.apply(topic())
    if steps is not None:
        sea.run()
    for number in range(steps or 1):
        sea.step(1, 2 + number)
    if steps == 0:
        sea.run()
    reconcile = commands(sea.root, capsys)
    said = reconcile("connector", "seek", "shop", "topic", "--to", "latest")
    assert words in said
    assert said.count("\n") == 1
    assert reconcile("connector", "seek", "shop", "topic", "--to", "snapshot") == (
        "v.topic is sent full contents, with the next run\n"
    )
    assert "it can go to: snapshot" in reconcile("connector", "seek", "shop", "topic", "--to", "earliest", code=1)


def test_what_was_left_open_is_finished_first(sea: Sea) -> None:
    lagging(sea, "v.topic")
    sea.rows(8)
    with pytest.raises(Crash):
        sea.pipeline.execute("INSERT INTO t VALUES (99)", crash_at("view:before"))
    put = sea.seek("v.topic", "snapshot")
    assert (put.done, put.live) == (False, False)
    assert "v.topic" in read_controls(sea.target.registry, "shop").seeks
    assert sea.run() == ""
    assert sea.messages("v.topic")[-1].inserted == ((8,),)


# Beside a live run.


@contextmanager
def running(sea: Sea) -> Iterator[None]:
    """A live run over this engine, in a thread."""
    stopping = threading.Event()
    going = threading.Thread(
        target=lambda: run_pipeline(
            sea.target, "shop", Running(sea.engine), once=False, interval_seconds=0.1, stop=stopping.is_set
        )
    )
    going.start()
    try:
        yield
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()


@pytest.mark.parametrize("to", ["snapshot", "latest"])
@pytest.mark.parametrize("output", ["v.lake", "v.topic"])
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
        assert said == "parts.lake is sent full contents, as soon as the live run has finished its step\n"
        wait_until(lambda: held() == first)
        reconcile("connector", "pause", "shop", "lake")
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until(lambda: status(root).step == 2)
        left_out = set(rows(root, "parts"))
        said = reconcile("connector", "seek", "shop", "lake", "--to", "latest")
        assert (
            "as soon as the live run has finished its step; what it was not sent yet is lost to it: it lagged 1 step" in said
        )
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
    assert opened(root).seek_connector("parts.lake", "latest") is True
