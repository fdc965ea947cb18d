"""Checkpoints: written, listed, and gone back to, whole, wherever the process dies; over real Delta tables."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.errors import ApprovalRequired, EngineError, NotFound, PlanRejected, ReconcileError
from reconciler.cli.main import run
from reconciler.delta.opening import open_table
from reconciler.engine.protocol import TableBuild, ViewBuild
from reconciler.environment.target import open_target
from reconciler.registry.intents import Writer
from reconciler.registry.model import Lease
from reconciler.registry.protocol import History
from reconciler.retention.facts import _checkpoints
from reconciler.service.project import Project
from reconciler.state.checkpoints import LISTED, find_checkpoint, list_checkpoints, write_checkpoint
from reconciler.testing.crashes import Crash, crash_at
from reconciler.versions.history import list_applies
from tests.cells import mostly_slow
from tests.shops.recorded import (
    PROGRAM,
    YAML,
    everything,
    feed,
    head_of,
    open_project,
    recording,
    rows_of,
    steps_recorded,
    write_project,
)

CHANGED = PROGRAM.replace("over_b AS SELECT id", "over_b AS SELECT note").replace(
    "CREATE TABLE b (id BIGINT, note STRING)", "CREATE TABLE c (id BIGINT);\nCREATE TABLE b (id BIGINT, note STRING)"
)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two steps, a checkpoint `good`; then a step, a changed program and one more step."""
    root = tmp_path_factory.mktemp("past") / "shop"
    write_project(root)
    open_project(root).apply()
    feed(root, "left", "1", {"id": 1})
    open_project(root).run_once()
    feed(root, "right", "1", {"id": 1, "note": "x"})
    open_project(root).run_once()
    written = open_project(root).checkpoint("good")
    then, head = everything(root), head_of(root)
    feed(root, "left", "2", {"id": 2})
    open_project(root).run_once()
    write_project(root, CHANGED)
    open_project(root).apply()
    open_project(root).execute("INSERT INTO c VALUES (9)")
    return {"root": root, "checkpoint": written, "then": then, "head": head}


