"""`kafka_input` over ranges that are large enough to be read in parts: rows that can be read alone, and the others."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Available, ColumnType, DeadLetters, Written
from reconciler.engine.spark.ingest.json_objects import seems_proven
from tests.engine import test_json_objects
from tests.engine.kafka_reading import Connector, Reading, rows_of
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

MANY = 20_000
NOTES = (ColumnType("number", "INT", nullable=False), ColumnType("price", "DECIMAL(10,2)"), ColumnType("note", "VARCHAR(8)"))


def plain(count: int) -> list[bytes]:
    """Records that can be read alone."""
    return [b'{"number":%d,"price":%d.%02d,"note":"n%d"}' % (n, n % 70, n % 100, n % 9) for n in range(count)]


def take(reading: Reading, available: Available | None, limit: int | None = None, step: int = 1) -> Written:
    """One step, whose records may be rejected."""
    return reading.take(available, DeadLetters(f"{reading.target.location}-letters", step, limit))


def rejected_by(reading: Reading) -> list[dict[str, Any]]:
    return rows_of(Path(f"{reading.target.location}-letters"))


def version(reading: Reading) -> int:
    from deltalake import DeltaTable

    return DeltaTable(reading.target.location).version()


def produced(broker: Broker, *partitions: list[Any]) -> str:
    topic = broker.create_topic(partitions=len(partitions))
    for partition, messages in enumerate(partitions):
        broker.produce(topic, messages, partition=partition)
    return topic


def test_a_range_of_nothing_else_is_one_commit(connector: Connector, kafka_broker: Broker) -> None:
    half = MANY // 2
    reading = connector(produced(kafka_broker, plain(MANY)[:half], plain(MANY)[half:]), columns=NOTES)
    available = reading.look()

    written = take(reading, available, limit=0)

    assert (written.rows, written.rejected, version(reading)) == (MANY, 0, 1)
    assert [row[0] for row in sorted(reading.rows())] == list(range(MANY))
    reading.step -= 1
    again = take(reading, available)
    assert (again.reused, again.rows, version(reading)) == (True, MANY, 1)


def test_a_range_that_was_written_needs_no_records_any_more(connector: Connector, kafka_broker: Broker) -> None:
    topic = produced(kafka_broker, plain(MANY))
    reading = connector(topic, columns=NOTES)
    available = reading.look()
    take(reading, available)
    kafka_broker.delete_records(topic, {0: MANY})

    reading.step -= 1
    assert take(reading, available).reused


# In every run test_json_objects.py shows that what is read alone is what it is anyway, and the next test that the two parts
# have each record once.
@pytest.mark.slow
def test_all_records_become_what_they_become_in_one_part(connector: Connector, kafka_broker: Broker) -> None:
    chance = random.Random(11)
    nasty = [test_json_objects.record(chance, number).encode() for number in range(1000)]
    nasty += [text.encode() for text in test_json_objects.SHORT]
    tame = [b'{"number":%d,"a":%d,"s":"x%d"}' % (number, number % 1000, number) for number in range(MANY)]
    mixed = tame[1:] + nasty
    chance.shuffle(mixed)
    # What is no text, none, and blank.
    mixed += [b"\xff\xfe", b"  ", b'{"number":1,"s":"\xc3\x28"}']
    topic = produced(kafka_broker, [tame[0], *mixed, None])
    found = []
    for columns in (test_json_objects.COLUMNS, test_json_objects.NESTED):
        reading = connector(topic, columns=columns)

        written = take(reading, reading.look())

        rows = sorted(repr(row[: len(test_json_objects.COLUMNS)]) for row in reading.rows())
        rejected = sorted((row["position"], row["reason"], row["record"]) for row in rejected_by(reading))
        assert (len(rows), len(rejected)) == (written.rows, written.rejected)
        found.append((rows, rejected, version(reading)))

    for parts, one in zip(found[0][:2], found[1][:2], strict=True):
        assert Counter(parts) - Counter(one) == Counter(), "more than in one part"
        assert Counter(one) - Counter(parts) == Counter(), "less than in one part"
    assert (found[0][2], found[1][2]) == (2, 1), "the first was not read in parts, or the second was"
    assert len(found[0][1]) > 100


def test_what_stops_between_the_parts_is_gone_on_with(connector: Connector, kafka_broker: Broker) -> None:
    misfits = [b'{"number":-1,"note":"longer than this"}', b'{"number": -2, "note": "spaced"}', b'{"number":null}']
    reading = connector(produced(kafka_broker, [*plain(MANY), *misfits]), columns=NOTES)
    available = reading.look()
    with pytest.raises(EngineError) as stopped:
        take(reading, available, limit=1)
    half_written = version(reading)

    reading.step -= 1
    written = take(reading, available)

    assert (stopped.value.code, half_written) == ("X724", 2)
    assert written.rejected == 2
    assert sorted(row[0] for row in reading.rows()) == [-2, *range(MANY)]
    reading.step -= 1
    assert take(reading, available).rejected == 2
    assert len(reading.rows()) == MANY + 1
    assert len(rejected_by(reading)) == 2


def test_a_connector_with_other_records_is_read_in_one_part_from_then_on(connector: Connector, kafka_broker: Broker) -> None:
    topic = produced(kafka_broker, [*plain(MANY), b'{"number":1, "price":null}'])
    reading = connector(topic, columns=NOTES)
    take(reading, reading.look())
    assert version(reading) == 2
    kafka_broker.produce(topic, plain(MANY))

    take(reading, reading.look())

    assert version(reading) == 3
    assert len(reading.rows()) == 2 * MANY + 1


def test_spaced_records_are_read_in_one_part(connector: Connector, kafka_broker: Broker) -> None:
    spaced = [json.dumps({"number": number, "note": "x"}).encode() for number in range(MANY)]
    reading = connector(produced(kafka_broker, spaced), columns=NOTES)

    written = take(reading, reading.look())

    assert (written.rows, version(reading)) == (MANY, 1)


def test_transactions_leave_gaps_and_nothing_is_missed(connector: Connector, kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic()
    kafka_broker.produce_transaction(topic, plain(MANY))
    kafka_broker.produce_transaction(topic, plain(10), commit=False)
    kafka_broker.produce_transaction(topic, plain(10))
    reading = connector(topic, columns=NOTES, options={"isolation.level": "read_committed"})

    take(reading, reading.look())

    assert version(reading) == 2
    assert len(reading.rows()) == MANY + 10


@pytest.mark.parametrize(
    ("record", "is_likely"),
    [
        (b'{"number":1,"note":"a: b, c"}', True),
        (b'{"number": 1}', False),
        (b'{"number":1,"other":2}', False),
        (b'{"number":null}', False),
        (b"[1]", False),
        (b"{", False),
        (b"\xff", False),
    ],
)
def test_what_an_example_says_of_the_others(record: bytes, is_likely: bool) -> None:
    assert seems_proven(record, NOTES) is is_likely
