"""Views over many groups: a step writes the groups that changed, and a summary of all."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Built, ViewBuild
from reconciler.incremental.choice import Choice
from reconciler.incremental.model import Way
from reconciler.registry.placements import StreamState
from tests.engine.delta_writer import DeltaWriter
from tests.incremental.small import ComputingEngine
from tests.incremental.till import FOLLOWING, apply, placement, require_right, rows, run, write_till
from tests.materialize.test_incremental_steps import folders_of, ways

SUMS = "SELECT amount AS who, COUNT(*) AS n, SUM(id) AS total FROM sales GROUP BY amount"
QUERIES = {
    "best": f"{SUMS} HAVING SUM(id) > 3 ORDER BY total DESC, who LIMIT 3",
    "as_often": f"SELECT n, COUNT(*) AS many, SUM(total) AS total FROM ({SUMS}) AS s GROUP BY n",
    "largest": f"SELECT MAX(total) AS total, COUNT(*) AS n FROM ({SUMS}) AS s WHERE n < 4",
}
MANY = replace(FOLLOWING, many_groups=10)
DEFINITIONS = "\n".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in QUERIES.items())
PROGRAM = f"CREATE TABLE sales (id BIGINT NOT NULL PRIMARY KEY, good STRING, amount BIGINT);\n{DEFINITIONS}"


def engine(of: type[ComputingEngine] = ComputingEngine) -> ComputingEngine:
    return of(DeltaWriter(), texts=frozenset({"good"}))


def bring(root: Path, number: int, came: Sequence[tuple[int, int]], went: Sequence[int] = ()) -> None:
    """Sales with their numbers and amounts, and the numbers of those that go."""
    records = [{"insert": {"id": id, "good": None, "amount": amount}} for id, amount in came]
    records += [{"delete": {"id": id}} for id in went]
    (root / f"source/sales/{number:03}.json").write_text("".join(json.dumps(one) + "\n" for one in records))


def state_of(root: Path, name: str) -> StreamState:
    state = placement(root, name).state
    assert state is not None
    return state


def require_all_right(root: Path) -> None:
    require_right(root, QUERIES)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Groups by 40 amounts, of which summaries are kept, and the steps that took."""
    write_till(tmp_path, PROGRAM + "\nCREATE TABLE goods (good STRING);\nCREATE TABLE visits (good STRING);")
    apply(tmp_path)
    bring(tmp_path, 0, [(number, number % 40) for number in range(1, 81)])
    run(tmp_path, engine(), MANY)
    return tmp_path


def test_views_hold_what_their_queries_give_while_groups_come_and_go(many: Path) -> None:
    chance, known = Random("many groups"), {*range(1, 81)}
    segments = []
    for number in range(1, 16):
        went = chance.sample(sorted(known), k=2)
        # Of the greatest ones some go; a group loses all its rows.
        went += [max(known - {*went})] if number % 3 == 0 else []
        came = [(200 + number * 4 + at, chance.choice((7, 39, 41 + number))) for at in range(2)]
        known = (known - {*went}) | {id for id, _ in came}
        bring(many, number, came, went)
        run(many, engine(), MANY)
        require_all_right(many)
        segments.append(len(state_of(many, "best").segments))
    taken = [way for step in ways(many)[1:] for way in step.values()]
    assert set(taken) == {Way.CHANGES}
    assert max(segments) > 2, "a step adds a segment"
    assert any(later < before for before, later in pairwise(segments)), "they are put together"


def test_a_step_writes_no_more_than_what_changed(many: Path) -> None:
    before = state_of(many, "best")
    assert before.summary is not None
    assert len(before.segments) == 1
    assert before.rows == 40
    bring(many, 1, [(300, 5)])
    run(many, engine(), MANY)
    after = state_of(many, "best")
    assert after.segments[:1] == before.segments
    assert [one.rows for one in after.segments] == [40, 1]
    assert after.summary is not None
    assert after.summary != before.summary
    assert rows(many, "best")[(5, 3, 350)] == 1


