"""`kafka_input` against a real broker: what records mean for the rows of the table."""

import json
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, DeadLetters
from tests.engine.kafka_reading import Connector, objects, rows_of
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark


KEYED = (ColumnType("id", "BIGINT", nullable=False), ColumnType("Name", "STRING"))


class TestWhatRecordsMean:
    def test_inserts_and_deletes_of_a_multiset(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic()
        one, two = {"id": 1, "name": "a"}, {"id": 2, "name": "b"}
        changes = [{"insert": one}, {"insert": one}, {"insert": two}, {"delete": one}, {"delete": two}, {"delete": two}]
        kafka_broker.produce(topic, changes)
        reading = connector(topic, format_={"update_format": "insert_delete"})

        written = reading.take(reading.look())

        assert reading.rows() == [(1, "a")]
        assert written.unmatched == 1

    def test_inserts_and_deletes_by_key_over_two_steps(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic(partitions=2)
        kafka_broker.produce(topic, [{"insert": {"id": number, "name": "a"}} for number in (1, 3, 5)], partition=0)
        kafka_broker.produce(topic, [{"insert": {"id": number, "name": "a"}} for number in (2, 4)], partition=1)
        reading = connector(topic, format_={}, key=("id",), columns=KEYED)
        reading.take_all()
        kafka_broker.produce(topic, [{"delete": {"id": 1}}, {"insert": {"id": 3, "name": "c"}}], partition=0)
        kafka_broker.produce(topic, [{"insert": {"id": 2, "name": "x"}}, {"delete": {"id": 2}}], partition=1)

        reading.take_all()

        assert reading.rows() == [(3, "c"), (4, "a"), (5, "a")]

    def test_change_events_and_their_tombstones(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic()
        a, b = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
        kafka_broker.produce(
            topic,
            [
                {"payload": {"op": "r", "before": None, "after": a}},
                {"op": "u", "before": a, "after": b},
                {"payload": {"op": "c", "before": None, "after": {"id": 2, "name": "c"}}},
                {"payload": {"op": "d", "before": {"id": 2, "name": "c"}, "after": None}},
                None,
            ],
        )
        reading = connector(topic, format_={"update_format": "debezium"}, key=("id",), columns=KEYED)

        written = reading.take(reading.look())

        assert reading.rows() == [(1, "b")]
        assert written.rejected == 0

    def test_arrays(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic()
        kafka_broker.produce(topic, [objects(0, 3), [], objects(3, 4)])
        reading = connector(topic, format_={"update_format": "raw", "array": True})

        reading.take_all()

        assert reading.ids() == [0, 1, 2, 3]

    def test_what_is_no_record_is_put_aside_with_its_place(
        self, connector: Connector, kafka_broker: Broker, tmp_path: Path
    ) -> None:
        topic = kafka_broker.create_topic()
        kafka_broker.produce(topic, [{"id": 1}, "{", None, b"\xff\xfe", {"id": "x"}, {"id": 2}])
        reading = connector(topic)

        written = reading.take(reading.look(), DeadLetters(str(tmp_path / "dead"), step=1, limit=4))

        assert reading.ids() == [1, 2]
        assert written.rejected == 4
        letters = sorted((json.loads(row["position"])["offset"], row) for row in rows_of(tmp_path / "dead"))
        assert [offset for offset, _ in letters] == [1, 2, 3, 4]
        assert json.loads(letters[0][1]["position"]) == {"topic": topic, "partition": 0, "offset": 1}
        assert letters[2][1]["record"].endswith("FFFE")

    def test_more_than_may_be_put_aside_stop_it(self, connector: Connector, kafka_broker: Broker, tmp_path: Path) -> None:
        topic = kafka_broker.create_topic()
        kafka_broker.produce(topic, [{"id": 1}, "{", "{", {"id": 2}])
        reading = connector(topic)

        with pytest.raises(EngineError) as raised:
            reading.take(reading.look(), DeadLetters(str(tmp_path / "dead"), step=1, limit=1))

        assert raised.value.code == "X724"
