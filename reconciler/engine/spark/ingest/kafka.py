"""`kafka_input`: the records of a topic, each read once, in bounded batches between offsets that a step pins.

- `discover` asks the brokers with Kafka's own client and starts no Spark job. The first look fixes where to begin
  (`start_from`), even when nothing is there to read yet: an empty range, whose ingestion writes nothing.
- Since when something waits is told by the first new record of each partition: when its producer made it, or the broker took
  it (`message.timestamp.type`). Other records may bear earlier times.
- Position: {"offsets": {partition: next offset}, "topic_id"}. Range: {"topic", "from", "until", "topic_id"}, by partition,
  `until` exclusive. The id tells a topic from one of its name that was made later; an older version noted none, and brokers
  may give none. A position {"seek": …} holds what a user asked for: what `start_from` takes, or {partition: offset}.
- Where it begins and what it has read is judged by all that is written; it reads up to what is decided (`isolation.level`).
- `read` reads just the range, with Spark's reader, one task a partition (`minPartitions` is the user's). What is not there
  any more is an error before Spark starts, and one of Spark's while it reads; nothing is skipped.
- Order: by offset within a partition, partitions one after the other. Kafka keeps no order between partitions, so the
  changes of one key have to stand in one partition.
- A message without value (a tombstone) says nothing new after the change event of a table with a key, and is skipped there;
  elsewhere it is no record, and rejected. So is a value that is not UTF-8.

- A large range of plain rows is read in parts (`in_parts`). In a topic that lacks offsets (compacted, or written in
  transactions) the second one is always looked for.

See `kafka_offsets` for what is read next, `kafka_client` for the brokers, `json_records` for what a value means.
"""

import json
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of_milliseconds
from reconciler.base.names import quoted
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.ingest.in_parts import is_large
from reconciler.engine.spark.ingest.incoming import ORIGIN, RECORD, Incoming
from reconciler.engine.spark.ingest.json_records import can_be_proven, is_written, json_records, with_proven
from reconciler.engine.spark.ingest.kafka_client import TopicClient, client_options, topic_client
from reconciler.engine.spark.ingest.kafka_offsets import (
    Offsets,
    continued,
    loaded,
    named_offsets,
    reached,
    require_same_topic,
    stored,
)
from reconciler.engine.spark.locations import Sessions
from reconciler.engine.spark.writes import ORDER

_SEEK = "seek"


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """What stands in the topic beyond a position, `max_batch_size` records at most."""
    config = settings["transport"]["config"]
    with topic_client(sessions()._jvm, config) as client:
        beginning, end, written = client.beginning(), client.end(), client.written()
        begins = position is None or _SEEK in position
        if position is None:
            start = _beginning(client, config.get("start_from", "earliest"), beginning, written)
        elif begins:
            start = _beginning(client, position[_SEEK], beginning, written)
        else:
            known = loaded(position["offsets"])
            require_same_topic(client.topic, position.get("topic_id"), client.topic_id, known, written)
            start = continued(client.topic, known, beginning, written)
        # It may have begun behind what is decided by now.
        end = {partition: max(end[partition], start[partition]) for partition in start}
        until = reached(start, end, settings.get("max_batch_size"))
        moved = {partition for partition in start if until[partition] > start[partition]}
        since = _since({partition: start[partition] for partition in moved}, client)
    if not moved and not begins:
        return None
    identity: JsonObject = {} if client.topic_id is None else {"topic_id": client.topic_id}
    return Available(
        {
            "topic": client.topic,
            "from": stored({partition: start[partition] for partition in moved}),
            "until": stored({partition: until[partition] for partition in moved}),
            **identity,
        },
        {"offsets": stored(until), **identity},
        end_of_input=False,
        backlog={str(partition): end[partition] - start[partition] for partition in sorted(start)},
        since=since,
        waiting_since=since,
    )


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming | None:
    """The rows of the range's records."""
    first, until = loaded(ingestion.range["from"]), loaded(ingestion.range["until"])
    if not first:
        return None
    config, topic = settings["transport"]["config"], str(ingestion.range["topic"])
    with topic_client(session._jvm, {**config, "topic": topic, "partitions": sorted(first)}) as client:
        require_same_topic(topic, ingestion.range.get("topic_id"), client.topic_id)
        beginning, end = client.beginning(), client.end()
        _require(topic, first, until, beginning, end)
        in_parts = records_in_parts(ingestion) is not None
        example = client.value(*min(first.items())) if in_parts else None
    reader = session.read.format("kafka").option("failOnDataLoss", "true")
    for name, value in client_options(config).items():
        reader = reader.option(f"kafka.{name}", value)
    records = (
        reader.option("assign", json.dumps({topic: sorted(first)}))
        .option("startingOffsets", json.dumps({topic: stored(first)}))
        .option("endingOffsets", json.dumps({topic: stored(until)}))
        .load()
    )
    texts, format_ = _texts(records, topic, ingestion, settings), settings["format"].get("config") or {}
    if in_parts:
        return with_proven(session, texts, format_, ingestion.target, example)
    return json_records(texts, format_, ingestion.target)


