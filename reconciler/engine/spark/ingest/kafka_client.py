"""A Kafka topic as its brokers describe it, asked with the Java client that Spark reads it with: no Spark job.

The options of a connector are handed on as they are: to these clients, and with `kafka.` in front to Spark's reader. Waiting
for an answer ends after 10 s, unless the connector says otherwise (`request.timeout.ms`, `default.api.timeout.ms`).

One client, an administrator's, answers all but what a record says. It tells of a topic as the connector reads it
(`isolation.level`), and of all that stands there, decided or not.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError

_PATIENCE_SECONDS = 2
_SOON_SECONDS = 0.3
_POLL_MILLISECONDS = 100
_FIRST_RECORDS = "65536"
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_DEFAULTS = {"request.timeout.ms": "10000", "default.api.timeout.ms": "10000"}
_OURS = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
}
_SERVERS = "bootstrap.servers"
_LONGEST_WAIT = "fetch.max.wait.ms"
_READ_COMMITTED = "read_committed"
_NO_TOPIC = ("UnknownTopicOrPartitionException", "UnknownTopicIdException")
_REFUSALS = ("AuthenticationException", "AuthorizationException", "UnsupportedVersionException", "InvalidTopicException")


def client_options(config: JsonObject) -> dict[str, str]:
    """The options of the Kafka client among a connector's settings: those with a dot in their names."""
    dotted = {name: value for name, value in sorted(config.items()) if "." in name}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in dotted.items()}


@dataclass(frozen=True, slots=True)
class TopicClient:
    """A connection that answers questions on one topic; offsets are by partition. `topic_id` is given to a topic when it is
    made, and to no other one; None where the brokers give none."""

    topic: str
    partitions: tuple[int, ...]
    topic_id: str | None
    _admin: Any
    _jvm: Any
    _options: Mapping[str, str]

    def beginning(self) -> dict[int, int]:
        """The first offset that can be read."""
        return self._listed(self._jvm.org.apache.kafka.clients.admin.OffsetSpec.earliest())

    def end(self) -> dict[int, int]:
        """The offset of the next record to come; with `isolation.level: read_committed`, the first not yet decided."""
        latest = self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest()
        return self._listed(latest, only_decided=self._options.get("isolation.level") == _READ_COMMITTED)

    def written(self) -> dict[int, int]:
        """The offset of the next record to be written, behind those of transactions that are not decided yet."""
        return self._listed(self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest())

    def since(self, timestamp: int) -> dict[int, int]:
        """The first offset with a time from `timestamp` (milliseconds since 1970) on, decided or not; none where there is no
        such."""
        found = self._listed(self._jvm.org.apache.kafka.clients.admin.OffsetSpec.forTimestamp(timestamp))
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def value(self, partition: int, offset: int) -> bytes | None:
        """The value of the first record from an offset on; None if there is none, or it does not come soon."""
        one = self._jvm.java.util.ArrayList()
        one.add(self.partition(partition))
        with _explained(self._options[_SERVERS], self.topic), ExitStack() as clients:
            consumer = self.consumer()
            clients.callback(consumer.close)
            consumer.assign(one)
            consumer.seek(one.get(0), offset)
            found = consumer.poll(self._jvm.java.time.Duration.ofSeconds(_PATIENCE_SECONDS)).iterator()
            return found.next().value() if found.hasNext() else None

    def since_when(self, offsets: Mapping[int, int]) -> int | None:
        """When the oldest of the first records from these offsets on was written, as the records say (milliseconds since
        1970); None where one of them does not come soon."""
        waiting, times = {number: self.partition(number) for number in sorted(offsets)}, []
        deadline, patience = time.monotonic() + _SOON_SECONDS, self._jvm.java.time.Duration.ofMillis(_POLL_MILLISECONDS)
        with _explained(self._options[_SERVERS], self.topic), ExitStack() as clients:
            consumer, places = self.consumer(max_partition_fetch_bytes=_FIRST_RECORDS), self._jvm.java.util.ArrayList()
            clients.callback(consumer.close)
            for place in waiting.values():
                places.add(place)
            consumer.assign(places)
            for number, place in waiting.items():
                consumer.seek(place, offsets[number])
            while waiting and time.monotonic() < deadline:
                records = consumer.poll(patience)
                for number, place in list(waiting.items()):
                    came = records.records(place)
                    if not came.isEmpty():
                        times.append(int(came.get(0).timestamp()))
                        del waiting[number]
        return None if waiting else min(times, default=None)

    def consumer(self, **options: str) -> Any:
        """A client that reads records, of no partition yet; whoever asks for it closes it. `options` are further ones, with
        `_` for points.

        It reads what is there, and asks for what comes after that before anybody wants it. A broker answers that when
        something comes or the longest wait is over, and to close the client takes as long."""
        further = {name.replace("_", "."): value for name, value in options.items()}
        settings = _settings(self._jvm, {**_of_consumer(self._options), _LONGEST_WAIT: "10", **further})
        return self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)

    def partition(self, number: int) -> Any:
        """A partition of the topic, as Kafka's client knows it."""
        return self._jvm.org.apache.kafka.common.TopicPartition(self.topic, number)

    def _listed(self, spec: Any, only_decided: bool = False) -> dict[int, int]:
        wanted, places = self._jvm.java.util.HashMap(), [self.partition(partition) for partition in self.partitions]
        for place in places:
            wanted.put(place, spec)
        level = self._jvm.org.apache.kafka.common.IsolationLevel
        decided = level.READ_COMMITTED if only_decided else level.READ_UNCOMMITTED
        with _explained(self._options[_SERVERS], self.topic):
            found = self._admin.listOffsets(wanted, self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(decided))
            answers = found.all().get()
            # One by one: the end of an iterator of Java is an exception, which costs more than all else here.
            return {number: int(answers.get(at).offset()) for number, at in zip(self.partitions, places, strict=True)}


