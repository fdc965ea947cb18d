"""What a service takes up that comes after another: each pipeline by itself, whatever is wrong with others."""

import time
from collections.abc import Callable

import pytest
from feldera import Pipeline
from feldera.enums import PipelineStatus

from reconciler.base.errors import RegistryError
from reconciler.delta.opening import NOTHING_DAMAGED
from reconciler.environment.target import open_target
from reconciler.registry.model import Deployment
from reconciler.rest.errors import Refused, may_pass
from tests.rest.conftest import Serving


@pytest.mark.parametrize("damaged", ["head", "deployment"])
def test_one_that_is_damaged_holds_up_no_other(own_service: Callable[..., Serving], damaged: str) -> None:
    service = own_service()
    for name in ("aaa", "bbb"):
        service.pipeline(name, "CREATE TABLE t (id BIGINT);").start()
    service.stop()
    registry = open_target(service.root, None).registry
    place = service.root / ".reconcile" / "warehouse" / "_registry" / "aaa" / damaged
    files = [*place.glob("_delta_log/*"), *place.glob("*.parquet")]
    assert files
    for file in files:
        file.write_bytes(b"nothing")
    service.start()
    Pipeline.get("bbb", service.client).wait_for_status(PipelineStatus.RUNNING, timeout=60)
    listed = {one.name: one for one in Pipeline.all(service.client)}
    assert sorted(listed) == ["aaa", "bbb"]
    assert listed["bbb"]._inner.deployment_error is None
    error = listed["aaa"]._inner.deployment_error
    assert error is not None
    assert error["error_code"] == "G602"
    if damaged == "head":
        for _ in range(100):
            stored = registry.document("aaa", Deployment)
            assert stored is not None
            if stored.value.error is not None:
                break
            time.sleep(0.1)
        assert stored.value.desired == "stopped"
        assert stored.value.error is not None
        assert stored.value.error["error_code"] == "G602"


def test_what_passes_by_itself_is_waited_for() -> None:
    assert may_pass(RegistryError("G602", "the store does not answer", f"{NOTHING_DAMAGED}: try again"))
    assert may_pass(RegistryError("G604", "somebody else wrote"))
    assert not may_pass(RegistryError("G602", "damaged", "restore it from a backup"))
    assert not may_pass(RegistryError("G606", "newer"))
    assert not may_pass(Refused(400, "X", "x"))
    assert not may_pass(OSError("full"))
