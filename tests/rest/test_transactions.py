"""Transactions through the real client: nothing is seen of them before their commit, and all of it at once."""

from collections.abc import Callable

import pytest
from feldera.enums import BootstrapPolicy, TransactionStatus
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving
from tests.rest.test_killed import kill_all, kill_http, started_again
from tests.waiting import wait_until

TABLES = "CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR); CREATE TABLE others (id BIGINT);"


def test_all_rows_of_a_transaction_come_in_one_step(service: Serving) -> None:
    pipeline = service.pipeline("transacting", TABLES)
    pipeline.start()
    pipeline.input_json("items", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    with pytest.raises(RuntimeError, match="no transaction in progress"):
        pipeline.commit_transaction()
    assert pipeline.start_transaction() == 1
    assert (pipeline.transaction_id(), pipeline.transaction_status()) == (1, TransactionStatus.TransactionInProgress)
    with pytest.raises(FelderaAPIError, match="not over"):
        pipeline.start_transaction()
    tokens = [pipeline.input_json("others", {"id": number}, wait=False) for number in range(5)]
    pipeline.input_json("items", [{"insert": {"id": 3, "name": "c"}}, {"delete": {"id": 1}}], "insert_delete", wait=False)
    pipeline.input_json("items", {"id": 4}, wait=False)
    pipeline.input_json("items", [{"update": {"id": 4, "name": "d"}}, {"update": {"id": 1}}], "insert_delete", wait=False)
    before = pipeline.stats().global_metrics.total_completed_steps
    assert list(pipeline.query("SELECT * FROM others")) == []
    assert [row["id"] for row in pipeline.query("SELECT * FROM items")] == [1, 2]
    assert not any(pipeline.completion_token_status(token).name == "COMPLETE" for token in tokens)

    with pytest.raises(ValueError, match="doesn't match"):
        pipeline.commit_transaction(7)
    pipeline.commit_transaction(1)
    assert pipeline.transaction_status() == TransactionStatus.NoTransaction
    assert pipeline.stats().global_metrics.total_completed_steps == before + 1
    assert sorted(row["id"] for row in pipeline.query("SELECT * FROM others")) == [0, 1, 2, 3, 4]
    found = {row["id"]: row["name"] for row in pipeline.query("SELECT * FROM items")}
    assert found == {2: "b", 3: "c", 4: "d"}
    assert all(pipeline.completion_token_status(token).name == "COMPLETE" for token in tokens)

    # One without rows is over at once.
    assert pipeline.start_transaction() == 2
    pipeline.commit_transaction()
    pipeline.stop(force=True)
    with pytest.raises(FelderaAPIError, match="does not run"):
        pipeline.start_transaction()


def test_a_commit_that_is_not_waited_for_is_under_way(service: Serving) -> None:
    pipeline = service.pipeline("committing", TABLES)
    pipeline.start_paused()
    pipeline.start_transaction()
    pipeline.input_json("others", {"id": 1}, force=True, wait=False)
    pipeline.commit_transaction(wait=False)
    assert (pipeline.transaction_id(), pipeline.transaction_status()) == (1, TransactionStatus.CommitInProgress)
    pipeline.resume()
    wait_until(lambda: pipeline.transaction_status() == TransactionStatus.NoTransaction)
    assert pipeline.transaction_id() is None
    assert list(pipeline.query("SELECT * FROM others")) == [{"id": 1}]
    pipeline.pause()
    pipeline.start_transaction()
    pipeline.input_json("others", {"id": 2}, force=True, wait=False)
    with pytest.raises(TimeoutError):
        pipeline.commit_transaction(timeout_s=0.2)
    pipeline.stop(force=True)


@pytest.mark.slow
@pytest.mark.parametrize("kill", [kill_http, kill_all])
def test_a_transaction_outlives_what_is_killed(own_service: Callable[..., Serving], kill: Callable[[Serving], None]) -> None:
    service = own_service()
    pipeline = service.pipeline("lasting", TABLES)
    pipeline.start()
    pipeline.start_transaction()
    pipeline.input_json("items", {"id": 1, "name": "a"}, wait=False)
    kill(service)
    pipeline = started_again(service, "lasting")
    assert pipeline.transaction_status() == TransactionStatus.TransactionInProgress
    pipeline.input_json("others", {"id": 2}, wait=False)
    assert list(pipeline.query("SELECT * FROM items")) == []
    pipeline.commit_transaction(wait=False)
    kill(service)
    pipeline = started_again(service, "lasting")
    for _ in range(100):
        if pipeline.transaction_status() == TransactionStatus.NoTransaction:
            break
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1, "name": "a"}]
    assert list(pipeline.query("SELECT * FROM others")) == [{"id": 2}]
    pipeline.stop(force=True)


def test_what_was_cleared_comes_back_by_nothing(service: Serving) -> None:
    pipeline = service.pipeline("cleared-out", TABLES)
    pipeline.start()
    pipeline.input_json("items", {"id": 1, "name": "a"})
    pipeline.stop(force=True)
    pipeline.clear_storage()
    pipeline.start()
    token = pipeline.input_json("items", {"id": 2, "name": "b"})
    pipeline.wait_for_token(token)
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 2, "name": "b"}]
    pipeline.stop(force=True)


def test_a_commit_does_not_wait_for_a_table_that_is_dropped(service: Serving) -> None:
    pipeline = service.pipeline("dropping", TABLES)
    pipeline.start_paused()
    pipeline.start_transaction()
    pipeline.input_json("items", {"id": 1}, force=True, wait=False)
    pipeline.input_json("others", {"id": 1}, force=True, wait=False)
    pipeline.commit_transaction(wait=False)
    pipeline.stop(force=True)
    pipeline.modify(sql=TABLES.partition(";")[0] + ";")
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    wait_until(lambda: pipeline.transaction_status() == TransactionStatus.NoTransaction)
    assert [row["id"] for row in pipeline.query("SELECT * FROM items")] == [1]
    assert pipeline.start_transaction() == 2
    pipeline.stop(force=True)
