"""Spark's commits on S3 replace none that was made meanwhile, and are told from others' when their answer is lost."""

from pathlib import Path

import arro3.core
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from reconciler.engine.spark.setup import install
from tests.s3.conversation import Conversation
from tests.s3.server import Bucket

# Each line of stdin is SQL; the answer is `done`, or what went wrong.
SPARK = """
import sys
from reconciler.engine.spark.session import start
from tests.few_rows import FEW_ROWS
spark = start(FEW_ROWS, needs_s3=True)
for line in sys.stdin:
    try:
        spark.sql(line)
        print("done", flush=True)
    except Exception as error:
        print(" ".join(str(error).split()), flush=True)
"""


def commit_of(key: str, version: int) -> str:
    return f"{key}/_delta_log/{version:020}.json"


def append(location: str, number: int) -> None:
    column = arro3.core.Array([number], type=arro3.core.DataType.int64())
    write_deltalake(location, arro3.core.Table.from_pydict({"n": column}), mode="append")


def numbers(location: str) -> list[int]:
    found = QueryBuilder().register("t", DeltaTable(location)).execute("SELECT n FROM t ORDER BY n").read_all()
    return list(found["n"].to_pylist())


@pytest.mark.slow
@pytest.mark.spark
def test_a_commit_of_spark_replaces_none_that_was_made_meanwhile(tmp_path: Path, bucket: Bucket) -> None:
    install(lambda line: None, s3=True)
    location, table = f"s3://{bucket.name}/t", f"delta.`s3a://{bucket.name}/t`"
    spark = Conversation(SPARK, tmp_path, bucket)
    try:
        assert spark.ask(f"CREATE TABLE {table} (n BIGINT) USING delta") == "done"
        assert spark.ask(f"INSERT INTO {table} VALUES (1)") == "done"

        # Rows that were appended meanwhile are no conflict: ours come after them.
        bucket.hold(commit_of("t", 2))
        spark.tell(f"INSERT INTO {table} VALUES (2)")
        bucket.wait_for_held()
        append(location, 3)
        bucket.release()
        assert spark.answer() == "done"
        assert (numbers(location), DeltaTable(location).version()) == ([1, 2, 3], 3)

        # What replaces all rows did not know of those.
        bucket.hold(commit_of("t", 4))
        spark.tell(f"INSERT OVERWRITE {table} SELECT n + 10 AS n FROM {table}")
        bucket.wait_for_held()
        append(location, 4)
        bucket.release()
        assert "ConcurrentAppendException" in spark.answer()
        assert (numbers(location), DeltaTable(location).version()) == ([1, 2, 3, 4], 4)

        # A repeat of the request finds what the first one wrote.
        bucket.lose(commit_of("t", 5))
        assert spark.ask(f"INSERT INTO {table} VALUES (5)") == "done"
        assert (numbers(location), DeltaTable(location).version()) == ([1, 2, 3, 4, 5], 5)
    finally:
        spark.end()
