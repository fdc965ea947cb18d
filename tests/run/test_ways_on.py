"""What a hint says to do about a connector that fails."""

import pytest

from reconciler.base.errors import EngineError, IngestFailed
from reconciler.registry.intents import Ingest
from reconciler.run.ways_on import with_a_way_on

ONE = Ingest("tolls.csv", {"files": [{"path": "/lake/a b.csv", "size": 1, "modified": 1}]}, {})
FOUR = Ingest("tolls.csv", {"files": [{"path": f"s3://lake/{n}.csv"} for n in range(4)]}, {})
REQUEST = Ingest("tolls.http", {"from": 7, "before": 9, "requests": 1, "bytes": 5}, {"next": 9})
REQUESTS = Ingest("tolls.http", {"from": 7, "before": 10, "requests": 3, "bytes": 5}, {"next": 10})
OFFSETS = Ingest("tolls.csv", {"offsets": {"0": [1, 2]}}, {})
SKIP = "reconcile connector skip fleet tolls.csv --file "


def hint(error: EngineError, ingest: Ingest | None) -> str:
    return with_a_way_on(error, "fleet", "tolls.csv", ingest).hint or ""


@pytest.mark.parametrize(
    ("code", "mends"),
    [
        ("X700", "try_cast"),
        ("X708", "on_error: give_null"),
        ("X712", "change the column's type"),
        ("X713", "give the column a default"),
        ("X714", "fix or delete the file"),
    ],
)
def test_each_has_what_mends_it_and_how_to_go_on(code: str, mends: str) -> None:
    said = hint(EngineError(code, "view v: no"), ONE)
    assert mends in said
    assert said.endswith(f"or skip the file: {SKIP}'/lake/a b.csv'")
    assert mends in hint(EngineError(code, "view v: no"), OFFSETS)
    assert "skip" not in hint(EngineError(code, "view v: no"), OFFSETS)


def test_what_the_error_says_itself_comes_first() -> None:
    said = hint(EngineError("X700", "view v: no", "write try_parse_json"), ONE)
    assert said.startswith("write try_parse_json; or skip the file: reconcile connector skip")


def test_of_several_files_the_one_that_is_named_is_skipped() -> None:
    named = IngestFailed("tolls.csv", EngineError("X714", "the file s3a://lake/2.csv has more than one column named ts"))
    assert hint(named, FOUR) == f"fix or delete the file; or skip the file: {SKIP}s3://lake/2.csv"
    unnamed = hint(EngineError("X708", "view v: no"), FOUR)
    assert "s3://lake/0.csv, s3://lake/1.csv, s3://lake/2.csv and 1 more together: max_batch_size: 1" in unnamed


def test_requests_are_passed_over_by_their_numbers() -> None:
    error = EngineError("X724", "too many records were rejected")
    assert hint(error, REQUEST) == "or pass over the request: reconcile connector seek fleet tolls.csv --to 9"
    assert hint(error, REQUESTS).startswith("it reads the requests 7 to 9 together: max_batch_size: 1 shows which one")
    assert hint(EngineError("X711", "requests changed", "it goes on"), REQUEST) == "it goes on"


def test_what_is_no_matter_of_rows_gets_no_such_hint() -> None:
    assert hint(EngineError("X707", "Spark's process ended", "run it again"), ONE) == "run it again"
    assert hint(EngineError("X700", "a connector's sink: no"), None) == ""
    assert hint(IngestFailed("tolls.csv", EngineError("X700", "a disk was lost")), OFFSETS) == ""
    assert "correct the connector" in hint(EngineError("X710", "there is no file"), None)
