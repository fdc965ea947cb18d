"""Whether an earlier version of a table on S3 can be had again: told by one listing, and had in one commit."""

from deltalake import DeltaTable

from reconciler.delta.contents import is_readable, same_contents
from reconciler.delta.restoring import restore
from reconciler.engine.stored import Transaction
from tests.delta.test_contents import append
from tests.s3.server import Bucket


def test_a_version_is_there_until_a_vacuum_takes_its_files(bucket: Bucket) -> None:
    place = f"s3://{bucket.name}/t"
    append(place, 1)
    append(place, 2)
    DeltaTable(place).optimize.compact()
    assert same_contents(place, 1, 2)
    assert not same_contents(place, 0, 2)
    assert is_readable(place, 0)
    assert restore(place, 0, 2, Transaction("a test", 1)) == 3
    assert same_contents(place, 0, 3)
    DeltaTable(place).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert is_readable(place, 0)
    assert not is_readable(place, 1)
    assert not is_readable(place, 2)