@pytest.fixture
def shop(past: dict[str, Any], tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(past["root"], root)
    return root


def is_back(root: Path, past: dict[str, Any]) -> None:
    head, then = head_of(root), past["head"]
    assert everything(root) == past["then"]
    assert head.positions == then.positions
    assert head.applied is not None
    assert (head.applied.record, head.applied.digest) == (then.applied.record, then.applied.digest)
    assert head.intent is None


def test_a_checkpoint_holds_where_everything_stood(past: dict[str, Any]) -> None:
    checkpoint, head = past["checkpoint"], past["head"]
    assert (checkpoint.name, checkpoint.step, checkpoint.cause) == ("good", 2, "named")
    assert checkpoint.relations == head.published.relations
    assert checkpoint.positions == head.positions
    target = Project.open(past["root"]).target
    assert find_checkpoint(target, "shop", "good") == checkpoint
    listed = list_checkpoints(target, "shop")
    assert checkpoint in listed
    assert [one.at for one in listed] == sorted(one.at for one in listed)


def test_everything_goes_back_together_and_the_pipeline_goes_on(shop: Path, past: dict[str, Any]) -> None:
    before = head_of(shop)
    restored = open_project(shop).restore("good")
    is_back(shop, past)
    head = head_of(shop)
    assert before.published is not None
    assert head.published is not None
    assert restored.step == head.published.step == before.published.step + 1
    assert steps_recorded(shop)[-1] == (restored.step, "restore")
    (event,) = open_project(shop).events(1)
    assert (event.event, event.step) == ("checkpoint restored", restored.step)
    assert {**event.details, "by": ""} == {"checkpoint": "good", "pipeline": "shop", "of_step": 2, "by": ""}
    open_project(shop).run_once()
    assert rows_of(shop, "a") == [(1,), (2,)], "what was read after the checkpoint is read again"
    assert open_project(shop).read_step(["a"], 2).relations["a"].rows == ((1,),)


def test_no_row_is_copied(shop: Path) -> None:
    engine = recording()
    open_project(shop, engine).restore("good")
    assert [call for call in engine.calls if isinstance(call, (ViewBuild, TableBuild))] == []


def test_the_next_plan_goes_from_the_checkpoint_to_the_files_and_what_stood_is_not_in_the_way(
    shop: Path, past: dict[str, Any]
) -> None:
    open_project(shop).restore("good")
    plan = open_project(shop).plan()
    changed = {(change.action.value, change.name) for change in plan.diff.relations}
    assert {("added", "c"), ("modified", "over_b")} <= changed
    open_project(shop).apply()
    assert open_project(shop).plan().changes_nothing
    assert rows_of(shop, "c") == []
    open_project(shop).execute("INSERT INTO c VALUES (1)")
    assert rows_of(shop, "c") == [(1,)]


def test_what_is_no_part_of_the_checkpoint_can_be_had_back_by_a_later_one(shop: Path, past: dict[str, Any]) -> None:
    open_project(shop).checkpoint("late")
    late = everything(shop), rows_of(shop, "c")
    open_project(shop).restore("good")
    write_project(shop)
    assert open_project(shop).apply().did_nothing or open_project(shop).plan().changes_nothing
    open_project(shop).execute("INSERT INTO a VALUES (50)")
    open_project(shop).restore("late")
    assert (everything(shop), rows_of(shop, "c")) == late


def test_what_a_restore_left_standing_is_not_lost_sight_of_by_applies(shop: Path) -> None:
    open_project(shop).restore("good")
    write_project(shop, PROGRAM + "CREATE TABLE d (id BIGINT);\n")
    open_project(shop).apply()
    write_project(shop, CHANGED)
    open_project(shop).apply()
    assert open_project(shop).plan().changes_nothing
    assert rows_of(shop, "c") == []


def test_an_approval_from_before_serves_no_more(shop: Path) -> None:
    awaiting = YAML.replace("bootstrap_policy: allow", "bootstrap_policy: await_approval")
    write_project(shop, CHANGED, awaiting)
    open_project(shop).apply()
    write_project(shop, PROGRAM, awaiting)
    open_project(shop).checkpoint("before")
    digest = open_project(shop).plan().digest
    open_project(shop).approve(digest)
    open_project(shop).restore("before")
    assert open_project(shop).plan().digest != digest
    with pytest.raises(ApprovalRequired):
        open_project(shop).apply()


def test_a_restore_that_changes_the_program_is_approved_like_a_rollback(shop: Path) -> None:
    """The checkpoint is of a time when the policy was `allow`: bringing that back loosens it."""
    awaiting = YAML.replace("bootstrap_policy: allow", "bootstrap_policy: await_approval")
    write_project(shop, CHANGED, awaiting)
    open_project(shop).apply()
    before, told = head_of(shop), list[str]()
    with pytest.raises(ApprovalRequired) as refusal:
        open_project(shop).observed(tell=told.append).restore("good")
    assert "  Approval: needed (bootstrap_policy: await_approval)" in told
    assert "checkpoint good of shop needs a recorded approval" in refusal.value.message
    assert head_of(shop) == before
    digest = str(refusal.value.hint).split(" shop ")[1][:12]
    # Other contents have other digests, be they of the same checkpoint's files.
    assert digest not in open_project(shop).plan().digest
    open_project(shop).approve(digest, "Bob")
    open_project(shop).restore("good")
    assert open_project(shop).plan().policies.bootstrap is BootstrapPolicy.AWAIT_APPROVAL
    # Where only rows go back, nothing is asked.
    open_project(shop).checkpoint("now")
    open_project(shop).restore("now")


def test_a_restore_can_be_approved_where_it_is_asked_for(shop: Path) -> None:
    write_project(shop, CHANGED, YAML.replace("bootstrap_policy: allow", "bootstrap_policy: await_approval"))
    open_project(shop).apply()
    open_project(shop).restore("good", approve_as="Bob")
    rows = open_target(shop, None).registry.history(History.APPROVALS, "shop")
    assert [row["by"] for row in rows] == ["Bob"]


def test_what_policy_denies_no_restore_brings(shop: Path) -> None:
    write_project(shop, CHANGED)
    open_project(shop).apply()
    (shop / "policy.yaml").write_text('apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: "*", verdict: deny}]\n')
    with pytest.raises(PlanRejected):
        open_project(shop).restore("good", approve_as="Bob")


BOUNDARIES = (
    "restore_intent:before",
    "step:intended",
    "restore:before",
    "restore:effected",
    "restore:before#3",
    "restore:effected#5",
    "history:recorded",
    "step:recorded",
)


@pytest.mark.parametrize(
    "boundary", mostly_slow(BOUNDARIES, "step:intended", "restore:effected", "restore:before#3", "history:recorded")
)
def test_killed_anywhere_a_restore_is_finished_by_whoever_comes_next(
    boundary: str, shop: Path, past: dict[str, Any]
) -> None:
    name, _, occurrence = boundary.partition("#")
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at(name, int(occurrence or 1))).restore("good")
    (shop / "in/left/2.json").unlink()
    open_project(shop).run_once()
    if boundary == "restore_intent:before":
        assert rows_of(shop, "c") == [(9,)]
        open_project(shop).restore("good")
    is_back(shop, past)
    applies = Project.open(shop).target.registry.history
    assert [row["summary"] for row in applies(History.APPLIES, "shop", approval="restored")] == [
        "restored checkpoint good of shop"
    ]


