"""Tables that change and keep their rows, on real Spark and Delta: what a reader of Delta finds before and after, what was
written for it, and that nothing is read a second time."""

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from tests.acceptance.shop import open_shop, stored_columns, stored_rows

pytestmark = pytest.mark.spark

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  evolution: evolve
"""
FILES = """\
  connectors:
    - name: files
      table: %s
      transport: {name: file_input, config: {path: in}}
      format: {name: json}
"""
ORDERS = "CREATE TABLE orders (id INT NOT NULL, price DECIMAL(5,2), note VARCHAR(10));\n"
TOTAL = "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(price) AS paid FROM orders;\n"
ROWS = [(1, Decimal("1.50"), "a"), (2, None, None)]


class Shop:
    """A pipeline with `orders` and two rows in it."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.root = root
        self.engine = engine

    def write(self, program: str, more: str = "", yaml: str = YAML) -> None:
        folder = self.root / "pipelines" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pipeline.yaml").write_text(yaml + more)
        (folder / "program.sql").write_text(program)
        (self.root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")

    @property
    def pipeline(self) -> Pipeline:
        return open_shop(self.root, self.engine)

    def apply(self, program: str, more: str = "", yaml: str = YAML) -> list[str]:
        """Apply; returns the kinds of its steps. Nothing is left to do afterwards."""
        self.write(program, more, yaml)
        steps = [str(step.to_json()["kind"]) for step in self.pipeline.plan().steps]
        self.pipeline.apply()
        assert self.pipeline.plan().changes_nothing
        return steps

    def rows(self, relation: str = "orders") -> list[tuple[Any, ...]] | None:
        return stored_rows(self.root, relation)

    def actions(self, relation: str = "orders") -> list[set[str]]:
        """What each commit of the relation's Delta log did."""
        log = self.root / "warehouse" / "shop" / relation / "_delta_log"
        return [
            {name for line in path.read_text().splitlines() for name in json.loads(line)}
            for path in sorted(log.glob("*.json"))
        ]

    def schema(self, relation: str = "orders") -> list[tuple[str, str, bool]]:
        from deltalake import DeltaTable

        fields = DeltaTable(str(self.root / "warehouse" / "shop" / relation)).schema().fields
        return [(field.name, str(field.type.type), field.nullable) for field in fields]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """The pipeline, applied, with its two rows. Copy it; don't change it."""
    found = Shop(tmp_path_factory.mktemp("filled"), spark_engine)
    found.apply(ORDERS + TOTAL)
    found.pipeline.execute("INSERT INTO orders VALUES (1, 1.50, 'a'), (2, NULL, NULL)")
    return found.root


@pytest.fixture
def shop(filled: Path, tmp_path: Path, spark_engine: Engine) -> Shop:
    return Shop(Path(shutil.copytree(filled, tmp_path / "shop")), spark_engine)


def test_columns_at_the_end_are_one_commit_that_touches_no_row(shop: Shop) -> None:
    before = shop.actions()
    program = ORDERS.replace("VARCHAR(10)", "VARCHAR(10), state STRING DEFAULT 'new', at TIMESTAMP")
    seen = "CREATE MATERIALIZED VIEW states AS SELECT id, state FROM orders;\n"
    steps = shop.apply(program + TOTAL + seen)
    assert steps == ["bootstrap_view", "extend_table", "publish_view", "commit_snapshot"]
    assert shop.rows() == [(*row, None, None) for row in ROWS]
    assert shop.actions() == [*before, {"commitInfo", "metaData", "txn"}]
    assert shop.rows("states") == [(1, None), (2, None)]
    shop.pipeline.execute("INSERT INTO orders (id, note) VALUES (3, 'c')")
    assert shop.rows() == [*((*row, None, None) for row in ROWS), (3, None, "c", "new", None)]
    assert shop.rows("states") == [(1, None), (2, None), (3, "new")]


def test_a_time_without_zone_is_added_to_a_table_with_not_null(shop: Shop) -> None:
    shop.apply(ORDERS.replace("VARCHAR(10)", "VARCHAR(10), at TIMESTAMP_NTZ") + TOTAL)
    shop.pipeline.execute("INSERT INTO orders VALUES (3, NULL, NULL, TIMESTAMP_NTZ '2025-01-02 03:04:05')")
    assert len(shop.rows() or []) == 3
    at = "CREATE TABLE both (id INT NOT NULL, at TIMESTAMP_NTZ NOT NULL);\n"
    shop.apply(ORDERS.replace("VARCHAR(10)", "VARCHAR(10), at TIMESTAMP_NTZ") + TOTAL + at)
    shop.pipeline.execute("INSERT INTO both VALUES (3, TIMESTAMP_NTZ '2025-01-02 03:04:05')")
    assert len(shop.rows("both") or []) == 1


def test_dropped_reordered_and_widened_columns_keep_their_rows(shop: Shop) -> None:
    wider = "CREATE TABLE orders (price DECIMAL(12,4), code BIGINT, id BIGINT NOT NULL);\n"
    steps = shop.apply(wider + TOTAL)
    assert steps == ["evolve_table", "bootstrap_view", "publish_table", "publish_view", "commit_snapshot"]
    assert shop.rows() == [(Decimal("1.5000"), None, 1), (None, None, 2)]
    assert shop.schema() == [("price", "decimal(12,4)", True), ("code", "long", True), ("id", "long", False)]
    assert shop.rows("total") == [(2, Decimal("1.5000"))]
    shop.pipeline.execute("INSERT INTO orders VALUES (100000.5, 7, 10000000000)")
    shop.pipeline.execute("DELETE FROM orders WHERE id = 1")
    assert shop.rows() == [(Decimal("100000.5000"), 7, 10000000000), (None, None, 2)]
    assert shop.rows("total") == [(2, Decimal("100000.5000"))]


def test_not_null_dropped(shop: Shop) -> None:
    steps = shop.apply(ORDERS.replace(" NOT NULL", "") + TOTAL)
    assert steps == ["evolve_table", "publish_table", "commit_snapshot"]
    assert shop.rows() == ROWS
    assert shop.schema()[0] == ("id", "integer", True)
    shop.pipeline.execute("INSERT INTO orders (note) VALUES ('x')")
    assert (None, None, "x") in (shop.rows() or [])


def test_columns_trade_names_once(shop: Shop) -> None:
    moved = "  moved: [{from: orders.price, to: orders.note}, {from: orders.note, to: orders.price}]\n"
    program = "CREATE TABLE orders (id INT NOT NULL, note DECIMAL(5,2), price VARCHAR(10));\n"
    total = "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(note) AS paid FROM orders;\n"
    reader = "CREATE MATERIALIZED VIEW prices AS SELECT id, price FROM orders;\n"
    steps = shop.apply(program + total + reader, moved)
    assert "evolve_table" in steps
    assert shop.rows() == ROWS
    assert shop.schema() == [("id", "integer", False), ("note", "decimal(5,2)", True), ("price", "string", True)]
    assert shop.rows("prices") == [(1, "a"), (2, None)]
    shop.pipeline.execute("INSERT INTO orders VALUES (3, 2.50, 'c')")
    # The entries are still there, and have done their work.
    assert shop.apply(program + total + reader.replace("price FROM", "upper(price) AS price FROM"), moved) == [
        *("bootstrap_view", "publish_view", "commit_snapshot")
    ]
    assert shop.rows() == [*ROWS, (3, Decimal("2.50"), "c")]
    assert shop.rows("prices") == [(1, "A"), (2, None), (3, "C")]


def test_a_renamed_column_takes_its_values_along(shop: Shop) -> None:
    moved = "  moved: [{from: orders.price, to: orders.amount}]\n"
    program = ORDERS.replace("price", "amount") + TOTAL.replace("sum(price)", "sum(amount)")
    steps = shop.apply(program, moved, YAML.replace("evolve", "clear"))
    assert [step for step in steps if "view" not in step] == ["evolve_table", "publish_table", "commit_snapshot"]
    assert stored_columns(shop.root, "orders") == ["id", "amount", "note"]
    assert shop.rows() == ROWS
    assert shop.rows("total") == [(2, Decimal("1.50"))]
    assert list(shop.pipeline.query("SELECT sum(amount) AS s FROM orders")) == [{"s": Decimal("1.50")}]
    shop.pipeline.execute("INSERT INTO orders VALUES (3, 2, NULL)")
    assert shop.rows("total") == [(3, Decimal("3.50"))]


def test_a_renamed_table_stays_where_it_is_and_reads_no_row_twice(shop: Shop) -> None:
    (shop.root / "in").mkdir()
    (shop.root / "in" / "a.json").write_text('{"id": 3, "note": "file"}\n')
    shop.apply(ORDERS + TOTAL, FILES % "orders")
    shop.pipeline.run_once()
    before, paths = shop.rows(), sorted((shop.root / "warehouse" / "shop" / "orders").iterdir())
    assert len(before or []) == 3

    moved = "  moved: [{from: orders, to: sales}]\n"
    steps = shop.apply((ORDERS + TOTAL).replace("orders", "sales"), FILES % "sales" + moved)
    assert steps == ["rename_relation", "commit_snapshot"]
    assert shop.rows() == before
    assert sorted((shop.root / "warehouse" / "shop" / "orders").iterdir()) == paths
    assert shop.rows("sales") is None

    assert shop.pipeline.run_once().steps == ()
    (shop.root / "in" / "b.json").write_text('{"id": 4}\n')
    shop.pipeline.run_once()
    assert shop.rows() == [*(before or []), (4, None, None)]
    assert shop.rows("total") == [(4, Decimal("1.50"))]
    assert list(shop.pipeline.query("SELECT count(*) AS n FROM sales")) == [{"n": 4}]

    # The old name is free again, its folder is not.
    again = (ORDERS + TOTAL).replace("orders", "sales") + "CREATE TABLE orders (x INT);\n"
    shop.apply(again, FILES % "sales")
    assert shop.rows("orders-2") == []
    assert len(shop.rows() or []) == 4


def test_a_renamed_view_keeps_its_contents_and_its_path(shop: Shop) -> None:
    before = shop.actions("total")
    moved = "  moved: [{from: total, to: sums}]\n"
    steps = shop.apply(ORDERS + TOTAL.replace("VIEW total", "VIEW sums"), moved)
    assert steps == ["rename_relation", "commit_snapshot"]
    assert shop.actions("total") == before
    shop.pipeline.execute("INSERT INTO orders VALUES (3, 1, NULL)")
    assert shop.rows("total") == [(3, Decimal("2.50"))]
    assert list(shop.pipeline.query("SELECT n FROM sums")) == [{"n": 3}]


def test_a_view_that_is_renamed_and_changed_is_published_where_it_stood(shop: Shop) -> None:
    moved = "  moved: [{from: total, to: sums}]\n"
    steps = shop.apply(ORDERS + TOTAL.replace("VIEW total", "VIEW sums").replace("sum(", "max("), moved)
    assert steps == ["bootstrap_view", "publish_view", "rename_relation", "commit_snapshot"]
    assert shop.rows("total") == [(2, Decimal("1.50"))]
    assert shop.rows("sums") is None


def test_clear_clears(shop: Shop) -> None:
    steps = shop.apply(ORDERS.replace("note", "note2") + TOTAL, yaml=YAML.replace("evolve", "clear"))
    assert steps == ["bootstrap_view", "clear_table", "publish_view", "commit_snapshot"]
    assert shop.rows() == []
    assert shop.rows("total") == [(0, None)]


def test_what_is_only_written_down_otherwise_touches_nothing(shop: Shop) -> None:
    before = shop.actions()
    steps = shop.apply(ORDERS.replace("(10)", "(10) DEFAULT 'none' COMMENT 'for the courier'") + TOTAL)
    assert steps == ["commit_snapshot"]
    assert shop.actions() == before
    shop.pipeline.execute("INSERT INTO orders (id) VALUES (3)")
    assert shop.rows() == [*ROWS, (3, None, "none")]
