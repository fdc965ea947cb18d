"""Whatever is killed, nothing that was acknowledged is lost, nothing comes twice, and what was wished goes on."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import psutil
import pytest
import requests
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, PipelineStatus

from reconciler.environment.target import open_target
from reconciler.state.lease import hold_lease, this_process
from tests.rest.conftest import Serving
from tests.waiting import wait_until

TABLE = "CREATE TABLE items (id BIGINT);\n"
VIEW = "CREATE MATERIALIZED VIEW counted AS SELECT COUNT(*) AS n FROM items;"


def process_of_http(service: Serving) -> psutil.Process:
    """The process that answers requests: of those that hold the socket, the one that the server forked."""
    assert service.process is not None
    port = int(service.address.rpartition(":")[2])
    for one in psutil.Process(service.process.pid).children():
        if any(found.laddr.port == port for found in one.net_connections("tcp") if found.status == "LISTEN"):
            return one
    raise AssertionError("nobody listens")


def workers(service: Serving) -> list[psutil.Process]:
    """The processes that apply and run pipelines: those that guards watch over."""
    assert service.process is not None
    return [inner for one in psutil.Process(service.process.pid).children() for inner in one.children()]


def kill_http(service: Serving) -> None:
    process_of_http(service).kill()


def kill_workers(service: Serving) -> None:
    for one in workers(service):
        one.kill()


def kill_worker(service: Serving) -> None:
    kill_workers(service)
    pipeline = Pipeline.get("ledger", service.client)
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)
    assert pipeline.deployment_error()["error_code"] == "ProcessEnded"


def kill_all(service: Serving) -> None:
    _kill_for_good(service)
    service.start()


def kill_all_but_one(service: Serving) -> None:
    """Of a run that takes long to end, Spark drops its work, say, its lease is what others see."""
    _kill_for_good(service)
    with hold_lease(open_target(service.root, None).registry, "ledger", this_process("run")):
        service.start()
        time.sleep(0.5)
        assert not workers(service)


def kill_server(service: Serving) -> None:
    """The server alone. What it left running ends before another one begins."""
    assert service.process is not None
    service.process.kill()
    service.process.wait()
    for _ in range(100):
        try:
            service.start()
            break
        except AssertionError:
            time.sleep(0.2)


def _kill_for_good(service: Serving) -> None:
    assert service.process is not None
    server = psutil.Process(service.process.pid)
    every = [server, *server.children(recursive=True)]
    for one in every:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    service.process.wait()
    # Whoever is killed lives on for a moment where the machine has much to do.
    assert psutil.wait_procs(every, timeout=30)[1] == []


def started_again(service: Serving, name: str) -> Pipeline:
    """The pipeline when it runs again; by itself, or since somebody starts it."""
    for _ in range(300):
        with contextlib.suppress(requests.exceptions.ConnectionError):
            pipeline = Pipeline.get(name, service.client)
            if pipeline.status() == PipelineStatus.RUNNING:
                return pipeline
            if pipeline.status() == PipelineStatus.STOPPED:
                pipeline.start()
        time.sleep(0.1)
    raise AssertionError("the pipeline does not run again")


class Sender:
    """Sends rows one by one, never one twice; which were acknowledged, and which may be there."""

    def __init__(self, service: Serving, name: str) -> None:
        self._service, self._name = service, name
        self.acknowledged: set[int] = set()
        self.sent = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._thread.join()

    def wait_for_more(self, rows: int) -> None:
        """Return when so many more rows are acknowledged: how long this takes is the machine's business."""
        wanted = len(self.acknowledged) + rows
        wait_until(lambda: len(self.acknowledged) >= wanted)

    def _send(self) -> None:
        while not self._ends.is_set():
            self.sent += 1
            with contextlib.suppress(requests.exceptions.RequestException):
                address = f"{self._service.address}/v0/pipelines/{self._name}/ingress/items"
                answer = requests.post(address, json={"id": self.sent}, params={"update_format": "raw"}, timeout=30)
                if answer.status_code == 200:
                    self.acknowledged.add(self.sent)
            time.sleep(0.02)


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param((kill_all_but_one, kill_server), id="one after another"),
        *(
            pytest.param((kill, kill, kill), id=kill.__name__, marks=pytest.mark.slow)
            for kill in (kill_http, kill_worker, kill_all)
        ),
    ],
)
def test_acknowledged_rows_come_once(
    own_service: Callable[..., Serving], kills: Sequence[Callable[[Serving], None]]
) -> None:
    service = own_service()
    service.pipeline("ledger", TABLE + VIEW).start()
    with Sender(service, "ledger") as sender:
        for rows, kill in zip((5, 20, 35), kills, strict=False):
            sender.wait_for_more(rows)
            kill(service)
            pipeline = started_again(service, "ledger")
        sender.wait_for_more(5)
    token = pipeline.input_json("items", {"id": 0})
    pipeline.wait_for_token(token)
    found = Counter(row["id"] for row in pipeline.query("SELECT * FROM items"))
    assert max(found.values()) == 1
    assert sender.acknowledged <= found.keys()
    pipeline.stop(force=True)


