"""`kafka_input` against a real broker: where it begins, and that it reads each record once."""

from dataclasses import replace
from typing import Any

import pytest

from reconciler.base.moments import moment_of_milliseconds
from reconciler.engine.protocol import ColumnType, Engine, Selection, Written
from tests.cells import mostly_slow
from tests.engine.engines import jobs
from tests.engine.kafka_reading import EVERYTHING, Connector, objects
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark


class TestWhereItBegins:
    def test_at_the_earliest_record_unless_told_otherwise(self, connector: Connector, topic: str) -> None:
        reading = connector(topic)
        available = reading.look()

        assert available is not None
        topic_id = available.position["topic_id"]
        assert available.range == {
            "topic": topic,
            "from": {"0": 0, "1": 0},
            "until": {"0": 10, "1": 5},
            "topic_id": topic_id,
        }
        assert available.position == {"offsets": {"0": 10, "1": 5, "2": 0}, "topic_id": topic_id}
        assert available.backlog == {"0": 10, "1": 5, "2": 0}
        assert not available.end_of_input
        assert reading.take(available).rows == 15
        assert reading.rows()[:2] == [(0, "n0"), (1, "n1")]
        assert reading.ids() == EVERYTHING
        assert reading.look() is None

    def test_earliest_is_what_is_still_there(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        kafka_broker.delete_records(topic, {0: 8})
        reading = connector(topic, "earliest")

        reading.take_all()

        assert reading.ids() == [8, 9, *range(100, 105)]

    def test_latest_is_fixed_by_the_first_look_and_nothing_after_it_is_lost(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        reading = connector(topic, "latest")
        pinned = reading.look()
        kafka_broker.produce(topic, objects(10, 12), partition=0)

        assert pinned is not None
        assert (pinned.range["from"], pinned.range["until"]) == ({}, {})
        assert pinned.position["offsets"] == {"0": 10, "1": 5, "2": 0}
        assert reading.take(pinned) == Written(version=0, rows=0)
        reading.take_all()
        assert reading.ids() == [10, 11]

    def test_offsets(self, connector: Connector, topic: str) -> None:
        reading = connector(topic, {"offsets": [7, 5, 0]})

        reading.take_all()

        assert reading.ids() == [7, 8, 9]

    @pytest.mark.parametrize(
        ("offsets", "code", "words"),
        [
            ([7], "X743", "partitions 1, 2"),
            ([7, 0, 0, 0], "X743", "partition 3"),
            ([11, 0, 0], "X745", "offset 11 of partition 0"),
        ],
    )
    def test_offsets_that_the_topic_does_not_have(
        self, connector: Connector, topic: str, offsets: list[int], code: str, words: str
    ) -> None:
        error = connector(topic, {"offsets": offsets}).refusal()

        assert error.code == code
        assert words in error.message
        assert error.message.startswith("connector t.live: ")

    def test_an_offset_that_expired(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        kafka_broker.delete_records(topic, {0: 5})

        assert connector(topic, {"offsets": [4, 0, 0]}).refusal().code == "X745"

    @pytest.mark.parametrize("early", [pytest.param(2_000, marks=pytest.mark.slow), 1_700_000_000_000])
    def test_a_time_is_the_first_record_from_then_on(self, connector: Connector, kafka_broker: Broker, early: int) -> None:
        topic = kafka_broker.create_topic(partitions=3)
        kafka_broker.produce(topic, objects(0, 5), partition=0, timestamp=early - 1_000)
        kafka_broker.produce(topic, objects(5, 8), partition=0, timestamp=early)
        kafka_broker.produce(topic, objects(8, 9), partition=0, timestamp=early + 1)
        kafka_broker.produce(topic, objects(100, 105), partition=1, timestamp=early - 1)
        reading = connector(topic, {"timestamp": early})

        looked = reading.look()
        assert looked is not None
        assert looked.since == looked.waiting_since == moment_of_milliseconds(early)
        reading.take(looked)
        # Partition 1 had nothing since then, so it began at its end: what comes now is read, whatever its time says.
        kafka_broker.produce(topic, objects(105, 106), partition=1, timestamp=early - 500)
        reading.take_all()

        assert reading.ids() == [5, 6, 7, 8, 105]

    def test_an_empty_topic(self, connector: Connector, kafka_broker: Broker) -> None:
        reading = connector(kafka_broker.create_topic())

        reading.take(reading.look())

        assert reading.offsets == {"0": 0}
        assert reading.look() is None

    def test_the_oldest_of_the_first_new_records_says_since_when_something_waits(
        self, connector: Connector, kafka_broker: Broker
    ) -> None:
        topic, early = kafka_broker.create_topic(partitions=3), 1_700_000_000_000
        kafka_broker.produce(topic, objects(0, 5), partition=0, timestamp=early + 2_000)
        kafka_broker.produce(topic, objects(100, 105), partition=2, timestamp=early + 1_000)
        reading = connector(topic)

        first = reading.look()
        assert first is not None
        reading.take(first)
        kafka_broker.produce(topic, objects(5, 6), partition=0, timestamp=early + 9_000)
        second = reading.look()

        assert second is not None
        assert (first.since, second.since) == (moment_of_milliseconds(early + 1_000), moment_of_milliseconds(early + 9_000))
        kafka_broker.produce(topic, objects(6, 7), partition=1, timestamp=0)
        third = reading.look()
        assert third is not None
        assert (third.since, third.waiting_since) == (None, None), "one of them bears no time"

    @pytest.mark.parametrize(
        ("to", "expected"),
        [
            pytest.param("earliest", EVERYTHING, marks=pytest.mark.slow),
            ("latest", []),
            ({"offsets": [8, 4, 0]}, [8, 9, 104]),
            pytest.param({"0": 9, "1": 3, "2": 0}, [9, 103, 104], marks=pytest.mark.slow),
            pytest.param({"timestamp": 0}, EVERYTHING, marks=pytest.mark.slow),
        ],
    )
    def test_a_user_may_put_it_elsewhere(self, connector: Connector, topic: str, to: Any, expected: list[int]) -> None:
        reading = connector(topic, "latest")
        reading.position = {"seek": to}

        reading.take_all()

        assert reading.ids() == expected
        assert reading.offsets == {"0": 10, "1": 5, "2": 0}

    @pytest.mark.parametrize("to", ["tomorrow", {"when": 1}, {"0": 1}])
    def test_to_a_place_that_there_is(self, connector: Connector, topic: str, to: Any) -> None:
        reading = connector(topic)
        reading.position = {"seek": to}

        assert reading.refusal().code in ("X743", "X745")


class TestWhatItReads:
    def test_each_record_once_in_steps_of_the_size_that_is_set(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        reading = connector(topic, max_batch_size=4)

        first = reading.look()
        assert first is not None
        assert first.range["until"] == {"0": 3, "1": 1}
        steps = 0
        while (available := reading.look()) is not None:
            assert reading.take(available).rows <= 4
            steps += 1

        assert steps == 4
        assert reading.ids() == EVERYTHING

    def test_a_range_gives_the_same_rows_whatever_came_since(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        one, other = connector(topic), connector(topic)
        available = one.look()
        one.take(available)
        kafka_broker.produce(topic, objects(10, 20), partition=0)
        kafka_broker.produce(topic, objects(200, 210), partition=2)

        other.take(available)

        assert other.rows() == one.rows()
        assert one.ids() == EVERYTHING

    def test_a_repeated_step_writes_nothing(self, connector: Connector, topic: str) -> None:
        reading = connector(topic)
        available = reading.look()
        first = reading.take(available)
        reading.step -= 1

        again = reading.take(available)

        assert replace(first, reused=True) == again
        assert reading.ids() == EVERYTHING

    def test_partitions_that_come_later_from_their_beginning(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        reading = connector(topic, "latest")
        reading.take(reading.look())
        kafka_broker.add_partitions(topic, 5)
        kafka_broker.produce(topic, objects(300, 303), partition=4)

        reading.take_all()

        assert reading.ids() == [300, 301, 302]
        assert reading.offsets == {"0": 10, "1": 5, "2": 0, "3": 0, "4": 3}

    def test_chosen_partitions_only(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic, {"offsets": [2, 0]}, options={"partitions": [1, 2]})
        kafka_broker.produce(topic, objects(200, 201), partition=2)

        reading.take_all()

        assert reading.ids() == [102, 103, 104, 200]
        assert reading.offsets == {"1": 5, "2": 1}

    def test_in_reading_order_the_last_of_a_key_wins(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic(partitions=2)
        kafka_broker.produce(topic, [{"id": 1, "name": f"n{number}"} for number in range(300)], partition=0)
        kafka_broker.produce(topic, [{"id": 2, "name": f"n{number}"} for number in range(300)], partition=1)
        columns = (ColumnType("id", "BIGINT", nullable=False), ColumnType("Name", "STRING"))
        reading = connector(topic, key=("id",), columns=columns)

        reading.take_all()

        assert reading.rows() == [(1, "n299"), (2, "n299")]

    def test_records_of_transactions_that_were_aborted_if_told(self, connector: Connector, kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic()
        kafka_broker.produce_transaction(topic, objects(0, 3))
        kafka_broker.produce_transaction(topic, objects(3, 5), commit=False)
        committed = connector(topic, options={"isolation.level": "read_committed"})
        everything = connector(topic)

        committed.take_all()
        everything.take_all()

        assert committed.ids() == [0, 1, 2]
        assert everything.ids() == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("start_from", mostly_slow(["latest", {"timestamp": 4102444800000}], "latest"))
    def test_a_transaction_that_is_open_does_not_move_where_it_begins(
        self, connector: Connector, kafka_broker: Broker, start_from: Any
    ) -> None:
        topic = kafka_broker.create_topic()
        reading = connector(topic, start_from, options={"isolation.level": "read_committed"})
        with kafka_broker.open_transaction(topic, objects(0, 3)):
            reading.take(reading.look())
            assert reading.offsets == {"0": 3}
            assert reading.look() is None, "what is not decided yet is no shorter topic"
        kafka_broker.produce(topic, objects(10, 12))
        reading.take_all()
        assert reading.ids() == [10, 11]

    def test_looking_starts_no_spark_job(self, connector: Connector, topic: str, spark_engine: Engine) -> None:
        reading = connector(topic)
        spark_engine.select(Selection("SELECT 1", (), {}))
        before = jobs()

        for position in (None, {"seek": {"timestamp": 0}}, {"offsets": {"0": 1, "1": 1, "2": 0}}):
            reading.position = position
            assert reading.look() is not None

        assert jobs() == before
        reading.take(reading.look())
        assert jobs() > before
