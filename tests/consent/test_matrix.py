"""The consent matrix: each thing that an apply can put in force × each place that it may come from.

`THINGS` says what each takes, `PLACES` what each has; a cell is applied where it has what it takes, else refused, with every
byte of the warehouse as it was. Each place stands in the quick part, where it has consent with a thing of either kind; each
thing stands in several of its cells. The whole product is slow.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from reconciler.base.errors import ReconcileError
from tests.consent.cell import copy_base
from tests.consent.places import PLACES, Place
from tests.consent.things import THINGS, Takes, Thing


def is_given(thing: Thing, place: Place) -> bool:
    """Whether the place has what the thing takes."""
    return place.merged and (place.locked or thing.takes is Takes.MERGE)


def quick() -> Iterator[tuple[str, str]]:
    """Each place with a thing of either kind, or with one where it has consent to none; each thing with several places."""
    by_kind = [[name for name, thing in THINGS.items() if thing.takes is takes] for takes in Takes]
    for number, (name, place) in enumerate(PLACES.items()):
        for things in by_kind if place.merged else [by_kind[number % len(by_kind)]]:
            yield things[number // len(by_kind) % len(things)], name


QUICK = sorted(set(quick()))


def judge(base: Path, home: Path, monkeypatch: pytest.MonkeyPatch, thing: str, place: str) -> None:
    cell, wanted, found = copy_base(base, home), THINGS[thing], PLACES[place]
    found.arrange(cell, wanted)
    for name, value in cell.variables.items():
        monkeypatch.setenv(name, value)
    before = cell.warehouse()
    if is_given(wanted, found):
        assert not cell.project().pipeline(wanted.pipeline).apply().did_nothing
        return
    with pytest.raises(ReconcileError) as refusal:
        cell.project().pipeline(wanted.pipeline).apply()
    assert refusal.value.code in found.codes, refusal.value.message
    assert cell.warehouse() == before


@pytest.mark.parametrize(("thing", "place"), QUICK)
def test_a_cell(thing: str, place: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(base, tmp_path / "cell", monkeypatch, thing, place)


@pytest.mark.slow
@pytest.mark.parametrize(("thing", "place"), [cell for cell in product(THINGS, PLACES) if cell not in QUICK])
def test_every_cell(thing: str, place: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(base, tmp_path / "cell", monkeypatch, thing, place)


def test_each_thing_is_in_the_quick_part() -> None:
    assert {thing for thing, _ in QUICK} == set(THINGS)
    assert {place for _, place in QUICK} == set(PLACES)
