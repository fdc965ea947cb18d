"""Who may ask, what has no meaning here, and what the API says of itself."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from feldera import Pipeline
from feldera.enums import PipelineStatus, ProgramStatus
from feldera.rest.errors import FelderaAPIError

from reconciler.rest.pages.general import NOT_HERE
from tests.rest.conftest import Serving, new_repository

TABLE = "CREATE TABLE t (id BIGINT);"


@pytest.fixture(scope="module")
def unstarted(lasting: Serving) -> Pipeline:
    return lasting.pipeline("asked-in-vain", TABLE)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/v0/config", "/v0/pipelines/x/query?sql=DELETE+FROM+t", "/openapi.json"])
def test_pages_of_other_sites_get_nothing(service: Serving, headers: dict[str, str], path: str) -> None:
    answer = requests.get(service.address + path, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (403, "Forbidden")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service that has a token."""
    root = new_repository(tmp_path_factory.mktemp("guarded"))
    serving = Serving(root, environment={"RECONCILE_API_TOKEN": "secret"}).start()
    yield serving
    serving.stop()


def test_where_there_is_a_token_each_request_needs_it(guarded: Serving) -> None:
    from feldera import FelderaClient

    needs_a_token(guarded)
    assert Pipeline.all(FelderaClient(guarded.address, api_key="secret")) == []


def test_who_is_not_known_yet_sends_little(guarded: Serving) -> None:
    answer = requests.post(f"{guarded.address}/login", data=b"token=" + b"x" * 10_000, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (413, "TooLarge")


@pytest.mark.slow
def test_a_token_may_have_any_letters(own_service: Callable[..., Serving]) -> None:
    needs_a_token(own_service(environment={"RECONCILE_API_TOKEN": "ä secret"}))


def needs_a_token(service: Serving) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "ä secret".encode().decode("latin-1")}):
        answer = requests.get(f"{service.address}/v0/pipelines", headers=headers, timeout=60)
        assert (answer.status_code, answer.json()["error_code"]) == (401, "Unauthorized")


def test_a_request_says_that_it_is_not_too_long(service: Serving) -> None:
    address = f"{service.address}/v0/validate_program"
    answer = requests.post(address, data=iter([b"{}"]), timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (411, "LengthRequired")
    host = urlsplit(service.address)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=60)
    connection.request("POST", "/v0/validate_program", headers={"Content-Length": str(256 * 1024 * 1024 + 1)})
    assert connection.getresponse().status == 413
    connection.close()


