"""What Spark, Kafka's client, Delta and PostgreSQL's driver quote of settings that hold secrets: none is in the errors."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Ingestion, TableTarget, Transaction

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
PEM = "-----BEGIN PRIVATE KEY-----\nHunter88aGVsbG8gd29ybGQ=\n-----END PRIVATE KEY-----"


def kafka(**options: str) -> dict[str, Any]:
    config = {"topic": "x", "bootstrap.servers": "localhost:1", "start_from": "earliest", "default.api.timeout.ms": "500"}
    config |= {name.replace("__", "."): text for name, text in options.items()}
    return {"transport": {"name": "kafka_input", "config": config}, "format": {"name": "json"}}


def over(name: str, **config: str) -> dict[str, Any]:
    return {"transport": {"name": name, "config": config}, "format": {"name": "csv"}}


def sasl(login: str) -> dict[str, Any]:
    return kafka(security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN", sasl__jaas__config=login)


CASES = {
    "login": (sasl("${secret:PLANTED}"), f'{MODULE} required username="bob" password=hunter77 stapler;', "X746"),
    "no login": (sasl("${secret:PLANTED}"), "hunter77 stapler", "X746"),
    "servers": (kafka(bootstrap__servers="${secret:PLANTED}"), "hunter77", "X740"),
    "pem": (
        kafka(
            security__protocol="SSL",
            ssl__keystore__type="PEM",
            ssl__keystore__key="${secret:PLANTED}",
            ssl__keystore__certificate__chain="${secret:PLANTED}",
        ),
        PEM,
        "X746",
    ),
    "word": (kafka(client__dns__lookup="${secret:PLANTED}"), "hunter77", "X746"),
    "number": (kafka(receive__buffer__bytes="${secret:PLANTED}"), "hunter77", "X746"),
    "table": (over("delta_table_input", uri="/nonexistent/${secret:PLANTED}", mode="snapshot"), "hunter77", "X710"),
    "file": (over("file_input", path="/nonexistent/${secret:PLANTED}"), "hunter77", "X710"),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_no_error_quotes_a_secret(case: str, spark_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, secret, code = CASES[case]
    monkeypatch.setenv("PLANTED", secret)
    with pytest.raises(EngineError) as failed:
        spark_engine.discover("t.live", settings, None)
    said = f"{failed.value.message} {failed.value.hint} {failed.value}".lower()
    assert failed.value.code == code, said
    assert "hunter" not in said
    assert "stapler" not in said
    assert "avsbg8" not in said


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (over("delta_table_input", uri="SOURCE", mode="snapshot", snapshot_filter="${secret:PLANTED} > 1"), "X703"),
        (over("postgres_input", uri="postgresql://localhost:1/${secret:PLANTED}", user="u", table="t"), "X749"),
        (over("postgres_input", uri="postgresql://localhost:1/d", user="${secret:PLANTED}", query="SELECT 1"), "X749"),
    ],
)
def test_no_reading_quotes_a_secret(
    settings: dict[str, Any], code: str, spark_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", "hunter77")
    columns = (ColumnType("id", "BIGINT"),)
    config = settings["transport"]["config"]
    if config["uri"] == "SOURCE":
        config["uri"] = str(tmp_path / "source")
        create_table(config["uri"], columns, Transaction("create", 1))
    into = TableTarget("t", str(tmp_path / "t"), columns)
    create_table(into.location, columns, Transaction("create", 1))
    found = spark_engine.discover("t.live", settings, None)
    assert found is not None
    with pytest.raises(EngineError) as failed:
        spark_engine.ingest(Ingestion(into, "t.live", settings, found.range, Transaction("step", 1)))
    assert failed.value.code == code
    assert "hunter" not in f"{failed.value.message} {failed.value.hint} {found}"


def test_a_query_with_a_secret_is_no_range(spark_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "hunter77")
    query = "SELECT * FROM t WHERE key = '${secret:PLANTED}'"
    found = spark_engine.discover("t.live", over("postgres_input", uri="postgresql://h/d", user="u", query=query), None)
    assert found is not None
    assert found.range == {"query": query}
