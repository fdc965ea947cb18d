"""A Kafka topic as its brokers describe it, asked with the Java client that Spark reads it with: no Spark job.

The options of a connector are handed on as they are: to this client, and with `kafka.` in front to Spark's reader. Waiting
for an answer ends after 10 s, unless the connector says otherwise (`request.timeout.ms`, `default.api.timeout.ms`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    """A connection that answers questions on one topic; offsets are by partition."""

    topic: str
    partitions: tuple[int, ...]
    _consumer: Any
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

    def since(self, timestamp: int) -> dict[int, int]:
        """The first offset with a time from `timestamp` (milliseconds since 1970) on; none where there is no such."""
        wanted = ",".join(f'"{partition}":{timestamp}' for partition in self.partitions)
        # Java's own kind of number in Java's own map: py4j would send a small one as another kind.
        times = self._jvm.org.apache.spark.sql.kafka010.JsonUtils.partitionTimestamps(f'{{"{self.topic}":{{{wanted}}}}}')
        with _explained(self._servers, self.topic):
            found = self._consumer.offsetsForTimes(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(times))
            return {int(one.partition()): int(at.offset()) for one, at in found.items() if at is not None}

    def value(self, partition: int, offset: int) -> bytes | None:
        """The value of the first record from an offset on; None if there is none, or it does not come soon."""
        one = self._jvm.java.util.ArrayList()
        one.add(self._jvm.org.apache.kafka.common.TopicPartition(self.topic, partition))
        with _explained(self._servers, self.topic):
            self._consumer.assign(one)
            self._consumer.seek(one.get(0), offset)
            found = self._consumer.poll(self._jvm.java.time.Duration.ofSeconds(_PATIENCE_SECONDS)).iterator()
            return found.next().value() if found.hasNext() else None

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
    with _explained(servers, topic):
        consumer = _consumer(jvm, options)
    try:
        with _explained(servers, topic):
            there = tuple(sorted(int(one.partition()) for one in (consumer.partitionsFor(topic) or ())))
        if not there:
            raise EngineError("X741", f"there is no topic {topic} on {servers}", "make it, or correct the connector's topic")
        yield TopicClient(topic, _chosen(config, there), consumer, jvm, servers)
    finally:
        consumer.close()


def _consumer(jvm: Any, options: Mapping[str, str]) -> Any:
    chosen = {**_DEFAULTS, **options, **_OURS}
    settings = jvm.java.util.HashMap()
    for name, value in chosen.items():
        settings.put(name, value)
    return jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)


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