@pytest.mark.parametrize("boundary", ["restore:effected#3", "history:recorded#1"])
def test_a_restore_whose_process_was_taken_over_is_put_back(shop: Path, boundary: str) -> None:
    before = everything(shop)
    applies = list_applies(Project.open(shop).target, ["shop"])
    name, _, occurrence = boundary.partition("#")
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at(name, int(occurrence))).restore("good")
    assert list_applies(Project.open(shop).target, ["shop"]) == applies, "what is not in force yet is not told"
    registry = Project.open(shop).target.registry
    head, lease = registry.head("shop"), registry.document("shop", Lease)
    assert head is not None
    assert head.value.intent is not None
    assert lease is not None
    intent = replace(head.value.intent, writer=Writer("elsewhere", "1:1"))
    registry.replace_head(head.token, replace(head.value, intent=intent), "w1")
    expired: Lease = replace(lease.value, released=False, expires="2026-01-01T00:00:00+00:00", host="elsewhere")
    registry.replace_document("shop", lease.token, expired, "w2")
    open_project(shop).run_once()
    assert everything(shop) == before
    assert rows_of(shop, "c") == [(9,)]
    assert list_applies(Project.open(shop).target, ["shop"]) == applies, "what never was in force is not told"


def test_a_checkpoint_whose_rows_are_gone_says_so_and_nothing_is_touched(shop: Path) -> None:
    open_project(shop).execute("DELETE FROM a")
    table = open_table(str(shop / "warehouse/shop/a"))
    assert table is not None
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    before = head_of(shop)
    with pytest.raises(EngineError) as caught:
        open_project(shop).restore("good")
    assert caught.value.code == "X730"
    assert "the rows that a held then no longer exist" in caught.value.message
    assert head_of(shop) == before


def test_a_checkpoint_of_a_table_that_was_dropped_since_says_so(shop: Path) -> None:
    open_project(shop).checkpoint("with-c")
    write_project(shop)
    open_project(shop).apply()
    with pytest.raises(EngineError, match="the rows that c held then no longer exist: a later apply removed its folder"):
        open_project(shop).restore("with-c")
    write_project(shop, CHANGED)
    open_project(shop).apply()
    with pytest.raises(EngineError, match="the rows that c held then no longer exist: a later apply removed its folder"):
        open_project(shop).restore("with-c")