def records_in_parts(ingestion: Ingestion) -> int | None:
    """How many offsets the range has, where it is large and its records can be read in parts; else None."""
    settings, until = ingestion.settings, loaded(ingestion.range["until"])
    can_be_alone = can_be_proven(settings["format"].get("config") or {}, ingestion.target)
    if ingestion.dead_letters is None or not can_be_alone:
        return None
    records = sum(until[partition] - offset for partition, offset in loaded(ingestion.range["from"]).items())
    return records if is_large(records) else None


def _texts(records: DataFrame, topic: str, ingestion: Ingestion, settings: JsonObject) -> DataFrame:
    """What `json_records` takes. No value where one is needed becomes a text that is no record."""
    config = settings["format"].get("config") or {}
    text = "CAST(value AS STRING)"
    wanted = is_written(text)
    if config.get("update_format") != "debezium" or not ingestion.target.primary_key:
        text, wanted = f"coalesce({text}, 'null')", f"value IS NULL OR {wanted}"
    position = f"""concat('{{"topic":"{topic}","partition":', partition, ',"offset":', offset, '}}')"""
    order = "struct(partition, offset)"
    named = ((text, RECORD), (position, ORIGIN), (order, ORDER))
    return records.where(wanted).selectExpr(*(f"{value} AS {quoted(name)}" for value, name in named))


def _beginning(client: TopicClient, start_from: Any, beginning: Offsets, end: Offsets) -> Offsets:
    match start_from:
        case "earliest":
            return beginning
        case "latest":
            return end
        case {"timestamp": int(timestamp)}:
            return {**end, **client.since(timestamp)}
        case {"offsets": offsets}:
            return named_offsets(client.topic, offsets, beginning, end)
        case dict() if all(str(partition).isdigit() for partition in start_from):
            return named_offsets(client.topic, start_from, beginning, end)
        case _:
            raise EngineError(
                "X745",
                f"{json.dumps(start_from)} is not a position in topic {client.topic}",
                'use earliest, latest, {"offsets": […]}, {"timestamp": milliseconds} or {"partition": offset}',
            )


def _since(first: Offsets, client: TopicClient) -> str | None:
    """When the oldest of the first records of these partitions was written, if that can be told soon."""
    if not first:
        return None
    with suppress(EngineError):
        written = client.since_when(first)
        return None if written is None else moment_of_milliseconds(written)
    # What keeps it from being told is told when it is read.
    return None


def _require(topic: str, first: Offsets, until: Offsets, beginning: Offsets, end: Offsets) -> None:
    """Raise EngineError unless all of the range is there: Spark would wait for what is not."""
    continued(topic, first, beginning, end, is_whole=False)
    continued(topic, until, dict.fromkeys(end, 0), end, is_whole=False)
