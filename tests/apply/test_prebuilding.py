"""An apply beside a live run, over real Delta tables, without Spark: the run goes on while new versions are built, readers
read the old ones, and the switch is at a step."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply.applying import ApplyResult, apply_pipeline
from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import ApprovalRequired, EngineError, LeaseHeld, ManifestInvalid, ReconcileError
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import Built, TableBuild, ViewBuild
from reconciler.environment.progress import Progress
from reconciler.environment.session import Session
from reconciler.query.reading import functions_for, published_place, sources_for
from reconciler.registry.model import Head, Lease
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.applied import read_snapshot
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents
from tests.engine.delta_writer import DeltaWriter
from tests.waiting import wait_until

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: %s
  evolution: evolve
  connectors:
    - name: arriving
      table: fed
      transport: {name: file_input, config: {path: in}}
      format: {name: json}
"""
BEFORE = """\
CREATE TABLE fed (id BIGINT);
CREATE TABLE still (id BIGINT, note STRING);
CREATE TABLE gone (id BIGINT);
CREATE MATERIALIZED VIEW over_fed AS SELECT id FROM fed;
CREATE MATERIALIZED VIEW over_still AS SELECT id FROM still;
"""
# `over_both` is computed from `over_fed`, which is computed again, too: it moves whenever `fed` does.
AFTER = """\
CREATE TABLE fed (id BIGINT);
CREATE TABLE still (id BIGINT, note STRING);
CREATE TABLE fresh (id BIGINT);
CREATE MATERIALIZED VIEW over_fed AS SELECT id + 1 AS id FROM fed;
CREATE MATERIALIZED VIEW over_still AS SELECT id + 1 AS id FROM still;
CREATE MATERIALIZED VIEW over_both AS SELECT f.id FROM over_fed f JOIN over_still s ON f.id = s.id;
CREATE MATERIALIZED VIEW new_still AS SELECT note FROM still;
"""
EVOLVED = AFTER.replace("TABLE fed (id BIGINT)", "TABLE fed (more STRING, id BIGINT)")
KINDS = (
    "create_table",
    "evolve_table",
    "bootstrap_view",
    "publish_table",
    "publish_view",
    "drop_relation",
    "commit_snapshot",
)
BOUNDARIES = [
    "prebuild:before",
    "prebuild:effected",
    "prebuild:before#3",
    "prebuild:effected#4",
    "prebuild:recorded",
    "open:before",
    "open:recorded",
    *(f"{kind}:{point}" for kind in KINDS for point in POINTS),
    "bootstrap_view:effected#3",
    "bootstrap_view:recorded#4",
    "publish_view:effected#3",
]
IN_EVERY_RUN = {
    "prebuild:effected#4",
    "commit_snapshot:effected",
}
"""While it builds, and after the switch. The others are in the slow suite."""


class Hooked(RecordingEngine):
    """Says before each build what it is asked for, and remembers what it really computed."""

    def __init__(self, before: Callable[[str], None] = lambda name: None) -> None:
        super().__init__(DeltaWriter())
        self.before = before
        self.computed: list[str] = []

    def build_view(self, build: ViewBuild) -> Built:
        self.before(fold(build.view))
        built = super().build_view(build)
        self.computed += [] if built.reused else [fold(build.view)]
        return built

    def build_table(self, build: TableBuild) -> Built:
        self.before(fold(build.table))
        built = super().build_table(build)
        self.computed += [] if built.reused else [fold(build.table)]
        return built


def write(root: Path, program: str, policy: str = "allow") -> None:
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(YAML % policy)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    (root / "in").mkdir(exist_ok=True)


