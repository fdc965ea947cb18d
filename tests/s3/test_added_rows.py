"""Rows that were added to a table on S3, and rows that changed there, are read from the files that differ, by Spark too."""

from pathlib import Path

import pytest

from reconciler.engine.spark.setup import install
from tests.s3.conversation import Conversation
from tests.s3.server import Bucket

SPARK = """
import sys
import arro3.core
from deltalake import write_deltalake
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.added_rows import added_frame
from reconciler.engine.spark.changed_rows import changed_frame
from reconciler.engine.spark.session import start
from tests.few_rows import FEW_ROWS
place = "s3://BUCKET/lake/readings"
def write(*numbers, mode="append"):
    values = arro3.core.Array(list(numbers), type=arro3.core.DataType.int64())
    write_deltalake(place, arro3.core.Table.from_pydict({"n": values}), mode=mode)
write(1, 2)
write(3, 4)
write(5)
spark = start(FEW_ROWS, needs_s3=True)
source = StoredSource("readings", place, 2)
for line in sys.stdin:
    frame = (added_frame if line.strip() == "added" else changed_frame)(spark, source, ((0, 1), (1, 2)))
    files = {name.rpartition("/")[2] for name in frame.inputFiles()}
    print(sorted(row["n"] for row in frame.collect()), len(files), flush=True)
"""


@pytest.mark.spark
def test_rows_that_came_are_read_from_the_files_that_came(tmp_path: Path, bucket: Bucket) -> None:
    install(lambda line: None, s3=True)
    spark = Conversation(SPARK.replace("BUCKET", bucket.name), tmp_path, bucket)
    try:
        assert spark.ask("added") == "[3, 4, 5] 2"
        assert spark.ask("changed") == "[3, 4, 5] 2"
    finally:
        spark.end()
