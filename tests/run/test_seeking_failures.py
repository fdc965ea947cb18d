"""Outputs that are put somewhere after half of an emission, across a crash at any point, and after a vacuum took what they
needed."""

from itertools import product

import pytest

from reconciler.base.errors import EngineError
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.controls import read_controls
from reconciler.testing.crashes import Crash, crash_at
from tests.cells import mostly_slow
from tests.shops.emissions import lake, topic
from tests.shops.sea import EVERY_SINK, SINKS, FilesGone, Sea, lagging, vacuum

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


@pytest.mark.parametrize(
    ("output", "to", "held", "name"),
    mostly_slow(
        [
            (output, to, held, name)
            for output, (to, held), name in product(
                SINKS, [("snapshot", [1, 2, 2, 4, 5]), ("latest", [1, 2])], ["seek:before", "seek:effected"]
            )
        ],
        ("v.lake", "snapshot", [1, 2, 2, 4, 5], "seek:before"),
        ("v.files", "snapshot", [1, 2, 2, 4, 5], "seek:effected"),
        ("v.topic", "latest", [1, 2], "seek:effected"),
    ),
)
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


@pytest.mark.parametrize(
    ("output", "name"),
    mostly_slow(
        list(product(SINKS, ["seek:before", "seek:effected", "emit:before", "emit:effected"])),
        ("v.lake", "seek:effected"),
        ("v.files", "emit:before"),
        ("v.topic", "emit:effected"),
    ),
)
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
    running = Session(sea.engine, tell=told.append)
    run_pipeline(sea.target, "shop", running, Pace(once=True))
    assert any("connector v.gone no longer exists" in message for message in told)
    assert sea.head().outputs["v.topic"].sending is None, "what was sent is ticked off"
    sea.run()
    assert len(sea.messages("v.topic")) == 1


# What a vacuum took.


@pytest.mark.parametrize(
    ("output", "to", "log"),
    mostly_slow(
        list(product(SINKS, ["snapshot", "latest"], [True, False])),
        ("v.lake", "snapshot", True),
        ("v.topic", "latest", False),
        ("v.files", "snapshot", False),
    ),
)
def test_an_output_whose_versions_are_gone_is_brought_back(sea: Sea, output: str, to: str, log: bool) -> None:
    lagging(sea, output)
    vacuum(sea, log=log)
    with pytest.raises(EngineError) as caught:
        run_pipeline(sea.target, "shop", Session(sea.engine), Pace(once=True))
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
        run_pipeline(sea.target, "shop", Session(sea.engine), Pace(once=True))
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
        run_pipeline(sea.target, "shop", Session(sea.engine), Pace(once=True))
    assert (caught.value.code, "seek" in (caught.value.hint or "")) == ("X750", False)
