"""Lines of orders for the pipeline `lineitem`: a history as a Delta table, and messages for a Kafka topic.

    python demo/lineitem_data.py history --lines 5000 --out .reconcile/lineitem
    python demo/lineitem_data.py messages --broker localhost:9092 --insert 4958:5100 --delete 4990:5000

Both speak of the same lines, those of TPC-H at scale 0.001 in their order, by their numbers; so whoever takes a line twice,
or leaves one out, has other rows in the end. No JVM, no network but to the broker.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder, write_deltalake
from kafka import KafkaProducer
from tpch_data import generate

SCALE = "0.001"
TOPIC = "lineitem"


def main() -> int:
    """Read the arguments, write the history or the messages, say what was done."""
    parser = argparse.ArgumentParser(description="Write lines of orders as a Delta table, or as messages of a topic.")
    commands = parser.add_subparsers(dest="command", required=True)
    history = commands.add_parser("history", help="write the first lines as a Delta table")
    history.add_argument("--lines", type=int, required=True)
    history.add_argument("--out", type=Path, required=True, help="the folder")
    messages = commands.add_parser("messages", help=f"write messages to the topic {TOPIC}")
    messages.add_argument("--broker", required=True, help="host:port")
    messages.add_argument("--insert", type=numbers, default=range(0), metavar="FROM:TO", help="lines that come")
    messages.add_argument("--delete", type=numbers, default=range(0), metavar="FROM:TO", help="lines that go, after these")
    arguments = parser.parse_args()
    if arguments.command == "history":
        write_deltalake(str(arguments.out), lines(range(arguments.lines)))
        print(f"wrote {arguments.lines} lines to {arguments.out}")
        return 0
    told = [{"insert": row} for row in rows(arguments.insert)] + [{"delete": row} for row in rows(arguments.delete)]
    first, last = produce(arguments.broker, told)
    print(f"{len(arguments.insert)} inserted, {len(arguments.delete)} deleted: offsets {first} to {last} of topic {TOPIC}")
    return 0


def numbers(text: str) -> range:
    """FROM:TO, without TO."""
    first, _, end = text.partition(":")
    return range(int(first), int(end))


def lines(wanted: range) -> Any:
    """Lines of TPC-H by their numbers, as a table of Arrow."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "tables"
        generate(SCALE, made, ["lineitem"])
        builder = QueryBuilder().register("lineitem", DeltaTable(str(made / "lineitem")))
        part = f"LIMIT {len(wanted)} OFFSET {wanted.start}"
        return builder.execute(f"SELECT * FROM lineitem ORDER BY l_orderkey, l_linenumber {part}").read_all()


def rows(wanted: range) -> list[dict[str, Any]]:
    """The same as objects of JSON."""
    if not wanted:
        return []
    table = lines(wanted)
    columns = {name.upper(): table.column(name).to_pylist() for name in table.schema.names}
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def produce(broker: str, told: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Write messages, in their order; returns the first and the last offset."""
    producer = KafkaProducer(bootstrap_servers=broker)
    try:
        sent = [producer.send(TOPIC, json.dumps(message).encode()) for message in told]
        producer.flush(60)
        return sent[0].get(60).offset, sent[-1].get(60).offset
    finally:
        producer.close()


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(main())
