"""A running pipeline with everything that a crash can meet: two tables, views over one and both, inputs and outputs of every
kind; and how what became of two runs of it is compared.

`orders` has a key. Its history is a Delta table that ends (a snapshot, and with Spark also what changed after it), then come
changes. `clicks` has none: old ones from CSV files, new ones as changes. Inputs hold records that do not fit, and come in
batches, so that a run takes some steps; the second half may come later. `orders.spoiled` brings nothing, until `spoil` gives
it a file that the engine refuses; `mend` puts a good one in its place.

Changes come from a Kafka topic each, and the view `totals` goes to a third one. Without a broker they come from files, and
`totals` goes to files as well: so the recording engine can run it, too.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reconciler.engine.dead_letters import DEAD_LETTER_FOLDER
from reconciler.engine.protocol import Engine
from reconciler.registry.model import Head
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording_sinks import Message
from tests.engine.delta_writer import DeltaWriter
from tests.kafka.broker import Broker, Received

PIPELINE = "river"
TABLES = ("orders", "clicks")
VIEWS = ("pages", "totals", "visited")

PROGRAM = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, amount DECIMAL(10,2));
CREATE TABLE clicks (customer STRING, page STRING NOT NULL);
CREATE MATERIALIZED VIEW totals AS
SELECT customer, COUNT(*) AS orders, SUM(amount) AS amount FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW visited AS
SELECT c.page, o.id, o.amount FROM clicks c JOIN orders o ON o.customer = c.customer;
CREATE MATERIALIZED VIEW pages AS SELECT page, COUNT(*) AS clicks FROM clicks GROUP BY page;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: river}}
spec:
  bootstrap_policy: allow
  connectors:
    - name: history
      table: orders
      labels: [orders.historical]
      transport: {{name: delta_table_input, config: {{uri: source/orders, {history}}}}}
    - name: live
      table: orders
      start_after: orders.historical
      max_batch_size: {orders_batch}
      transport: {orders}
      format: {changes}
    - name: spoiled
      table: orders
      max_rejected: 0
      transport: {{name: file_input, config: {{path: source/spoiled}}}}
      format: {changes}
    - name: archive
      table: clicks
      max_batch_size: 1
      transport: {{name: file_input, config: {{path: source/archive}}}}
      format: {{name: csv, config: {{header: true}}}}
    - name: live
      table: clicks
      max_batch_size: {clicks_batch}
      transport: {clicks}
      format: {changes}
    - name: lake
      view: totals
      transport: {{name: delta_table_output, config: {{uri: lake/totals}}}}
    - name: told
      view: totals
      transport: {told}
      format: {changes}
    - name: files
      view: visited
      transport: {{name: file_output, config: {{path: out/visited}}}}
      format: {changes}
"""
CHANGES = "{name: json, config: {update_format: insert_delete}}"

Order = tuple[int | None, str, str]
ORDERS: tuple[Order, ...] = ((1, "ann", "10.00"), (2, "bob", "2.50"), (3, "ann", "0.25"), (None, "nobody", "1.00"))
"""The history's snapshot; the last does not fit."""


def _order(number: Any, customer: str, amount: str) -> dict[str, Any]:
    return {"insert": {"id": number, "customer": customer, "amount": amount}}


LIVE_ORDERS: tuple[tuple[Any, ...], ...] = (
    (_order(4, "cid", "7.00"), _order(2, "bob", "3.50"), {"delete": {"id": 3}}, "no JSON", _order(5, "ann", "1.10")),
    ({"delete": {"id": 4}}, _order(6, "dan", "99.99"), _order("seven", "dan", "1"), _order(5, "bob", "1.20")),
)
ARCHIVED_CLICKS = ("customer,page\nann,/\nann,/\nbob,/a\n", "customer,page\ndan,/a\nbob,\nann,/b\n")


def _click(kind: str, customer: str | None, page: str) -> dict[str, Any]:
    return {kind: {"customer": customer, "page": page}}


LIVE_CLICKS: tuple[tuple[Any, ...], ...] = (
    (_click("insert", "ann", "/new"), _click("insert", "ann", "/new"), _click("insert", None, "/new"), {"insert": 1}),
    (
        _click("delete", "ann", "/new"),
        _click("delete", None, "/new"),
        _click("delete", "eve", "/"),
        _click("insert", "bob", "/new"),
    ),
)
SPOILED = (_order(8, "ann", "5.00"), _order(9, "ann", "much"))
MENDED = (_order(8, "ann", "5.00"), _order(9, "ann", "6.00"))


