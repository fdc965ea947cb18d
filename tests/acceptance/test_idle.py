"""A pipeline that has nothing to do costs nothing: a live run over twenty views, Kafka, files and an output looks for input
many times, and starts no job of Spark and writes nothing."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.engine.protocol import Available, Engine
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from tests.acceptance.shop import open_shop, stored_rows, write_shop
from tests.engine.engines import jobs
from tests.kafka.broker import Broker
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

VIEWS = 20
ROUNDS = 10
PROGRAM = "CREATE TABLE orders (id BIGINT, amount BIGINT);\nCREATE TABLE notes (id BIGINT, note VARCHAR);\n" + "".join(
    # Three are stored; the others are read through, in chains, as views mostly are.
    f"CREATE {'MATERIALIZED ' if number % 7 == 6 else ''}VIEW v{number} AS SELECT id FROM "
    f"{'orders' if number == 0 else 'notes' if number == 1 else f'v{number - 2}'};\n"
    for number in range(VIEWS)
)
# A checkpoint is due a minute after a step, whatever comes then; none may fall into the time that is watched.
CONNECTORS = """\
  runtime: {{checkpoint_interval: 1h}}
  connectors:
    - name: live
      table: orders
      transport: {{name: kafka_input, config: {{topic: {topic}, bootstrap.servers: "{servers}"}}}}
      format: {{name: json, config: {{update_format: raw}}}}
    - name: files
      table: notes
      transport: {{name: file_input, config: {{path: source}}}}
      format: {{name: json}}
    - name: to_lake
      view: v6
      transport: {{name: delta_table_output, config: {{uri: out}}}}
"""


class Looking:
    """The engine, and how often inputs were looked at."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.looks = 0

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        self.looks += 1
        return self._engine.discover(connector, settings, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def test_an_idle_run_starts_no_job_and_writes_nothing(tmp_path: Path, spark_engine: Engine, kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic()
    kafka_broker.produce(topic, [{"id": 1, "amount": 5}, {"id": 2, "amount": 6}])
    (tmp_path / "source").mkdir()
    (tmp_path / "source/1.json").write_text(json.dumps({"id": 1, "note": "x"}) + "\n")
    write_shop(tmp_path, PROGRAM, more=CONNECTORS.format(topic=topic, servers=kafka_broker.bootstrap))
    pipeline = open_shop(tmp_path, spark_engine)
    pipeline.apply()
    target = pipeline.target
    engine, stopping = Looking(spark_engine), threading.Event()
    running = Session(engine, tell=lambda message: None)  # type: ignore[arg-type]
    thread = threading.Thread(
        target=lambda: run_pipeline(target, "shop", running, Pace(once=False, interval_seconds=0.1, stop=stopping.is_set))
    )
    thread.start()
    try:
        wait_until(lambda: stored_rows(tmp_path, "v6") == [(1,), (2,)] and (tmp_path / "out").exists())
        # Rates are those of the last ten seconds: until they are over, the report has something to tell.
        wait_until(lambda: all(one.rows and not one.rows_per_second for one in pipeline.status().connectors))
        settled = engine.looks + 4
        wait_until(lambda: engine.looks > settled)
        before, seen, files = jobs(), engine.looks, files_below(tmp_path)
        head = pipeline.target.registry.head("shop")

        wait_until(lambda: engine.looks >= seen + 2 * ROUNDS)

        assert jobs() - before == 0
        assert pipeline.target.registry.head("shop") == head
        assert (changed := files_below(tmp_path).items() - files.items()) == set(), changed

        # That it was alive all the time: what comes is seen, and a job that runs is counted.
        kafka_broker.produce(topic, [{"id": 3, "amount": 7}])
        wait_until(lambda: stored_rows(tmp_path, "v6") == [(1,), (2,), (3,)])
        assert jobs() > before
    finally:
        stopping.set()
        thread.join(120)
    assert not thread.is_alive()


def files_below(root: Path) -> Mapping[str, int]:
    """Every file with its time of change, without those of the lease, which its holder renews."""
    found = {}
    for file in root.rglob("*"):
        name = str(file.relative_to(root))
        if file.is_file() and "lease" not in name:
            found[name] = file.stat().st_mtime_ns
    return found
