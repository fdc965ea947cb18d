"""A real Kafka broker for tests: one node, on loopback, without a container.

The fixture `kafka_broker` of tests/conftest.py gives it to any test:

    def test_something(kafka_broker: Broker) -> None:
        topic = kafka_broker.create_topic(partitions=3)        # a name of its own; or create_topic("orders", 3)
        kafka_broker.produce(topic, [{"id": 1}, "text", None], partition=0)
        assert kafka_broker.end_offsets(topic) == {0: 3, 1: 0, 2: 0}
        settings = {"bootstrap.servers": kafka_broker.bootstrap, "topic": topic}

One broker serves the whole run of tests (5 s to start; its jars are fetched by the first run on a machine), so give each
test topics of its own. `kill`, `stop` and `start` take it away and bring it back with the same address and data (3 to 5 s);
a test that does so starts it again in a `finally`. The broker ends with the process of the tests, however that ends.

`python -m tests.kafka.broker TOPIC…` is one to try things on (demo/live does): it makes these topics, prints its address,
and runs until it is told to end.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import KafkaError

from reconciler.engine.spark.java import find_java
from tests.kafka.jars import broker_class_path

Message = Mapping[str, Any] | Sequence[Any] | str | bytes | None
"""What `produce` writes: objects and lists as JSON, text and bytes as they are, None as a message without value
(it gets an empty key unless one is given: Kafka wants one of the two)."""

_LONGEST_START = 90
_PATIENCE = 10_000
_JAVA_OPTIONS = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=WARN")
# The broker's own shell waits for the end of its standard input, which the kernel closes when the tests' process is gone.
_GUARD = """exec 3<&0
"$@" </dev/null >>"$LOG" 2>&1 3<&- &
child=$!
echo $child
(cat <&3 >/dev/null; kill -9 $child 2>/dev/null) >/dev/null &
wait $child
"""


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it stands in its topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Broker:
    """See the module. `bootstrap` is what clients are given as bootstrap.servers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Below the ports that the kernel gives to others' connections, so that nobody takes it while the broker is away.
        self._port, controller = _free_port(), _free_port()
        self.bootstrap = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[str] | None = None
        self._pid = 0
        self._java = [str(find_java().home / "bin" / "java"), *_JAVA_OPTIONS, "-cp", broker_class_path()]
        self._clients: list[Any] = []
        self._settings = folder / "server.properties"
        self._settings.write_text(_SERVER.format(port=self._port, controller=controller, data=folder / "data"), "utf-8")
        identity = ["-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(self._settings)]
        subprocess.run([*self._java, "kafka.tools.StorageTool", "format", *identity], check=True, capture_output=True)

    def start(self) -> None:
        """Start it, or start it again, and wait until it serves."""
        assert self._process is None, "it runs"
        command = ["sh", "-c", _GUARD, "sh", *self._java, "kafka.Kafka", str(self._settings)]
        environment = os.environ | {"LOG": str(self._log)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._pid = int(self._process.stdout.readline())
        deadline = time.monotonic() + _LONGEST_START
        while not self._serves():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the broker did not start: {self._log.read_text('utf-8')[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it as an operator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def create_topic(self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Make a topic and return its name: one of its own when none is given."""
        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, topic_configs=dict(config or {}))
        self._admin().create_topics([new], timeout_ms=30_000)
        self._await_partitions(topic, partitions)
        return topic

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        self._admin().delete_topics([topic], timeout_ms=30_000)
        deadline = time.monotonic() + 30
        while topic in self._admin().list_topics():
            assert time.monotonic() < deadline, "the topic stays"
            time.sleep(0.1)

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have `total` partitions."""
        self._admin().create_partitions({topic: NewPartitions(total)}, timeout_ms=30_000)
        self._await_partitions(topic, total)

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        partition: int | None = 0,
        keys: Iterable[str | None] | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Write messages, in their order, and wait until they are there. `partition` None: Kafka chooses, by the keys.
        `timestamp` is in milliseconds since 1970 (now when it is not given)."""
        with _Closing(KafkaProducer(bootstrap_servers=self.bootstrap, acks="all", linger_ms=5)) as producer:
            values = [_bytes(message) for message in messages]
            of_keys = [None] * len(values) if keys is None else [None if key is None else key.encode() for key in keys]
            sent = []
            for value, key in zip(values, of_keys, strict=True):
                some_key = b"" if key is None and value is None else key
                sent.append(producer.send(topic, value, some_key, partition=partition, timestamp_ms=timestamp))
            producer.flush(60)
            for one in sent:
                one.get(60)

    def produce_transaction(self, topic: str, messages: Iterable[Message], partition: int = 0, commit: bool = True) -> None:
        """Write messages in one transaction and commit it, or abort it."""
        with self.open_transaction(topic, messages, partition, commit):
            pass

    @contextmanager
    def open_transaction(
        self, topic: str, messages: Iterable[Message], partition: int = 0, commit: bool = True
    ) -> Iterator[None]:
        """Write messages in one transaction, which is committed, or aborted, at the end of the block."""
        name = f"transaction-{uuid.uuid4().hex}"
        with _Closing(KafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=name)) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for message in messages:
                producer.send(topic, _bytes(message), partition=partition)
            producer.flush(60)
            yield
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Of each partition the first offset that can be read."""
        return self._offsets(lambda consumer: consumer.beginning_offsets(self._partitions(consumer, topic)))

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Of each partition the offset that its next message gets."""
        return self._offsets(lambda consumer: consumer.end_offsets(self._partitions(consumer, topic)))

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete what stands before an offset in each of these partitions, as retention does."""
        offsets = {TopicPartition(topic, partition): offset for partition, offset in before.items()}
        self._admin().delete_records(offsets, timeout_ms=30_000)

    def messages(self, topic: str) -> list[Received]:
        """Everything that stands in a topic, by partition and offset."""
        with self._consumer() as consumer:
            partitions = self._partitions(consumer, topic)
            consumer.assign(partitions)
            consumer.seek_to_beginning()
            ends = consumer.end_offsets(partitions)
            found: list[Received] = []
            deadline = time.monotonic() + 60
            while any(consumer.position(one) < end for one, end in ends.items()):
                assert time.monotonic() < deadline, "the broker gives no more"
                for records in consumer.poll(500).values():
                    found += [Received(r.partition, r.offset, r.key, r.value, tuple(r.headers or ())) for r in records]
        return sorted(found, key=lambda one: (one.partition, one.offset))

    @property
    def _log(self) -> Path:
        return self._folder / "broker.log"

    def _serves(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), 1):
                pass
            with _Closing(KafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=5000)) as admin:
                admin.list_topics()
        except (OSError, KafkaError):
            return False
        return True

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        for client in self._clients:
            client.close()
        self._clients.clear()
        if process is None:
            return
        if process.poll() is None:
            os.kill(self._pid, how)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.kill(self._pid, signal.SIGKILL)
            process.wait(60)
        process.communicate()

    def _admin(self) -> Any:
        if not self._clients:
            self._clients.append(KafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=30_000))
        return self._clients[0]

    def _consumer(self) -> Any:
        # Its own patience is five minutes, and a question that meets a broker at a bad moment stays without an answer.
        return _Closing(KafkaConsumer(bootstrap_servers=self.bootstrap, group_id=None, request_timeout_ms=_PATIENCE))

    def _offsets(self, ask: Callable[[Any], Mapping[TopicPartition, int]]) -> dict[int, int]:
        for remaining in reversed(range(4)):
            try:
                with self._consumer() as consumer:
                    return {one.partition: offset for one, offset in sorted(ask(consumer).items())}
            except KafkaError:
                if not remaining:
                    raise
        raise AssertionError

    def _partitions(self, consumer: Any, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]

    def _await_partitions(self, topic: str, count: int) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                if len(self.end_offsets(topic)) == count:
                    return
            except (KafkaError, TypeError):
                pass
            assert time.monotonic() < deadline, f"{topic} does not get {count} partitions"
            time.sleep(0.1)


def running() -> Iterator[Broker]:
    """A broker that runs, and is gone afterwards with all it wrote."""
    folder = Path(tempfile.mkdtemp(prefix="reconcile-kafka-"))
    broker = Broker(folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


class _Closing:
    """Like contextlib.closing, for clients that may take a timeout."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *error: object) -> None:
        self._client.close()


def _bytes(message: Message) -> bytes | None:
    match message:
        case None | bytes():
            return message
        case str():
            return message.encode()
        case _:
            return json.dumps(message).encode()


def _free_port() -> int:
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


_SERVER = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={data}
auto.create.topics.enable=false
log.retention.ms=-1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=500
num.network.threads=2
num.io.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=4194304
"""


def _serve(topics: Sequence[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with contextmanager(running)() as broker:
        for topic in topics:
            broker.create_topic(topic)
        print(broker.bootstrap, flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    _serve(sys.argv[1:])
