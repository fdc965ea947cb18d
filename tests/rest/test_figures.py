"""What is told of a pipeline through the real client: figures, connectors, logs, events, checkpoints, a bundle."""

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, CheckpointStatus, CompletionTokenStatus, PipelineStatus, TransactionStatus
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def pipeline(lasting: Serving) -> Pipeline:
    for name, settings in (("in", "path"), ("out", "path")):
        (lasting.root / name).mkdir(exist_ok=True)
        assert settings
    (lasting.root / "in" / "a.json").write_text('{"id": 1}\n{"id": 2}\n')
    reading = {
        "name": "files",
        "transport": {"name": "file_input", "config": {"path": str(lasting.root / "in" / "a.json")}},
        "format": {"name": "json"},
    }
    writing = {
        "name": "sink",
        "transport": {"name": "file_output", "config": {"path": str(lasting.root / "out")}},
        "format": {"name": "json"},
    }
    made = lasting.pipeline(
        "figures",
        f"""CREATE TABLE items (id BIGINT) WITH ('connectors' = '{json.dumps([reading])}');
        CREATE VIEW twice WITH ('connectors' = '{json.dumps([writing])}') AS SELECT id FROM items;""",
    )
    made.start()
    made.wait_for_completion(timeout_s=60)
    return made


def test_statistics(pipeline: Pipeline) -> None:
    token = pipeline.input_json("items", {"id": 3})
    assert pipeline.completion_token_status(token) == CompletionTokenStatus.COMPLETE
    pipeline.wait_for_idle(idle_interval_s=2.0, timeout_s=60)
    found = pipeline.stats()
    figures = found.global_metrics
    assert figures.state == PipelineStatus.RUNNING
    assert (figures.total_input_records, figures.total_processed_records, figures.buffered_input_records) == (3, 3, 0)
    assert figures.pipeline_complete
    assert pipeline.is_complete()
    assert figures.total_completed_steps is not None
    assert figures.total_completed_steps >= 2
    assert figures.transaction_status == TransactionStatus.NoTransaction
    assert pipeline.transaction_id() is None or pipeline.transaction_id() == 0
    assert {one.endpoint_name for one in found.inputs} == {"items.files", "items.api_ingress"}
    assert [one.endpoint_name for one in found.outputs] == ["twice.sink"]
    assert pipeline.transaction_status() == TransactionStatus.NoTransaction
    assert "reconcile_pipeline_step" in pipeline.metrics()
    assert "# TYPE records_processed_total counter" in pipeline.metrics()
    (processed,) = (one for one in pipeline.metrics("json") if one["key"] == "records_processed_total")
    assert processed["values"] == [{"labels": {"pipeline": "figures"}, "value": 3}]


def test_a_connector_is_paused_and_started(pipeline: Pipeline) -> None:
    told = pipeline.input_connector_stats("items", "files")
    assert (told.metrics.total_records, told.metrics.end_of_input, told.paused) == (2, True, False)
    assert told.health is not None
    assert told.health.status == "Healthy"
    pipeline.pause_connector("items", "files")
    assert pipeline.input_connector_stats("items", "files").paused
    pipeline.resume_connector("items", "files")
    assert not pipeline.input_connector_stats("items", "files").paused
    # A pipeline that is paused pauses no connector.
    pipeline.pause()
    assert not pipeline.input_connector_stats("items", "files").paused
    pipeline.resume()
    sent = pipeline.output_connector_stats("twice", "sink")
    assert sent.metrics.transmitted_records
    pipeline.pause_output_connector("twice", "sink")
    pipeline.start_output_connector("twice", "sink")
    token = pipeline.generate_completion_token("items", "files")
    pipeline.wait_for_token(token)
    for relation, connector in (("items", "nothing"), ("nothing", "files"), ("items", "FILES")):
        with pytest.raises(FelderaAPIError, match="has no connector"):
            pipeline.pause_connector(relation, connector)


def test_logs_go_on_from_where_they_were_read(pipeline: Pipeline) -> None:
    lines = pipeline.logs()
    first = next(lines)
    assert first
    with pipeline.resume_logs() as stream:
        assert next(iter(stream)) == first
        cursor = stream.cursor()
    assert cursor.endswith(":1")
    with pipeline.resume_logs(cursor) as stream:
        assert next(iter(stream)) == next(lines)


