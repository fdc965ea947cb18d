"""Rows are taken out of a table on S3 as on a disk: files without rows that go stay."""

from reconciler.delta.arrow_rows import plain_table
from reconciler.engine.arrow.row_changes import change_rows, may_change_rows
from tests.engine.test_row_changes import FILES, PLAIN, files_of, held, put, stage, wanted
from tests.s3.server import Bucket


def test_files_without_rows_that_go_stay(bucket: Bucket) -> None:
    place = f"s3://{bucket.name}/t"
    assert not may_change_rows(place)
    put(place, PLAIN, *FILES)
    assert may_change_rows(place)
    before = files_of(place)
    changes = stage(place, PLAIN, [(11, None, -1), (12, "new", 2)])
    version = change_rows(changes)
    assert version == len(FILES)
    assert held(place) == wanted([*FILES[0], (10, "a"), *FILES[2], (12, "new"), (12, "new")])
    assert len(before & files_of(place)) == len(before) - 1
    assert change_rows(changes) == version
    table = plain_table(place)
    assert table is not None
    assert table.version == version
