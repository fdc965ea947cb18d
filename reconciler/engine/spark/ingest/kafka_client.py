"""A Kafka topic as its brokers describe it, asked with the Java client that Spark reads it with: no Spark job.

The options of a connector are handed on as they are: to these clients, and with `kafka.` in front to Spark's reader. Waiting
for an answer ends after 10 s, unless the connector says otherwise (`request.timeout.ms`, `default.api.timeout.ms`).

A consumer sees a topic as the connector reads it (`isolation.level`). What has to be told of all that stands there, decided
or not, an administrator's client is asked.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError

_PATIENCE_SECONDS = 2
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_DEFAULTS = {"request.timeout.ms": "10000", "default.api.timeout.ms": "10000"}
_OURS = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
}
_SERVERS = "bootstrap.servers"
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
    _consumer: Any
    _admin: Any
    _jvm: Any
    _servers: str

    def beginning(self) -> dict[int, int]:
        """The first offset that can be read."""
        with _explained(self._servers, self.topic):
            return self._offsets(self._consumer.beginningOffsets(self._all()))

    def end(self) -> dict[int, int]:
        """The offset of the next record to come; with `isolation.level: read_committed`, the first not yet decided."""
        with _explained(self._servers, self.topic):
            return self._offsets(self._consumer.endOffsets(self._all()))

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
        one.add(self._jvm.org.apache.kafka.common.TopicPartition(self.topic, partition))
        with _explained(self._servers, self.topic):
            self._consumer.assign(one)
            self._consumer.seek(one.get(0), offset)
            found = self._consumer.poll(self._jvm.java.time.Duration.ofSeconds(_PATIENCE_SECONDS)).iterator()
            return found.next().value() if found.hasNext() else None

    def _listed(self, spec: Any) -> dict[int, int]:
        wanted = self._jvm.java.util.HashMap()
        for one in self._all():
            wanted.put(one, spec)
        with _explained(self._servers, self.topic):
            found = self._admin.listOffsets(wanted).all().get()
            return {int(one.partition()): int(at.offset()) for one, at in found.items()}

    def _all(self) -> Any:
        every = self._jvm.java.util.ArrayList()
        for partition in self.partitions:
            every.add(self._jvm.org.apache.kafka.common.TopicPartition(self.topic, partition))
        return every

    def _offsets(self, found: Any) -> dict[int, int]:
        offsets = {int(one.partition()): int(offset) for one, offset in found.items()}
        return {partition: offsets[partition] for partition in self.partitions}


@contextmanager
def topic_client(jvm: Any, config: JsonObject) -> Iterator[TopicClient]:
    """Connects to a connector's topic; `partitions` are those that the connector reads.

    Raises EngineError: X740 (no broker answers), X741 (no such topic), X743 (no such partition), X746 (refused).
    """
    topic, options = str(config["topic"]), client_options(config)
    servers = options[_SERVERS]
    with ExitStack() as clients:
        with _explained(servers, topic):
            consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(_settings(jvm, {**_DEFAULTS, **options, **_OURS}))
            clients.callback(consumer.close)
            there = tuple(sorted(int(one.partition()) for one in (consumer.partitionsFor(topic) or ())))
        if not there:
            raise EngineError("X741", f"there is no topic {topic} on {servers}", "make it, or correct the connector's topic")
        partitions = _chosen(config, there)
        with _explained(servers, topic):
            admin = jvm.org.apache.kafka.clients.admin.Admin.create(_settings(jvm, {**_DEFAULTS, **options}))
            clients.callback(admin.close)
            topic_id = _topic_id(jvm, admin, topic)
        yield TopicClient(topic, partitions, topic_id, consumer, admin, jvm, servers)


def _topic_id(jvm: Any, admin: Any, topic: str) -> str | None:
    names = jvm.java.util.ArrayList()
    names.add(topic)
    found = admin.describeTopics(names).allTopicNames().get().get(topic).topicId()
    # Brokers that know no ids answer with an empty one.
    return None if found.equals(jvm.org.apache.kafka.common.Uuid.ZERO_UUID) else str(found.toString())


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
    message = str(innermost.getMessage() or innermost.getClass().getSimpleName())
    unreachable = f"no Kafka broker answers at {servers}: {message}"
    if kind == "TimeoutException" or _SERVERS in message:
        hint = f"are they up, and do {_SERVERS}, security.protocol and the network fit? Reading goes on when they are back"
        return EngineError("X740", unreachable, hint)
    refused = kind.endswith(_REFUSALS)
    doing = f"Kafka at {servers} refused access to topic {topic}" if refused else f"Kafka's client for {servers} failed"
    return EngineError("X746", f"{doing}: {message}", "see the connector's options of the Kafka client")
