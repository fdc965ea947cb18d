"""Aliases of versions: moved in one piece, by several at once, over renames; what can be none."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.errors import ReconcileError
from reconciler.cli.main import run
from reconciler.service.pipeline import Pipeline
from reconciler.testing.recording import RecordingEngine
from reconciler.versions.aliases import alias_moves, put_alias, take_alias_away
from reconciler.versions.looking import FoundObject, VersionedName, find_object, read_version
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

TABLE = "CREATE TABLE t (id BIGINT, x INT);\n"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT id, {} AS x FROM t;\n"


def apply(root: Path, program: str, more: str = "") -> Pipeline:
    write_shop(root, program, more=more)
    pipeline = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    pipeline.apply()
    return pipeline


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A view of three versions. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("applied")
    for expression in ("x", "x + 1", "x + 2"):
        apply(root, TABLE + VIEW.format(expression))
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path) -> Pipeline:
    shutil.copytree(applied, tmp_path, dirs_exist_ok=True)
    return Project.open(tmp_path, engine=RecordingEngine(DeltaWriter())).pipeline("shop")


def found(shop: Pipeline, name: str = "v") -> FoundObject:
    return find_object(shop.target, VersionedName("shop", name, None))


def test_an_alias_is_put_moved_and_taken_away(shop: Pipeline) -> None:
    assert shop.put_alias("v@Stable", "v0").after == 0
    assert shop.version("v@stable").summary.number == 0
    moved = shop.put_alias("v@stable", "v2")
    assert (moved.before, moved.after, moved.alias) == (0, 2, "stable")
    assert shop.put_alias("v@other", "STABLE").after == 2, "an alias stands wherever a version may"
    assert shop.versions("v").aliases == {"stable": 2, "other": 2}
    assert shop.take_alias_away("v@stable").before == 2
    with pytest.raises(ReconcileError) as caught:
        shop.version("v@stable")
    assert (caught.value.code, caught.value.hint) == ("A522", "there are v0, v1, v2, other")
    moves = alias_moves(shop.target, found(shop))
    assert [(move.alias, move.before, move.after) for move in moves] == [
        ("stable", None, 0),
        ("stable", 0, 2),
        ("other", None, 2),
        ("stable", 2, None),
    ]
    assert all(move.by and move.at for move in moves)


def test_what_it_stands_for_already_is_no_move(shop: Pipeline) -> None:
    shop.put_alias("v@stable", "v1")
    shop.put_alias("v@stable", "v1")
    assert len(alias_moves(shop.target, found(shop))) == 1


@pytest.mark.parametrize("alias", ["v1", "V1", "latest", "Active", "1st", "a-b", "a.b", "ä", "x" * 65, " "])
def test_what_can_be_no_alias(shop: Pipeline, alias: str) -> None:
    with pytest.raises(ReconcileError) as caught:
        put_alias(shop.target, found(shop), alias, "v0", "somebody")
    assert caught.value.code == "U820"


@pytest.mark.parametrize("version", ["v3", "stable", ""])
def test_a_version_that_is_not_there(shop: Pipeline, version: str) -> None:
    with pytest.raises(ReconcileError) as caught:
        shop.put_alias("v@stable", version)
    assert caught.value.code == "A522"
    with pytest.raises(ReconcileError) as caught:
        shop.take_alias_away("v@stable")
    assert caught.value.code == "A522"


def test_objects_have_aliases_of_their_own_and_keep_them_when_renamed(shop: Pipeline, tmp_path: Path) -> None:
    shop.put_alias("v@stable", "v1")
    with pytest.raises(ReconcileError):
        shop.version("t@stable")
    shop = apply(tmp_path, TABLE + VIEW.format("x + 2").replace("VIEW v", "VIEW w"), "  moved: [{from: v, to: w}]\n")
    assert shop.version("w@stable").summary.number == 1


def test_of_many_who_move_at_once_none_is_lost(shop: Pipeline) -> None:
    target, one = shop.target, found(shop)

    def move(number: int) -> None:
        for version in ("v0", "v1", "v2"):
            put_alias(target, one, f"a{number}", version, f"p{number}")

    workers = [threading.Thread(target=move, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert shop.versions("v").aliases == {f"a{number}": 2 for number in range(6)}
    moves = alias_moves(target, one)
    assert len(moves) == 18
    for number in range(6):
        assert [move.after for move in moves if move.alias == f"a{number}"] == [0, 1, 2]


def test_an_alias_that_was_taken_away_is_there_for_nobody(shop: Pipeline) -> None:
    shop.put_alias("v@stable", "v1")
    take_alias_away(shop.target, found(shop), "STABLE", "one")
    with pytest.raises(ReconcileError):
        take_alias_away(shop.target, found(shop), "stable", "two")
    assert read_version(shop.target, found(shop), None).summary.number == 2


def test_the_command_takes_a_version_of_the_same_object_only(
    shop: Pipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> int:
        return run([*words, "--repo", str(tmp_path)])

    assert call("versions", "alias", "v@stable", "shop.v@v1") == 0
    assert call("versions", "alias", "v@stable", "t@v0") == 1
    assert "A521" in capsys.readouterr().err
    assert call("versions", "alias", "v@stable", "nothing@v0") == 1
    assert shop.version("v@stable").summary.number == 1
    capsys.readouterr()
    assert call("versions", "list", "v", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["aliases"] == {"stable": "v1"}
    assert [move["after"] for move in found["alias_moves"]] == [1]
    assert call("versions", "diff", "v@stable", "v2") == 0
    assert "+CREATE MATERIALIZED VIEW v AS SELECT id, x + 2 AS x FROM t" in capsys.readouterr().out
