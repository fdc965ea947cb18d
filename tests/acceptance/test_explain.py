"""`reconcile explain` on real files, a real registry and real tables; the engine is the recording one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.schema_files import validator
from reconciler.cli.main import run
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

APPLIED = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, qty INT, note VARCHAR COMMENT 'as typed');
CREATE TABLE prices (id BIGINT, price BIGINT);
CREATE VIEW priced AS SELECT o.id, o.qty * p.price AS amount FROM orders o JOIN prices p ON o.id = p.id;
CREATE LOCAL VIEW helper AS SELECT id FROM prices;
CREATE MATERIALIZED VIEW totals AS SELECT id, SUM(amount) AS total FROM priced GROUP BY id;
CREATE MATERIALIZED VIEW notes AS SELECT id, note FROM orders;
CREATE MATERIALIZED VIEW quiet AS SELECT id, qty FROM orders WHERE qty > 0;
CREATE MATERIALIZED VIEW going AS SELECT id FROM helper;
"""


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("applied")
    write_shop(root, APPLIED)
    shop = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    shop.apply()
    shop.execute("INSERT INTO orders VALUES (1, 2, 'a'), (2, 3, 'b')")
    return root


@pytest.fixture
def root(applied: Path, tmp_path: Path) -> Path:
    shutil.copytree(applied, tmp_path / "copy")
    return tmp_path / "copy"


def shown(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["explain", "shop", *arguments, "--repo", str(root)]) == 0
    return capsys.readouterr().out.replace(str(root), "ROOT")