def test_programs_and_own_pages_are_answered(service: Serving) -> None:
    for headers in ({}, {"Origin": service.address}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert requests.get(f"{service.address}/v0/config", headers=headers, timeout=60).status_code == 200


@pytest.mark.parametrize(("method", "path", "reason"), NOT_HERE)
def test_what_has_no_meaning_says_why(service: Serving, method: str, path: str, reason: str) -> None:
    filled = path.replace("{name}", "x").replace("{tenant}", "x").replace("{event}", "x")
    answer = requests.request(method, f"{service.address}/v0{filled}", timeout=60)
    assert (answer.status_code, answer.json()) == (
        501,
        {"message": reason, "error_code": "NotSupported", "details": {}},
    )


_SYNC = "a checkpoint is in the warehouse, which may be an object store"
_STANDBY = "nothing is gained by it here, as all state is in Delta tables"
_SILENT = "what outputs are sent is part of the plan that is approved"


@pytest.mark.parametrize(
    ("ask", "status", "reason"),
    [
        (lambda one: one.sync_checkpoint(), 501, _SYNC),
        (lambda one: one.sync_checkpoint(wait=True), 501, _SYNC),
        (lambda one: one.sync_checkpoint_response(), 501, _SYNC),
        (lambda one: one.sync_checkpoint_status("0197"), 501, _SYNC),
        (lambda one: one.last_successful_checkpoint_sync(), 501, _SYNC),
        (lambda one: one.remote_checkpoints(), 501, _SYNC),
        (lambda one: one.activate(), 501, _STANDBY),
        (lambda one: one.start_standby(), 400, _STANDBY),
        (lambda one: one.start(silent_bootstrap=True), 501, _SILENT),
        (lambda one: one.start_paused(silent_bootstrap=True), 501, _SILENT),
        (lambda one: one.approve(silent_bootstrap=True), 501, _SILENT),
    ],
)
def test_what_the_client_asks_in_vain_says_why(
    unstarted: Pipeline, ask: Callable[[Pipeline], object], status: int, reason: str
) -> None:
    with pytest.raises(FelderaAPIError) as refused:
        ask(unstarted)
    assert refused.value.status_code == status
    assert reason in refused.value.message
    assert unstarted.status() == PipelineStatus.STOPPED


def test_the_api_describes_itself(service: Serving) -> None:
    found = requests.get(f"{service.address}/openapi.json", timeout=60).json()
    assert {"/v0/pipelines/{name}/start", "/v0/pipelines/{name}/query"} <= set(found["paths"])


def test_errors_have_one_form(service: Serving) -> None:
    for path, status, code in (
        ("/v0/nothing", 404, "UnknownEndpoint"),
        ("/v0/pipelines/none", 404, "UnknownPipelineName"),
        ("/v0/pipelines/none/stats", 404, "UnknownPipelineName"),
        ("/v0/pipelines/none/query?sql=SELECT+1", 404, "UnknownPipelineName"),
        ("/v0/pipelines/none/query", 400, "InvalidRequest"),
    ):
        answer = requests.get(service.address + path, timeout=60)
        assert (answer.status_code, answer.json()["error_code"]) == (status, code)
        assert set(answer.json()) == {"message", "error_code", "details"}


def test_what_was_never_started_has_no_data(service: Serving) -> None:
    pipeline = service.pipeline("unstarted", TABLE)
    for refused in (
        lambda: pipeline.stats(),
        lambda: list(pipeline.query("SELECT * FROM t")),
        lambda: pipeline.checkpoint(),
        lambda: pipeline.pause(),
    ):
        with pytest.raises(FelderaAPIError):
            refused()
    pipeline.stop(force=True)
    pipeline.clear_storage()
    pipeline.delete()


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def test_pipelines_of_git_are_run_and_not_changed(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    pipeline = service.pipeline("shop", TABLE, description="what is sold", tags=["a"])
    git(service.root, "init", "-b", "main")
    git(service.root, "add", "pipelines")
    git(service.root, "commit", "-m", "Take the pipeline over")
    for refused in (
        lambda: pipeline.modify(sql=TABLE),
        lambda: pipeline.delete(),
        lambda: pipeline.clear_storage(),
    ):
        with pytest.raises(FelderaAPIError, match="not the API's"):
            refused()
    pipeline.start()
    pipeline.execute("INSERT INTO t VALUES (1)")
    assert list(pipeline.query("SELECT * FROM t")) == [{"id": 1}]
    assert pipeline.program_code().strip() == TABLE
    assert (pipeline.description(), pipeline.tags(), pipeline.version()) == ("what is sold", ["a"], 1)
    pipeline.stop(force=True)


def test_where_only_what_is_merged_is_applied_nothing_is_made(own_service: Callable[..., Serving]) -> None:
    def merge(root: Path) -> None:
        (root / "reconcile.yaml").write_text(
            "default: ci\nenvironments:\n  ci: {warehouse: .reconcile/warehouse, branch: main}\n"
        )
        git(root, "init", "-b", "main")
        git(root, "add", "reconcile.yaml")
        git(root, "commit", "-m", "Begin")

    service = own_service(before=merge)
    with pytest.raises(FelderaAPIError, match="applies only what is merged to main"):
        service.pipeline("shop", TABLE)


def test_the_diff_is_flat_for_clients_that_read_it_so(own_service: Callable[..., Serving]) -> None:
    service = own_service(form="flat")
    pipeline = service.pipeline("shop", TABLE)
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=TABLE + "CREATE VIEW v AS SELECT id FROM t;")
    pipeline.start()
    assert pipeline.deployment_runtime_status_details()["program_diff"]["added_views"] == ["v"]
    pipeline.stop(force=True)


def test_one_that_can_not_be_read_hides_no_other(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    service.pipeline("good", TABLE)
    (service.root / "pipelines" / "bad").mkdir()
    (service.root / "pipelines" / "bad" / "pipeline.yaml").write_bytes(b"\xff")
    found = {one.name: one for one in Pipeline.all(service.client)}
    assert sorted(found) == ["bad", "good"]
    assert found["bad"].program_status() == ProgramStatus.SqlError
    assert "U813" in found["bad"].program_error()["sql_compilation"]["messages"][0]["error_type"]


@pytest.mark.parametrize("headers", [{"Host": "["}, {"Host": "localhost]"}, {"Origin": "http://["}], ids=str)
def test_what_is_no_address_is_refused(service: Serving, headers: dict[str, str]) -> None:
    assert requests.get(f"{service.address}/v0/config", headers=headers, timeout=60).status_code == 403


def test_what_no_file_could_hold_is_not_looked_at(service: Serving) -> None:
    long = TABLE + "-- x\n" * 1_000_000
    for path in ("validate_program", "pipelines"):
        body = {"name": "far-too-long", "program_code": long}
        answer = requests.post(f"{service.address}/v0/{path}", json=body, timeout=60)
        assert (answer.status_code, answer.json()["error_code"]) == (413, "TooLarge")
    # In api.json a sign may take six times as much as in the program.
    body = {"name": "far-too-long", "program_code": TABLE + "-- " + "ä" * 1_000_000}
    assert requests.post(f"{service.address}/v0/pipelines", json=body, timeout=60).status_code == 413
    assert not (service.root / "pipelines" / "far-too-long").exists()


def test_rows_that_nobody_would_read_are_not_taken(own_service: Callable[..., Serving], tmp_path: Path) -> None:
    service = own_service()
    service.pipeline("shop", TABLE)
    git(service.root, "init", "-b", "main")
    git(service.root, "add", "pipelines", "reconcile.yaml")
    git(service.root, "commit", "-m", "Take the pipeline over")
    service.stop()
    git(tmp_path, "clone", str(service.root), str(tmp_path / "clone"))
    elsewhere = Serving(tmp_path / "clone").start()
    try:
        pipeline = Pipeline.get("shop", elsewhere.client)
        pipeline.start()
        for refused in (lambda: pipeline.input_json("t", {"id": 1}), lambda: pipeline.start_transaction()):
            with pytest.raises(FelderaAPIError) as raised:
                refused()
            assert raised.value.error_code == "NoHttpInput"
        pipeline.execute("INSERT INTO t VALUES (2)")
        assert list(pipeline.query("SELECT * FROM t")) == [{"id": 2}]
        pipeline.stop(force=True)
    finally:
        elsewhere.stop()


def test_a_description_that_is_damaged_holds_up_no_other(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    service.pipeline("good", TABLE)
    service.pipeline("damaged", TABLE)
    (service.root / "pipelines" / "damaged" / "api.json").write_text("{")
    for begins_with_it in (False, True):
        if begins_with_it:
            service.stop()
            service.start()
        assert sorted(one.name for one in Pipeline.all(service.client)) == ["damaged", "good"]
        with pytest.raises(FelderaAPIError, match="is damaged"):
            Pipeline.get("damaged", service.client).modify(sql=TABLE)


@pytest.mark.parametrize(
    "strange",
    [
        {"runtime_config": {"env": {"A": "\ud800"}}},
        {"runtime_config": {"x": {"\ud800": 1}}},
        {"description": "\ud800"},
        {"program_code": f"{TABLE} -- \ud800"},
        {"program_config": {"x": json.loads("[" * 300 + "]" * 300)}},
    ],
    ids=["a value", "a name", "a description", "a program", "deep"],
)
def test_what_can_not_be_sent_back_is_not_taken(service: Serving, strange: dict[str, Any]) -> None:
    body = json.dumps({"name": "strange", "program_code": TABLE, **strange})
    headers = {"Content-Type": "application/json"}
    answer = requests.post(f"{service.address}/v0/pipelines", data=body, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "InvalidRequest")
    assert requests.get(f"{service.address}/v0/pipelines", timeout=60).status_code == 200
    assert not (service.root / "pipelines" / "strange").exists()


def test_what_is_no_token_and_no_cursor_is_told(service: Serving, unstarted: Pipeline) -> None:
    for text in ('["", "t", 1e400]', "[" * 20_000, "{}", "\ud800"):
        token = base64.urlsafe_b64encode(json.dumps(text).encode() if text == "\ud800" else text.encode()).decode()
        address = f"{service.address}/v0/pipelines/asked-in-vain/completion_status"
        assert requests.get(address, params={"token": token}, timeout=60).json()["error_code"] == "InvalidToken"
    assert requests.get(f"{service.address}/console/changes?of=none", timeout=60).status_code == 404
    address = f"{service.address}/console/pipelines/asked-in-vain/none"
    assert requests.post(address, data=b"\xff=1", timeout=60).status_code == 404
