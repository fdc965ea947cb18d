"""Outputs that are put somewhere: full contents anew, or only what changes from now on; and what is told of it. Crashes on
the way: test_seeking_failures. Beside a live run: test_seeking_live."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import NotFound, ReconcileError
from reconciler.registry.model import Published
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import History
from reconciler.run.emitting import Place, put_output
from reconciler.run.lagging import lagging_steps
from reconciler.state.controls import read_controls
from reconciler.testing.crashes import Crash, crash_at
from tests.shops.emissions import OTHER_QUERY, files, lake, topic
from tests.shops.lineitem import make
from tests.shops.runs import commands
from tests.shops.sea import EVERY_SINK, SINKS, Sea, lagging

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
        (0, "v.topic sends changes from now on; it had sent all changes"),
        (1, "v.topic sends changes from now on; it skips the changes that it has not sent: its lag was 1 step"),
        (2, "v.topic sends changes from now on; it skips the changes that it has not sent: its lag was 2 steps"),
        (None, "it skips the changes that it has not sent, of an unknown number of steps"),
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
        "v.topic sends full contents, with the next run\n"
    )
    assert "it can seek to: snapshot" in reconcile("connector", "seek", "shop", "topic", "--to", "earliest", code=1)


def test_what_was_left_open_is_finished_first(sea: Sea) -> None:
    lagging(sea, "v.topic")
    sea.rows(8)
    with pytest.raises(Crash):
        sea.pipeline.observed(boundary=crash_at("view:before")).execute("INSERT INTO t VALUES (99)")
    put = sea.seek("v.topic", "snapshot")
    assert (put.done, put.live) == (False, False)
    assert "v.topic" in read_controls(sea.target.registry, "shop").seeks
    assert sea.run() == ""
    assert sea.messages("v.topic")[-1].inserted == ((8,),)
