"""What is told of a pipeline through the real client: figures, connectors, logs, events, checkpoints, a bundle."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from feldera import Pipeline
from feldera.enums import CheckpointStatus, CompletionTokenStatus, PipelineStatus, TransactionStatus
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving


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
    assert "reconcile_pipeline_step" in pipeline.metrics()
    assert pipeline.metrics("json")["global_metrics"]["total_input_records"] == 3


def test_a_connector_is_paused_and_started(pipeline: Pipeline) -> None:
    told = pipeline.input_connector_stats("items", "files")
    assert (told.metrics.total_records, told.metrics.end_of_input, told.paused) == (2, True, False)
    assert told.health is not None
    assert told.health.status == "Healthy"
    pipeline.pause_connector("items", "files")
    assert pipeline.input_connector_stats("items", "files").paused
    pipeline.resume_connector("items", "files")
    assert not pipeline.input_connector_stats("items", "files").paused
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
    with pytest.raises(FelderaAPIError, match="has no event"):
        pipeline.event("00000000-0000-0000-0000-000000000000")


def test_checkpoints(pipeline: Pipeline) -> None:
    step = pipeline.checkpoint(wait=True)
    assert pipeline.checkpoint_status(step) == CheckpointStatus.Success
    assert step in [one.steps for one in pipeline.checkpoints()]


def test_a_bundle_for_who_helps(pipeline: Pipeline, tmp_path: Path) -> None:
    found = zipfile.ZipFile(io.BytesIO(pipeline.support_bundle(str(tmp_path / "bundle.zip"))))
    assert {"pipeline_config.json", "stats.json", "events.json", "logs.txt", "metrics.txt"} <= set(found.namelist())
    assert json.loads(found.read("pipeline_config.json"))["name"] == "figures"


def test_configuration_is_kept_as_it_was_sent(service: Serving) -> None:
    from feldera.runtime_config import RuntimeConfig

    pipeline = service.pipeline("configured", "CREATE TABLE t (id BIGINT);", runtime_config=RuntimeConfig(workers=3))
    config = pipeline.runtime_config()
    assert config.workers == 3
    assert "shuffle_partitions: 3" in (service.root / "pipelines" / "configured" / "pipeline.yaml").read_text()
    config.min_batch_size_records = 500
    pipeline.set_runtime_config(config)
    assert pipeline.runtime_config().min_batch_size_records == 500
    assert pipeline.version() == 2
    assert pipeline.program_version() == 1
    pipeline.update_runtime()
    assert pipeline.platform_version()
    assert pipeline.deployment_config()["pipeline"] == "configured"
    assert pipeline.deployment_location() == ""