def test_another_pipelines_checkpoint_is_taken_over_with_copies(shop: Path, past: dict[str, Any]) -> None:
    theirs = everything(shop)
    engine = recording()
    project = Project.open(shop, engine=engine)
    restored = project.new_pipeline("twin").restore("good", "shop")
    assert (restored.pipeline, restored.source, restored.step) == ("twin", "shop", 1)
    writer = engine.writer
    for relation in ("a", "b"):
        location = str(shop / "warehouse/twin" / relation)
        assert sorted(writer.read(location, writer.latest(location) or 0).rows) == past["then"][relation]
    assert everything(shop) == theirs
    twin = project.new_pipeline("twin")
    assert twin.read_step(["over_a"]).relations["over_a"].rows
    head = project.target.registry.head("twin")
    assert head is not None
    assert head.value.positions == past["head"].positions
    twin.execute("INSERT INTO a VALUES (77)")
    assert everything(shop) == theirs
    folder = shop / "pipelines/twin"
    shutil.copytree(shop / "pipelines/shop", folder)
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(YAML.replace("name: shop", "name: twin"))
    assert twin.plan().changes_nothing
    with pytest.raises(ReconcileError) as caught:
        twin.restore("good", "shop")
    assert caught.value.code == "A517"
    twin.restore("good", "shop", replaces=True)
    location = str(shop / "warehouse/twin/a")
    assert writer.read(location, writer.latest(location) or 0).rows == ((1,),)


@pytest.mark.parametrize(
    "boundary", ["step:intended", "restore:before#2", "restore:published:before", "restore:effected#2", "history:recorded"]
)
def test_a_takeover_of_anothers_checkpoint_is_finished_too(boundary: str, shop: Path, past: dict[str, Any]) -> None:
    name, _, occurrence = boundary.partition("#")
    project = Project.open(shop, engine=recording())
    with pytest.raises(Crash):
        project.new_pipeline("twin").observed(boundary=crash_at(name, int(occurrence or 1))).restore("good", "shop")
    folder = shop / "pipelines/twin"
    shutil.copytree(shop / "pipelines/shop", folder)
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(YAML.replace("name: shop", "name: twin"))
    twin = Project.open(shop, engine=recording()).pipeline("twin")
    twin.apply()
    assert sorted(twin.read_step(["a"]).relations["a"].rows) == past["then"]["a"]
    assert twin.plan().changes_nothing


def test_names_and_listing(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotFound) as caught:
        open_project(shop).restore("godo")
    assert caught.value.code == "A516"
    assert "good" in (caught.value.hint or "")
    with pytest.raises(ReconcileError):
        open_project(shop).checkpoint("../x")
    with pytest.raises(ReconcileError, match="is not a valid name of a pipeline"):
        Project.open(shop, engine=recording()).new_pipeline("../x").restore("good", "shop")
    target = Project.open(shop).target
    stored = target.registry.head("shop")
    assert stored is not None
    for number in range(3):
        write_checkpoint(target, stored.value, None, "periodic")
        write_checkpoint(target, stored.value, f"n{number}", "stop")
    names = [one.name for one in list_checkpoints(target, "shop")]
    assert {"good", "n0", "n1", "n2", "step-5"} <= set(names)
    assert len(names) == len(set(names)) <= LISTED
    for arguments in (["list", "shop"], ["create", "shop", "--name", "mine"], ["restore", "shop", "mine"]):
        assert run(["checkpoint", *arguments, "--repo", str(shop)], recording()) == 0
    text = capsys.readouterr().out
    assert "periodic" in text
    assert "checkpoint mine of shop at step 5" in text
    assert "shop was restored to checkpoint mine, as step 6" in text
    for arguments in (
        ["list", "shop", "x"],
        ["restore", "shop"],
        ["list", "shop", "--name", "x"],
        ["create", "shop", "--replace"],
    ):
        assert run(["checkpoint", *arguments, "--repo", str(shop)], recording()) == 1


PROTECTED = YAML + "  tables: {a: {protect: true}}\n"


