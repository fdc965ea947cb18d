"""Versions of objects where an apply fails or dies: each is recorded once, no number is lost or given twice."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply.applying import apply_pipeline
from reconciler.base.errors import EngineError
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.registry.protocol import History
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.versions.looking import find_object, list_versions, versioned_name
from tests.acceptance.faults import WRITES, Fault, Faults, Faulty, Style
from tests.acceptance.shop import write_shop
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.versions.objects.numbered import (
    EVOLVE,
    OTHER,
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


def test_a_row_beyond_the_published_step_is_none(shop: Path) -> None:
    head, registry = head_of(shop), target_of(shop).registry
    assert head.published is not None
    write_shop(shop, OTHER, more=EVOLVE)
    # What an apply tells the histories just before its switch, of a copy; here it never took place.
    copy = shop.parent / "copy"
    shutil.copytree(shop, copy)
    with pytest.raises(Crash):
        open_shop(copy).observed(boundary=crash_at("commit_snapshot:effected")).apply()
    rows = [row for row in target_of(copy).registry.history(History.VERSIONS, "shop") if row["number"] == "1"]
    assert len(rows) == 1
    late = [{**row, "step": str(head.published.step + 9)} for row in rows]
    registry.append(History.VERSIONS, "shop", late, None)
    found = find_object(target_of(shop), versioned_name("v"))
    assert [one.number for one in list_versions(target_of(shop), found).versions] == [0]
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=1)
    assert apply(shop, OTHER, more=EVOLVE) == numbers(v=2)


def test_an_apply_that_takes_itself_back_uses_up_no_number(shop: Path) -> None:
    class Refusing(RecordingEngine):
        def build_view(self, build: Any) -> Any:
            raise EngineError("X700", "no")

    before = head_of(shop).versions
    write_shop(shop, OTHER + "CREATE TABLE n (id INT);\n", more=EVOLVE)
    with pytest.raises(EngineError):
        open_shop(shop, Refusing(DeltaWriter())).apply()
    head = head_of(shop)
    assert head.journal is None
    assert head.versions == before
    assert active(shop) == numbers()
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=1)


CHANGED = """\
CREATE TABLE tt (id BIGINT, x INT, more INT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 2;
CREATE LOCAL VIEW l AS SELECT id, x FROM tt;
CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS z FROM l;
CREATE VIEW w AS SELECT * FROM v;
CREATE MATERIALIZED VIEW n AS SELECT id FROM tt;
"""
AFTER_CHANGED = {
    "function:f": 1, "table:s": None, "table:tt": 1, "view:l": 1, "view:n": 0, "view:v": 1, "view:w": 1
}  # fmt: skip


def apply_with(root: Path, faults: Faults) -> None:
    target = open_target(root, None)
    registry: Any = Faulty(target.registry, WRITES, faults, RuntimeError)
    engine: Any = RecordingEngine(DeltaWriter())
    apply_pipeline(replace(target, registry=registry), "shop", Session(engine, boundary=faults.boundary))


def told(root: Path) -> list[tuple[str, ...]]:
    """The versions recorded, each with its meaning and step."""
    columns = ("object", "number", "fingerprint", "step")
    return [tuple(row[column] for column in columns) for row in rows_of(root, History.VERSIONS)]


@pytest.fixture(scope="module")
def undisturbed(applied: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is told after CHANGED was applied with nothing in the way, and every place where a process could have died."""
    root, faults = tmp_path_factory.mktemp("undisturbed") / "shop", Faults()
    shutil.copytree(applied, root)
    write_shop(root, CHANGED, more=moved("t tt"))
    apply_with(root, faults)
    assert active(root) == AFTER_CHANGED
    names = {name for name, _ in faults.reached}
    assert {"open:before", "commit_snapshot:intended", "append", "replace_head", "publish_view:effected"} <= names
    return {"told": told(root), "places": faults.reached}


def dies_and_applies_again(name: str, occurrence: int, style: Style, root: Path, undisturbed: dict[str, Any]) -> None:
    write_shop(root, CHANGED, more=moved("t tt"))
    with pytest.raises(Crash):
        apply_with(root, Faults(Fault(name, occurrence, style)))
    active(root)
    open_shop(root).apply()
    place = f"{name}#{occurrence} {style}"
    assert active(root) == AFTER_CHANGED, place
    assert told(root) == undisturbed["told"], place
    assert len(target_of(root).registry.history(History.VERSIONS, "shop")) == len(told(root)), place
    assert len(target_of(root).registry.history(History.ACTIVATIONS, "shop")) == len(rows_of(root, History.ACTIVATIONS)), (
        place
    )


@pytest.mark.parametrize("style", mostly_slow([Style.BEFORE, Style.AFTER], Style.AFTER))
def test_killed_where_versions_are_recorded_and_applied_again_each_is_recorded_once(
    style: Style, shop: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    appends = [occurrence for name, occurrence in undisturbed["places"] if name == "append"]
    assert len(appends) >= 3
    for occurrence in appends:
        dies_and_applies_again("append", occurrence, style, shutil.copytree(shop, tmp_path / str(occurrence)), undisturbed)


@pytest.mark.parametrize(
    "place",
    ["open:before", "open:recorded", "bootstrap_view:effected", "extend_table:intended", "commit_snapshot:effected"],
)
def test_killed_at_a_boundary_and_applied_again_each_is_recorded_once(
    place: str, shop: Path, undisturbed: dict[str, Any]
) -> None:
    dies_and_applies_again(place, 1, Style.BEFORE, shop, undisturbed)


@pytest.mark.slow
def test_killed_anywhere_and_applied_again_each_is_recorded_once(
    shop: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    for name, occurrence in undisturbed["places"]:
        root = shutil.copytree(shop, tmp_path / f"{name.replace(':', '-')}-{occurrence}")
        dies_and_applies_again(name, occurrence, Style.BEFORE, root, undisturbed)
        shutil.rmtree(root)


def test_what_was_begun_is_what_is_finished_though_the_files_changed(shop: Path) -> None:
    write_shop(shop, OTHER, more=EVOLVE)
    with pytest.raises(Crash):
        open_shop(shop).observed(boundary=crash_at("publish_view:effected")).apply()
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=2)
