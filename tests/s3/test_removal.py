"""Removing what lies on S3 without an engine."""

import pytest

from reconciler.base.errors import EngineError, RegistryError, SetUpMissing
from reconciler.delta.removal import remove_folder, remove_written, table_identity
from reconciler.delta.tables import create_table
from reconciler.engine.stored import ColumnType, Transaction
from reconciler.materialize.apply_effects import remove
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.s3.lake import S3Lake
from tests.s3.server import Bucket

COLUMNS = (ColumnType("id", "bigint"),)
FIRST, SECOND = Transaction("apply", 1), Transaction("apply", 2)


@pytest.fixture
def place(bucket: Bucket) -> str:
    place = S3Lake(bucket).location("t")
    create_table(place, COLUMNS, FIRST)
    bucket.put("lake/t/v-1/a.parquet", "rows")
    bucket.put("lake/t2/a.parquet", "of another")
    return place


def test_a_folder_goes_with_all_that_is_below_it(bucket: Bucket, place: str) -> None:
    for _ in range(2):
        remove_folder(place)
        assert bucket.keys() == ["lake/t2/a.parquet"]


def test_only_what_that_writer_made_is_removed(bucket: Bucket, place: str) -> None:
    before = bucket.keys()
    remove_written(place, SECOND)
    assert (bucket.keys(), table_identity(place) is None) == (before, False)
    remove_written(f"{place}2", FIRST)
    assert bucket.keys() == before
    remove_written(place, FIRST)
    assert bucket.keys() == ["lake/t2/a.parquet"]


def test_what_the_engine_can_not_remove_goes_object_by_object(bucket: Bucket, place: str) -> None:
    gone = RecordingEngine(DeltaWriter())
    gone.close()
    remove(gone, place)
    assert bucket.keys() == ["lake/t2/a.parquet"]


class WithoutJava(RecordingEngine):
    def remove(self, location: str) -> None:
        raise SetUpMissing("U801", "there is no Java")


def test_where_the_store_is_away_the_engine_has_the_word(bucket: Bucket) -> None:
    remove(WithoutJava(), f"s3://{bucket.name}/lake/t")
    with pytest.raises(SetUpMissing):
        remove(WithoutJava(), "s3://no-such-bucket-here/t")
    with pytest.raises(RegistryError):
        remove_folder("s3://no-such-bucket-here/t")
    gone = RecordingEngine()
    gone.close()
    with pytest.raises(EngineError):
        remove(gone, "s3://no-such-bucket-here/t")
