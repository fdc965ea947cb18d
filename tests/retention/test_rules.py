"""What retention decides, as a function of all that it knows: by example, and for any past (Hypothesis)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.declarations import Retention
from reconciler.retention.rules import Decision, Held, Known, KnownVersion, decide, kept_by_all
from reconciler.state.past_states import PastStep, Place
from reconciler.state.pruned import Left

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = 86400


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def version(number: int, ended: float | None, at: int, *held_by: str, name: str = "v") -> KnownVersion:
    when = None if ended is None else days_ago(ended)
    return KnownVersion(f"view:{name}", "view", name, number, when, frozenset({Place(f"p/{name}", at)}), held_by)


def past() -> Known:
    """Three versions that are not active, 90, 30 and 1 day ago; steps are as old."""
    return Known(
        versions=(version(0, 90, 3), version(1, 30, 5), version(2, 1, 8), version(3, None, 12)),
        steps=(
            PastStep(1, days_ago(30), frozenset({Place("p/v", 5)})),
            PastStep(2, days_ago(1), frozenset({Place("p/v", 8)})),
            PastStep(3, None, frozenset({Place("p/v", 12)})),
        ),
        held=(),
        current={"p/v": 12},
    )


def keeping(known: Known, retention: Retention, steps: float = 7.0) -> Decision:
    return decide(replace(known, retention={"view:v": retention}, steps_seconds=int(steps * DAY)), NOW)


def numbers(decision: Decision) -> list[int]:
    return [one.number for one in decision.pruned]


def test_where_nothing_is_said_every_version_stays() -> None:
    decision = keeping(past(), Retention())
    assert (numbers(decision), decision.first_step) == ([], 2)
    assert decision.left == {"p/v": Left(8, (3, 5))}


def test_either_is_enough() -> None:
    assert numbers(keeping(past(), Retention(versions=2))) == [0]
    assert numbers(keeping(past(), Retention(keep=45 * DAY))) == [0]
    assert numbers(keeping(past(), Retention(versions=1, keep=45 * DAY))) == [0]
    assert numbers(keeping(past(), Retention(versions=3, keep=DAY // 2))) == []
    assert numbers(keeping(past(), Retention(versions=0), steps=0)) == [0, 1, 2]


def test_what_a_step_reads_that_is_readable_is_not_pruned() -> None:
    decision = keeping(past(), Retention(versions=0))
    assert numbers(decision) == [0, 1]
    assert [(one.version.number, one.why) for one in decision.stays] == [(2, ("steps",))]
    assert decision.left == {"p/v": Left(8)}


def test_what_is_held_stays_and_says_why() -> None:
    known = replace(past(), versions=(version(0, 90, 3, "alias stable"), *past().versions[1:]))
    decision = keeping(known, Retention(versions=0), steps=0)
    assert numbers(decision) == [1, 2]
    assert [(one.version.number, one.why) for one in decision.stays] == [(0, ("alias stable",))]
    assert decision.left == {"p/v": Left(12, (3,))}


def test_a_cursor_and_a_checkpoint_keep_what_they_need() -> None:
    held = (Held("checkpoint c", frozenset({Place("p/v", 4)})),)
    decision = keeping(replace(past(), held=held, cursors={"p/v": 7}), Retention(versions=0), steps=0)
    assert decision.left == {"p/v": Left(7, (4,))}
    assert numbers(decision) == [0, 1]


def test_what_was_let_go_does_not_come_back() -> None:
    known = replace(past(), left={"p/v": Left(9, (5,))})
    assert keeping(known, Retention(), steps=90).left == {"p/v": Left(9, (5,))}


def test_what_several_prunes_left() -> None:
    assert kept_by_all([]) is None
    assert kept_by_all([Left(5, (1, 3)), Left(9, (3, 6, 7))]) == Left(9, (3, 6, 7))
    assert kept_by_all([Left(5, (1, 3)), Left(9, (1, 2))]) == Left(9, (1,))


# Any past: folders of one to three relations, whose Delta versions only rise.

NAMES = ("a", "b", "c")
DAYS = st.floats(0, 100, allow_nan=False)
PLACES = st.frozensets(st.builds(Place, st.sampled_from([f"p/{name}" for name in NAMES]), st.integers(0, 20)), max_size=3)


@st.composite
def pasts(draw: st.DrawFn) -> Known:
    times = sorted(draw(st.lists(DAYS, min_size=1, max_size=8)), reverse=True)
    stand = dict.fromkeys((f"p/{name}" for name in NAMES), 0)
    steps = []
    for number in range(len(times) + 1):
        stand = {location: at + draw(st.integers(0, 3)) for location, at in stand.items()}
        replaced = days_ago(times[number]) if number < len(times) else None
        steps.append(PastStep(number, replaced, frozenset(Place(location, at) for location, at in stand.items())))
    versions = []
    for name in NAMES:
        for number in range(draw(st.integers(1, 4))):
            step = draw(st.sampled_from(steps))
            places = frozenset(place for place in step.places if place.location == f"p/{name}")
            held_by = draw(st.sampled_from([(), (), ("alias x",)]))
            versions.append(KnownVersion(f"view:{name}", "view", name, number, step.replaced, places, held_by))
    since = st.builds(Left, st.integers(0, 20), st.lists(st.integers(0, 20), max_size=3).map(lambda one: tuple(sorted(one))))
    return Known(
        tuple(versions),
        tuple(steps),
        tuple(draw(st.lists(st.builds(Held, st.just("checkpoint c"), PLACES), max_size=2))),
        stand,
        draw(st.dictionaries(st.sampled_from(list(stand)), st.integers(0, 20), max_size=2)),
        draw(st.dictionaries(st.sampled_from(list(stand)), since, max_size=2)),
        {f"view:{name}": draw(RETENTIONS) for name in NAMES},
        draw(st.integers(0, 100 * DAY)),
    )


RETENTIONS = st.builds(
    Retention, st.none() | st.integers(0, 4), st.none() | st.floats(0, 100).map(lambda days: int(days * DAY))
)


def readable(decision: Decision, place: Place) -> bool:
    return decision.left[place.location].has(place.version)


@settings(max_examples=30, deadline=None)
@given(pasts())
def test_nothing_that_is_needed_is_chosen(known: Known) -> None:
    chooses_nothing_that_is_needed(known)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(pasts())
def test_nothing_that_is_needed_is_chosen_in_many_more_cases(known: Known) -> None:
    chooses_nothing_that_is_needed(known)


def chooses_nothing_that_is_needed(known: Known) -> None:
    decision = decide(known, NOW)
    needed = {place for one in known.held for place in one.places}
    needed |= {Place(location, at) for location, at in known.current.items()}
    needed |= {Place(location, at) for location, at in known.cursors.items()}
    for step in known.steps:
        if step.replaced is None or step.replaced > NOW - timedelta(seconds=known.steps_seconds):
            needed |= step.places
    for one in known.versions:
        if one.ended is None or one.held_by:
            assert one not in decision.pruned
            needed |= one.places
    needed |= {place for one in decision.stays for place in one.version.places}
    for place in needed:
        was_left = place.location not in known.left or known.left[place.location].has(place.version)
        assert readable(decision, place) == was_left
    assert {(o.object, o.number) for o in decision.pruned}.isdisjoint(
        (o.version.object, o.version.number) for o in decision.stays
    )


@settings(max_examples=30, deadline=None)
@given(pasts())
def test_pruning_again_finds_nothing(known: Known) -> None:
    prunes_once(known)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(pasts())
def test_pruning_again_finds_nothing_in_many_more_cases(known: Known) -> None:
    prunes_once(known)


def prunes_once(known: Known) -> None:
    first = decide(known, NOW)
    rest = tuple(one for one in known.versions if one not in first.pruned)
    again = decide(replace(known, versions=rest, left=first.left), NOW)
    assert (again.pruned, again.left) == ((), first.left)


@settings(max_examples=30, deadline=None)
@given(pasts(), st.integers(0, 3), st.integers(0, 50 * DAY), st.integers(0, 50 * DAY), PLACES)
def test_keeping_more_never_removes_more(
    known: Known, versions: int, keep: int, steps: int, places: frozenset[Place]
) -> None:
    removes_no_more_where_more_is_kept(known, versions, keep, steps, places)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(pasts(), st.integers(0, 3), st.integers(0, 50 * DAY), st.integers(0, 50 * DAY), PLACES)
def test_keeping_more_never_removes_more_in_many_more_cases(
    known: Known, versions: int, keep: int, steps: int, places: frozenset[Place]
) -> None:
    removes_no_more_where_more_is_kept(known, versions, keep, steps, places)


def removes_no_more_where_more_is_kept(known: Known, versions: int, keep: int, steps: int, places: frozenset[Place]) -> None:
    def more(rule: Retention) -> Retention:
        more_versions = None if rule.versions is None else rule.versions + versions
        # Where only one of the two is said, saying the other keeps more, too.
        return Retention(more_versions, None if rule.keep is None else rule.keep + keep)

    less = decide(known, NOW)
    kept = decide(
        replace(
            known,
            retention={key: more(rule) for key, rule in known.retention.items()},
            steps_seconds=known.steps_seconds + steps,
            held=(*known.held, Held("more", places)),
        ),
        NOW,
    )
    assert set(kept.pruned) <= set(less.pruned)
    for location, left in less.left.items():
        for at in range(25):
            assert kept.left[location].has(at) or not left.has(at)
