"""Plans carried out on a model of what is stored: every golden plan leaves what desired means, needs each of its steps, and
needs them in that order. Plans that are wrong are refused."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.diff.model import Action, Diff, Fate, RelationChange
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step
from reconciler.project.program.model import Program, empty_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.testing.contents import Contents
from reconciler.testing.simulate import Contradiction, IllegalStep, StoredState, meant_by, simulate, state_of
from tests.golden.test_golden import CLAIMS, read_other, read_plan
from tests.plan.test_steps import snapshot

MOVED = "{evolution: evolve, moved: [{from: t, to: u}, {from: v, to: w}, {from: t.qty, to: u.quantity}]}"
PROGRAM = """
CREATE TABLE t (a INT, b INT, c STRING);
CREATE TABLE s (a INT);
CREATE VIEW p AS SELECT a, b + 1 AS more FROM t;
CREATE MATERIALIZED VIEW v AS SELECT p.a, p.more FROM p JOIN s ON p.a = s.a;
CREATE MATERIALIZED VIEW reader AS SELECT a FROM v;
CREATE MATERIALIZED VIEW other AS SELECT c FROM t;
"""
CASES = {
    "a column is dropped": (
        PROGRAM,
        PROGRAM.replace(", c STRING", "").replace("SELECT c", "SELECT b"),
        "{evolution: evolve}",
    ),
    "a column is added": (PROGRAM, PROGRAM.replace("c STRING", "c STRING, d INT"), "{evolution: evolve}"),
    "a column is cleared": (PROGRAM, PROGRAM.replace("c STRING", "c INT"), "{evolution: clear}"),
    "a view changes in one column": (PROGRAM, PROGRAM.replace("b + 1", "b + 2"), "{}"),
    "a view becomes a table": (
        PROGRAM,
        PROGRAM.replace("MATERIALIZED VIEW other AS SELECT c FROM t", "TABLE other (c INT)"),
        "{}",
    ),
    "a table becomes a view": (PROGRAM, PROGRAM.replace("TABLE s (a INT)", "MATERIALIZED VIEW s AS SELECT a FROM t"), "{}"),
    "a plain view is stored": (PROGRAM, PROGRAM.replace("VIEW p", "MATERIALIZED VIEW p"), "{}"),
    "names move": (
        "CREATE TABLE t (id INT, qty INT); CREATE MATERIALIZED VIEW v AS SELECT id, qty FROM t;",
        "CREATE TABLE u (id INT, quantity INT, more INT); CREATE TABLE x (x INT);"
        "CREATE MATERIALIZED VIEW w AS SELECT id, quantity AS qty FROM u;",
        MOVED,
    ),
}


def planned(applied: Snapshot | None, desired: Snapshot | None) -> Plan:
    return make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))


@dataclass(frozen=True, slots=True)
class Other:
    """What the relations of a pipeline that is read hold before and after its own plan, by key."""

    before: Mapping[str, Contents]
    after: Mapping[str, Contents]


NO_OTHER = Other({}, {})


def other_of(claim: str) -> Other:
    """The other pipeline of a golden plan, its own plan carried out."""
    before, after = read_other(claim)
    if before is None or after is None:
        return NO_OTHER
    state = state_before(before)
    return Other(contents_of(state), contents_of(simulate(planned(before, after), state, after.program)))


def contents_of(state: StoredState) -> dict[str, Contents]:
    return {f"other.{key}": relation.contents for key, relation in state.relations.items()}


def prove(plan: Plan, applied: Snapshot | None, desired: Snapshot | None, other: Other = NO_OTHER) -> StoredState:
    """The state after the plan, which must be what desired means."""
    program = program_of(applied, desired)
    after = simulate(plan, state_before(applied, other), program, other.after)
    assert meant_by(program, after, other.after) == after
    return after


def state_before(applied: Snapshot | None, other: Other = NO_OTHER) -> StoredState:
    if applied is None:
        return StoredState()
    return state_of(applied.program, loaded=True, computed_by="an earlier plan", foreign=other.before)


def program_of(applied: Snapshot | None, desired: Snapshot | None) -> Program:
    known = desired or applied
    assert known is not None
    return desired.program if desired else empty_program(known.program.settings)


def is_right(plan: Plan, applied: Snapshot | None, desired: Snapshot | None, other: Other = NO_OTHER) -> bool:
    program = program_of(applied, desired)
    try:
        after = simulate(plan, state_before(applied, other), program, other.after)
    except (IllegalStep, Contradiction):
        return False
    return meant_by(program, after, other.after) == after


@pytest.mark.parametrize("claim", CLAIMS)
def test_golden_plans_leave_what_desired_means(claim: str) -> None:
    plan, applied, desired = read_plan(claim)
    prove(plan, applied, desired, other_of(claim))


@pytest.mark.parametrize("claim", CLAIMS)
def test_first_applies_leave_their_state(claim: str) -> None:
    _, _, desired = read_plan(claim)
    if desired is not None:
        plan = planned(None, desired)
        assert simulate(plan, StoredState(), desired.program) == state_of(desired.program, computed_by=plan.digest)


@pytest.mark.parametrize("case", CASES)
def test_plans_leave_what_desired_means(case: str) -> None:
    applied, desired = snapshot(CASES[case][0]), snapshot(*CASES[case][1:])
    plan = planned(applied, desired)
    assert not plan.is_empty
    prove(plan, applied, desired)


def sides(every: int) -> list[tuple[Plan, Snapshot | None, Snapshot | None, Other]]:
    cases = [(snapshot(before), snapshot(after, spec)) for before, after, spec in CASES.values()]
    golden = [(*read_plan(claim), other_of(claim)) for claim in CLAIMS[::every]]
    return [*golden, *[(planned(*pair), *pair, NO_OTHER) for pair in cases]]


EVERY = pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
"""One plan of so many, and the cases of this file: in every run of the tests one golden plan of five."""


@EVERY
def test_every_step_of_every_plan_is_needed(every: int) -> None:
    left_out: set[type[Step]] = set()
    for plan, applied, desired, other in sides(every):
        for index, step in enumerate(plan.steps):
            wrong = replace(plan, steps=plan.steps[:index] + plan.steps[index + 1 :])
            assert not is_right(wrong, applied, desired, other), step
            left_out.add(type(step))
    assert len(left_out) == 10


# What may be swapped: nobody sees a difference between these.
_ANY_ORDER: set[tuple[type[Step], type[Step]]] = {
    (CreateTable, BootstrapView),
    (CreateTable, EvolveTable),
    (CreateTable, ClearTable),
    (CreateTable, DropRelation),
    (ClearTable, PublishTable),
    (ClearTable, ExtendTable),
    (ExtendTable, PublishTable),
    (ExtendTable, RenameRelation),
}


@EVERY
def test_the_order_of_steps_matters(every: int) -> None:
    swapped: set[tuple[type[Step], type[Step]]] = set()
    for plan, applied, desired, other in sides(every):
        for index, pair in enumerate(pairwise(plan.steps)):
            kinds = type(pair[0]), type(pair[1])
            if kinds[0] is kinds[1] or kinds in _ANY_ORDER or (PublishView in kinds and RenameRelation in kinds):
                continue
            if kinds == (PublishView, DropRelation) or kinds == (ClearTable, DropRelation):
                continue
            steps = (*plan.steps[:index], pair[1], pair[0], *plan.steps[index + 2 :])
            if kinds == (EvolveTable, BootstrapView):
                assert isinstance(pair[1], BootstrapView)
                if pair[0].relation not in pair[1].reads:  # type: ignore[union-attr]
                    continue
            assert not is_right(replace(plan, steps=steps), applied, desired, other), pair
            swapped.add(kinds)
    assert len(swapped) >= 6, swapped


def test_a_view_that_should_have_been_computed_again_is_found() -> None:
    applied, desired = snapshot(PROGRAM), snapshot(PROGRAM.replace("b + 1", "b + 2"))
    plan = planned(applied, desired)
    assert [step for step in plan.steps if isinstance(step, PublishView)] == [PublishView("v")]
    assert not is_right(replace(plan, steps=(CommitSnapshot(),)), applied, desired)


def test_a_table_that_is_cleared_and_listed_as_kept_is_a_contradiction() -> None:
    applied, desired = snapshot(PROGRAM), snapshot(PROGRAM)
    plan = replace(planned(applied, desired), steps=(ClearTable("s"), CommitSnapshot()))
    with pytest.raises(Contradiction, match="rows of s are said to be kept"):
        simulate(plan, state_before(applied), desired.program)


def test_a_table_that_is_cleared_and_said_to_evolve_is_a_contradiction() -> None:
    applied, desired = snapshot(PROGRAM), snapshot(PROGRAM.replace("c STRING", "c STRING, d INT"), "{evolution: evolve}")
    plan = planned(applied, desired)
    (change,) = [one for one in plan.diff.relations if one.name == "t"]
    assert change.fate is Fate.EXTENDED
    assert change.action is Action.MODIFIED
    with pytest.raises(Contradiction, match="said to keep its rows"):
        simulate(replace(plan, steps=(ClearTable("t"), CommitSnapshot())), state_before(applied), desired.program)
    other = replace(change, fate=Fate.CLEARED)
    wrong = replace(plan, diff=Diff((other,), ()))
    assert isinstance(other, RelationChange)
    with pytest.raises(Contradiction, match="said to be cleared"):
        simulate(wrong, state_before(applied), desired.program)


def test_a_relation_is_not_dropped_before_its_reader_has_switched() -> None:
    applied = snapshot("CREATE TABLE t (a INT); CREATE TABLE s (a INT); CREATE MATERIALIZED VIEW v AS SELECT a FROM s;")
    desired = snapshot("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW v AS SELECT a FROM t;")
    plan = planned(applied, desired)
    bootstrap, publish, drop, commit = plan.steps
    assert isinstance(drop, DropRelation)
    prove(plan, applied, desired)
    with pytest.raises(IllegalStep, match="s is dropped before its reader v has switched"):
        simulate(replace(plan, steps=(bootstrap, drop, publish, commit)), state_before(applied), desired.program)
    steps = (bootstrap, publish, replace(drop, relation="t"), commit)
    with pytest.raises(IllegalStep, match="desired keeps it"):
        simulate(replace(plan, steps=steps), state_before(applied), desired.program)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "never committed"),
        ((CommitSnapshot(), CommitSnapshot()), "after the snapshot was committed"),
        ((CreateTable("t"), CommitSnapshot()), "where something stands"),
        ((CreateTable("v"), CommitSnapshot()), "no table"),
        ((PublishView("v"), CommitSnapshot()), "nothing is staged"),
        ((PublishTable("t"), CommitSnapshot()), "nothing is staged"),
        ((BootstrapView("v", ("s", "t")), CommitSnapshot()), "never published"),
        ((BootstrapView("v", ("s",)), CommitSnapshot()), "its step names"),
        ((BootstrapView("p", ("t",)), CommitSnapshot()), "no stored view"),
        ((ClearTable("t"), BootstrapView("v", ("s", "t")), CommitSnapshot()), "seen before all is staged"),
        ((BootstrapView("reader", ("v",)), BootstrapView("v", ("s", "t")), CommitSnapshot()), "before it is staged"),
        ((EvolveTable("t", "s", ()), CommitSnapshot()), "does not go on"),
        ((EvolveTable("t", "t", ()), CommitSnapshot()), "other columns"),
        ((DropRelation("nothing", None), CommitSnapshot()), "nothing is stored"),  # type: ignore[arg-type]
        ((RenameRelation("x", "t", None), CommitSnapshot()), "can't be renamed"),  # type: ignore[arg-type]
    ],
)
def test_illegal_steps_are_refused(steps: tuple[Step, ...], words: str) -> None:
    side = snapshot(PROGRAM)
    with pytest.raises(IllegalStep, match=words):
        simulate(replace(planned(side, side), steps=steps), state_before(side), side.program)
