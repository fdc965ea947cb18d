"""The life of a pipeline through the real client: made, started, paused, stopped, deleted, and what it tells of itself."""

import uuid
from collections.abc import Callable

import pytest
from feldera import Pipeline, PipelineBuilder
from feldera.enums import (
    BootstrapPolicy,
    CompilationProfile,
    DeploymentDesiredStatus,
    DeploymentResourcesDesiredStatus,
    DeploymentResourcesStatus,
    DeploymentRuntimeDesiredStatus,
    DeploymentRuntimeStatus,
    PipelineFieldSelector,
    PipelineStatus,
    ProgramStatus,
    StorageStatus,
)
from feldera.rest.errors import FelderaAPIError, FelderaCommunicationError, FelderaTimeoutError
from feldera.rest.retry import RetryConfig

from tests.rest.conftest import Serving
from tests.rest.named import ITEMS, NAMED, RENAMED, refused


def test_a_pipeline_is_made_started_and_deleted(service: Serving) -> None:
    pipeline = service.pipeline("made", NAMED, description="what is named", tags=["a"])
    assert pipeline.status() == PipelineStatus.STOPPED
    assert pipeline.program_status() == ProgramStatus.Success
    assert pipeline.storage_status() == StorageStatus.CLEARED
    assert (pipeline.description(), pipeline.tags(), pipeline.program_code()) == ("what is named", ["a"], NAMED.strip())
    assert [table.name for table in pipeline.tables()] == ["items"]
    assert [view.name for view in pipeline.views()] == ["named"]
    assert pipeline.tables()[0].fields[0] == {
        "name": "id",
        "case_sensitive": False,
        "columntype": {"type": "BIGINT", "nullable": False},
        "unused": False,
    }
    uuid.UUID(pipeline.id())
    assert pipeline.deployment_desired_status() == DeploymentDesiredStatus.STOPPED

    pipeline.start()
    assert pipeline.status() == PipelineStatus.RUNNING
    assert pipeline.deployment_desired_status() == DeploymentDesiredStatus.RUNNING
    assert pipeline.deployment_runtime_status() == DeploymentRuntimeStatus.RUNNING
    assert pipeline.deployment_resources_status() == DeploymentResourcesStatus.PROVISIONED
    assert pipeline.storage_status() == StorageStatus.INUSE
    pipeline.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b')")
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    with pytest.raises(FelderaAPIError, match="requires that pipeline made is stopped"):
        pipeline.delete()

    pipeline.stop(force=False)
    assert pipeline.status() == PipelineStatus.STOPPED
    assert [one.identifier for one in pipeline.checkpoints()]
    with pytest.raises(FelderaAPIError, match="clear it first"):
        pipeline.delete()
    pipeline.delete(clear_storage=True)
    assert pipeline.status() == PipelineStatus.NOT_FOUND
    with pytest.raises(FelderaAPIError, match="not found"):
        Pipeline.get("made", service.client)
    assert not (service.root / "pipelines" / "made").exists()


def test_pause_holds_over_a_restart_of_the_pipeline_only_where_it_is_asked_for(service: Serving) -> None:
    pipeline = service.pipeline("paused", NAMED)
    pipeline.start_paused()
    assert pipeline.status() == PipelineStatus.PAUSED
    with pytest.raises(RuntimeError, match="is paused"):
        pipeline.input_json("items", {"id": 1, "name": "a"}, wait=False)
    token = pipeline.input_json("items", {"id": 1, "name": "a"}, force=True, wait=False)
    assert pipeline.completion_token_status(token).name == "IN_PROGRESS"
    pipeline.resume()
    assert pipeline.status() == PipelineStatus.RUNNING
    pipeline.wait_for_token(token)
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1, "name": "a"}]
    pipeline.pause()
    assert pipeline.status() == PipelineStatus.PAUSED
    assert pipeline.status() == PipelineStatus.PAUSED
    pipeline.restart()
    assert pipeline.status() == PipelineStatus.RUNNING
    assert pipeline.checkpoints() == []
    pipeline.resume()
    pipeline.stop(force=True)


def test_create_or_replace_begins_anew(service: Serving) -> None:
    pipeline = service.pipeline("replaced", NAMED)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1, 'a')")
    with pytest.raises(RuntimeError, match="already exists"):
        service.pipeline("replaced", NAMED)
    again = PipelineBuilder(service.client, "replaced", ITEMS).create_or_replace()
    assert again.id() == pipeline.id()
    assert again.views() == []
    again.start()
    assert list(again.query("SELECT * FROM items")) == []
    assert "replaced" in [one.name for one in Pipeline.all(service.client)]
    again.stop(force=True)


def test_one_that_never_ran_tells_of_itself(service: Serving) -> None:
    builder = PipelineBuilder(service.client, "fresh", NAMED, compilation_profile=CompilationProfile.DEV)
    assert builder.create(wait=False).name == "fresh"
    pipeline = Pipeline.get("fresh", service.client)
    assert pipeline.deployment_runtime_status() == DeploymentRuntimeStatus.UNAVAILABLE
    assert pipeline.deployment_runtime_desired_status() == DeploymentRuntimeDesiredStatus.UNAVAILABLE
    assert pipeline.deployment_resources_desired_status() == DeploymentResourcesDesiredStatus.STOPPED
    assert pipeline.deployment_status_since() == pipeline.created_at() == pipeline.program_status_since()
    assert (pipeline.deployment_error(), pipeline.errors(), pipeline.bootstrap_policy()) == (None, [], None)
    assert pipeline.storage_status_details() is None
    told = pipeline.program_error()
    assert (told["sql_compilation"]["exit_code"], told["rust_compilation"]["exit_code"]) == (0, 0)
    info = pipeline.program_info()
    assert [one["name"] for one in info["schema"]["inputs"] + info["schema"]["outputs"]] == ["items", "named"]
    assert (info["input_connectors"], info["output_connectors"], info["udf_stubs"]) == ({}, {}, "")
    assert (pipeline.udf_rust(), pipeline.udf_toml(), pipeline.program_config()["profile"]) == ("", "", "dev")
    assert (pipeline.version(), pipeline.program_version()) == (1, 1)
    pipeline.modify(description="what is new")
    assert (pipeline.description(), pipeline.program_code(), pipeline.version()) == ("what is new", NAMED.strip(), 1)
    assert pipeline.program_version() == 1


