"""The life of a pipeline through the real client: made, started, changed by consent, paused, stopped, cleared, deleted."""

import uuid

import pytest
from feldera import Pipeline, PipelineBuilder
from feldera.enums import (
    BootstrapPolicy,
    DeploymentDesiredStatus,
    DeploymentResourcesStatus,
    DeploymentRuntimeStatus,
    PipelineStatus,
    ProgramStatus,
    StorageStatus,
)
from feldera.rest.errors import FelderaAPIError

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
    with pytest.raises(RuntimeError, match="it was started with bootstrap_policy=reject"):
        pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    assert pipeline.deployment_error()["error_code"] == "BootstrapRejected"
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
    pipeline.restart()
    assert pipeline.status() == PipelineStatus.RUNNING
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
    assert "Success" in client.validate_program(NAMED)
    assert client.validate_program("CREATE VIEW v AS SELECT 1 FROM nowhere")["SqlError"]["messages"]


@pytest.mark.parametrize("name", ["Upper", "a/b", "", "a b"])
def test_what_can_not_be_a_name_is_refused(service: Serving, name: str) -> None:
    with pytest.raises((FelderaAPIError, RuntimeError), match=r"is not a lower-case letter|404"):
        service.client.http.post("/pipelines", {"name": name, "program_code": ITEMS})


def test_functions_in_rust_are_refused(service: Serving) -> None:
    with pytest.raises(FelderaAPIError, match="functions in Rust don't run on Spark"):
        service.pipeline("rusty", NAMED, udf_rust="fn f() {}")
    assert not (service.root / "pipelines" / "rusty").exists()
