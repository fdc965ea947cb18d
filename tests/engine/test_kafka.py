"""`kafka_input` against a real broker: where it begins, that it reads each record once, and what it refuses to pass over."""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.delta.tables import create_table
from reconciler.digest import JsonObject
from reconciler.engine.protocol import (
    Available,
    ColumnType,
    DeadLetters,
    Engine,
    Ingestion,
    Selection,
    TableTarget,
    Transaction,
    Written,
)
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.ingest import kafka
from reconciler.errors import EngineError
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

COLUMNS = (ColumnType("id", "BIGINT"), ColumnType("Name", "STRING"))


@dataclass
class Reading:
    """A connector and its table, as the shell drives them."""

    engine: Engine
    folder: Path
    settings: JsonObject
    columns: tuple[ColumnType, ...] = COLUMNS
    primary_key: tuple[str, ...] = ()
    position: JsonObject | None = None
    step: int = 0

    def __post_init__(self) -> None:
        create_table(self.target.location, self.columns, Transaction("create", 1))

    @property
    def target(self) -> TableTarget:
        return TableTarget("t", str(self.folder / "t"), self.columns, self.primary_key)

    def look(self) -> Available | None:
        return self.engine.discover("t.live", self.settings, self.position)

    def take(self, available: Available | None, dead_letters: DeadLetters | None = None) -> Written:
        """One step."""
        assert available is not None
        self.step += 1
        transaction = Transaction("reconcile/step/t.live", self.step)
        ingestion = Ingestion(self.target, "t.live", self.settings, available.range, transaction, dead_letters)
        written = self.engine.ingest(ingestion)
        self.position = available.position
        return written

    def take_all(self) -> int:
        """Steps until nothing is there; how many."""
        steps = 0
        while (available := self.look()) is not None:
            self.take(available)
            steps += 1
        return steps

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(row.values()) for row in rows_of(Path(self.target.location))), key=repr)

    def ids(self) -> list[int]:
        return sorted(row[0] for row in self.rows())

    def refusal(self) -> EngineError:
        with pytest.raises(EngineError) as raised:
            self.look()
        return raised.value


class Connector:
    """Makes readings of topics; `config` are settings of the transport, with _ for the dot where a dot belongs."""

    def __init__(self, engine: Engine, broker: Broker, folder: Path) -> None:
        self._engine, self._broker, self._folder, self._count = engine, broker, folder, 0

    def __call__(
        self,
        topic: str,
        start_from: Any = None,
        format_: JsonObject | None = None,
        options: JsonObject | None = None,
        key: tuple[str, ...] = (),
        columns: tuple[ColumnType, ...] = COLUMNS,
        **more: Any,
    ) -> Reading:
        config = {"topic": topic, "bootstrap.servers": self._broker.bootstrap, **(options or {})}
        if start_from is not None:
            config["start_from"] = start_from
        settings = {
            "transport": {"name": "kafka_input", "config": config},
            "format": {"name": "json", "config": {"update_format": "raw"} if format_ is None else format_},
            **more,
        }
        self._count += 1
        return Reading(self._engine, self._folder / str(self._count), settings, columns, key)


@pytest.fixture
def connector(spark_engine: Engine, kafka_broker: Broker, tmp_path: Path) -> Connector:
    return Connector(spark_engine, kafka_broker, tmp_path)


@pytest.fixture
def topic(kafka_broker: Broker) -> str:
    """Three partitions: 0 holds ids 0 to 9, 1 holds 100 to 104, 2 nothing."""
    name = kafka_broker.create_topic(partitions=3)
    kafka_broker.produce(name, objects(0, 10), partition=0)
    kafka_broker.produce(name, objects(100, 105), partition=1)
    return name


def objects(first: int, until: int) -> list[JsonObject]:
    return [{"id": number, "name": f"n{number}"} for number in range(first, until)]


EVERYTHING = [*range(10), *range(100, 105)]


