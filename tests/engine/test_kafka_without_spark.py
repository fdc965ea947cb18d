"""Small ranges of topics that are brought in without a job of Spark: what Spark would have read, or nothing."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.arrow.ingest.kafka import MOST_BYTES, MOST_RECORDS
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import DeadLetters, Written
from tests.cells import mostly_slow
from tests.engine.engines import jobs
from tests.engine.kafka_reading import COLUMNS, EVERYTHING, Connector, objects
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark
KEYED = (replace(COLUMNS[0], nullable=False), COLUMNS[1])


@pytest.fixture
def small(spark_engine: Any, kafka_broker: Broker, tmp_path: Path) -> Connector:
    return Connector(EngineBySize(spark_engine, dict, spark_engine.fetch), kafka_broker, tmp_path / "small")


def test_a_small_range_takes_no_job(small: Connector, connector: Connector, topic: str) -> None:
    reading, by_spark = small(topic), connector(topic)
    before = jobs()

    written = reading.take(reading.look())

    assert jobs() == before
    assert written == Written(1, 15, without_spark=True)
    assert reading.ids() == EVERYTHING
    assert replace(by_spark.take(by_spark.look()), without_spark=True) == written
    assert by_spark.rows() == reading.rows()


def test_offsets_bound_what_is_read(small: Connector, topic: str, kafka_broker: Broker) -> None:
    reading = small(topic, {"offsets": [7, 5, 0]})
    pinned = reading.look()
    kafka_broker.produce(topic, objects(10, 12), partition=0)

    assert reading.take(pinned).without_spark
    assert reading.ids() == [7, 8, 9]
    assert reading.take_all() == 1
    assert reading.ids() == [7, 8, 9, 10, 11]


def test_nobody_waits_for_records_to_come(spark_engine: Any, topic: str, kafka_broker: Broker) -> None:
    wanted = {"topic": topic, "from": {"0": 0, "1": 0}, "until": {"0": 10, "1": 5}}
    config = {"topic": topic, "bootstrap.servers": kafka_broker.bootstrap, "fetch.max.wait.ms": 9_000}
    spark_engine.fetch(wanted, config, MOST_BYTES)
    started = time.monotonic()

    values = spark_engine.fetch(wanted, config, MOST_BYTES)

    assert len(values) == 15
    assert time.monotonic() - started < 7


CHANGES: Mapping[str, list[Any]] = {
    "insert_delete": [
        {"insert": {"id": 1, "name": "a"}},
        {"insert": {"id": 2}},
        {"delete": {"id": 1}},
        {"delete": {"id": 9}},
    ],
    "debezium": [
        {"op": "c", "before": None, "after": {"id": 1, "name": "a"}},
        {"payload": {"op": "u", "before": {"id": 1}, "after": {"id": 2, "name": "b"}}},
        None,
        {"op": "d", "before": {"id": 7}, "after": None},
    ],
}


@pytest.mark.parametrize("update_format", mostly_slow(sorted(CHANGES), "debezium"))
def test_changes_are_as_by_spark(
    update_format: str, small: Connector, connector: Connector, topic: str, kafka_broker: Broker
) -> None:
    kafka_broker.produce(topic, CHANGES[update_format], partition=2)
    found = []
    for make in (small, connector):
        config = {"update_format": update_format}
        reading = make(topic, {"offsets": [10, 5, 0]}, format_=config, key=("id",), columns=KEYED)
        written = reading.take(reading.look())
        found.append((replace(written, without_spark=False), reading.rows()))
        assert written.without_spark is (make is small)

    assert found[0] == found[1]


@pytest.mark.parametrize("level", mostly_slow(["read_committed", "read_uncommitted"], "read_committed"))
def test_transactions_are_as_by_spark(level: str, small: Connector, connector: Connector, kafka_broker: Broker) -> None:
    """Offsets are missing where a transaction is marked as decided, also behind the last record."""
    name = kafka_broker.create_topic(partitions=1)
    kafka_broker.produce_transaction(name, objects(0, 3))
    kafka_broker.produce_transaction(name, objects(3, 5), commit=False)
    readings = [make(name, options={"isolation.level": level}) for make in (small, connector)]
    written = [reading.take(reading.look()) for reading in readings]

    assert written == [replace(written[1], without_spark=True), written[1]]
    assert readings[0].rows() == readings[1].rows()


ODD: Mapping[str, list[Any]] = {
    "a message without a value": [{"id": 1}, None],
    "a record that is none": [{"id": 1}, "x"],
    "many records": objects(0, MOST_RECORDS + 1),
    "many bytes": [{"id": number, "name": "x" * (MOST_BYTES // 8)} for number in range(9)],
}


@pytest.mark.parametrize("what", mostly_slow(sorted(ODD), "a record that is none", "many records"))
def test_what_is_odd_or_large_is_left_to_spark(what: str, small: Connector, kafka_broker: Broker, tmp_path: Path) -> None:
    name = kafka_broker.create_topic(partitions=1)
    kafka_broker.produce(name, ODD[what], partition=0)
    reading = small(name)

    written = reading.take(reading.look(), DeadLetters(str(tmp_path / "dead-letters"), 1))

    assert not written.without_spark
    assert written.rows + written.rejected == len(ODD[what])


def test_an_option_that_is_not_known_is_left_to_spark(small: Connector, topic: str) -> None:
    reading = small(topic, options={"client.rack": "r"})

    assert not reading.take(reading.look()).without_spark
    assert reading.ids() == EVERYTHING


def test_records_that_are_gone_are_told_by_spark(small: Connector, topic: str, kafka_broker: Broker) -> None:
    reading = small(topic)
    pinned = reading.look()
    kafka_broker.delete_records(topic, {0: 8})

    with pytest.raises(EngineError) as raised:
        reading.take(pinned)

    assert raised.value.code == "X742"
    assert reading.rows() == []