@dataclass(frozen=True, slots=True)
class Topics:
    """A broker, the two topics that are read (no run changes them), and the one that is written."""

    broker: Broker
    orders: str
    clicks: str
    totals: str


@dataclass(frozen=True, slots=True)
class OnSpark:
    """The pipeline on Spark at a point from which copies start (don't change `root` itself), and what was in the topic that
    it writes at that point."""

    root: Path
    engine: Engine
    topics: Topics
    earlier: tuple[Received, ...] = ()

    def messages(self) -> list[Received]:
        """All that is in the topic that is written, by whatever copy."""
        return self.topics.broker.messages(self.topics.totals)


def make_topics(broker: Broker) -> Topics:
    """Topics with nothing in them."""
    return Topics(broker, *(broker.create_topic() for _ in range(3)))


def write_river(root: Path, topics: Topics | None = None) -> None:
    """The pipeline's files, the history, and the first half of all other input."""
    folder = root / "pipelines" / PIPELINE
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(YAML.format(changes=CHANGES, **_transports(topics)))
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    _write_history(root / "source/orders", follows=topics is not None)
    for name in ("spoiled", "archive", "orders-live", "clicks-live"):
        (root / "source" / name).mkdir()
    _arrive(root, topics, 0)


def second_half(root: Path, topics: Topics | None = None) -> None:
    """The rest of the input arrives."""
    _arrive(root, topics, 1)


def spoil(root: Path) -> None:
    """Give the river a file that the engine refuses."""
    _write_spoiled(root, SPOILED, 1_800_000_000)


def mend(root: Path) -> None:
    """Put a good one in its place."""
    _write_spoiled(root, MENDED, 1_800_000_060)


def open_river(root: Path, engine: Engine) -> Pipeline:
    """The pipeline, with all state read anew from the disk."""
    return Project.open(root, engine=engine).pipeline(PIPELINE)


def head_of(root: Path) -> Head:
    """The head as stored."""
    stored = Project.open(root).target.registry.head(PIPELINE)
    assert stored is not None
    return stored.value


def rows_at(location: Path) -> list[tuple[Any, ...]] | None:
    """What another reader of Delta finds there, as a sorted multiset; None: no table."""
    writer = DeltaWriter()
    latest = writer.latest(str(location))
    return None if latest is None else sorted(writer.read(str(location), latest).rows, key=repr)


def contents(root: Path) -> dict[str, Any]:
    """Everything that can be read of tables, views, dead letters and outputs, but for what went to Kafka or to the recording
    engine's sinks. Dead letters without the number of their step, since a step that was withdrawn used one up."""
    stored = {name: rows_at(root / "warehouse" / PIPELINE / name) for name in (*TABLES, *VIEWS)}
    letters = rows_at(root / "warehouse" / PIPELINE / DEAD_LETTER_FOLDER) or []
    told = sorted(tuple(str(part).replace(str(root), "") for part in letter[1:]) for letter in letters)
    return {**stored, "dead letters": told, "lake": rows_at(root / "lake/totals")}


def positions(root: Path) -> dict[str, Any]:
    """How far the inputs were read."""
    return dict(head_of(root).positions)


def assert_settled(root: Path) -> None:
    """Nothing is under way: no open step, and every output has sent what its view holds."""
    head = head_of(root)
    assert head.intent is None
    assert head.published is not None
    for key, state in head.outputs.items():
        assert state.sending is None, key
        assert state.sent == head.published.relations[key.partition(".")[0]].version, key


def exact_state(root: Path) -> dict[str, Any]:
    """What two runs have in common when no step of either was withdrawn: the number of the step, every version of every
    relation and output. A commit that was made twice shows here."""
    head = head_of(root)
    assert head.published is not None
    outputs = {key: (state.sent, state.serial) for key, state in head.outputs.items()}
    return {"step": head.published.step, "relations": dict(head.published.relations), "outputs": outputs}


def files_written(root: Path, place: str = "out/visited") -> dict[str, list[str]]:
    """The lines of every folder that a reader of a file output sees, by the folder's name."""
    found: dict[str, list[str]] = {}
    for folder in sorted((root / place).glob("[0-9]*")):
        assert (folder / "_SUCCESS").exists(), f"{folder.name} is not complete"
        parts = sorted(folder.glob("part-*"))
        found[folder.name] = sorted(line for part in parts for line in part.read_text().splitlines())
    return found


