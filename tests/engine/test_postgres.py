"""`postgres_input` on a real PostgreSQL."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.base.places import OnePlace
from reconciler.connectors.catalogue import check_connector, secret_paths
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Ingestion, Selection, TableTarget, Transaction
from reconciler.engine.sources import StoredSource
from tests.postgres.server import PASSWORD, Postgres, running

TABLE = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE everything (
  id BIGINT PRIMARY KEY, small SMALLINT, exact NUMERIC(10,3), any_number NUMERIC, share REAL, double DOUBLE PRECISION,
  flag BOOLEAN, word TEXT, code CHAR(4), day DATE, at TIMESTAMPTZ, local TIMESTAMP, raw BYTEA, mark UUID, document JSONB,
  numbers INT[], words TEXT[], feeling mood
);
INSERT INTO everything VALUES
  (1, -3, 1234567.891, 12345678901234567890123456789.25, 1.5, 0.1, TRUE, 'Grüße '' \\ "', 'ab', '2025-01-31',
   '2025-01-31 10:00:00.123456+02', '2025-07-01 12:00:00', '\\x00ff', '123e4567-e89b-12d3-a456-426614174000',
   '{"b": [1, null], "a": "x"}', '{1,NULL,3}', '{"a,b",c}', 'good'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""
COLUMNS = (
    ColumnType("Id", "BIGINT", nullable=False),
    ColumnType("small", "SMALLINT"),
    ColumnType("exact", "DECIMAL(10,3)"),
    ColumnType("any_number", "DECIMAL(38,2)"),
    ColumnType("share", "FLOAT"),
    ColumnType("double", "DOUBLE"),
    ColumnType("flag", "BOOLEAN"),
    ColumnType("word", "STRING"),
    ColumnType("code", "VARCHAR(4)"),
    ColumnType("day", "DATE"),
    ColumnType("at", "TIMESTAMP"),
    ColumnType("local", "TIMESTAMP"),
    ColumnType("raw", "BINARY"),
    ColumnType("mark", "STRING"),
    ColumnType("document", "STRUCT<a: STRING, b: ARRAY<INT>>"),
    ColumnType("numbers", "ARRAY<INT>"),
    ColumnType("words", "ARRAY<STRING>"),
    ColumnType("feeling", "STRING"),
)


def settings(server: Postgres | None, **config: Any) -> dict[str, Any]:
    port = server.port if server is not None else 1
    given = {"uri": f"postgresql://reader@127.0.0.1:{port}/shop", "password": "${secret:SHOP_PASSWORD}", **config}
    return {"transport": {"name": "postgres_input", "config": given}}


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ({"table": "orders"}, []),
        ({"table": 'public."Odd name"'}, []),
        ({"query": "SELECT 1"}, []),
        ({}, ["C404"]),
        ({"table": "a", "query": "SELECT 1"}, ["C416"]),
        ({"table": "orders; DROP TABLE orders"}, ["C407"]),
        ({"uri": "mysql://h/d", "table": "a"}, ["C407"]),
        ({"uri": "postgresql://u:${secret:P}@h/d", "table": "a"}, []),
        ({"uri": "postgresql://u:clear@h/d", "table": "a"}, ["C412"]),
        ({"password": "clear", "table": "a"}, ["C412"]),
    ],
)
def test_settings_are_judged(config: dict[str, Any], codes: list[str]) -> None:
    assert [problem.code for problem in check_connector(settings(None, **config), OnePlace(None))] == codes


def test_the_password_is_secret() -> None:
    assert secret_paths(settings(None, table="a")) == (("transport", "config", "password"),)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running() as started:
        started.sql(TABLE)
        yield started


@pytest.mark.spark
class TestPostgres:
    @pytest.fixture(autouse=True)
    def secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)

    def read(
        self,
        engine: Engine,
        folder: Path,
        wanted: dict[str, Any],
        columns: tuple[ColumnType, ...] = COLUMNS,
        number: int = 1,
    ) -> list[tuple[Any, ...]]:
        target = TableTarget("copy", str(folder / "copy"), columns, primary_key=(columns[0].name,))
        if number == 1:
            create_table(target.location, columns, Transaction("create", 1))
        found = engine.discover("copy.shop", wanted, None)
        assert found is not None
        assert found.end_of_input
        assert engine.discover("copy.shop", wanted, found.position) is None
        assert PASSWORD not in f"{found.range} {found.position}"
        written = engine.ingest(Ingestion(target, "copy.shop", wanted, found.range, Transaction("ingest", number)))
        source = StoredSource("copy", target.location, written.version)
        return list(engine.select(Selection("SELECT * FROM copy ORDER BY id", (source,), {})).rows)

    def test_every_type_arrives_as_it_is(self, spark_engine: Engine, server: Postgres, tmp_path: Path) -> None:
        rows = self.read(spark_engine, tmp_path, settings(server, table="public.everything"))

        assert rows[1] == (2, *(None for _ in COLUMNS[1:]))
        values = dict(zip([column.name for column in COLUMNS], rows[0], strict=True))
        assert values.pop("document").asDict() == {"a": "x", "b": [1, None]}
        assert values == {
            "Id": 1,
            "small": -3,
            "exact": Decimal("1234567.891"),
            "any_number": Decimal("12345678901234567890123456789.25"),
            "share": 1.5,
            "double": 0.1,
            "flag": True,
            "word": "Grüße ' \\ \"",
            "code": "ab  ",
            "day": date(2025, 1, 31),
            "at": datetime(2025, 1, 31, 8, 0, 0, 123456, tzinfo=UTC),
            "local": datetime(2025, 7, 1, 12, tzinfo=UTC),
            "raw": b"\x00\xff",
            "mark": "123e4567-e89b-12d3-a456-426614174000",
            "numbers": [1, None, 3],
            "words": ["a,b", "c"],
            "feeling": "good",
        }

    def test_a_query_is_read_as_the_database_answers_it_now(
        self, spark_engine: Engine, server: Postgres, tmp_path: Path
    ) -> None:
        columns = (ColumnType("id", "BIGINT", nullable=False), ColumnType("extra", "STRING"))
        wanted = settings(server, query="SELECT id, 'x' || (SELECT count(*) FROM everything) AS EXTRA FROM everything;  ")

        assert self.read(spark_engine, tmp_path, wanted, columns) == [(1, "x2"), (2, "x2")]
        server.sql("INSERT INTO everything (id) VALUES (3)")
        try:
            assert self.read(spark_engine, tmp_path, wanted, columns, 2) == [(1, "x3"), (2, "x3"), (3, "x3")]
            # What was written is not read again.
            assert self.read(spark_engine, tmp_path, wanted, columns, 2) == [(1, "x3"), (2, "x3"), (3, "x3")]
        finally:
            server.sql("DELETE FROM everything WHERE id = 3")

    def test_the_password_may_stand_in_the_address(
        self, spark_engine: Engine, server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ENCODED", "p%40ss%3Aw%2Frd%20%25")
        uri = f"postgres://reader:${{secret:ENCODED}}@127.0.0.1:{server.port}/shop?sslmode=prefer&connect_timeout=5"
        wanted = {"transport": {"name": "postgres_input", "config": {"uri": uri, "table": "everything"}}}

        assert [row[0] for row in self.read(spark_engine, tmp_path, wanted, COLUMNS[:1])] == [1, 2]

    def test_a_password_in_the_address_holds_signs_of_addresses(
        self, spark_engine: Engine, server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.sql("CREATE USER odd PASSWORD 'a#b[c]?'; GRANT SELECT ON everything TO odd")
        monkeypatch.setenv("ODD", "a#b[c]%3F")
        uri = f"postgresql://odd:${{secret:ODD}}@127.0.0.1:{server.port}/shop"
        wanted = {"transport": {"name": "postgres_input", "config": {"uri": uri, "table": "everything"}}}
        assert [row[0] for row in self.read(spark_engine, tmp_path, wanted, COLUMNS[:1])] == [1, 2]

        monkeypatch.setenv("ODD", "raw/a#b")
        with pytest.raises(EngineError, match="names no host that can be told from its user and password") as refusal:
            self.read(spark_engine, tmp_path, wanted, COLUMNS[:1], 2)
        assert "raw" not in f"{refusal.value.message}{refusal.value.hint}"

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({"uri": "postgresql://reader@127.0.0.1:1/shop"}, "can't be reached"),
            ({"password": "wrong"}, "login was refused"),
            ({"user": "nobody"}, "login was refused"),
            ({"uri": "DATABASE"}, "no such database"),
            ({"table": "public.nothing"}, "no such table"),
            ({"query": "SELEC 1"}, "query was refused"),
            ({"query": "SELECT nope FROM everything"}, "query was refused"),
            ({"table": "hidden", "user": "guest"}, "has no permission to read"),
        ],
    )
    def test_what_the_database_refuses_is_told(
        self, config: dict[str, Any], words: str, spark_engine: Engine, server: Postgres, tmp_path: Path
    ) -> None:
        if config.get("user") == "guest":
            server.sql(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'; CREATE TABLE hidden (id BIGINT)")
        if config.get("uri") == "DATABASE":
            config = {"uri": f"postgresql://reader@127.0.0.1:{server.port}/nowhere"}
        wanted = settings(server, **({} if "query" in config else {"table": "everything"}) | config)

        with pytest.raises(EngineError) as raised:
            self.read(spark_engine, tmp_path, wanted)

        assert raised.value.code == "X749"
        assert words in raised.value.message
        assert "copy.shop" in raised.value.message
        assert PASSWORD not in str(raised.value)
        assert "\n" not in raised.value.message
