"""The tutorial's pipeline with its history where the tutorial has it: on S3, read without a signature. What else is claimed
of it: tests/acceptance/test_history_then_live.py. In a process of its own, as a JVM takes the environment it starts with.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.spark.setup import install
from tests.acceptance.shop import write_shop
from tests.acceptance.test_history_then_live import PROGRAM, SYNCED, deletes, inserts, netted, rows_of, write_history
from tests.kafka.broker import Broker
from tests.s3.server import Bucket
from tests.s3.test_warehouse import python

WORK = """
import json, sys
from reconciler import Project
with Project.open(".") as project:
    shop = project.pipeline("shop")
    shop.apply()
    json.dump([step.rows for step in shop.run_once().steps], sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_history_on_s3_then_live(tmp_path: Path, bucket: Bucket, kafka_broker: Broker) -> None:
    install(lambda message: None, s3=True)
    topic = kafka_broker.create_topic()
    live: list[Any] = [*inserts(range(42, 50)), *deletes([3, 44])]
    kafka_broker.produce(topic, [*inserts(range(SYNCED)), *live])
    uri = f"s3://{bucket.name}/lineitem"
    write_history(uri, range(SYNCED))
    bucket.publish()
    write_shop(tmp_path, PROGRAM % {"uri": uri, "topic": topic, "offsets": f"[{SYNCED}]", "servers": kafka_broker.bootstrap})
    worked = python(tmp_path, bucket, "-c", WORK)
    assert worked.returncode == 0, worked.stderr
    assert [list(rows) for rows in json.loads(worked.stdout)] == [["LINEITEM.unnamed-0"], ["LINEITEM.unnamed-1"]]
    assert rows_of(tmp_path) == netted(range(SYNCED), live)
