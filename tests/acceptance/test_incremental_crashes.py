"""A run whose views follow what changes, and which crashes anywhere and is started again, ends as if nothing had happened:
each view holds what its query gives, and what is kept of it is that of its last step.

Where it can crash an undisturbed run tells, as in `test_run_crashes`. Without Spark, over real Delta tables, with views that
are computed (`tests.incremental.small`): in every run of the tests one place of each name that these views have to do with,
all places in the slow suite.
"""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.base.errors import EngineError, RegistryError
from reconciler.registry.placements import StreamState
from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash
from tests.acceptance.faults import Fault, Faults, Style, run_with
from tests.acceptance.test_run_crashes import all_faults, one_of_each, plain_name, some_faults
from tests.incremental.till import (
    BATCHES,
    FOLLOWING,
    PIPELINE,
    QUERIES,
    STATELESS,
    TABLES,
    apply,
    by_size,
    engine,
    placement,
    put,
    require_right,
    rows,
    write_till,
)

OF_VIEWS = (
    "step:intended",
    "build_view",
    "change_rows",
    "view:before",
    "kept:effected",
    "view:intended",
    "view:effected",
    "replace_head",
)
"""Where what is kept is written, and a view from it, or rows are brought and taken; where both are published."""
PARTS = 4


class Ended(NamedTuple):
    """What a run left, and the places that it passed."""

    contents: dict[str, Counter[Any]]
    states: dict[str, StreamState | None]
    reached: Sequence[tuple[str, int]]


def left(root: Path) -> tuple[dict[str, Counter[Any]], dict[str, StreamState | None]]:
    """What is published, and what is kept, in what folders."""
    states = {name: placement(root, name).state for name in QUERIES}
    for name, state in states.items():
        if state is not None:
            for one in state.folders:
                folder = root / "warehouse" / placement(root, name).location / one
                assert (folder / "_delta_log").is_dir(), f"what is kept of {name} is gone"
    return {name: rows(root, name) for name in (*TABLES, *QUERIES)}, states


def run(root: Path, fault: Fault | None = None) -> Faults:
    faults = Faults(fault)
    run_with(root, PIPELINE, by_size(engine()), faults, FOLLOWING)
    return faults


def withdrawn_steps(root: Path) -> int:
    history = Project.open(root).target.registry.history(History.STEPS, PIPELINE)
    return sum(row["kind"] == "withdrawn" for row in history)


@pytest.fixture(scope="module")
def till(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline, applied, with one step done and the input of three more. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("till")
    write_till(root)
    apply(root)
    put(root, 0)
    run(root)
    put(root, *range(1, len(BATCHES)))
    return root


@pytest.fixture(scope="module")
def undisturbed(till: Path, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    root = shutil.copytree(till, tmp_path_factory.mktemp("undisturbed") / "till")
    reached = run(root).reached
    require_right(root)
    return Ended(*left(root), reached)


def crashes_and_ends_the_same(fault: Fault, till: Path, undisturbed: Ended, tmp_path: Path) -> None:
    root = shutil.copytree(till, tmp_path / plain_name(fault))
    fails: tuple[type[BaseException], ...] = (Crash,) if fault.style is not Style.LOST else (EngineError, RegistryError)
    faults = Faults(fault)
    try:
        run_with(root, PIPELINE, by_size(engine()), faults, FOLLOWING)
    except fails:
        assert faults.has_struck
    assert faults.has_struck
    run(root)
    require_right(root)
    found, states = left(root)
    assert found == undisturbed.contents
    if not withdrawn_steps(root) and fault.style is not Style.LOST:
        # Where an answer is lost, a view is computed from its query.
        assert states == undisturbed.states
    shutil.rmtree(root)


def test_each_step_keeps_something(undisturbed: Ended) -> None:
    assert {name for name, state in undisturbed.states.items() if state is not None} == {*QUERIES} - {*STATELESS}
    assert {name for name, _ in undisturbed.reached} >= {*OF_VIEWS}


def test_a_run_ends_the_same_wherever_it_crashes(
    till: Path, undisturbed: Ended, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    faults = one_of_each(some_faults([place for place in undisturbed.reached if place[0] in OF_VIEWS]))
    assert len(faults) >= 7
    # The others, and all other places, in the slow suite.
    for fault in faults[1::3]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same(fault, till, undisturbed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_ends_the_same_wherever_it_crashes_in_full(
    part: int, till: Path, undisturbed: Ended, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for fault in all_faults(undisturbed.reached)[part::PARTS]:
        with subtests.test(str(fault)):
            crashes_and_ends_the_same(fault, till, undisturbed, tmp_path)
