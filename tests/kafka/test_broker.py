"""The broker that other tests rely on keeps what it promises them."""

import pytest

from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark


def test_what_is_written_stands_there(kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic(partitions=2)

    kafka_broker.produce(topic, [{"id": 1}, "text", None], partition=1, keys=["a", "b", "c"])

    found = [(one.partition, one.offset, one.key, one.value) for one in kafka_broker.messages(topic)]
    assert found == [(1, 0, b"a", b'{"id": 1}'), (1, 1, b"b", b"text"), (1, 2, b"c", None)]
    assert kafka_broker.end_offsets(topic) == {0: 0, 1: 3}


def test_records_expire_and_partitions_come(kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic()
    kafka_broker.produce(topic, ["a", "b", "c"])

    kafka_broker.delete_records(topic, {0: 2})
    kafka_broker.add_partitions(topic, 3)

    assert kafka_broker.beginning_offsets(topic) == {0: 2, 1: 0, 2: 0}
    assert kafka_broker.end_offsets(topic) == {0: 3, 1: 0, 2: 0}


@pytest.mark.slow
def test_it_comes_back_with_address_and_data(kafka_broker: Broker) -> None:
    topic, address = kafka_broker.create_topic(), kafka_broker.bootstrap
    kafka_broker.produce(topic, ["a"])

    kafka_broker.kill()
    kafka_broker.start()
    kafka_broker.produce(topic, ["b"])
    kafka_broker.stop()
    kafka_broker.start()

    assert kafka_broker.bootstrap == address
    assert [one.value for one in kafka_broker.messages(topic)] == [b"a", b"b"]
