"""A registry that is missing, unreadable, newer than this version or half-written: one clear error, never a plan in which
everything is new. Through the command line, over a registry and tables as an apply leaves them, with a warm cache and with
a cold one."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import QueryBuilder, write_deltalake

from reconciler.cli.main import run
from reconciler.delta.documents import DocumentTable
from reconciler.environment.target import registry_of
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

PROGRAM = """\
CREATE TABLE t (a BIGINT, b STRING);
CREATE VIEW p AS SELECT a FROM t;
CREATE MATERIALIZED VIEW v AS SELECT a FROM p WHERE a > 1;
CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM v;
"""
CHANGED = PROGRAM.replace("a > 1", "a > 2")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline applied twice, so that its head has a history."""
    root = tmp_path_factory.mktemp("applied")
    write_shop(root, PROGRAM.replace("a > 1", "a > 0"))
    pipeline = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    pipeline.apply()
    pipeline.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    write_shop(root, PROGRAM)
    Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").apply()
    return root


@pytest.fixture(params=["warm", "cold", "none"])
def root(
    applied: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Path:
    copy = tmp_path / "repository"
    shutil.copytree(applied, copy)
    cache = tmp_path / "cache"
    monkeypatch.setenv("RECONCILE_CACHE", "off" if request.param == "none" else str(cache))
    if request.param == "warm":
        # Both what is applied and what will be desired are known to the cache before the damage is done.
        for program in (CHANGED, PROGRAM):
            write_shop(copy, program)
            assert run(["plan", "shop", "--repo", str(copy)]) == 0
        assert list(cache.iterdir())
        # The damage is met by another process.
        registry_of.cache_clear()
        capsys.readouterr()
    return copy


def registry(root: Path) -> Path:
    return root / "warehouse" / "_registry"


def head(root: Path) -> Path:
    return registry(root) / "shop" / "head"


def snapshot(root: Path) -> Path:
    """The folder of the applied definitions."""
    document = DocumentTable(str(head(root))).read()
    assert document is not None
    return registry(root) / "shop" / "snapshots" / document.value["applied"]["record"].removeprefix("sha256:")


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern))


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def remove_data(table: Path) -> None:
    for file in table.glob("*.parquet"):
        file.unlink()


def garble_data(table: Path) -> None:
    for file in table.glob("*.parquet"):
        file.write_bytes(b"PAR1" + b"\0" * file.stat().st_size)


def raise_format(root: Path) -> None:
    table = DocumentTable(str(head(root)))
    document = table.read()
    assert document is not None
    table.replace(document.version, {**document.value, "format": 2, "new part": {}}, "newer")


def rewrite_head(root: Path, **parts: object) -> None:
    table = DocumentTable(str(head(root)))
    document = table.read()
    assert document is not None
    table.replace(document.version, {**document.value, **parts}, "another")


def rewrite_snapshot(root: Path, query: str) -> None:
    """The stored rows, less or other than they were."""
    folder = str(snapshot(root))
    from deltalake import DeltaTable

    rows = QueryBuilder().register("s", DeltaTable(folder)).execute(query).read_all()
    write_deltalake(folder, rows, mode="overwrite")


HEAD_DAMAGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "the head's folder is gone": (lambda root: remove(head(root)), {"G601"}),
    "the head's log is gone": (lambda root: remove(head(root) / "_delta_log"), {"G601"}),
    "the head's newest commit is cut off": (lambda root: truncate(newest(head(root), "_delta_log/*.json")), {"G602"}),
    "the head's newest commit is garbled": (
        lambda root: newest(head(root), "_delta_log/*.json").write_bytes(b"\x00\xff garbage"),
        {"G602"},
    ),
    "the head's log is empty files": (
        lambda root: [file.write_bytes(b"") for file in (head(root) / "_delta_log").iterdir()],
        {"G602"},
    ),
    "the head's rows are gone": (lambda root: remove_data(head(root)), {"G602"}),
    "the head's rows are garbled": (lambda root: garble_data(head(root)), {"G602"}),
    "the head is of a newer version": (raise_format, {"G606"}),
    "the head states no format": (lambda root: rewrite_head(root, format="one"), {"G602"}),
    "the head lacks what is applied": (lambda root: rewrite_head(root, applied={}), {"G602"}),
    "the registry is gone": (lambda root: remove(registry(root)), {"A505"}),
    "the pipeline's registry is gone": (lambda root: remove(registry(root) / "shop"), {"G601"}),
    "the registry's index is garbled and the head is gone": (
        lambda root: (remove(head(root)), truncate(newest(registry(root) / "pipelines", "_delta_log/*.json"))),
        {"G602"},
    ),
    "the registry is a file": (lambda root: (remove(registry(root)), registry(root).write_text("no")), {"A505", "G602"}),
}
SNAPSHOT_DAMAGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "the definitions are gone": (lambda root: remove(snapshot(root)), {"G601"}),
    "all definitions ever are gone": (lambda root: remove(snapshot(root).parent), {"G601"}),
    "the definitions' log is garbled": (lambda root: truncate(newest(snapshot(root), "_delta_log/*.json")), {"G602"}),
    "the definitions' rows are gone": (lambda root: remove_data(snapshot(root)), {"G602"}),
    "the definitions' rows are garbled": (lambda root: garble_data(snapshot(root)), {"G602"}),
    "a definition is missing": (lambda root: rewrite_snapshot(root, "select * from s where name <> 'w'"), {"G602"}),
    "a definition is there twice": (
        lambda root: rewrite_snapshot(root, "select * from s union all select * from s"),
        {"G602"},
    ),
    "a definition is altered": (
        lambda root: rewrite_snapshot(root, "select kind, name, replace(definition, 'a > 1', 'a > 9') as definition from s"),
        {"G602"},
    ),
    "a definition is no JSON": (
        lambda root: rewrite_snapshot(root, "select kind, name, '{' as definition from s"),
        {"G602"},
    ),
    "there is no definition": (lambda root: rewrite_snapshot(root, "select * from s where name = ''"), {"G601"}),
}


