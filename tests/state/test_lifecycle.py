"""The state machine: its table, and how the state is told from what can be seen."""

import re
from pathlib import Path

import pytest

from reconciler.state.lifecycle import ENDED, MEANING, TRANSITIONS, Evidence, Happening, State, after, state_of

ROOT = Path(__file__).parents[2]


def test_every_state_can_be_reached_and_left() -> None:
    assert set(TRANSITIONS) == set(State) == set(MEANING)
    reached, new = {State.STOPPED}, {State.STOPPED}
    while new:
        new = {to for state in new for to in TRANSITIONS[state].values()} - reached
        reached |= new
    assert reached == set(State)
    assert all(TRANSITIONS[state] for state in State)


def test_every_happening_happens_somewhere() -> None:
    assert {happening for there in TRANSITIONS.values() for happening in there} == set(Happening)


def test_whatever_lives_can_be_stopped_and_can_fail() -> None:
    for state in set(State) - {*ENDED, State.AWAITING_APPROVAL, State.STOPPING}:
        assert after(state, Happening.STOP) is State.STOPPING
        assert after(state, Happening.FAIL) is State.FAILED
    assert after(State.STOPPING, Happening.END) is State.STOPPED


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("happening", list(Happening))
def test_what_is_not_in_the_table_can_not_happen(state: State, happening: Happening) -> None:
    if happening in TRANSITIONS[state]:
        assert after(state, happening) is TRANSITIONS[state][happening]
    else:
        with pytest.raises(ValueError, match=state.value):
            after(state, happening)


LIVE = Evidence(command="run", told=State.RUNNING, told_alive=True)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (Evidence(), State.STOPPED),
        (Evidence(told=State.STOPPED), State.STOPPED),
        (Evidence(refused=True), State.AWAITING_APPROVAL),
        (Evidence(command="apply"), State.BOOTSTRAPPING),
        (Evidence(command="execute"), State.RUNNING),
        # A run that has not told of itself yet, or of whose life only its forerunner told.
        (Evidence(command="run"), State.INITIALIZING),
        (Evidence(command="run", told=State.STOPPED, told_alive=True), State.INITIALIZING),
        (Evidence(command="run", told=State.PAUSED, told_alive=False), State.INITIALIZING),
        (LIVE, State.RUNNING),
        (Evidence(command="run", told=State.PAUSED, told_alive=True), State.PAUSED),
        (Evidence(command="run", told=State.RUNNING, told_alive=True, stop_wanted=True), State.STOPPING),
        # What awaits approval does not hide what runs.
        (Evidence(command="run", told=State.RUNNING, told_alive=True, refused=True), State.RUNNING),
        # A run that waits for an apply holds no lease.
        (Evidence(told=State.BOOTSTRAPPING, told_alive=True), State.BOOTSTRAPPING),
        (Evidence(command="apply", told=State.BOOTSTRAPPING, told_alive=True), State.BOOTSTRAPPING),
        # Dead, without a word.
        (Evidence(told=State.RUNNING), State.FAILED),
        (Evidence(told=State.FAILED, refused=True), State.FAILED),
        (Evidence(apply_open=True), State.FAILED),
        (Evidence(step_open=True), State.FAILED),
        # Stopped by force: it was told, and the step will be replayed.
        (Evidence(told=State.STOPPED, step_open=True), State.STOPPED),
    ],
)
def test_the_state_is_told_from_what_can_be_seen(seen: Evidence, state: State) -> None:
    assert state_of(seen) is state


def test_the_page_shows_this_table() -> None:
    page = (ROOT / "docs/running.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `([A-Z]\w+)` \| ([^|]+?) \|$", page, re.MULTILINE)) == {
        state.value: meaning for state, meaning in MEANING.items()
    }
    shown = re.findall(r"^\| ([A-Z]\w+) \| ([^|]+?) \| ([A-Z]\w+) \|$", page, re.MULTILINE)
    table = [(state, what.value, to) for state in State for what, to in TRANSITIONS.get(state, {}).items()]
    assert shown == [(state.value, what, to.value) for state, what, to in table]
