"""Which approvals and rejections of a plan count: the last act of each person."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.apply.decisions import Decisions, lifts_text
from reconciler.state.rejections import Rejection


def approval(by: str, *lifts: Rejection) -> Mapping[str, Any]:
    return {"by": by, "lifts": lifts_text(lifts)}


def rejection(by: str, number: int = 1) -> Rejection:
    return Rejection(f"{by}{number}", "shop", "sha256:0", "dev", by, "2026-01-01", "")


ANN, AGAIN, BOB = rejection("Ann"), rejection("Ann", 2), rejection("Bob")


@pytest.mark.parametrize(
    ("approvals", "rejections", "open_now", "counting"),
    [
        ([approval("Ann")], [], "", "Ann"),
        ([approval("Ann"), approval("Bob")], [ANN], "Ann1", "Bob"),
        ([approval("Ann"), approval(" ANN", ANN)], [ANN], "", "Ann,  ANN"),
        ([approval("Ann"), approval("ann@b.org", ANN)], [ANN], "", "ann@b.org"),
        ([approval("ann@b.org")], [ANN], "Ann1", ""),
        ([approval("Ann"), approval("Bob", ANN)], [ANN], "", "Bob"),
        ([approval("Ann"), approval("Bob", ANN), approval("Ann", ANN)], [ANN], "", "Ann, Bob, Ann"),
        ([approval("Ann", ANN)], [ANN, AGAIN], "Ann2", ""),
        ([approval("Bob", ANN)], [ANN, BOB], "Bob1", ""),
        ([approval("Cleo", ANN, BOB)], [ANN, BOB], "", "Cleo"),
    ],
    ids=[
        "approved",
        "rejected by one who approved",
        "taken back",
        "overruled by one who may be somebody else: that is no approval of who rejected",
        "rejected by one who may be the same",
        "overruled: that is no approval of who rejected",
        "overruled, and taken back",
        "taken back, and rejected again",
        "who overruled rejects it himself",
        "two overruled at once",
    ],
)
def test_the_last_act_of_a_person_counts(
    approvals: list[Mapping[str, Any]], rejections: list[Rejection], open_now: str, counting: str
) -> None:
    found = Decisions(tuple(approvals), tuple(rejections))
    assert ", ".join(one.id for one in found.open) == open_now
    assert sorted(row["by"] for row in found.counting) == sorted(counting.split(", ") if counting else [])


@pytest.mark.parametrize(
    ("by", "is_own"), [("ann@a.org", True), (" Ann@A.org ", True), ("ann@b.org", False), ("Ann", False)]
)
def test_a_rejection_is_his_own_whose_very_name_it_has(by: str, is_own: bool) -> None:
    assert bool(Decisions((), (rejection("ann@a.org"),)).of(by)) is is_own