def netted_lines(lines: Iterable[str]) -> Counter[str]:
    """What is left of changes, as a multiset of rows."""
    rows: Counter[str] = Counter()
    for line in lines:
        change = json.loads(line)
        (kind, row), *more = change.items()
        assert not more
        rows[json.dumps(row, sort_keys=True)] += 1 if kind == "insert" else -1
    assert all(count >= 0 for count in rows.values()), rows
    return +rows


def netted_rows(told: Mapping[str, list[str]]) -> Counter[tuple[Any, ...]]:
    """What is left of the changes in files, as a multiset of the values of rows."""
    netted = netted_lines(line for _, lines in sorted(told.items()) for line in lines)
    return Counter({tuple(json.loads(row).values()): count for row, count in netted.items()})


def netted_messages(messages: Iterable[Received]) -> Counter[str]:
    """What is left for a consumer who counts each change of an emission once, by its serial. (The rows of `totals` differ
    from each other, so of one emission no two messages are equal.)"""
    seen: dict[tuple[bytes, bytes], None] = {}
    for message in messages:
        assert message.value is not None
        seen[(dict(message.headers)["serial"], message.value)] = None
    return netted_lines(value.decode() for _, value in seen)


def netted_sink(given: Iterable[Message]) -> Counter[tuple[Any, ...]]:
    """The same of what the recording engine was given."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for _, message in sorted({message.serial: message for message in given}.items()):
        rows.update(message.inserted)
        rows.subtract(message.deleted)
    assert all(count >= 0 for count in rows.values()), rows
    return +rows


def _transports(topics: Topics | None) -> Mapping[str, Any]:
    if topics is None:
        return {
            "history": "mode: snapshot",
            "orders": "{name: file_input, config: {path: source/orders-live}}",
            "clicks": "{name: file_input, config: {path: source/clicks-live}}",
            "told": "{name: file_output, config: {path: out/told}}",
            "orders_batch": 1,
            "clicks_batch": 1,
        }
    servers = f"bootstrap.servers: '{topics.broker.bootstrap}'"
    return {
        "history": "mode: snapshot_and_follow, version: 0, end_version: 1",
        "orders": f"{{name: kafka_input, config: {{topic: {topics.orders}, {servers}}}}}",
        "clicks": f"{{name: kafka_input, config: {{topic: {topics.clicks}, {servers}}}}}",
        "told": f"{{name: kafka_output, config: {{topic: {topics.totals}, key: [customer], {servers}}}}}",
        "orders_batch": len(LIVE_ORDERS[0]),
        "clicks_batch": len(LIVE_CLICKS[0]),
    }


def _write_history(location: Path, *, follows: bool) -> None:
    import arro3.core
    from deltalake import DeltaTable, write_deltalake

    def rows(orders: Iterable[Order]) -> Any:
        texts, numbers = arro3.core.DataType.utf8(), arro3.core.DataType.int64()
        ids, customers, amounts = zip(*orders, strict=True)
        kinds = {"id": (ids, numbers), "customer": (customers, texts), "amount": (amounts, texts)}
        return arro3.core.Table.from_pydict(
            {name: arro3.core.Array(list(values), type=kind) for name, (values, kind) in kinds.items()}
        )

    write_deltalake(str(location), rows(ORDERS))
    if follows:
        DeltaTable(str(location)).update(updates={"amount": "'2.75'"}, predicate="id = 2")


def _arrive(root: Path, topics: Topics | None, half: int) -> None:
    (root / f"source/archive/{half}.csv").write_text(ARCHIVED_CLICKS[half])
    if topics is not None:
        topics.broker.produce(topics.orders, LIVE_ORDERS[half])
        topics.broker.produce(topics.clicks, LIVE_CLICKS[half])
    else:
        _write_lines(root / f"source/orders-live/{half}.json", LIVE_ORDERS[half])
        _write_lines(root / f"source/clicks-live/{half}.json", LIVE_CLICKS[half])


def _write_spoiled(root: Path, changes: Iterable[Any], changed_at: int) -> None:
    """At a time of its own, since positions tell it."""
    path = root / "source/spoiled/one.json"
    _write_lines(path, changes)
    os.utime(path, (changed_at, changed_at))


def _write_lines(path: Path, changes: Iterable[Any]) -> None:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in changes))
