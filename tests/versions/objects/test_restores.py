"""Versions of objects after a checkpoint was restored: those of then."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.registry.intents import Writer
from reconciler.registry.model import Lease, ObjectVersions
from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.versions.history import program_at, time_of
from reconciler.versions.looking import find_object, list_versions, read_version, versioned_name
from tests.engine.delta_writer import DeltaWriter
from tests.versions.objects.numbered import (
    EVOLVE,
    OTHER,
    RENAMED,
    SQL,
    THIRD,
    active,
    apply,
    head_of,
    moved,
    numbers,
    open_shop,
    rows_of,
    target_of,
)


def test_a_restore_brings_back_the_numbers_of_then(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("then")
    then = head_of(shop).versions
    without = "CREATE VIEW w AS SELECT * FROM v;\n"
    apply(shop, THIRD.replace(without, "CREATE TABLE r (id BIGINT);\n"), more=EVOLVE)
    open_shop(shop).restore("then")
    assert active(shop) == numbers(v=1) | {"table:r": None}
    assert {key: one.id for key, one in head_of(shop).versions.items() if one.active is not None} == {
        key: one.id for key, one in then.items()
    }
    assert head_of(shop).versions["view:v"].last == 2
    assert apply(shop, SQL.replace("f(x) AS y", "f(x + 9) AS y"), more=EVOLVE)["view:v"] == 3


def test_a_restore_over_renames_brings_back_names_and_numbers(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("first")
    first = head_of(shop).versions
    one = RENAMED.replace("f(x) AS y", "f(x + 1) AS y").replace("TABLE t", "TABLE tt").replace("FROM t", "FROM tt")
    apply(shop, one, more=moved("v vv", "s ss", "t tt"))
    open_shop(shop).checkpoint("second")
    second = head_of(shop).versions
    # l follows another rename, and changes; a new v comes where the old one was.
    two = (
        one.replace("TABLE tt", "TABLE ttt").replace("FROM tt", "FROM ttt WHERE x > 0")
        + "CREATE VIEW v AS SELECT id FROM ss;\n"
    )
    apply(shop, two, more=moved("tt ttt"))
    assert head_of(shop).versions["view:l"].active == 2
    assert head_of(shop).versions["view:v"].id == "view:v/2"

    open_shop(shop).restore("second")
    active(shop)
    there = {key: found for key, found in head_of(shop).versions.items() if found.active is not None}
    assert there == {key: replace(found, last=there[key].last) for key, found in second.items()}
    assert there["view:l"] == ObjectVersions("view:l", 1, 2)

    open_shop(shop).restore("first")
    active(shop)
    there = {key: found for key, found in head_of(shop).versions.items() if found.active is not None}
    assert there == {key: replace(found, last=there[key].last) for key, found in first.items()}
    assert head_of(shop).versions["formerly:view:v/2"].active is None


def test_another_pipelines_checkpoint_has_numbers_of_its_own(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("then")
    project = Project.open(shop, engine=RecordingEngine(DeltaWriter()))
    project.new_pipeline("twin").restore("then", "shop")
    assert active(shop, "twin") == numbers()
    assert active(shop) == numbers(v=1)
    apply(shop, SQL, more=EVOLVE)
    open_shop(shop).checkpoint("other")
    project.new_pipeline("twin").restore("other", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=1)
    project.new_pipeline("twin").restore("then", "shop", replaces=True)
    assert active(shop, "twin") == numbers()
    row = rows_of(shop, History.VERSIONS, "twin")[-1]
    assert (row["object"], row["number"], row["approval"], row["plan_digest"]) == ("view:v", "1", "restored", "")


def test_a_restore_that_was_put_back_leaves_no_version(shop: Path) -> None:
    """Its process was taken over after it had told the histories."""
    open_shop(shop).checkpoint("then")
    project = Project.open(shop, engine=RecordingEngine(DeltaWriter()))
    project.new_pipeline("twin").restore("then", "shop")
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("other")
    twin = project.new_pipeline("twin")
    with pytest.raises(Crash):
        twin.observed(boundary=crash_at("history:recorded")).restore("other", "shop", replaces=True)
    registry = target_of(shop).registry
    head, lease = registry.head("twin"), registry.document("twin", Lease)
    assert head is not None
    assert head.value.intent is not None
    assert lease is not None
    intent = replace(head.value.intent, writer=Writer("elsewhere", "1:1"))
    registry.replace_head(head.token, replace(head.value, intent=intent), "w1")
    expired: Lease = replace(lease.value, released=False, expires="2026-01-01T00:00:00+00:00", host="elsewhere")
    registry.replace_document("twin", lease.token, expired, "w2")
    twin.run_once()
    assert active(shop, "twin") == numbers()

    apply(shop, THIRD, more=EVOLVE)
    open_shop(shop).checkpoint("third")
    twin.restore("third", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=1)
    target = target_of(shop)
    found = find_object(target, versioned_name("twin.v"))
    assert [one.number for one in list_versions(target, found).versions] == [0, 1]
    assert read_version(target, found, "v1").definition["query"] == "SELECT id, f(x + 2) AS y FROM l"
    program = program_at(target, "twin", time_of("2999-01-01"))
    assert {one.version for one in program.objects if (one.kind, one.name) == ("view", "v")} == {1}
    # What was put back was never a version: to bring it now is the next one.
    twin.restore("other", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=2)