def opened(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def head(root: Path) -> Head:
    stored = opened(root).target.registry.head("shop")
    assert stored is not None
    return stored.value


def step(root: Path) -> int:
    published = head(root).published
    assert published is not None
    return published.step


def feed(root: Path, number: int) -> None:
    """One more file, complete when it is there."""
    (root / f"{number}.part").write_text(json.dumps({"id": number}) + "\n")
    (root / f"{number}.part").rename(root / "in" / f"{number}.json")


def contents_at(root: Path, found: Head) -> dict[str, Contents]:
    """What readers of the published step read, having found that every view is what its query gives over the rest."""
    assert found.applied is not None
    assert found.published is not None
    project = opened(root)
    assert found.applied.record is not None
    program = read_snapshot(project.target, "shop", found.applied.record).program
    placements, warehouse = found.published.relations, project.target.warehouse
    engine = RecordingEngine(DeltaWriter())
    place = published_place(program, warehouse, placements)
    read = {key: engine.writer.read(join_location(warehouse, one.location), one.version) for key, one in placements.items()}
    assert set(read) == {*program.tables, *program.views}
    for key, view in program.views.items():
        reads = [one.relation for one in view.reads]
        sources = sources_for(program, reads, place)
        functions = functions_for(program, view.calls, reads)
        expected = engine._digest_of(view.query, view.declaration.column_names, sources, functions)
        assert read[key].rows == expected.rows, f"{key} at step {found.published.step}"
    return read


def staged_folders(root: Path) -> set[str]:
    """Staging folders that hold a build which no table names: `<relation>/v-…`."""
    warehouse = root / "warehouse" / "shop"
    named: set[str] = set()
    for log in warehouse.glob("*/_delta_log/*.json"):
        for line in log.read_text().splitlines():
            path = json.loads(line).get("add", {}).get("path", "")
            named |= {f"{log.parent.parent.name}/{path.split('/')[0]}"} if "/" in path else set()
    return {f"{path.parent.name}/{path.name}" for path in warehouse.glob("*/v-*")} - named


@contextmanager
def running(root: Path) -> Iterator[list[BaseException]]:
    """A live run; what it failed of, in the end."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            target = opened(root).target
            engine = RecordingEngine(DeltaWriter())
            run_pipeline(target, "shop", Session(engine), Pace(once=False, interval_seconds=0.02, stop=ended.is_set))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: bool(failures) or is_held(root))
        yield failures
    finally:
        ended.set()
        thread.join(60)
        assert not thread.is_alive()


def is_held(root: Path) -> bool:
    lease = opened(root).target.registry.document("shop", Lease)
    return lease is not None and lease.value.command == "run" and not lease.value.released


class Feeding:
    """Feeds a file and waits until the run has published it, at each of the first builds."""

    def __init__(self, root: Path, builds: int) -> None:
        self.root, self.builds, self.published = root, builds, 0

    def __call__(self, name: str) -> None:
        if self.builds == 0:
            return
        self.builds -= 1
        before = step(self.root)
        feed(self.root, 1000 + before)
        wait_until(lambda: step(self.root) > before)
        self.published += 1


def apply(root: Path, engine: RecordingEngine, boundary: Boundary = no_boundary) -> tuple[ApplyResult, list[Progress]]:
    told: list[Progress] = []
    target = opened(root).target
    return apply_pipeline(target, "shop", Session(engine, report=told.append, boundary=boundary)), told


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("baseline")
    write(root, BEFORE)
    pipeline = opened(root)
    pipeline.apply()
    pipeline.execute("INSERT INTO still VALUES (1, 'a'), (2, 'b')")
    pipeline.execute("INSERT INTO gone VALUES (7)")
    feed(root, 1)
    pipeline.run_once()
    return root


@pytest.fixture
def shop(baseline: Path, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(baseline, root)
    write(root, AFTER)
    return root


def test_steps_are_published_while_new_versions_are_built_and_the_switch_is_at_a_step(shop: Path) -> None:
    seen: list[tuple[str | None, int, Mapping[str, Contents]]] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            found = head(shop)
            assert found.applied is not None
            assert found.published is not None
            # What is dropped goes a moment before the switch: not looked at then.
            if found.journal is None:
                try:
                    seen.append((found.applied.record, found.published.step, contents_at(shop, found)))
                except EngineError:
                    assert head(shop).applied != found.applied

    old, before = head(shop).applied, step(shop)
    feeding = Feeding(shop, 3)
    engine = Hooked(feeding)
    reader = threading.Thread(target=read)
    with running(shop) as failures:
        reader.start()
        result, told = apply(shop, engine)
        switched = head(shop)
        at_switch = step(shop)
        feed(shop, 2000)
        wait_until(lambda: step(shop) > at_switch or bool(failures))
        wait_until(lambda: len(seen) > 0 and seen[-1][1] > at_switch)
        over.set()
        reader.join()
    assert failures == []
    assert not result.did_nothing

    assert feeding.published == 3
    assert at_switch == before + 3 + 1, "three steps beside the build, and the switch"
    assert old is not None
    assert switched.applied is not None
    records = [record for record, _, _ in seen]
    first_new = records.index(switched.applied.record)
    assert set(records[:first_new]) == {old.record}
    assert set(records[first_new:]) == {switched.applied.record}
    assert len({number for record, number, _ in seen if record == old.record}) > 1
    assert len(contents_at(shop, switched)["fed"].rows) == 1 + 3
    assert len(seen[-1][2]["fed"].rows) == 1 + 3 + 1, "the run goes on"
    assert {"over_both", "new_still"} <= set(seen[-1][2]), "with the new program"
    assert staged_folders(shop) == set()

    # Only what read `fed`, directly or not, was computed again.
    assert sorted(engine.computed) == ["new_still", "over_both", "over_both", "over_fed", "over_fed", "over_still"]
    details = [one.detail.partition(", ")[2] for one in told if one.done and one.step.startswith("bootstrap")]
    beside, caught_up = f"built beside step {before}", f"caught up with step {at_switch - 1}"
    assert details[:4] == [beside] * 4
    assert sorted(details[4:]) == [beside, beside, caught_up, caught_up]


def test_what_was_built_beside_the_run_keeps_its_measures(shop: Path) -> None:
    with running(shop):
        apply(shop, Hooked())
    found = head(shop).published
    assert found is not None
    assert all(found.relations[name].seconds is not None for name in ("over_fed", "over_still", "over_both", "new_still"))


def test_nothing_is_built_twice_when_nothing_moves(shop: Path) -> None:
    engine = Hooked()
    with running(shop) as failures:
        apply(shop, engine)
    assert failures == []
    assert sorted(engine.computed) == ["new_still", "over_both", "over_fed", "over_still"]
    contents_at(shop, head(shop))


def test_without_a_run_nothing_is_built_beforehand(shop: Path) -> None:
    told = apply(shop, Hooked())[1]
    assert not [one for one in told if "built beside" in one.detail or "caught up" in one.detail]
    contents_at(shop, head(shop))


def test_a_table_that_evolves_keeps_the_rows_that_come_meanwhile(shop: Path) -> None:
    write(shop, EVOLVED)
    engine = Hooked(Feeding(shop, 2))
    with running(shop) as failures:
        apply(shop, engine)
        at_switch = step(shop)
        feed(shop, 2000)
        wait_until(lambda: step(shop) > at_switch or bool(failures))
    assert failures == []
    rows = contents_at(shop, head(shop))["fed"].rows
    assert len(rows) == 1 + 2 + 1
    assert {row[0] for row in rows} == {None}
    assert engine.computed.count("fed") == 2
    assert staged_folders(shop) == set()


def test_files_that_change_meanwhile_are_refused_and_nothing_stays(shop: Path) -> None:
    write(shop, AFTER, "await_approval")
    pipeline = opened(shop)
    pipeline.approve(pipeline.plan().digest, by="ann")
    before = head(shop)

    def change(name: str) -> None:
        write(shop, AFTER.replace("id + 1 AS id FROM still", "id + 2 AS id FROM still"), "await_approval")

    with running(shop) as failures:
        with pytest.raises(ApprovalRequired):
            apply(shop, Hooked(change))
        assert is_held(shop), "the run was not even asked"
    assert failures == []
    assert (head(shop).applied, head(shop).journal) == (before.applied, None)
    assert staged_folders(shop) == set()
    assert not (shop / "warehouse/shop/new_still").exists()


def test_files_that_break_meanwhile_leave_nothing(shop: Path) -> None:
    with running(shop), pytest.raises(ManifestInvalid):
        apply(shop, Hooked(lambda name: write(shop, "CREATE NONSENSE;")))
    assert staged_folders(shop) == set()
    write(shop, AFTER)
    apply(shop, Hooked())
    contents_at(shop, head(shop))


def test_files_that_change_meanwhile_and_may_be_applied_are_built_beside_the_run_too(shop: Path) -> None:
    changed = AFTER.replace("id + 1 AS id FROM still", "id + 2 AS id FROM still")
    engine = Hooked(lambda name: write(shop, changed))
    with running(shop) as failures:
        result, told = apply(shop, engine)
    assert failures == []
    assert engine.computed.count("over_still") == 2
    assert engine.computed.count("new_still") == 1, "what has not changed is not built again"
    under_lease = [one.detail for one in told if one.done and "bootstrap" in one.step][-4:]
    assert all("built beside" in detail for detail in under_lease)
    assert result.plan is not None
    assert opened(shop).plan().changes_nothing
    assert staged_folders(shop) == set()


def test_a_view_that_cannot_be_built_leaves_everything_as_it_was_and_the_run_alone(shop: Path) -> None:
    def refuse(name: str) -> None:
        if name == "over_both":
            raise EngineError("X731", "no")

    before = head(shop)
    with running(shop) as failures:
        with pytest.raises(EngineError):
            apply(shop, Hooked(refuse))
        lease = opened(shop).target.registry.document("shop", Lease)
        assert lease is not None
        assert (lease.value.command, lease.value.handover_to) == ("run", None)
    assert failures == []
    assert (head(shop).applied, head(shop).journal) == (before.applied, None)
    assert staged_folders(shop) == set()


def test_two_applies_at_once_beside_a_run_end_in_one(shop: Path) -> None:
    outcomes: list[Any] = []

    def one() -> None:
        try:
            outcomes.append(apply(shop, Hooked())[0])
        except ReconcileError as error:
            outcomes.append(error)

    with running(shop) as failures:
        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    applied = [one for one in outcomes if isinstance(one, ApplyResult) and not one.did_nothing]
    assert len(applied) == 1
    (other,) = [one for one in outcomes if one is not applied[0]]
    assert isinstance(other, LeaseHeld) or (isinstance(other, ApplyResult) and other.did_nothing)
    contents_at(shop, head(shop))
    assert staged_folders(shop) == set()
    assert opened(shop).plan().changes_nothing


@pytest.mark.parametrize(
    "boundary", [one if one in IN_EVERY_RUN else pytest.param(one, marks=pytest.mark.slow) for one in BOUNDARIES]
)
def test_an_apply_beside_a_run_that_dies_anywhere_is_made_again(boundary: str, shop: Path) -> None:
    write(shop, EVOLVED)
    name, _, occurrence = boundary.partition("#")
    with running(shop) as failures:
        with pytest.raises(Crash):
            apply(shop, Hooked(Feeding(shop, 2)), crash_at(name, int(occurrence or "1")))
        if head(shop).journal is None:
            contents_at(shop, head(shop))
            apply(shop, Hooked(Feeding(shop, 1)) if is_held(shop) else Hooked())
    # An open journal stops the run; the next apply finishes it.
    assert all(isinstance(one, ReconcileError) and one.code == "A507" for one in failures)
    apply(shop, Hooked())

    read = contents_at(shop, head(shop))
    assert len(read["fed"].rows) == len(list((shop / "in").iterdir()))
    assert sorted(row[1] for row in read["fed"].rows) == sorted(int(path.stem) for path in (shop / "in").iterdir())
    assert head(shop).journal is None
    assert opened(shop).plan().changes_nothing
    opened(shop).run_once()
    contents_at(shop, head(shop))
