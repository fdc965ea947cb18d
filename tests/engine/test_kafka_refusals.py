"""`kafka_input` against a real broker: what it refuses to pass over, what is not there, and a broker that goes away."""

import json
import time

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine, Ingestion, Transaction
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.ingest import kafka
from reconciler.engine.spark.ingest.kafka_client import topic_client
from tests.engine.kafka_reading import Connector, objects
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark


class TestWhatItNeverPassesOver:
    def test_records_that_expired(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic, max_batch_size=6)
        reading.take(reading.look())
        assert reading.offsets == {"0": 4, "1": 2, "2": 0}
        kafka_broker.delete_records(topic, {0: 7, 1: 2})

        error = reading.refusal()

        assert error.code == "X742"
        assert "3 of partition 0 (4 up to 7)" in error.message
        hint = str(error.hint)
        to = json.loads(hint[hint.index("'") + 1 : hint.rindex("'")])
        assert to == {"0": 7, "1": 2, "2": 0}
        reading.position = {"seek": to}
        reading.take_all()
        assert reading.ids() == [0, 1, 2, 3, 7, 8, 9, *range(100, 105)]

    def test_records_that_expire_between_look_and_step(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic)
        available = reading.look()
        kafka_broker.delete_records(topic, {0: 7})

        with pytest.raises(EngineError) as raised:
            reading.take(available)

        assert raised.value.code == "X742"
        assert "--to" not in str(raised.value.hint), "the range says nothing of partition 2"
        assert reading.rows() == []

    def test_records_that_expire_while_they_are_read(
        self, connector: Connector, topic: str, kafka_broker: Broker, spark_engine: Engine
    ) -> None:
        from reconciler.engine.spark.session import start

        reading = connector(topic)
        available = reading.look()
        assert available is not None
        ingestion = Ingestion(reading.target, "t.live", reading.settings, available.range, Transaction("t", 1))
        incoming = kafka.read(start().newSession(), ingestion, reading.settings)
        kafka_broker.delete_records(topic, {0: 7})

        assert incoming is not None
        with pytest.raises(EngineError) as raised, translated("reading"):
            incoming.rows.collect()
        assert raised.value.code == "X742"

    def test_a_topic_that_was_made_anew(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic)
        available = reading.look()
        reading.take(available)
        kafka_broker.delete_topic(topic)
        kafka_broker.create_topic(topic, 3)
        kafka_broker.produce(topic, objects(0, 1), partition=0)

        assert reading.refusal().code == "X744"
        with pytest.raises(EngineError) as raised:
            reading.take(available)
        assert raised.value.code == "X744"

    def test_a_topic_that_was_made_anew_with_fewer_partitions(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        reading = connector(topic)
        reading.take_all()
        kafka_broker.delete_topic(topic)
        kafka_broker.create_topic(topic, 1)

        assert reading.refusal().code == "X744"
        assert reading.position is not None
        reading.position = {"offsets": reading.offsets}
        assert reading.refusal().code == "X743", "an older version noted no id"

    def test_a_topic_that_was_made_anew_with_as_many_records(
        self, connector: Connector, topic: str, kafka_broker: Broker
    ) -> None:
        reading = connector(topic)
        available = reading.look()
        reading.take(available)
        kafka_broker.delete_topic(topic)
        kafka_broker.create_topic(topic, 3)
        kafka_broker.produce(topic, objects(1000, 1010), partition=0)
        kafka_broker.produce(topic, objects(1100, 1106), partition=1)

        error = reading.refusal()

        assert error.code == "X744"
        assert "it was recreated" in error.message
        assert """--to '{"0": 10, "1": 5, "2": 0}'""" in str(error.hint)
        with pytest.raises(EngineError) as raised:
            reading.take(available)
        assert raised.value.code == "X744", "also between the look and the step"
        assert "--to '" not in str(raised.value.hint), "the range says nothing of partition 2"
        older, reading.position = {"offsets": reading.offsets}, {"seek": "earliest"}
        reading.take_all()
        assert reading.ids()[-16:] == [*range(1000, 1010), *range(1100, 1106)]
        reading.position = older
        assert reading.look() is not None, "an older version noted no id: taken as it is"


class TestWhatIsNotThere:
    def test_an_unknown_topic_is_named_and_not_made(self, connector: Connector, kafka_broker: Broker) -> None:
        error = connector("nothing-here").refusal()

        assert error.code == "X741"
        assert "nothing-here" in error.message
        assert connector("nothing-here").refusal().code == "X741"

    def test_a_topic_that_is_deleted_between_two_questions(
        self, topic: str, kafka_broker: Broker, spark_engine: Engine
    ) -> None:
        from reconciler.engine.spark.session import start

        quick = {"default.api.timeout.ms": 6000, "request.timeout.ms": 6000}
        config = {"topic": topic, "bootstrap.servers": kafka_broker.bootstrap, **quick}
        with topic_client(start().newSession()._jvm, config) as client:
            kafka_broker.delete_topic(topic)
            for ask in (client.end, client.written):
                with pytest.raises(EngineError) as raised:
                    ask()
                assert raised.value.code == "X741", raised.value.message

    def test_a_partition_that_is_chosen(self, connector: Connector, topic: str) -> None:
        error = connector(topic, options={"partitions": [0, 7]}).refusal()

        assert error.code == "X743"
        assert "no partition 7" in error.message

    def test_an_address_without_broker_is_named_soon(self, connector: Connector, topic: str) -> None:
        quick = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": 1000, "request.timeout.ms": 1000}
        started = time.monotonic()

        error = connector(topic, options=quick).refusal()

        assert error.code == "X740"
        assert "127.0.0.1:1" in error.message
        assert time.monotonic() - started < 8

    @pytest.mark.parametrize("servers", ["nobody.invalid:9092", "no-port"])
    def test_an_address_that_is_none(self, connector: Connector, topic: str, servers: str) -> None:
        error = connector(topic, options={"bootstrap.servers": servers}).refusal()

        assert (error.code, servers in error.message) == ("X740", True)

    def test_what_kafkas_client_refuses_is_said_in_its_words(self, connector: Connector, topic: str) -> None:
        error = connector(topic, options={"fetch.min.bytes": "some"}).refusal()

        assert error.code == "X746"
        assert "fetch.min.bytes" in error.message


class TestWhenTheBrokerGoesAway:
    def test_reading_goes_on_when_it_is_back(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        patience = {"default.api.timeout.ms": 2000, "request.timeout.ms": 2000}
        reading = connector(topic, options=patience, max_batch_size=6)
        reading.take(reading.look())
        available = reading.look()
        kafka_broker.kill()
        try:
            assert reading.refusal().code == "X740"
            with pytest.raises(EngineError) as raised:
                reading.take(available)
            assert raised.value.code == "X740"
        finally:
            kafka_broker.start()
        reading.step -= 1

        reading.take(available)
        kafka_broker.produce(topic, objects(10, 12), partition=0)
        reading.take_all()

        assert reading.ids() == [*range(12), *range(100, 105)]