@pytest.mark.parametrize("policy", ["allow", "await_approval"])
def test_protected_rows_are_not_replaced_by_those_of_another_pipeline(shop: Path, policy: str) -> None:
    project = Project.open(shop, engine=recording())
    shutil.copytree(shop / "pipelines/shop", shop / "pipelines/twin")
    for given in ("allow", policy):
        for name in ("twin", "shop"):
            text = PROTECTED.replace("name: shop", f"name: {name}").replace("policy: allow", f"policy: {given}")
            (shop / "pipelines" / name / "program.sql").write_text(PROGRAM)
            (shop / "pipelines" / name / "pipeline.yaml").write_text(text)
            project.pipeline(name).apply()
    twin = project.pipeline("twin")
    twin.execute("INSERT INTO a VALUES (77)")
    project.pipeline("shop").checkpoint("theirs")
    before = project.target.registry.head("twin")
    assert twin.plan().changes_nothing
    for approve_as in (None, "Bob"):
        with pytest.raises(
            PlanRejected, match="table a is protected, and its rows are replaced by those of shop"
        ) as refusal:
            twin.restore("theirs", "shop", replaces=True, approve_as=approve_as)
        assert refusal.value.code == "A508"
    assert project.target.registry.head("twin") == before

    rules = "apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: H911, verdict: approve}]\n"
    (shop / "policy.yaml").write_text(rules)
    twin = Project.open(shop, engine=recording()).pipeline("twin")
    with pytest.raises(ApprovalRequired) as waiting:
        twin.restore("theirs", "shop", replaces=True)
    assert waiting.value.code == "A509"
    assert project.target.registry.head("twin") == before
    digest = str(waiting.value.hint).split(" twin ")[1][:12]
    twin.approve(digest, "Bob")
    twin.restore("theirs", "shop", replaces=True)
    assert project.target.registry.head("twin") != before


def test_protected_rows_go_back_to_a_checkpoint_of_their_own(shop: Path) -> None:
    write_project(shop, PROGRAM, PROTECTED)
    open_project(shop).apply()
    open_project(shop).checkpoint("now")
    before = rows_of(shop, "a")
    open_project(shop).execute("INSERT INTO a VALUES (77)")
    open_project(shop).restore("now")
    assert rows_of(shop, "a") == before


AHEAD = "2999-01-01T00:00:00.000+00:00"


def ahead(shop: Path, name: str) -> None:
    """The newest checkpoint of a name was written by a clock that was far ahead."""
    registry = Project.open(shop).target.registry
    row = max(registry.history(History.CHECKPOINTS, "shop", name=name), key=lambda one: int(one["step"]))
    registry.append(History.CHECKPOINTS, "shop", [{**row, "at": AHEAD}], None)


def test_the_newest_of_a_name_is_the_one_of_the_latest_step_whatever_clocks_say(shop: Path) -> None:
    first = open_project(shop).checkpoint("again")
    ahead(shop, "again")
    open_project(shop).execute("INSERT INTO a VALUES (77)")
    second = open_project(shop).checkpoint("again")
    assert second.step == first.step + 1
    target = Project.open(shop).target
    assert find_checkpoint(target, "shop", "again") == second
    assert list_checkpoints(target, "shop")[-1] == second
    # Two at one step: the one that was written last.
    ahead(shop, "again")
    third = open_project(shop).checkpoint("again")
    assert third.at > AHEAD
    assert find_checkpoint(target, "shop", "again") == third
    assert [one for one in list_checkpoints(target, "shop") if one.name == "again"] == [third]


def test_the_newest_checkpoint_is_kept_whatever_clocks_say(shop: Path) -> None:
    target = Project.open(shop).target
    ahead(shop, "good")
    newest = write_checkpoint(target, head_of(shop), None, "periodic")
    kept = [one.name for one in _checkpoints(target, head_of(shop), 0, datetime.now(UTC))]
    assert newest.name in kept


def test_applies_are_told_in_their_order_whatever_clocks_say(shop: Path) -> None:
    registry = Project.open(shop).target.registry
    head = registry.head("shop")
    assert head is not None
    assert head.value.applied is not None
    late = replace(head.value, applied=replace(head.value.applied, at=AHEAD))
    registry.replace_head(head.token, late, "ahead")
    write_project(shop)
    open_project(shop).apply()
    open_project(shop).restore("good")
    first, second = list_applies(Project.open(shop).target, ["shop"])[-2:]
    assert AHEAD < first.at < second.at
    assert (first.approval, second.approval) == ("policy", "restored")
