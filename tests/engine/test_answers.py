"""The rows of a query: few by Spark itself, others by files, large ones read whenever somebody goes through them."""

from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine, Selection
from reconciler.engine.spark.answers import StoredRows, can_write_files, has_few_rows, rows_of
from reconciler.engine.spark.plain_views import left_to_spark
from tests.engine.engines import session_of

LARGE = "SELECT id, repeat('é', 100) AS text FROM range(0, 100000, 1, 4) ORDER BY id DESC"
TYPES = """
SELECT CAST(id AS DECIMAL(20, 3)) AS amount,
  if(id = 3, NULL, named_struct('a', id, 'b', array(map('k', X'00FF')))) AS nested,
  TIMESTAMP'2024-02-03 04:05:06.789Z' AS at, TIMESTAMP_NTZ'2024-02-03 04:05:06' AS plain, DATE'2024-02-03' AS day,
  INTERVAL '1 02:03:04' DAY TO SECOND AS gap, parse_json('{"a": [1, null]}') AS variant, NULL AS void, CAST(id AS FLOAT) AS x
FROM (SELECT explode(sequence(0L, 4L)) AS id)
"""


def _frame(engine: Engine, sql: str) -> DataFrame:
    return session_of(engine).sql(sql)


def test_values_of_all_types_are_those_that_spark_brings_by_itself(spark_engine: Engine) -> None:
    frame = _frame(spark_engine, TYPES)
    assert can_write_files(session_of(spark_engine))
    assert not has_few_rows(frame)
    found = rows_of(frame, tuple, by_files=True)
    assert type(found) is list
    assert str(found) == str([tuple(row) for row in frame.collect()])
    assert len(found) == 5


@pytest.mark.parametrize("sql", ["SELECT 1", "SELECT count(*) FROM range(5000)", f"SELECT * FROM ({LARGE}) LIMIT 1000"])
def test_few_rows_are_known_to_be_few(sql: str, spark_engine: Engine) -> None:
    assert has_few_rows(_frame(spark_engine, sql))


def test_a_large_result_keeps_its_order_and_is_read_as_often_as_it_is_asked_for(spark_engine: Engine) -> None:
    rows = spark_engine.select(Selection(LARGE, (), {})).rows
    assert isinstance(rows, StoredRows)
    assert len(rows) == 100_000
    assert [one[0] for one in rows] == list(range(99_999, -1, -1))
    first, second = iter(rows), iter(rows)
    assert list(islice(first, 30_000))[-1] == (70_000, "é" * 100)
    assert next(second) == next(iter(rows)) == rows[0]
    assert next(first) == (69_999, "é" * 100)


def test_its_file_has_no_name(spark_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is left of it, also where the process is killed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = rows_of(_frame(spark_engine, LARGE), tuple, by_files=True)
    assert list(tmp_path.iterdir()) == []
    assert len(rows) == 100_000


def test_what_would_fill_the_disk_is_refused(spark_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EngineError, match=r"the result is larger than 0\.0 GB") as raised:
        rows_of(_frame(spark_engine, LARGE), tuple, by_files=True, share=10**7)
    assert raised.value.code == "X737"
    assert list(tmp_path.iterdir()) == []
    assert len(rows_of(_frame(spark_engine, "SELECT id FROM range(2000)"), tuple, by_files=True)) == 2000


def test_where_no_file_can_be_written_is_said(spark_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="can't be kept in temporary files: No such file or directory") as raised:
        rows_of(_frame(spark_engine, LARGE), tuple, by_files=True)
    assert raised.value.code == "X737"


def test_what_is_too_large_is_not_computed_once_more() -> None:
    with pytest.raises(EngineError, match="too large"), left_to_spark(lambda: True):
        raise EngineError("X737", "too large")


def test_a_query_that_fails_says_why(spark_engine: Engine) -> None:
    with pytest.raises(EngineError, match=r"(?i)by zero"):
        spark_engine.select(Selection("SELECT 1 div (id - 1500) FROM range(3000)", (), {}))


def test_a_year_that_python_does_not_know_is_told(spark_engine: Engine) -> None:
    sql = "SELECT make_timestamp_ntz(CAST(10000 + id AS INT), 1, 1, 0, 0, 0) AS at FROM range(2000)"
    with pytest.raises(EngineError, match="a date or a time in the rows can't be shown"):
        spark_engine.select(Selection(sql, (), {}))