def test_events(pipeline: Pipeline) -> None:
    found = pipeline.events(selector="all")
    assert {"run started", "step published"} <= {one["event"] for one in found}
    latest = pipeline.event("latest")
    assert pipeline.event(latest["event_id"])["recorded_at"] == latest["recorded_at"]
    assert "details" not in latest
    assert "details" in pipeline.event("latest", selector="all")
    assert not any("details" in one for one in pipeline.events())
    with pytest.raises(FelderaAPIError, match="has no event"):
        pipeline.event("00000000-0000-0000-0000-000000000000")


def test_checkpoints(pipeline: Pipeline) -> None:
    step = pipeline.checkpoint(wait=True)
    assert pipeline.checkpoint_status(step) == CheckpointStatus.Success
    assert step in [one.steps for one in pipeline.checkpoints()]


def test_a_bundle_for_who_helps(pipeline: Pipeline, tmp_path: Path) -> None:
    found = zipfile.ZipFile(io.BytesIO(pipeline.support_bundle(str(tmp_path / "bundle.zip"))))
    about = {"metadata.json", "metadata.txt"}
    (folder,) = {name.partition("/")[0] for name in found.namelist()} - about
    assert json.loads(found.read(f"{folder}/pipeline_config.json"))["name"] == "figures"
    told = json.loads(found.read("metadata.json"))
    assert (told["pipeline"], told["collected_at"].replace(":", "-")) == ("figures", folder)
    assert zipfile.ZipFile(tmp_path / "bundle.zip").namelist()[:2] == found.namelist()[:2]

    def names(**parts: bool) -> set[str]:
        bundle = zipfile.ZipFile(io.BytesIO(pipeline.support_bundle(**parts)))  # type: ignore[arg-type]
        return {name.rpartition("/")[2] for name in bundle.namelist()}

    every = names()
    assert set(told["files"]) | about == every
    parts = {
        "metrics": "metrics.txt",
        "logs": "logs.txt",
        "stats": "stats.json",
        "pipeline_config": "pipeline_config.json",
        "system_config": "system_config.json",
        "pipeline_events": "events.json",
    }
    for part, file in parts.items():
        assert every - names(**{part: False}) == {file}
    assert names(collect=False) == about


def test_configuration_is_kept_as_it_was_sent(service: Serving) -> None:
    from feldera.enums import FaultToleranceModel
    from feldera.runtime_config import Resources, RuntimeConfig, Storage

    given = RuntimeConfig(
        workers=3,
        storage=Storage(min_storage_bytes=7),
        resources=Resources(cpu_cores_max=2, memory_mb_max=512),
        fault_tolerance_model=FaultToleranceModel.AtLeastOnce,
        checkpoint_interval_secs=9,
    )
    pipeline = service.pipeline("configured", "CREATE TABLE t (id BIGINT);", runtime_config=given)
    assert "checkpoint_interval: 9s" in (service.root / "pipelines" / "configured" / "pipeline.yaml").read_text()
    kept = pipeline.runtime_config().to_dict()
    assert kept["fault_tolerance"] == {"model": "at_least_once", "checkpoint_interval_secs": 9}
    assert (kept["storage"]["min_storage_bytes"], kept["resources"]["memory_mb_max"]) == (7, 512)
    config = pipeline.runtime_config()
    assert config.workers == 3
    assert "shuffle_partitions: 3" in (service.root / "pipelines" / "configured" / "pipeline.yaml").read_text()
    config.min_batch_size_records = 500
    pipeline.set_runtime_config(config)
    assert pipeline.runtime_config().min_batch_size_records == 500
    pipeline.set_runtime_config(config)
    assert pipeline.version() == 2
    assert pipeline.program_version() == 1
    pipeline.update_runtime()
    assert pipeline.platform_version()
    assert pipeline.deployment_config()["pipeline"] == "configured"
    assert pipeline.deployment_location() == ""
    # Workers are no part of what is stored: it stays when they change.
    pipeline.start()
    pipeline.execute("INSERT INTO t VALUES (1)")
    pipeline.stop(force=True)
    config.workers = 5
    pipeline.set_runtime_config(config)
    pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    assert list(pipeline.query("SELECT * FROM t")) == [{"id": 1}]
    pipeline.stop(force=True)


