"""The same as `test_killed_within` on Spark, where a killed process leaves work behind in another one."""

import contextlib
import re
from pathlib import Path

import psutil
import pytest
from feldera import FelderaClient, Pipeline, PipelineBuilder
from feldera.enums import BootstrapPolicy, PipelineStatus

from tests.rest.conftest import new_repository
from tests.rest.test_with_spark import reconcile

pytestmark = [pytest.mark.spark, pytest.mark.slow]
_TABLE = "CREATE TABLE items (id BIGINT NOT NULL, amount DECIMAL(10, 2));\n"
_VIEW = (
    "CREATE MATERIALIZED VIEW totals AS SELECT id % 3 AS part, COUNT(*) AS n, SUM(amount) AS total FROM items GROUP BY 1;"
)


def _served(root: Path, crash_at: str = "") -> tuple[FelderaClient, int]:
    said = reconcile(root, "serve", "--background", "--port", "0", crash_at=crash_at)
    found = re.search(r"process (\d+); API at (http://localhost:\d+);", said)
    assert found is not None
    return FelderaClient(found[2]), int(found[1])


def _kill_all(server: int) -> None:
    process = psutil.Process(server)
    whole = [process, *process.children(recursive=True)]
    for one in whole:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(whole, 30)


@pytest.mark.parametrize("place", ["bootstrap_view:effected", "publish_view:effected", "commit_snapshot:before"])
def test_a_bootstrap_ends_as_if_nothing_had_been_killed(place: str, tmp_path: Path) -> None:
    root = new_repository(tmp_path / "served")
    client, _ = _served(root)
    pipeline = PipelineBuilder(client, "ledger", _TABLE).create()
    pipeline.start()
    rows = [{"id": number, "amount": "1.25"} for number in range(100)]
    for begin in range(0, 90, 10):
        pipeline.input_json("items", rows[begin : begin + 10], wait=False)
    pipeline.execute("INSERT INTO items SELECT id, 1.25 FROM range(90, 100)")
    pipeline.stop(force=True)
    reconcile(root, "serve", "--stop")

    # The process of the pipeline dies there, and then all that is left.
    client, server = _served(root, place)
    pipeline = Pipeline.get("ledger", client)
    pipeline.modify(sql=_TABLE + _VIEW)
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW, wait=False)
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=120)
    assert pipeline.deployment_error()["error_code"] == "ProcessEnded"
    _kill_all(server)

    client, _ = _served(root)
    pipeline = Pipeline.get("ledger", client)
    pipeline.start()
    pipeline.wait_for_token(pipeline.input_json("items", [], wait=False))
    assert sorted(row["id"] for row in pipeline.query("SELECT id FROM items")) == [*range(100)]
    wanted = "SELECT id % 3 AS part, COUNT(*) AS n, SUM(amount) AS total FROM items GROUP BY 1 ORDER BY 1"
    assert list(pipeline.query("SELECT * FROM totals ORDER BY part")) == list(pipeline.query(wanted))
    assert "no changes" in reconcile(root, "plan", "ledger")
    reconcile(root, "serve", "--stop")
