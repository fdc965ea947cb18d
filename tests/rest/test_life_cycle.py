"""The life of a pipeline through the real client: made, started, changed by consent, paused, stopped, cleared, deleted."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import requests
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

from reconciler.environment.target import open_target
from reconciler.state.lease import hold_lease, this_process
from tests.rest.conftest import Serving

ITEMS = "CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR);\n"
NAMED = ITEMS + "CREATE MATERIALIZED VIEW named AS SELECT name, COUNT(*) AS n FROM items GROUP BY name;\n"
RENAMED = NAMED.replace("COUNT(*)", "COUNT(id)")
NO_CONNECTORS = {f"{how}_{way}_connectors": [] for how in ("added", "modified", "removed") for way in ("input", "output")}
NO_PROGRAM = {f"{how}_{what}": [] for how in ("added", "modified", "removed") for what in ("tables", "views")}
DIFF = {**NO_CONNECTORS, "program_diff": {**NO_PROGRAM, "modified_views": ["named"]}, "program_diff_error": None}


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


def test_a_change_awaits_approval(service: Serving) -> None:
    pipeline = service.pipeline("changed", NAMED)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1, 'a')")
    with pytest.raises(FelderaAPIError, match="requires that pipeline changed is stopped"):
        pipeline.modify(sql=RENAMED)
    pipeline.stop(force=True)
    assert pipeline.diff(program_code=RENAMED) == DIFF
    pipeline.modify(sql=RENAMED)
    assert pipeline.program_version() == 2
    pipeline.start()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    assert pipeline.deployment_runtime_status_details() == {"approval_diff": DIFF}
    assert pipeline.bootstrap_policy() == BootstrapPolicy.AWAIT_APPROVAL

    # To stop is to reject: nothing was touched.
    pipeline.stop(force=True)
    assert pipeline.deployment_runtime_status_details() is None
    pipeline.start(bootstrap_policy=BootstrapPolicy.AWAIT_APPROVAL)
    pipeline.approve()
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1, "name": "a"}]
    with pytest.raises(FelderaAPIError, match="does not await approval"):
        pipeline.approve()
    pipeline.stop(force=True)


def test_the_start_says_what_becomes_of_changes(service: Serving) -> None:
    pipeline = service.pipeline("policies", NAMED)
    pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    with pytest.raises(RuntimeError, match="it was started with bootstrap_policy=reject; modified views: named"):
        pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    assert pipeline.deployment_error()["details"] == {"approval_diff": DIFF}
    assert pipeline.deployment_error()["error_code"] == "BootstrapRejected"
    assert [one["error_code"] for one in pipeline.errors()] == ["BootstrapRejected"]
    with pytest.raises(FelderaAPIError, match="not dismissed"):
        pipeline.start(dismiss_error=False)
    pipeline.dismiss_error()
    assert not pipeline.deployment_error()
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    assert pipeline.status() == PipelineStatus.RUNNING
    assert pipeline.diff() == {**NO_CONNECTORS, "program_diff": NO_PROGRAM, "program_diff_error": None}
    pipeline.stop(force=True)


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


def test_what_does_not_compile_says_where(service: Serving) -> None:
    with pytest.raises(RuntimeError, match=r"S221[\s\S]*nme[\s\S]*SELECT nme FROM items"):
        service.pipeline("broken", ITEMS + "CREATE VIEW v AS SELECT nme FROM items;")
    broken = Pipeline.get("broken", service.client)
    assert broken.program_status() == ProgramStatus.SqlError
    assert broken.program_error()["sql_compilation"]["messages"][0]["start_line_number"] == 2
    assert broken.errors()
    with pytest.raises(FelderaAPIError, match="does not compile"):
        broken.start()
    broken.modify(sql=NAMED)
    broken.start()
    broken.stop(force=True)
    client = service.client
    info = client.validate_program(NAMED)["Success"]["program_info"]
    assert [one["name"] for one in info["schema"]["inputs"]] == ["items"]
    assert client.validate_program("CREATE VIEW v AS SELECT 1 FROM nowhere")["SqlError"]["info"]["messages"]


def test_what_can_not_be_a_configuration_is_refused(service: Serving) -> None:
    def put(**config: object) -> dict[str, Any]:
        found = service.client.http.put("/pipelines/configurations", {"program_code": ITEMS, **config})
        assert isinstance(found, dict)
        return found

    found = put(runtime_config={"workers": 3, "resources": {"storage_mb_max": 5}, "env": {"A": "b"}})
    assert (found["runtime_config"]["workers"], found["runtime_config"]["hosts"]) == (3, 1)
    assert found["runtime_config"]["resources"]["storage_mb_max"] == 5
    assert (found["program_config"]["cache"], put()["runtime_config"]["workers"]) == (True, 8)
    for runtime in ({"workers": "many"}, {"resources": {"storage_mb_max": "x"}}, {"env": {"RUST_LOG": "x"}}):
        refused(lambda runtime=runtime: put(runtime_config=runtime), "InvalidRuntimeConfig")  # type: ignore[misc]
    for program in ({"profile": "fast"}, {"profile": 1}, {"cache": 1}):
        refused(lambda program=program: put(program_config=program), "InvalidProgramConfig")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["Upper", "a/b", "", "a b", "a-", "x" * 64])
def test_what_can_not_be_a_name_is_refused(service: Serving, name: str) -> None:
    with pytest.raises((FelderaAPIError, RuntimeError), match=r"is not a lower-case letter|404"):
        service.client.http.post("/pipelines", {"name": name, "program_code": ITEMS})


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
    for refused in (pipeline.pause, pipeline.resume):
        with pytest.raises(FelderaAPIError, match="awaits approval"):
            refused()
    for refused in (lambda: pipeline.input_json("items", {"id": 1}), pipeline.clear_storage):
        with pytest.raises(FelderaAPIError):
            refused()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    pipeline.stop(force=True)


def test_an_approval_leads_over_bootstrapping_to_what_was_wished(service: Serving) -> None:
    pipeline = service.pipeline("approved", NAMED)
    pipeline.start()
    pipeline.stop(force=True)
    # So many that somebody who looks sees them in the making.
    more = (f"CREATE MATERIALIZED VIEW named{number} AS SELECT id FROM items;\n" for number in range(10))
    pipeline.modify(sql=RENAMED + "".join(more))
    pipeline.start_paused()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    pipeline.approve()
    seen = [""]
    while seen[-1] != "Paused" and len(seen) < 50:
        told = requests.get(f"{service.address}/v0/pipelines/approved?selector=status", timeout=60).json()
        if told["deployment_runtime_status"] != seen[-1]:
            seen.append(told["deployment_runtime_status"])
    assert "Bootstrapping" in seen
    assert not {"AwaitingApproval", "Running", "Stopped"} & set(seen)
    assert seen[-1] == "Paused"
    pipeline.stop(force=True)


def test_what_runs_is_not_changed(service: Serving) -> None:
    pipeline = service.pipeline("busy", NAMED)
    pipeline.start()
    for refused in (
        lambda: pipeline.modify(sql=ITEMS),
        lambda: pipeline.set_runtime_config(pipeline.runtime_config()),
        pipeline.update_runtime,
        pipeline.clear_storage,
        lambda: pipeline.delete(clear_storage=True),
    ):
        with pytest.raises(FelderaAPIError, match="requires that pipeline busy is stopped"):
            refused()
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


def test_storage_is_cleared_for_good(service: Serving) -> None:
    pipeline = service.pipeline("cleared", NAMED)
    pipeline.start()
    pipeline.input_json("items", {"id": 1, "name": "a"})
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


def test_a_backend_that_is_away_is_told(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    client = service.client
    pipeline = PipelineBuilder(client, "lonely", ITEMS).create()
    pipeline.refresh(PipelineFieldSelector.ALL)
    service.stop()
    client.http.config.retry_config = RetryConfig(max_retries=0)
    with pytest.raises(FelderaCommunicationError):
        pipeline.refresh(PipelineFieldSelector.STATUS)


def test_functions_in_rust_are_kept_and_do_not_compile(service: Serving) -> None:
    with pytest.raises(RuntimeError, match="functions in Rust don't run on Spark"):
        service.pipeline("rusty", NAMED, udf_rust="fn f() {}", udf_toml="[dependencies]")
    pipeline = Pipeline.get("rusty", service.client)
    assert (pipeline.udf_rust(), pipeline.udf_toml()) == ("fn f() {}", "[dependencies]")
    assert pipeline.program_status() == ProgramStatus.RustError
    refused(pipeline.start, "CannotStartWithCompilationError")
    pipeline.modify(udf_rust="", udf_toml="")
    assert pipeline.program_status() == ProgramStatus.Success
    pipeline.delete()


def refused(asked: Callable[[], object], code: str) -> None:
    """What is asked is refused with a code."""
    with pytest.raises(FelderaAPIError) as caught:
        asked()
    assert (caught.value.status_code, caught.value.error_code) == (400, code)


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


def test_words_about_a_pipeline_change_at_any_time_and_no_version(service: Serving) -> None:
    pipeline = service.pipeline("words", NAMED, description="old")

    def versions() -> list[int]:
        found = service.client.http.get("/pipelines/words?selector=status")
        return [found[name] for name in ("version", "program_version", "refresh_version")]

    assert versions() == [1, 1, 3]
    for begin in (lambda: None, pipeline.start, pipeline.pause, lambda: pipeline.stop(force=True)):
        begin()
        service.client.http.patch("/pipelines/words", {"description": "new", "tags": ["a", "b/c"]})
        assert (pipeline.description(), pipeline.tags()) == ("new", ["a", "b/c"])
        assert versions() == [1, 1, 3]
    # Words are no change that awaits approval.
    pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    pipeline.stop(force=True)
    changed = service.client.http.patch("/pipelines/words", {"program_code": RENAMED})
    assert [changed[name] for name in ("version", "program_version", "refresh_version")] == [2, 2, 4]
    assert versions() == [2, 2, 6]
    for words, code in (
        ({"description": "x" * 301}, "TooLongDescription"),
        ({"tags": ["a,b"]}, "InvalidTag"),
        ({"tags": [""]}, "InvalidTag"),
        ({"tags": ["x" * 51]}, "InvalidTag"),
        ({"tags": ["x"] * 51}, "TooManyTags"),
    ):
        refused(lambda words=words: service.client.http.patch("/pipelines/words", words), code)  # type: ignore[misc]
    refused(lambda: service.client.http.post("/pipelines", {"name": "no-program"}), "InvalidRequest")


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
