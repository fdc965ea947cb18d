"""What is stored of a pipeline through the real client: cleared for good, and kept while it is paused or stops."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from feldera.enums import BootstrapPolicy, PipelineStatus, StorageStatus
from feldera.rest.errors import FelderaAPIError, FelderaTimeoutError

from reconciler.environment.target import open_target
from reconciler.registry.changing import change_document
from reconciler.registry.model import Deployment
from reconciler.rest.errors import Refused
from reconciler.rest.same_starts import RUNNING
from reconciler.rest.shared import new_service
from reconciler.server.places import place_of
from reconciler.state.lease import hold_lease, this_process
from tests.rest.conftest import Serving, new_repository
from tests.rest.named import ITEMS, NAMED


def test_storage_is_cleared_for_good(service: Serving) -> None:
    pipeline = service.pipeline("cleared", NAMED)
    pipeline.start()
    tokens = [
        pipeline.input_json("items", {"id": 1, "name": "a"}),
        pipeline.generate_completion_token("items", "api_ingress"),
    ]
    pipeline.restart()
    assert {pipeline.completion_token_status(token).name for token in tokens} == {"COMPLETE"}
    pipeline.stop(force=True)
    pipeline.clear_storage(wait=False)
    assert pipeline.storage_status() == StorageStatus.CLEARING
    with pytest.raises(FelderaAPIError, match="being cleared"):
        pipeline.start()
    with pytest.raises(FelderaTimeoutError):
        pipeline.clear_storage(timeout_s=0.0)
    pipeline.clear_storage(poll_interval_s=0.05)
    assert pipeline.storage_status() == StorageStatus.CLEARED
    pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    assert list(pipeline.query("SELECT * FROM items")) == []
    # The first request has the number of the one before.
    assert pipeline.input_json("items", {"id": 1, "name": "b"}) not in tokens
    for token in tokens:
        with pytest.raises(FelderaAPIError, match="before the storage of pipeline cleared was cleared") as refused:
            pipeline.completion_token_status(token)
        assert (refused.value.status_code, refused.value.error_code) == (410, "StaleToken")
    pipeline.stop(force=True)


def test_a_token_of_what_nobody_named_is_good_as_long_as_that_is_stored(service: Serving) -> None:
    """A pipeline whose storage is older than its lives: `reconcile apply` made it, say."""
    pipeline = service.pipeline("unnamed", NAMED)
    pipeline.start()
    registry = open_target(service.root, None).registry
    change_document(registry, "unnamed", Deployment, lambda found: replace(found or Deployment(), life=""))
    token = pipeline.input_json("items", {"id": 2, "name": "a"})
    pipeline.restart()
    pipeline.wait_for_token(token)
    pipeline.stop(force=True)


def test_a_table_of_the_name_of_a_dropped_one_has_none_of_its_rows(service: Serving) -> None:
    other = "CREATE TABLE other (id BIGINT);"
    pipeline = service.pipeline("readded", f"{ITEMS} {other}")
    pipeline.start()
    pipeline.input_json("items", {"id": 1, "name": "a"})
    pipeline.input_json("other", {"id": 1})
    for sql in (other, f"{ITEMS} {other}"):
        pipeline.stop(force=False)
        pipeline.modify(sql=sql)
        pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    pipeline.input_json("other", {"id": 2})
    assert list(pipeline.query("SELECT * FROM items")) == []
    pipeline.wait_for_token(pipeline.input_json("items", {"id": 2, "name": "b"}))
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 2, "name": "b"}]
    assert len(list(pipeline.query("SELECT * FROM other"))) == 2
    pipeline.stop(force=True)


def test_cleared_storage_takes_what_was_asked_of_connectors_and_rows_on_their_way(service: Serving) -> None:
    pipeline = service.pipeline("emptied", NAMED)
    assert pipeline.storage_status_details() is None
    pipeline.start_paused()
    pipeline.pause_input_connector("items", "api_ingress")
    pipeline.input_json("items", {"id": 1, "name": "a"}, force=True, wait=False)
    details = pipeline.storage_status_details()
    assert details is not None
    assert [one["identifier"] for one in details["checkpoints"]] == [one.identifier for one in pipeline.checkpoints()]
    pipeline.stop(force=True)
    pipeline.clear_storage()
    assert pipeline.storage_status_details() is None
    pipeline.start()
    assert not pipeline.input_connector_stats("items", "api_ingress").paused
    assert pipeline.stats().global_metrics.total_input_records == 0
    pipeline.input_json("items", {"id": 2, "name": "b"})
    pipeline.wait_for_idle(idle_interval_s=1.5, timeout_s=30)
    pipeline.stop(force=False)
    pipeline.clear_storage()
    pipeline.start()
    assert pipeline.stats().global_metrics.total_input_records == 0
    pipeline.input_json("items", {"id": 2, "name": "b"})
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 2, "name": "b"}]
    pipeline.stop(force=True)


def test_a_statement_waits_while_the_pipeline_is_paused(service: Serving) -> None:
    pipeline = service.pipeline("patient", ITEMS)
    pipeline.start_paused()
    inserting = threading.Thread(target=pipeline.execute, args=("INSERT INTO items VALUES (1, 'a')",), daemon=True)
    inserting.start()
    time.sleep(1.0)
    assert inserting.is_alive()
    assert list(pipeline.query("SELECT * FROM items")) == []
    pipeline.resume()
    inserting.join(30)
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1, "name": "a"}]
    pipeline.stop(force=True)


def test_rows_that_were_taken_before_a_pause_are_there(service: Serving) -> None:
    pipeline = service.pipeline("drained", NAMED)
    pipeline.start()
    for number in range(5):
        pipeline.input_json("items", {"id": number, "name": "a"}, wait=False)
    pipeline.pause()
    assert len(list(pipeline.query("SELECT * FROM items"))) == 5
    pipeline.stop(force=True)


def test_a_pipeline_that_stops_while_a_statement_has_it_leaves_a_checkpoint(service: Serving) -> None:
    pipeline = service.pipeline("handed-over", NAMED)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1, 'a')")
    registry = open_target(service.root, None).registry
    with hold_lease(registry, "handed-over", this_process("execute")):
        pipeline.stop(force=False, wait=False)
        time.sleep(1)
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)
    head = registry.head("handed-over")
    assert head is not None
    assert head.value.published is not None
    assert [one.steps for one in pipeline.checkpoints()][-1] == head.value.published.step


def test_a_table_that_is_made_anew_reads_no_rows_that_were_read(service: Serving) -> None:
    pipeline = service.pipeline("anew", "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY);")
    pipeline.start()
    pipeline.input_json("t", [{"id": 1}, {"id": 2}])
    pipeline.stop(force=True)
    pipeline.modify(sql="CREATE TABLE t (id VARCHAR NOT NULL PRIMARY KEY);")
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    pipeline.input_json("t", [{"id": "3"}])
    # Some of them would come again, and others not: those whose files were removed by then.
    assert list(pipeline.query("SELECT * FROM t")) == [{"id": "3"}]
    pipeline.stop(force=True)


def test_what_was_deleted_meanwhile_is_not_started(tmp_path: Path) -> None:
    target = open_target(new_repository(tmp_path), None)
    deployments = new_service(target, place_of(target.root), lambda: "ann").deployments
    with pytest.raises(Refused) as raised:
        deployments.start("deleted", RUNNING, "await_approval", "ann")
    assert raised.value.told.status == 404
    assert deployments.wish("deleted") == Deployment()
