"""kafka_output against a real broker: messages, keys, headers, order, repeats, and what is told when it can't be written."""

import json
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Emission
from tests.engine.emissions import Versions

if TYPE_CHECKING:
    from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

BEFORE = "SELECT id, if(id = 0, NULL, 'n') AS name FROM range(2)"
AFTER = "SELECT id, if(id = 0, 'new', 'n') AS name FROM range(3)"


def to_topic(made: Emission, broker: str, topic: str, format_: dict[str, Any] | None = None, **config: Any) -> Emission:
    transport = {"name": "kafka_output", "config": {"topic": topic, "bootstrap.servers": broker, **config}}
    return replace(made, settings={"transport": transport, "format": {"name": "json", "config": format_ or {}}})


def values(broker: "Broker", topic: str) -> list[Any]:
    return [json.loads(message.value or b"null") for message in broker.messages(topic)]


def test_changes_are_messages_with_headers(versions: Versions, kafka_broker: "Broker") -> None:
    topic = kafka_broker.create_topic(partitions=1)
    first = versions.engine.emit(to_topic(versions.emission(None, BEFORE), kafka_broker.bootstrap, topic))
    second = to_topic(versions.emission(BEFORE, AFTER, 2), kafka_broker.bootstrap, topic)
    emitted = versions.engine.emit(second)
    assert (first.inserted, emitted.inserted, emitted.deleted) == (2, 2, 1)
    found = values(kafka_broker, topic)
    assert sorted(found[:2], key=repr) == [{"insert": {"id": 0, "name": None}}, {"insert": {"id": 1, "name": "n"}}]
    assert found[2] == {"delete": {"id": 0, "name": None}}, "what went comes before what came"
    assert sorted(found[3:], key=repr) == [{"insert": {"id": 0, "name": "new"}}, {"insert": {"id": 2, "name": "n"}}]
    headers = dict(kafka_broker.messages(topic)[-1].headers)
    assert headers == {"pipeline": b"shop", "connector": b"v.lake", "step": b"0", "serial": b"2", "emission": b"2 by us"}
    versions.engine.emit(second)
    messages = kafka_broker.messages(topic)
    assert len(messages) == 8, "at least once"
    repeated = [sorted(str(m.value) for m in part) for part in (messages[2:5], messages[5:])]
    assert repeated[0] == repeated[1]
    assert {dict(m.headers)["serial"] for m in messages[2:]} == {b"2"}


def test_changes_of_one_key_stay_in_order(versions: Versions, kafka_broker: "Broker") -> None:
    topic = kafka_broker.create_topic(partitions=3)
    before, after = "SELECT id, 'a' AS name FROM range(20)", "SELECT id, 'b' AS name FROM range(20)"
    versions.engine.emit(to_topic(versions.emission(before, after), kafka_broker.bootstrap, topic, key=["ID"]))
    by_key: dict[bytes | None, list[tuple[int, str]]] = {}
    for message in kafka_broker.messages(topic):
        kind = next(iter(json.loads(message.value or b"{}")))
        by_key.setdefault(message.key, []).append((message.partition, kind))
    assert len(by_key) == 20
    assert json.loads(min(by_key, key=repr) or b"{}").keys() == {"id"}
    for found in by_key.values():
        assert [kind for _, kind in found] == ["delete", "insert"]
        assert len({partition for partition, _ in found}) == 1


@pytest.mark.parametrize(
    ("format_", "expected", "counts"),
    [
        ({"update_format": "raw"}, [{"id": 0, "name": "new"}, {"id": 2, "name": "n"}], (2, 0, 1)),
        (
            {"update_format": "debezium", "array": True},
            [
                [{"payload": {"op": "c", "before": None, "after": {"id": 0, "name": "new"}}}],
                [{"payload": {"op": "c", "before": None, "after": {"id": 2, "name": "n"}}}],
                [{"payload": {"op": "d", "before": {"id": 0, "name": None}, "after": None}}],
            ],
            (2, 1, 0),
        ),
    ],
)
def test_forms_of_messages(
    versions: Versions, kafka_broker: "Broker", format_: dict[str, Any], expected: list[Any], counts: tuple[int, int, int]
) -> None:
    topic = kafka_broker.create_topic(partitions=1)
    emitted = versions.engine.emit(to_topic(versions.emission(BEFORE, AFTER), kafka_broker.bootstrap, topic, format_))
    assert (emitted.inserted, emitted.deleted, emitted.dropped) == counts
    assert sorted(values(kafka_broker, topic), key=repr) == sorted(expected, key=repr)


def test_columns_that_changed_are_told_under_their_names(versions: Versions, kafka_broker: "Broker") -> None:
    topic = kafka_broker.create_topic(partitions=1)
    versions.engine.emit(to_topic(versions.emission("SELECT 1 AS a", "SELECT 'x' AS b"), kafka_broker.bootstrap, topic))
    assert values(kafka_broker, topic) == [{"delete": {"a": 1}}, {"insert": {"b": "x"}}]


def test_what_can_not_be_written_says_why(versions: Versions, kafka_broker: "Broker") -> None:
    made = versions.emission(None, BEFORE)
    soon = {"request.timeout.ms": "2000", "default.api.timeout.ms": "2000"}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
        wanted = {
            "X750": to_topic(made, nobody, "t", **soon),
            "X751": to_topic(made, kafka_broker.bootstrap, "no-such-topic", **soon),
            "X754": to_topic(made, kafka_broker.bootstrap, kafka_broker.create_topic(), key=["nope"]),
        }
        for code, emission in wanted.items():
            with pytest.raises(EngineError) as raised:
                versions.engine.emit(emission)
            assert raised.value.code == code
            assert "v.lake" in raised.value.message