def test_a_log_begins_before_the_first_start_and_ends_when_the_pipeline_is_deleted(service: Serving) -> None:
    pipeline = service.pipeline("logged", "CREATE TABLE t (id BIGINT);")
    first = pipeline.logs()
    assert next(first) == "pipeline logged has no log yet: it was not started"
    pipeline.start()
    assert next(first)
    second = pipeline.logs()
    assert next(second)
    pipeline.stop(force=True)
    pipeline.delete(clear_storage=True)
    for stream in (first, second):
        assert list(stream)


def test_nobody_waits_for_what_is_stopped(service: Serving) -> None:
    pipeline = service.pipeline("resting", "CREATE TABLE t (id BIGINT);")
    pipeline.start(wait=False)
    # No connector has anything to read; and before the pipeline runs nobody knows that.
    pipeline.wait_for_completion(timeout_s=60)
    assert pipeline.status() == PipelineStatus.RUNNING
    pipeline.pause()
    token = pipeline.input_json("t", {"id": 1}, force=True, wait=False)
    assert pipeline.input_connector_stats("t", "api_ingress").metrics.buffered_records == 1
    assert pipeline.stats().inputs[0].metrics.buffered_records == 1
    with pytest.raises(RuntimeError, match="timeout"):
        pipeline.wait_for_idle(idle_interval_s=0.2, poll_interval_s=0.1, timeout_s=0.5)
    pipeline.stop(force=True)
    for refused in (
        lambda: pipeline.wait_for_token(token),
        pipeline.wait_for_idle,
        pipeline.transaction_status,
        pipeline.is_complete,
        lambda: pipeline.commit_transaction(wait=False),
        lambda: pipeline.pause_input_connector("t", "api_ingress"),
        lambda: pipeline.start_input_connector("t", "api_ingress"),
        lambda: pipeline.input_json("t", {"id": 2}),
    ):
        with pytest.raises(FelderaAPIError, match="PipelineInteractionNotDeployed"):
            refused()
    with pytest.raises(RuntimeError, match="must be running or paused"):
        pipeline.input_pandas("t", pd.DataFrame({"id": [1]}))
    for wrong in ({"idle_interval_s": 2, "timeout_s": 1}, {"poll_interval_s": 2, "idle_interval_s": 1}):
        with pytest.raises(ValueError, match="cannot be larger"):
            pipeline.wait_for_idle(**wrong)
    with pytest.raises(RuntimeError, match="must be running"):
        pipeline.wait_for_completion()
    assert list(pipeline.query("SELECT * FROM t")) == []
    pipeline.start()
    pipeline.wait_for_token(token)
    pipeline.wait_for_completion(force_stop=True)
    assert pipeline.status() == PipelineStatus.STOPPED
    assert pipeline.checkpoints() == []


def test_a_connector_that_fails_says_why(service: Serving) -> None:
    folder = service.root / "arriving"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1}\n')
    reading = {
        "name": "files",
        "transport": {"name": "file_input", "config": {"path": str(folder)}},
        "format": {"name": "json"},
    }
    sql = f"CREATE TABLE t (id BIGINT) WITH ('connectors' = '{json.dumps([reading])}');"
    pipeline = service.pipeline("failing", sql)
    pipeline.start()
    # More may come into a folder: nobody can tell its end.
    with pytest.raises(TimeoutError):
        pipeline.wait_for_completion(timeout_s=1.5)
    assert list(pipeline.query("SELECT * FROM t")) == [{"id": 1}]
    (folder / "a.json").write_text('{"id": 1}\n{"id": 2}\n')
    wait_until(lambda: pipeline.input_connector_stats("t", "files").transport_errors)
    told = pipeline.input_connector_stats("t", "files")
    assert told.transport_errors
    assert (told.transport_errors[0].tag, told.health and told.health.status) == ("X711", "Unhealthy")
    assert "a.json" in told.transport_errors[0].message
    pipeline.stop(force=True)