def refused(root: Path, capsys: pytest.CaptureFixture[str], codes: set[str], *arguments: str) -> None:
    assert run([*arguments, "--repo", str(root)]) == 1
    shown = capsys.readouterr()
    first, *rest = shown.err.strip().splitlines()
    assert first.partition(":")[0] in codes, shown.err
    assert [line for line in rest if not line.startswith("    hint: ")] == []
    assert len(rest) == 1, shown.err
    assert "Traceback" not in shown.err
    for word in ("create", "bootstrap", "Plan:", '"steps"'):
        assert word not in shown.out


@pytest.mark.parametrize("program", [CHANGED, pytest.param(PROGRAM, marks=pytest.mark.slow)], ids=["changed", "unchanged"])
@pytest.mark.parametrize("damage", HEAD_DAMAGES)
def test_a_damaged_head_is_an_error(damage: str, program: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    do_damage, codes = HEAD_DAMAGES[damage]
    write_shop(root, program)
    do_damage(root)
    refused(root, capsys, codes, "plan", "shop")


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGES)
def test_damaged_definitions_are_an_error(damage: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    do_damage, codes = SNAPSHOT_DAMAGES[damage]
    write_shop(root, CHANGED)
    do_damage(root)
    refused(root, capsys, codes, "plan", "shop")
    assert run(["plan", "shop", "--repo", str(root), "--write-lock"]) == 1
    assert not (root / "pipelines" / "shop" / "plan.lock").exists()
    capsys.readouterr()
    refused(root, capsys, codes, "apply", "shop")


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGES)
def test_without_definitions_no_changes_is_still_right(damage: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are to the letter what is applied, by record, need no definitions to tell that nothing changes. Where the
    cache does not know that they are, the definitions are read, and the damage is told."""
    do_damage, codes = SNAPSHOT_DAMAGES[damage]
    do_damage(root)
    if run(["plan", "shop", "--repo", str(root), "--format", "json"]) == 0:
        (plan,) = json.loads(capsys.readouterr().out)["plans"]
        assert [step["kind"] for step in plan["steps"]] == ["commit_snapshot"]
        assert plan["kept"] == ["p", "t", "v", "w"]
    else:
        assert capsys.readouterr().err.partition(":")[0] in codes


def test_the_same_error_for_every_form(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remove(head(root))
    for form in ("text", "json", "markdown", "mermaid", "dot"):
        refused(root, capsys, {"G601"}, "plan", "shop", "--format", form)


def test_all_pipelines_are_planned_but_the_damaged_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remove_data(snapshot(root))
    write_shop(root, CHANGED)
    other = root / "pipelines" / "other"
    other.mkdir()
    (other / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: other}\n")
    (other / "program.sql").write_text("CREATE TABLE x (a INT);")
    assert run(["plan", "--repo", str(root)]) == 1
    shown = capsys.readouterr()
    assert "create table x" in shown.out
    assert "shop" not in shown.out
    assert shown.err.startswith("G602: ")


def test_an_unreadable_registry_is_an_error(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is unreadable for root")
    write_shop(root, CHANGED)
    folder = registry(root)
    folder.chmod(0)
    try:
        refused(root, capsys, {"G602", "A505"}, "plan", "shop")
    finally:
        folder.chmod(0o755)


def test_a_first_apply_where_there_is_no_warehouse_is_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remove(root / "warehouse")
    assert run(["plan", "shop", "--repo", str(root), "--format", "json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert {step["kind"] for step in plan["steps"]} == {"create_table", "bootstrap_view", "publish_view", "commit_snapshot"}