@pytest.mark.slow
@pytest.mark.parametrize("kill", [kill_http, kill_all])
def test_what_awaits_approval_awaits_it_still(own_service: Callable[..., Serving], kill: Callable[[Serving], None]) -> None:
    service = own_service()
    pipeline = service.pipeline("waits", TABLE)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1)")
    pipeline.stop(force=False)
    pipeline.modify(sql=TABLE + VIEW)
    pipeline.start(bootstrap_policy=BootstrapPolicy.AWAIT_APPROVAL)
    before = pipeline.deployment_runtime_status_details()
    kill(service)
    pipeline = _again(service, "waits")
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    assert pipeline.deployment_runtime_status_details() == before
    pipeline.approve()
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    pipeline.pause_connector("items", "api_ingress")
    kill(service)
    pipeline = started_again(service, "waits")
    assert pipeline.input_connector_stats("items", "api_ingress").paused
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1}]
    pipeline.stop(force=True)


def _again(service: Serving, name: str) -> Pipeline:
    for _ in range(300):
        with contextlib.suppress(requests.exceptions.ConnectionError):
            return Pipeline.get(name, service.client)
        time.sleep(0.1)
    raise AssertionError("the service does not answer again")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 35])
def test_a_run_that_was_left_is_waited_for_however_long_it_lives(
    own_service: Callable[..., Serving], seconds: float
) -> None:
    service = own_service()
    pipeline = service.pipeline("left", TABLE)
    pipeline.start()
    _kill_for_good(service)
    # Of a run that takes long to end, Spark drops its work, say, its lease is what others see.
    with hold_lease(open_target(service.root, None).registry, "left", this_process("run")):
        service.start()
        pipeline = Pipeline.get("left", service.client)
        time.sleep(seconds)
        # What is to run all the same may be asked for again.
        pipeline.start(wait=False)
        assert not workers(service)
    wait_until(lambda: workers(service))
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=30)
    pipeline.stop(force=True)


@pytest.mark.slow
def test_a_service_that_is_told_to_end_ends_what_it_runs_and_goes_on_later(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    pipeline = service.pipeline("ended", TABLE)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1)")
    assert service.process is not None
    os.kill(service.process.pid, signal.SIGTERM)
    service.process.wait(30)
    service.start()
    pipeline = started_again(service, "ended")
    # With the checkpoint of a run that ended in good order.
    assert [one.identifier for one in pipeline.checkpoints()]
    pipeline.stop(force=True)


@pytest.mark.parametrize("place", ["create_table:effected", "publish_view:effected", "commit_snapshot:before"])
def test_storage_is_cleared_of_an_apply_that_was_killed(own_service: Callable[..., Serving], place: str) -> None:
    service = own_service(environment={"RECONCILE_CRASH_AT": place})
    pipeline = service.pipeline("unfinished", TABLE + VIEW)
    pipeline.start(wait=False)
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=30)
    assert pipeline.deployment_error()["error_code"] == "ProcessEnded"
    pipeline.clear_storage(timeout_s=30)
    pipeline.delete()


def test_an_answer_that_is_cut_off_is_none(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    pipeline = service.pipeline("long", "CREATE TABLE items (id BIGINT, name VARCHAR);")
    pipeline.start()
    pipeline.input_json("items", [{"id": number, "name": "x" * 1000} for number in range(20_000)])
    pipeline.stop(force=True)
    address = f"{service.address}/v0/pipelines/long/query?sql=SELECT+*+FROM+items&format=json"
    with requests.get(address, stream=True, timeout=60) as answer:
        assert answer.status_code == 200
        parts = answer.iter_content(1000)
        assert next(parts).startswith(b'{"id":')
        kill_workers(service)
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            for _ in parts:
                pass


@pytest.mark.slow
def test_the_service_ends_with_its_server(own_service: Callable[..., Serving]) -> None:
    service = own_service()
    service.pipeline("ledger", TABLE + VIEW).start()
    kill_server(service)
    pipeline = started_again(service, "ledger")
    pipeline.execute("INSERT INTO items VALUES (1)")
    pipeline.stop(force=True)
