"""The values of a small range of a topic, brought to this process by the Java client that Spark reads it with: no job of
Spark. So every option of a connector, also those of security, means here what it means there.

What can't be had here for sure gives None, and Spark reads the range, or says why it can't: a topic that is another one,
records that are not there any more, a broker that does not answer soon.

A record would cost several calls into Java, so lists come whole: of what a poll gave, Java makes a list of values, and
Spark's pickler one text of that.
"""

import pickle
import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine.spark.ingest.kafka_client import TopicClient, topic_client
from reconciler.engine.spark.ingest.kafka_offsets import Offsets, continued, loaded, require_same_topic

_PATIENCE_SECONDS: Final = 3.0
_POLL_MILLISECONDS: Final = 500
_RECORD: Final = "org.apache.kafka.clients.consumer.ConsumerRecord"


def values_of(jvm: Any, range_: JsonObject, config: JsonObject, most_bytes: int) -> list[bytes | None] | None:
    """The values of a range's records, partition by partition in the order of their offsets; None: Spark has to read it.
    `config` are the transport's settings. Of more bytes than these it gives None, too."""
    first, until = loaded(range_["from"]), loaded(range_["until"])
    topic = str(range_["topic"])
    try:
        with topic_client(jvm, {**config, "topic": topic, "partitions": sorted(first)}) as client:
            require_same_topic(topic, range_.get("topic_id"), client.topic_id)
            beginning, end = client.beginning(), client.end()
            continued(topic, first, beginning, end, is_whole=False)
            continued(topic, until, dict.fromkeys(end, 0), end, is_whole=False)
            return _polled(jvm, client, first, until, most_bytes)
    except (EngineError, Py4JJavaError):
        return None


def _polled(jvm: Any, client: TopicClient, first: Offsets, until: Offsets, most_bytes: int) -> list[bytes | None] | None:
    lists = _Lists(jvm)
    waiting = {partition: client.partition(partition) for partition in sorted(first)}
    found: dict[tuple[int, int], bytes | None] = {}
    deadline, size, patience = time.monotonic() + _PATIENCE_SECONDS, 0, jvm.java.time.Duration.ofMillis(_POLL_MILLISECONDS)
    with ExitStack() as clients:
        # Where a record is gone, it would go on somewhere else.
        consumer = client.consumer(auto_offset_reset="none")
        clients.callback(consumer.close)
        consumer.assign(lists.of(waiting.values()))
        for partition, place in waiting.items():
            consumer.seek(place, first[partition])
        while waiting:
            if time.monotonic() > deadline:
                return None
            records = consumer.poll(patience)
            for partition, place in list(waiting.items()):
                came = records.records(place)
                if not came.isEmpty():
                    size += sum(lists.taken(came, "serializedValueSize"))
                    if size > most_bytes:
                        return None
                    pairs = zip(lists.taken(came, "offset"), lists.taken(came, "value"), strict=True)
                    found |= {(partition, at): value for at, value in pairs if at < until[partition]}
                if consumer.position(place) >= until[partition]:
                    consumer.pause(lists.of([waiting.pop(partition)]))
    return [None if value is None else bytes(value) for _, value in sorted(found.items())]


class _Lists:
    """Lists of Java and what is taken out of those of records. What is looked up in Java is looked up once."""

    def __init__(self, jvm: Any) -> None:
        self._list = jvm.java.util.ArrayList
        self._pickler = jvm.net.razorvine.pickle.Pickler
        self._jvm = jvm
        self._operators: dict[str, Any] = {}

    def of(self, places: Iterable[Any]) -> Any:
        """Some objects of Java."""
        found = self._list()
        for place in places:
            found.add(place)
        return found

    def taken(self, records: Any, method: str) -> list[Any]:
        """What a method of these records gives, of each."""
        found = self._list(records)
        found.replaceAll(self._operator(method))
        # Of numbers and bytes alone, whatever is in these.
        taken: list[Any] = pickle.loads(bytes(self._pickler().dumps(found)))
        return taken

    def _operator(self, method: str) -> Any:
        """A method of records as Java's collections call one."""
        if method not in self._operators:
            java, invoke = self._jvm.java.lang, self._jvm.java.lang.invoke
            of = java.Class.forName
            kinds = {"offset": java.Long.TYPE, "serializedValueSize": java.Integer.TYPE, "value": of("java.lang.Object")}
            kind = invoke.MethodType.methodType(kinds[method])
            handle = invoke.MethodHandles.publicLookup().findVirtual(of(_RECORD), method, kind)
            made = invoke.MethodHandleProxies.asInterfaceInstance(of("java.util.function.UnaryOperator"), handle)
            self._operators[method] = made
        return self._operators[method]
