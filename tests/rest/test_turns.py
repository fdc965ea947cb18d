"""Turns: a few starts and a few queries at a time, in order, and a word for who comes when it is full."""

import threading
import time
from pathlib import Path

import pytest

from reconciler.rest.door import sent
from reconciler.rest.errors import Refused
from reconciler.rest.turns import Admitted, Gate, wait_for_turn
from tests.waiting import wait_until


def _in_background(gate: Gate, came: list[str], name: str, changes: str = "") -> list[Admitted]:
    """Who comes to a gate; he is in the answer when he may work."""
    found: list[Admitted] = []

    def enter() -> None:
        found.append(gate.enter(changes))
        came.append(name)

    threading.Thread(target=enter, daemon=True).start()
    time.sleep(0.05)
    return found


def test_who_waits_works_in_order_when_one_has_worked() -> None:
    gate, came = Gate(at_once=1, most=10), list[str]()
    first = gate.enter()
    second, third = (_in_background(gate, came, name) for name in ("second", "third"))
    assert (came, second, third) == ([], [], [])
    first.has_worked()
    first.has_worked()
    wait_until(lambda: came == ["second"])
    second[0].leave()
    wait_until(lambda: came == ["second", "third"])


def test_statements_on_a_pipeline_take_turns_and_hold_up_no_query() -> None:
    gate, came = Gate(at_once=1, most=10), list[str]()
    first = gate.enter("shop")
    second = _in_background(gate, came, "second", "shop")
    gate.enter("other")
    gate.enter()
    assert not second
    first.leave()
    wait_until(lambda: came == ["second"])
    second[0].leave()
    gate.enter("shop")


class Collecting(str):
    """A name that has an answer let go while it is looked up, as the garbage collector may at any moment."""

    __slots__ = ("answers",)
    answers: list[Admitted]

    def __hash__(self) -> int:
        while self.answers:
            self.answers.pop().leave()
        return super().__hash__()


def test_an_answer_may_be_let_go_by_who_has_the_lock() -> None:
    gate, came = Gate(at_once=1, most=2), list[str]()
    name = Collecting("shop")
    name.answers = [gate.enter()]
    assert _in_background(gate, came, "who lets go", name)
    wait_until(lambda: came == ["who lets go"])
    assert _in_background(gate, came, "who comes after him")
    wait_until(lambda: came == ["who lets go", "who comes after him"])


def test_statements_on_a_pipeline_are_so_many() -> None:
    gate = Gate(most_statements=1)
    with gate.statement("shop"):
        with pytest.raises(Refused) as refused, gate.statement("shop"):
            pass
        assert (refused.value.told.status, refused.value.told.code) == (503, "Busy")
        with gate.statement("other"):
            gate.enter()
    with gate.statement("shop"):
        pass


def test_who_comes_when_it_is_full_is_told_to_come_again() -> None:
    gate = Gate(at_once=2, most=2)
    first, _ = gate.enter(), gate.enter()
    # Who only hands over his answer takes a place, too.
    first.has_worked()
    with pytest.raises(Refused) as refused:
        gate.enter()
    assert (refused.value.told.status, refused.value.told.code) == (503, "Busy")
    assert sent(refused.value.told).headers["Retry-After"] == "5"
    first.leave()
    first.leave()
    gate.enter()
    with pytest.raises(Refused):
        gate.enter()


def test_a_few_start_at_a_time(tmp_path: Path) -> None:
    turns = [wait_for_turn(tmp_path, lambda: False, at_once=2) for _ in range(2)]
    patience = iter((False, False, True))
    assert wait_for_turn(tmp_path, lambda: next(patience), at_once=2) is None
    assert turns[1] is not None
    turns[1].end()
    turns[1].end()
    assert wait_for_turn(tmp_path, lambda: False, at_once=2) is not None


def test_who_takes_long_to_start_holds_up_nobody(tmp_path: Path) -> None:
    assert wait_for_turn(tmp_path, lambda: False, at_once=1, longest=0.2) is not None
    began = time.monotonic()
    assert wait_for_turn(tmp_path, lambda: False, at_once=1) is not None
    assert 0.1 < time.monotonic() - began < 10