def test_a_status_says_since_when_it_is(service: Serving) -> None:
    pipeline = service.pipeline("since", NAMED)
    pipeline.start()
    running = pipeline.deployment_status_since()
    assert running > pipeline.created_at()
    pipeline.stop(force=True)
    stopped = pipeline.deployment_status_since()
    assert stopped > running
    pipeline.stop(force=False)
    assert pipeline.deployment_status_since() == stopped
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    assert pipeline.deployment_status_since() > stopped
    pipeline.stop(force=True)


def test_a_start_is_of_what_is_stopped(service: Serving) -> None:
    pipeline = service.pipeline("begun", NAMED)
    pipeline.start()
    with pytest.raises(FelderaAPIError, match="pipeline begun was started as running"):
        pipeline.start_paused()
    since = pipeline.deployment_status_since()
    # As a client does that lost the answer.
    pipeline.start()
    assert pipeline.deployment_status_since() == since
    pipeline.pause()
    with pytest.raises(FelderaAPIError, match="pipeline begun is paused: resume it"):
        pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    with pytest.raises(FelderaAPIError, match="BootstrapPolicyImmutableUnlessStopped"):
        pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    pipeline.stop(force=True)
    with pytest.raises(FelderaAPIError, match="bootstrap_policy"):
        service.client.http.post("/pipelines/begun/start", params={"bootstrap_policy": "maybe"})


def test_only_what_runs_is_paused_and_resumed(service: Serving) -> None:
    pipeline = service.pipeline("halted", NAMED)
    pipeline.start()
    pipeline.stop(force=False, wait=False)
    with pytest.raises(FelderaAPIError, match="is stopp"):
        pipeline.resume()
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    for asked in (pipeline.pause, pipeline.resume):
        with pytest.raises(FelderaAPIError, match="awaits approval"):
            asked()
    for asked in (lambda: pipeline.input_json("items", {"id": 1}), pipeline.clear_storage):
        with pytest.raises(FelderaAPIError):
            asked()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    pipeline.stop(force=True)


def test_waits_end_when_they_are_to(service: Serving) -> None:
    pipeline = service.pipeline("waited", NAMED)
    for wait in (
        lambda: pipeline.start(timeout_s=0.0),
        lambda: pipeline.wait_for_status(PipelineStatus.PAUSED, timeout=0),
        lambda: pipeline.wait_for_completion(timeout_s=0.0),
        lambda: pipeline.pause(timeout_s=0.0),
        lambda: pipeline.resume(timeout_s=0.0),
        lambda: pipeline.stop(force=True, timeout_s=0.0),
    ):
        with pytest.raises((TimeoutError, FelderaTimeoutError)):
            wait()
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)
    pipeline.start_paused(wait=False)
    pipeline.wait_for_status(PipelineStatus.PAUSED, timeout=30)
    pipeline.resume(wait=False)
    pipeline.pause(wait=False)
    pipeline.stop(force=True, wait=False)
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)


def test_a_backend_that_is_away_is_told(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    client = service.client
    pipeline = PipelineBuilder(client, "lonely", ITEMS).create()
    pipeline.refresh(PipelineFieldSelector.ALL)
    service.stop()
    client.http.config.retry_config = RetryConfig(max_retries=0)
    with pytest.raises(FelderaCommunicationError):
        pipeline.refresh(PipelineFieldSelector.STATUS)


def test_a_second_start_is_the_first_or_none(service: Serving) -> None:
    pipeline = service.pipeline("twice", NAMED)
    for policy in BootstrapPolicy:
        assert pipeline.bootstrap_policy() is None
        pipeline.start(bootstrap_policy=policy)
        pipeline.start(bootstrap_policy=policy)
        assert pipeline.bootstrap_policy() == policy
        for other in set(BootstrapPolicy) - {policy}:
            refused(lambda other=other: pipeline.start(bootstrap_policy=other), "BootstrapPolicyImmutableUnlessStopped")  # type: ignore[misc]
        pipeline.stop(force=True)
    pipeline.start()
    refused(pipeline.start_paused, "InitialImmutableUnlessStopped")
    pipeline.stop(force=True)
    pipeline.start_paused()
    pipeline.start_paused()
    refused(pipeline.start, "InitialImmutableUnlessStopped")
    refused(pipeline.clear_storage, "StorageStatusImmutableUnlessStopped")
    refused(pipeline.delete, "DeleteRestrictedToFullyStopped")
    pipeline.stop(force=True)
    refused(pipeline.start_standby, "InitialStandbyNotAllowed")
    refused(pipeline.pause, "PauseWhileNotProvisioned")
    refused(pipeline.resume, "ResumeWhileNotProvisioned")