@pytest.mark.parametrize("share", [MANY, replace(MANY, share_of_summary=0.01)])
def test_folders_that_nobody_needs_go(share: Choice, many: Path) -> None:
    manifest = many / "pipelines/till/pipeline.yaml"
    manifest.write_text(
        manifest.read_text().replace("  connectors:", "  runtime: {checkpoint_interval: 86400s}\n  connectors:")
    )
    apply(many)
    before = {name: folders_of(many, name) for name in QUERIES}
    for number in range(1, 5):
        bring(many, number, [(300 + number, number)], [number])
    run(many, engine(), share)
    require_all_right(many)
    for name in QUERIES:
        state = state_of(many, name)
        former = () if state.former is None else (state.former.folder, *state.former.others)
        kept = {path for path in folders_of(many, name) - before[name] if is_kept(many, name, path)}
        assert kept == {*state.folders, *former} - before[name]


def is_kept(root: Path, name: str, folder: str) -> bool:
    """Whether a folder holds groups, or a summary of them, and not rows of the view."""
    location = root / "warehouse" / placement(root, name).location / folder
    contents = DeltaWriter().read(str(location), 0)
    return "rows" in [column.name for column in contents.columns]


def test_what_does_not_change_groups_adds_no_segment(many: Path) -> None:
    before = state_of(many, "best")
    bring(many, 1, [(1, 1)])
    run(many, engine(), MANY)
    after = state_of(many, "best")
    assert after.segments == before.segments
    assert after.summary == before.summary


class Failing(ComputingEngine):
    """Does not compute summaries."""

    def build_view(self, build: ViewBuild) -> Built:
        if build.view == "best (kept)" and "`place`" in build.query:
            raise EngineError("X700", "the query fails")
        return ComputingEngine.build_view(self, build)


def test_without_a_summary_all_groups_are_read(many: Path) -> None:
    bring(many, 1, [(300, 5)], [2])
    run(many, engine(), MANY)
    for number in (2, 3):
        bring(many, number, [(300 + number, 5)], [number + 10, number + 50])
        run(many, engine(Failing), MANY)
        require_all_right(many)
        state = state_of(many, "best")
        assert state.summary is None
        assert len(state.segments) == 1
        assert ways(many)[-1]["best"] == Way.CHANGES
    assert state_of(many, "as_often").summary is not None


def test_a_summary_that_is_not_small_is_none(many: Path) -> None:
    bring(many, 1, [(300, 5)])
    run(many, engine(), replace(MANY, share_of_summary=0.01))
    assert state_of(many, "best").summary is None
    bring(many, 2, [(301, 5)])
    run(many, engine(), MANY)
    assert state_of(many, "best").summary is None, "it is not tried in each step"
    require_all_right(many)


def test_few_groups_have_none(many: Path) -> None:
    write_till(many / "other", PROGRAM + "\nCREATE TABLE goods (good STRING);\nCREATE TABLE visits (good STRING);")
    apply(many / "other")
    bring(many / "other", 0, [(1, 1), (2, 1)])
    run(many / "other", engine(), MANY)
    assert {state_of(many / "other", name).summary for name in QUERIES} == {None}
    bring(many / "other", 1, [(number, number) for number in range(3, 30)])
    run(many / "other", engine(), MANY)
    assert None not in {state_of(many / "other", name).summary for name in QUERIES}, "many by now"
    require_all_right(many / "other")


def test_what_is_gone_is_computed_anew(many: Path) -> None:
    bring(many, 1, [(300, 5)])
    run(many, engine(), MANY)
    state = state_of(many, "best")
    assert state.summary is not None
    location = many / "warehouse" / placement(many, "best").location
    (location / state.summary.folder / "_delta_log" / f"{0:020}.json").unlink()
    bring(many, 2, [(301, 5)])
    run(many, engine(), MANY)
    assert ways(many)[-1]["best"] == Way.ANEW
    require_all_right(many)
    assert Counter(ways(many)[-1].values()) == {Way.ANEW: 1, Way.CHANGES: 2}