class TestWhereItBegins:
    def test_at_the_earliest_record_unless_told_otherwise(self, connector: Connector, topic: str) -> None:
        reading = connector(topic)
        available = reading.look()

        assert available is not None
        assert available.range == {"topic": topic, "from": {"0": 0, "1": 0}, "until": {"0": 10, "1": 5}}
        assert available.position == {"offsets": {"0": 10, "1": 5, "2": 0}}
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
        assert pinned.range == {"topic": topic, "from": {}, "until": {}}
        assert pinned.position == {"offsets": {"0": 10, "1": 5, "2": 0}}
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

    @pytest.mark.parametrize("early", [2_000, 1_700_000_000_000])
    def test_a_time_is_the_first_record_from_then_on(self, connector: Connector, kafka_broker: Broker, early: int) -> None:
        topic = kafka_broker.create_topic(partitions=3)
        kafka_broker.produce(topic, objects(0, 5), partition=0, timestamp=early - 1_000)
        kafka_broker.produce(topic, objects(5, 8), partition=0, timestamp=early)
        kafka_broker.produce(topic, objects(8, 9), partition=0, timestamp=early + 1)
        kafka_broker.produce(topic, objects(100, 105), partition=1, timestamp=early - 1)
        reading = connector(topic, {"timestamp": early})

        reading.take(reading.look())
        # Partition 1 had nothing since then, so it began at its end: what comes now is read, whatever its time says.
        kafka_broker.produce(topic, objects(105, 106), partition=1, timestamp=early - 500)
        reading.take_all()

        assert reading.ids() == [5, 6, 7, 8, 105]

    def test_an_empty_topic(self, connector: Connector, kafka_broker: Broker) -> None:
        reading = connector(kafka_broker.create_topic())

        reading.take(reading.look())

        assert reading.position == {"offsets": {"0": 0}}
        assert reading.look() is None

    @pytest.mark.parametrize(
        ("to", "expected"),
        [
            ("earliest", EVERYTHING),
            ("latest", []),
            ({"offsets": [8, 4, 0]}, [8, 9, 104]),
            ({"0": 9, "1": 3, "2": 0}, [9, 103, 104]),
            ({"timestamp": 0}, EVERYTHING),
        ],
    )
    def test_a_user_may_put_it_elsewhere(self, connector: Connector, topic: str, to: Any, expected: list[int]) -> None:
        reading = connector(topic, "latest")
        reading.position = {"seek": to}

        reading.take_all()

        assert reading.ids() == expected
        assert reading.position == {"offsets": {"0": 10, "1": 5, "2": 0}}

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
        assert reading.position == {"offsets": {"0": 10, "1": 5, "2": 0, "3": 0, "4": 3}}

    def test_chosen_partitions_only(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic, {"offsets": [2, 0]}, options={"partitions": [1, 2]})
        kafka_broker.produce(topic, objects(200, 201), partition=2)

        reading.take_all()

        assert reading.ids() == [102, 103, 104, 200]
        assert reading.position == {"offsets": {"1": 5, "2": 1}}

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


class TestWhatItNeverPassesOver:
    def test_records_that_expired(self, connector: Connector, topic: str, kafka_broker: Broker) -> None:
        reading = connector(topic, max_batch_size=6)
        reading.take(reading.look())
        assert reading.position == {"offsets": {"0": 4, "1": 2, "2": 0}}
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

        assert reading.refusal().code == "X743"


class TestWhatIsNotThere:
    def test_an_unknown_topic_is_named_and_not_made(self, connector: Connector, kafka_broker: Broker) -> None:
        error = connector("nothing-here").refusal()

        assert error.code == "X741"
        assert "nothing-here" in error.message
        assert connector("nothing-here").refusal().code == "X741"

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


def jobs() -> int:
    """How many jobs Spark has run."""
    from reconciler.engine.spark.session import start

    tracker = start().sparkContext._jsc.sc().statusStore()
    return int(tracker.jobsList(None).size())


def rows_of(location: Path) -> list[dict[str, Any]]:
    """The rows of a Delta table."""
    from deltalake import DeltaTable, QueryBuilder

    found = QueryBuilder().register("t", DeltaTable(str(location))).execute("SELECT * FROM t").read_all()
    columns = {name: found[name].to_pylist() for name in found.schema.names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
