"""Statements through the real client: each in its turn, for the pipeline that it was sent to, and for somebody who waits."""

import threading
import time
from collections.abc import Iterator

import pytest
import requests
from feldera import Pipeline
from feldera.enums import PipelineStatus
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving, new_repository

PLAIN = "CREATE TABLE plain (id BIGINT);"


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service whose processes are held: no other test is kept waiting by that."""
    serving = Serving(new_repository(tmp_path_factory.mktemp("holding"))).start()
    yield serving
    serving.stop()


class Sent:
    """A statement that somebody waits for in a thread of his own."""

    def __init__(self, pipeline: Pipeline, sql: str) -> None:
        self.error: FelderaAPIError | None = None
        self._thread = threading.Thread(target=self._send, args=(pipeline, sql), daemon=True)
        self._thread.start()

    def _send(self, pipeline: Pipeline, sql: str) -> None:
        try:
            pipeline.execute(sql)
        except FelderaAPIError as error:
            self.error = error

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> "Sent":
        self._thread.join(60)
        assert self.is_over
        return self


def ids(pipeline: Pipeline) -> list[int]:
    return sorted(row["id"] for row in pipeline.query("SELECT * FROM plain"))


def test_who_waits_in_line_waits_for_a_pipeline_that_is_paused_meanwhile(holding: Serving) -> None:
    pipeline = holding.pipeline("lined", PLAIN)
    pipeline.start()
    holding.hold("intent:before")
    first = Sent(pipeline, "INSERT INTO plain VALUES (1)")
    holding.wait_until_held()
    second = Sent(pipeline, "INSERT INTO plain VALUES (2)")
    time.sleep(0.5)
    pipeline.pause(wait=False)
    holding.let_go()
    assert first.wait().error is None
    pipeline.wait_for_status(PipelineStatus.PAUSED, timeout=60)
    time.sleep(2)
    assert not second.is_over
    assert ids(pipeline) == [1]
    pipeline.resume()
    assert second.wait().error is None
    assert ids(pipeline) == [1, 2]
    pipeline.stop(force=True)


def test_a_statement_that_waits_is_not_carried_out_when_the_pipeline_stops(service: Serving) -> None:
    pipeline = service.pipeline("halted-in-line", PLAIN)
    pipeline.start_paused()
    sent = Sent(pipeline, "INSERT INTO plain VALUES (1)")
    time.sleep(0.5)
    pipeline.stop(force=True)
    error = sent.wait().error
    assert error is not None
    assert "was stopped while the statement waited" in str(error)
    assert ids(pipeline) == []
    # One that comes when nothing runs is carried out.
    pipeline.execute("INSERT INTO plain VALUES (2)")
    assert ids(pipeline) == [2]


def test_who_has_gone_waits_no_more_and_the_others_are_so_many(service: Serving) -> None:
    pipeline = service.pipeline("gone-in-line", PLAIN)
    pipeline.start_paused()
    address = f"{service.address}/v0/pipelines/gone-in-line/query"
    asked = {"sql": "INSERT INTO plain VALUES (1)", "format": "json"}
    for _ in range(3):
        with pytest.raises(requests.Timeout):
            requests.get(address, params=asked, timeout=0.5)
    time.sleep(0.5)
    sent = [Sent(pipeline, f"INSERT INTO plain VALUES ({number})") for number in range(2, 22)]
    time.sleep(2)
    answer = requests.get(address, params=asked, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (503, "Busy")
    assert answer.headers["Retry-After"] == "5"
    assert ids(pipeline) == []
    pipeline.resume()
    assert all(one.wait().error is None for one in sent)
    assert ids(pipeline) == [*range(2, 22)]
    pipeline.stop(force=True)


def test_a_start_waits_for_the_statement_under_way(holding: Serving) -> None:
    pipeline = holding.pipeline("begun", PLAIN)
    pipeline.start()
    pipeline.stop(force=True)
    holding.hold("intent:before")
    sent = Sent(pipeline, "INSERT INTO plain VALUES (1)")
    holding.wait_until_held()
    pipeline.start(wait=False)
    time.sleep(2)
    holding.let_go()
    assert sent.wait().error is None
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    assert ids(pipeline) == [1]
    pipeline.stop(force=True)


def test_nobody_waits_for_a_commit_that_waits(holding: Serving) -> None:
    pipeline = holding.pipeline("waited", PLAIN)
    pipeline.start()
    holding.hold("intent:before")
    sent = Sent(pipeline, "INSERT INTO plain VALUES (1)")
    holding.wait_until_held()
    pipeline.start_transaction()
    committing = threading.Thread(target=lambda: pipeline.commit_transaction(wait=False), daemon=True)
    committing.start()
    time.sleep(1)
    assert committing.is_alive()
    began = time.monotonic()
    pipeline.pause(wait=False)
    pipeline.stop(force=True, wait=False)
    assert time.monotonic() - began < 10
    holding.let_go()
    committing.join(60)
    assert sent.wait().error is None
    assert not committing.is_alive()