def as_json(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    value = json.loads(shown(root, capsys, *arguments, "--format", "json"))
    assert [error.message for error in validator("explain.schema.json").iter_errors(value)] == []
    found: dict[str, Any] = value
    return found


def relation(root: Path, capsys: pytest.CaptureFixture[str], name: str) -> dict[str, Any]:
    found: dict[str, Any] = as_json(root, capsys, name)["relation"]
    return found


def states(root: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {line["name"]: line["state"] for line in as_json(root, capsys)["relations"]}


def change(root: Path, *replacements: tuple[str, str]) -> None:
    text = APPLIED
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    write_shop(root, text)


def test_a_pipeline_in_dependency_order(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("SUM(amount)", "MAX(amount)"), ("CREATE MATERIALIZED VIEW going AS SELECT id FROM helper;\n", ""))
    write_shop(root, (root / "pipelines/shop/program.sql").read_text() + "CREATE VIEW fresh AS SELECT id FROM totals;\n")
    assert shown(root, capsys).splitlines()[1:] == [
        "  orders  table              3 columns  unchanged  its definition did not change",
        "  notes   materialized view  2 columns  unchanged  nothing that it reads changed",
        "  prices  table              2 columns  unchanged  its definition did not change",
        "  helper  local view         1 column   unchanged  nothing that it reads changed",
        "  priced  plain view         2 columns  unchanged  nothing that it reads changed",
        "  quiet   materialized view  2 columns  unchanged  nothing that it reads changed",
        "  totals  materialized view  2 columns  modified   query changed in total only",
        "  fresh   plain view         1 column   added      it is new: nothing of that name and kind is applied",
        "  going   materialized view  1 column   removed    "
        "the view of that name is applied, and the files no longer declare it",
    ]


def test_a_modified_view_in_full(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("SUM(amount)", "MAX(amount)"))
    text = shown(root, capsys, "totals")
    head, _, rest = text.partition("\n\n")
    assert head.splitlines()[0] == "materialized view totals (shop, dev): modified, bootstrapped"
    assert head.splitlines()[1] == "  declared at pipelines/shop/program.sql:5:1"
    assert head.splitlines()[2].startswith("  stored at ROOT/warehouse/shop/totals, Delta version 1: 1 row, ")
    found = relation(root, capsys, "totals")
    (query,) = [part for part in found["fingerprint"] if part["name"] == "query"]
    before, after = query["applied"], query["desired"]
    assert before != after
    others = {part["name"]: part["applied"] for part in found["fingerprint"] if part["name"] != "query"}
    assert all(part["applied"] == part["desired"] for part in found["fingerprint"] if part["name"] != "query")
    lines = rest.splitlines()
    assert lines[:3] == ["  why", "    query changed in total only", ""]
    for line in (
        "  its rows are decided by",
        "    orders.id, prices.id",
        "    priced: amount, id",
        f"    query         {before} → {after}",
        f"    kind          {others['kind']}",
        "    SQL text (changed), description, protect",
    ):
        assert line in lines
    total = next(column for column in found["columns"] if column["name"] == "total")
    assert total["from"]["exact"]
    assert set(total["from"]["columns"]) >= {"orders.qty", "prices.price"}
    assert found["reads"] == [{"relation": "priced", "columns": ["amount", "id"]}]


def test_a_spared_view_is_told_what_changed_and_what_it_reads(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = APPLIED.replace("note VARCHAR COMMENT 'as typed'", "note VARCHAR COMMENT 'as typed', more INT")
    write_shop(root, text)
    yaml = root / "pipelines/shop/pipeline.yaml"
    yaml.write_text(yaml.read_text() + "  evolution: evolve\n")
    assert states(root, capsys)["quiet"] == "spared"
    found = relation(root, capsys, "quiet")
    assert found["why"] == ["it reads orders, of which only more changed; it reads id, qty"]
    assert found["effect"] == ""
    assert relation(root, capsys, "orders")["state"] == "modified"


def test_a_text_that_changed_without_its_meaning_is_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("SELECT id, qty FROM orders WHERE qty > 0", "select ID, qty -- both\n  from orders where qty > 0"))
    found = relation(root, capsys, "quiet")
    assert found["state"] == "untouched"
    assert found["why"][0].startswith("its meaning is the same: only layout")
    assert found["same_meaning"] is not None
    assert all(part["applied"] == part["desired"] for part in found["fingerprint"])
    assert {"what": "SQL text", "differs": True} in found["written"]
    text = shown(root, capsys, "quiet")
    assert "    -SELECT id, qty FROM orders WHERE qty > 0" in text.splitlines()
    assert "    +select ID, qty -- both" in text.splitlines()
    assert f"    {found['same_meaning']}" in text.splitlines()


def test_what_is_written_of_a_table_and_means_nothing_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("'as typed'", "'as it was typed'"))
    found = relation(root, capsys, "orders")
    assert found["state"] == "untouched"
    assert {"what": "comments of columns", "differs": True} in found["written"]
    assert "attributes changed that are no part of its meaning: comment" in found["why"]


def test_a_table_says_who_reads_it_and_what_it_holds(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = relation(root, capsys, "ORDERS")
    assert found["name"] == "orders"
    assert found["read_by"] == ["notes", "priced", "quiet"]
    assert found["stored"]["rows"] == 2
    assert found["stored"]["bytes"] > 0
    assert found["columns"][0] == {"name": "id", "type": "BIGINT", "nullable": False, "from": None}
    assert (found["reads"], found["rows_from"]) == ([], None)


def test_a_cleared_table_has_its_hazard_and_its_readers_their_path(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("qty INT", "qty STRING"))
    found = relation(root, capsys, "orders")
    assert found["effect"] == "cleared"
    assert [hazard["code"] for hazard in found["hazards"]] == ["H902"]
    (part,) = [part for part in found["fingerprint"] if part["applied"] != part["desired"]]
    assert part["name"] == "columns"
    (why,) = relation(root, capsys, "totals")["why"]
    assert "which reads orders" in why


def test_what_is_only_applied_and_what_is_only_declared(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("VIEW notes AS", "VIEW memos AS"))
    gone, new = relation(root, capsys, "notes"), relation(root, capsys, "memos")
    assert (gone["state"], gone["declared"], gone["effect"]) == ("removed", None, "dropped")
    assert {part["desired"] for part in gone["fingerprint"]} == {None}
    assert (new["state"], new["stored"]) == ("added", None)
    assert {part["applied"] for part in new["fingerprint"]} == {None}
    assert "no longer declared; this is the applied definition" in shown(root, capsys, "notes")


def test_a_renamed_relation_is_found_by_its_former_name(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("VIEW notes AS", "VIEW memos AS"))
    yaml = root / "pipelines/shop/pipeline.yaml"
    yaml.write_text(yaml.read_text() + "  moved:\n    - {from: notes, to: memos}\n")
    found = relation(root, capsys, "notes")
    assert (found["name"], found["state"]) == ("memos", "modified")
    assert found["why"] == ["renamed from notes"]
    assert found["stored"] is not None


def test_a_pipeline_that_was_never_applied(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "warehouse")
    assert set(states(root, capsys).values()) == {"added"}
    assert relation(root, capsys, "totals")["why"] == ["it is new: nothing of this pipeline is applied"]


def test_a_pipeline_whose_files_are_gone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "pipelines/shop")
    found = states(root, capsys)
    assert {name for name, state in found.items() if state == "removed"} == set(found)
    assert relation(root, capsys, "totals")["declared"] is None


def test_files_with_errors_leave_what_is_applied(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("SELECT id, note", "SELECT id, nott"))
    assert run(["explain", "shop", "totals", "--repo", str(root), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert "the files of shop have 1 error(s); run: reconcile validate shop" in captured.err
    value = json.loads(captured.out)
    assert [error.message for error in validator("explain.schema.json").iter_errors(value)] == []
    assert (value["summary"], value["relation"]["state"]) == (None, "unknown")
    assert value["relation"]["columns"][1]["from"]["exact"]
    assert "no plan, because the files have errors" in shown(root, capsys)


def test_files_with_errors_and_nothing_applied_is_an_error(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "warehouse")
    change(root, ("SELECT id, note", "SELECT id, nott"))
    assert run(["explain", "shop", "--repo", str(root)]) == 1
    assert "M100" in capsys.readouterr().err


def test_an_unknown_name_gets_a_suggestion(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "shop", "totls", "--repo", str(root)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "U817: no table or view 'totls'" in captured.err
    assert "did you mean 'totals'?" in captured.err


def test_a_local_view_is_explained_though_no_plan_shows_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("VIEW helper AS SELECT id FROM prices", "VIEW helper AS SELECT id + 1 AS id FROM prices"))
    found = relation(root, capsys, "helper")
    assert (found["state"], found["kind"]) == ("modified", "local view")
    assert "plans list the readers of a LOCAL view, not the view" in found["why"][0]
    assert relation(root, capsys, "going")["state"] == "modified"


def test_connectors_and_what_becomes_of_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root)
    yaml = root / "pipelines/shop/pipeline.yaml"
    lake = "{name: lake, view: totals, transport: {name: delta_table_output, config: {uri: /lake}}}"
    yaml.write_text(yaml.read_text() + f"  connectors:\n    - {lake}\n")
    (found,) = relation(root, capsys, "totals")["connectors"]
    assert (found["name"], found["outcome"]) == ("totals.lake", "sends only new changes")
    assert relation(root, capsys, "notes")["connectors"] == []


def test_explaining_starts_no_engine_and_writes_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the engine was asked for {name}")

    before = {file: file.stat().st_mtime_ns for file in root.rglob("*") if file.is_file()}
    assert run(["explain", "shop", "totals", "--repo", str(root)], Untouchable()) == 0  # type: ignore[arg-type]
    capsys.readouterr()
    assert {file: file.stat().st_mtime_ns for file in root.rglob("*") if file.is_file()} == before


def test_what_users_wrote_is_shown_and_does_not_act(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, ("WHERE qty > 0", "WHERE note = 'x\x1b[2K\u202e'"))
    assert not {"\x1b", "\u202e"} & set(shown(root, capsys, "quiet"))
    change(root, ("SELECT id, qty FROM orders WHERE qty > 0", "SELECT id, qty /* \x1b[2K */ FROM orders WHERE qty > 0"))
    assert "\x1b" not in shown(root, capsys, "quiet")


def test_the_python_interface(root: Path) -> None:
    change(root, ("SUM(amount)", "MAX(amount)"))
    pipeline = Project.open(root).pipeline("shop")
    assert [line.state.value for line in pipeline.explain().relations if line.name == "totals"] == ["modified"]
    found = pipeline.explain("totals").relation
    assert found is not None
    assert found.effect == "bootstrapped"


@pytest.mark.parametrize(
    ("query", "method"),
    [
        ("SELECT note, SUM(qty) AS qty FROM orders GROUP BY note", "kept_aggregate"),
        ("SELECT id, note FROM orders", "linear_rows"),
        ("SELECT note, STDDEV(qty) AS qty FROM orders GROUP BY note", "changed_groups"),
        ("SELECT STDDEV(qty) AS qty FROM orders", "recompute"),
    ],
)
def test_how_a_view_is_maintained_has_a_name(
    root: Path, capsys: pytest.CaptureFixture[str], query: str, method: str
) -> None:
    write_shop(root, f"{APPLIED}CREATE MATERIALIZED VIEW maintained AS {query};\n")
    found = relation(root, capsys, "maintained")["maintained"]
    assert (found["method"], found["reason"] is None) == (method, method != "recompute")
    assert relation(root, capsys, "orders").get("maintained") is None