@contextmanager
def topic_client(jvm: Any, config: JsonObject) -> Iterator[TopicClient]:
    """Connects to a connector's topic; `partitions` are those that the connector reads.

    Raises EngineError: X740 (no broker answers), X741 (no such topic), X743 (no such partition), X746 (refused).
    """
    topic, options = str(config["topic"]), client_options(config)
    with ExitStack() as clients:
        with _explained(options[_SERVERS], topic):
            # What no consumer takes is refused here, in Kafka's words, and not by Spark while it reads.
            jvm.org.apache.kafka.clients.consumer.ConsumerConfig(_settings(jvm, _of_consumer(options)))
            admin = jvm.org.apache.kafka.clients.admin.Admin.create(_settings(jvm, {**_DEFAULTS, **options}))
            clients.callback(admin.close)
            there, topic_id = _described(jvm, admin, topic)
        yield TopicClient(topic, _chosen(config, there), topic_id, admin, jvm, options)


def _described(jvm: Any, admin: Any, topic: str) -> tuple[tuple[int, ...], str | None]:
    """The partitions and the id of a topic."""
    names = jvm.java.util.ArrayList()
    names.add(topic)
    found = admin.describeTopics(names).allTopicNames().get().get(topic)
    # Brokers that know no ids answer with an empty one.
    has_id = not found.topicId().equals(jvm.org.apache.kafka.common.Uuid.ZERO_UUID)
    there = found.partitions()
    partitions = sorted(int(there.get(place).partition()) for place in range(there.size()))
    return tuple(partitions), str(found.topicId().toString()) if has_id else None


def _of_consumer(options: Mapping[str, str]) -> dict[str, str]:
    return {**_DEFAULTS, **options, **_OURS}


def _settings(jvm: Any, options: Mapping[str, str]) -> Any:
    settings = jvm.java.util.HashMap()
    for name, value in options.items():
        settings.put(name, value)
    return settings


def _chosen(config: JsonObject, there: tuple[int, ...]) -> tuple[int, ...]:
    wanted = config.get("partitions")
    if wanted is None:
        return there
    missing = sorted(set(wanted) - set(there))
    if missing:
        raise EngineError(
            "X743",
            f"topic {config['topic']} has no partition {', '.join(map(str, missing))}: it has {len(there)}, from 0 on",
            "correct the connector's partitions",
        )
    return tuple(sorted(wanted))


@contextmanager
def _explained(servers: str, topic: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        raise _as_engine_error(error.java_exception, servers, topic) from error


def _as_engine_error(thrown: Any, servers: str, topic: str) -> EngineError:
    if str(thrown.getClass().getSimpleName()) == "ExecutionException" and thrown.getCause() is not None:
        # What an administrator's client answers later, it wraps.
        thrown = thrown.getCause()
    kind, innermost = str(thrown.getClass().getSimpleName()), thrown
    while innermost.getCause() is not None:
        innermost = innermost.getCause()
    if str(innermost.getClass().getSimpleName()) in _NO_TOPIC:
        return EngineError("X741", f"there is no topic {topic} on {servers}", "create it, or correct the connector's topic")
    message = str(innermost.getMessage() or innermost.getClass().getSimpleName())
    unreachable = f"no Kafka broker answers at {servers}: {message}"
    if kind == "TimeoutException" or _SERVERS in message:
        hint = (
            f"check that the brokers run and that {_SERVERS}, security.protocol and the network are right; reading "
            "goes on when they are back"
        )
        return EngineError("X740", unreachable, hint)
    refused = kind.endswith(_REFUSALS)
    doing = f"Kafka at {servers} refused access to topic {topic}" if refused else f"Kafka's client for {servers} failed"
    return EngineError("X746", f"{doing}: {message}", "check the connector's options of the Kafka client")
