"""docs/serving.md: what keeps a server that ends when it is idle, and what does not."""

import time
from collections.abc import Callable
from contextlib import suppress

import requests
from feldera import Pipeline
from feldera.enums import PipelineStatus

from tests.rest.conftest import Serving
from tests.rest.named import NAMED, RENAMED

SECONDS = 3.0


def test_a_pipeline_keeps_the_server_and_who_only_looks_does_not(own_service: Callable[..., Serving]) -> None:
    service = own_service(environment={"IDLE_OF_TEST": str(SECONDS)})
    assert service.process is not None
    pipeline = service.pipeline("shop", NAMED)
    pipeline.start()
    pipeline.pause()
    time.sleep(2 * SECONDS)
    assert pipeline.status() == PipelineStatus.PAUSED
    pipeline.stop(force=True)
    pipeline.modify(sql=RENAMED)
    pipeline.start()
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    for _ in range(200):
        with suppress(requests.ConnectionError):
            requests.get(service.address, timeout=60)
        if service.process.poll() is not None:
            break
        time.sleep(0.1)
    assert service.process.poll() == 0
    # It stands on record what was wished.
    service.start()
    assert Pipeline.get("shop", service.client).status() == PipelineStatus.AWAITINGAPPROVAL
