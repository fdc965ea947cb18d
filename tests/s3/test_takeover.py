"""A driver on S3 that was stopped in the middle of a commit, taken over, and comes back: its commit reaches S3 late, and
changes nothing.
"""

import signal
import time
from pathlib import Path

import pytest

from reconciler.delta.opening import open_table
from reconciler.engine.spark.setup import install
from tests.s3.conversation import Conversation
from tests.s3.server import Bucket
from tests.s3.test_log_store import commit_of
from tests.s3.test_warehouse import planned, repository

LEASE_SECONDS = 5

# Each line of stdin is one call; its answer is the code of its error, or what it gave.
DRIVER = """
import json, sys
from reconciler import Project
from reconciler.base.errors import ReconcileError
with Project.open(".") as project:
    shop = project.pipeline("shop")
    totals = "SELECT * FROM totals ORDER BY customer"
    calls = {
        "apply": lambda: shop.apply() and None,
        "run": lambda: len(shop.run_once().steps),
        "totals": lambda: [[str(value) for value in row.values()] for row in shop.query(totals)],
    }
    for line in sys.stdin:
        try:
            print(json.dumps(calls[line.strip()]()), flush=True)
        except ReconcileError as error:
            print(error.code, flush=True)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_commit_of_a_driver_that_was_taken_over_comes_too_late(tmp_path: Path, bucket: Bucket) -> None:
    install(lambda line: None, s3=True)
    root = repository(tmp_path, bucket)
    first, second = (Conversation(DRIVER, root, bucket, RECONCILE_LEASE_SECONDS=str(LEASE_SECONDS)) for _ in range(2))
    try:
        bucket.put("incoming/a.json", '{"id": 1, "customer": "Ann", "total": 5}\n')
        assert [first.ask("apply"), first.ask("run")] == ["null", "1"]
        orders = open_table(f"s3://{bucket.name}/warehouse/shop/orders")
        assert orders is not None

        bucket.put("incoming/b.json", '{"id": 2, "customer": "Bob", "total": 7}\n')
        bucket.hold(commit_of("warehouse/shop/orders", orders.version() + 1))
        first.tell("run")
        bucket.wait_for_held()
        first.signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + 1)
        assert second.ask("run") == "1"
        bucket.release()
        first.signal(signal.SIGCONT)

        assert first.answer() == "A503"
        assert second.ask("totals") == '[["Ann", "5.00"], ["Bob", "7.00"]]'
        bucket.put("incoming/c.json", '{"id": 3, "customer": "Bob", "total": 1}\n')
        assert first.ask("run") == "1"
        assert second.ask("totals") == '[["Ann", "5.00"], ["Bob", "8.00"]]'
    finally:
        first.end()
        second.end()
    assert "no changes" in planned(root, bucket)
