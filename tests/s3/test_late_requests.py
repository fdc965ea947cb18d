"""A step on S3 that failed is withdrawn so that a commit of it that S3 carries out later is refused, also where the process
that made the step withdraws it itself. Without Spark.
"""

from pathlib import Path
from typing import Any

import arro3.core
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from reconciler.base.errors import EngineError
from reconciler.materialize.withdrawing import ingest_transaction
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.s3.server import Bucket
from tests.shops.recorded import YAML, feed, head_of, open_project, steps_recorded, write_project


class Unanswered(RecordingEngine):
    """Whose ingest of the first table fails, as if S3 had not answered."""

    def ingest(self, ingestion: Any) -> Any:
        raise EngineError("X700", "no answer")


def test_a_request_that_failed_and_is_done_later_is_refused(tmp_path: Path, bucket: Bucket) -> None:
    write_project(tmp_path, "CREATE TABLE a (id BIGINT);\n", YAML.partition("    - name: right")[0])
    (tmp_path / "reconcile.yaml").write_text(f"environments: {{dev: {{warehouse: 's3://{bucket.name}/w'}}}}\n")
    open_project(tmp_path).apply()
    feed(tmp_path, "left", "one", {"id": 1})
    location = f"s3://{bucket.name}/w/shop/a"
    before = DeltaTable(location)

    with pytest.raises(EngineError):
        open_project(tmp_path, Unanswered(DeltaWriter())).run_once()
    assert head_of(tmp_path).intent is None
    assert (1, "withdrawn") in steps_recorded(tmp_path)

    ours = ingest_transaction("a.left", 1)
    late = CommitProperties(max_commit_retries=0, app_transactions=[Transaction(ours.application, ours.version)])
    row = arro3.core.Table.from_pydict({"id": arro3.core.Array([1], type=arro3.core.DataType.int64())})
    with pytest.raises(CommitFailedError):
        write_deltalake(before, row, mode="append", commit_properties=late)

    open_project(tmp_path).run_once()
    assert open_project(tmp_path).read_step(["a"]).relations["a"].rows == ((1,),)
