"""A change of a pipeline through the real client: it awaits approval, and what becomes of it is said with the start."""

import json
from collections.abc import Callable

import pytest
import requests
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, PipelineStatus
from feldera.rest.errors import FelderaAPIError

from reconciler.service.project import Project
from tests.rest.conftest import Serving
from tests.rest.named import NAMED, RENAMED

NO_CONNECTORS = {f"{how}_{way}_connectors": [] for how in ("added", "modified", "removed") for way in ("input", "output")}
NO_PROGRAM = {f"{how}_{what}": [] for how in ("added", "modified", "removed") for what in ("tables", "views")}
DIFF = {**NO_CONNECTORS, "program_diff": {**NO_PROGRAM, "modified_views": ["named"]}, "program_diff_error": None}


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


def test_the_diff_says_which_rows_are_lost(service: Serving) -> None:
    pipeline = service.pipeline("losing", NAMED)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1, 'a')")
    pipeline.stop(force=True)
    pipeline.modify(sql=NAMED.replace("name VARCHAR", "name BIGINT"))
    lost = ["table items is modified: its rows are deleted, and its connectors read the input again"]
    assert pipeline.diff()["lost_rows"] == lost
    pipeline.start()
    assert pipeline.deployment_runtime_status_details()["approval_diff"]["lost_rows"] == lost
    pipeline.stop(force=True)
    with pytest.raises(RuntimeError, match=r"modified tables: items.*; table items is modified: its rows are deleted"):
        pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    pipeline.dismiss_error()


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


def test_a_start_goes_on_when_its_plan_is_approved_by_other_means(service: Serving) -> None:
    pipeline = service.pipeline("elsewhere", NAMED)
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    files = Project.open(service.root).pipeline("elsewhere")
    files.approve(files.plan().digest, by="ann")
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    assert files.plan().changes_nothing
    pipeline.stop(force=True)


@pytest.mark.parametrize("by", ["", "ben"], ids=["who starts", "somebody else"])
def test_a_start_that_allows_takes_no_rejection_back(by: str, service: Serving) -> None:
    name = f"rejected{len(by)}"
    pipeline = service.pipeline(name, NAMED)
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    files = Project.open(service.root).pipeline(name)
    files.reject(files.plan().digest, "not before Friday", by=by)
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    assert len(files.status().rejections) == 1
    pipeline.stop(force=True)


def test_the_diff_that_is_shown_is_of_the_plan_that_awaits(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    pipeline = service.pipeline("shown", NAMED)
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    folder = service.root / "pipelines" / "shown"
    asked = {file: file.read_text() for file in folder.iterdir()}
    service.stop()
    description = json.loads(asked[folder / "api.json"])
    description["program_code"] += "CREATE VIEW another AS SELECT id FROM items;"
    (folder / "api.json").write_text(json.dumps(description))
    service.start()
    pipeline = Pipeline.get("shown", service.client)
    assert pipeline.deployment_runtime_status_details()["approval_diff"]["program_diff"]["added_views"] == ["another"]
    # Somebody puts back what the start asked for.
    for file, text in asked.items():
        file.write_text(text)
    assert pipeline.deployment_runtime_status_details() == {"approval_diff": DIFF}
    pipeline.stop(force=True)
