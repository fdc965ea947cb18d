"""The tutorial's pipeline (seed: "Part 3. Working with Historical and Real Time Data") as it is printed: LINEITEM's history
from a Delta table up to offset 41, then the topic from offset 42, with messages that insert and delete. Only the URI, the
broker's address and the topic's name are those of this machine (and the offsets, where the topic has three partitions), and
a view is added. Every row arrives exactly once, whatever the broker does in between.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.base.boundaries import no_boundary
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.registry.protocol import History
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from tests.acceptance.shop import open_shop, stored_rows, write_shop
from tests.kafka.broker import Broker
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

SYNCED = 42
"""How many messages the periodic job has stored in the Delta table: offsets 0 to 41."""

PRINTED = Path(__file__).parents[1] / "manifests/good/lineitem-of-the-seed/program.sql"
"""What the tutorial prints. That the parser takes it, and what it warns of, tests/manifests shows."""

PLACES = {
    '"uri": "s3://batchtofeldera/lineitem"': '"uri": "%(uri)s"',
    '"topic": "lineitem"': '"topic": "%(topic)s"',
    '"start_from": {"offsets": [42]}': '"start_from": {"offsets": %(offsets)s}',
    '"bootstrap.servers": "localhost:9092"': '"bootstrap.servers": "%(servers)s"',
}
"""What is put elsewhere, as printed and as a place to fill."""

VIEW = """
CREATE MATERIALIZED VIEW revenue AS
SELECT L_RETURNFLAG, COUNT(*) AS lines, SUM(L_EXTENDEDPRICE * (1 - L_DISCOUNT)) AS revenue
FROM LINEITEM GROUP BY L_RETURNFLAG;
"""


def with_places(printed: str) -> str:
    """The printed text with the places to fill by `%`. An error if there is not exactly one of each."""
    text = printed.replace("%", "%%")
    for found, place in PLACES.items():
        if text.count(found) != 1:
            raise ValueError(f"{found} is in {PRINTED.name} {text.count(found)} times")
        text = text.replace(found, place)
    return text


PROGRAM = with_places(PRINTED.read_text("utf-8")) + VIEW
ORDERS_OF_ONE_LINE = 5

Line = dict[str, Any]


def line(number: int) -> Line:
    """A row of LINEITEM; every fifth is equal to the one before, as rows of a table without key may be."""
    number -= number % ORDERS_OF_ONE_LINE == ORDERS_OF_ONE_LINE - 1
    day = date(1996, 1, 1 + number % 28).isoformat()
    return {
        "L_ORDERKEY": number,
        "L_PARTKEY": number * 7 % 200,
        "L_SUPPKEY": number % 10,
        "L_LINENUMBER": 1 + number % 7,
        "L_QUANTITY": f"{number % 50}.00",
        "L_EXTENDEDPRICE": f"{1000 + number}.{number % 100:02}",
        "L_DISCOUNT": "0.05",
        "L_TAX": "0.02",
        "L_RETURNFLAG": "NRA"[number % 3],
        "L_LINESTATUS": "O",
        "L_SHIPDATE": day,
        "L_COMMITDATE": day,
        "L_RECEIPTDATE": day,
        "L_SHIPINSTRUCT": "DELIVER IN PERSON",
        "L_SHIPMODE": "MAIL",
        "L_COMMENT": f"line {number}",
    }


def stored(row: Line) -> tuple[Any, ...]:
    """A row as the table holds it."""
    decimals = ("L_QUANTITY", "L_EXTENDEDPRICE", "L_DISCOUNT", "L_TAX")
    days = ("L_SHIPDATE", "L_COMMITDATE", "L_RECEIPTDATE")
    return tuple(
        Decimal(value) if name in decimals else date.fromisoformat(value) if name in days else value
        for name, value in row.items()
    )


def inserts(numbers: Iterable[int]) -> list[Mapping[str, Any]]:
    return [{"insert": line(number)} for number in numbers]


def deletes(numbers: Iterable[int]) -> list[Mapping[str, Any]]:
    return [{"delete": line(number)} for number in numbers]


def netted(history: Iterable[int], messages: Iterable[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    """What the table holds after all that, in this order."""
    rows = Counter(stored(line(number)) for number in history)
    for message in messages:
        if "insert" in message:
            rows[stored(message["insert"])] += 1
        elif rows[stored(message["delete"])] > 0:
            rows[stored(message["delete"])] -= 1
    return +rows


def write_history(location: Path | str, numbers: Iterable[int]) -> None:
    import arro3.core
    from deltalake import write_deltalake

    rows = [line(number) for number in numbers]
    integers = ("L_ORDERKEY", "L_PARTKEY", "L_SUPPKEY", "L_LINENUMBER")
    columns = {
        name: arro3.core.Array(
            [row[name] for row in rows],
            type=arro3.core.DataType.int32() if name in integers else arro3.core.DataType.utf8(),
        )
        for name in rows[0]
    }
    write_deltalake(str(location), arro3.core.Table.from_pydict(columns))


def applied(root: Path, engine: Engine, topic: str, offsets: list[int], broker: Broker) -> Project:
    """The pipeline of the tutorial, applied, with its history in a Delta table."""
    root.mkdir()
    write_history(root / "batchtofeldera/lineitem", range(SYNCED))
    values = {
        "uri": (root / "batchtofeldera/lineitem").as_uri(),
        "topic": topic,
        "offsets": json.dumps(offsets),
        "servers": broker.bootstrap,
    }
    write_shop(root, PROGRAM % values)
    open_shop(root, engine).apply()
    return Project.open(root, engine=engine)


def rows_of(root: Path) -> Counter[tuple[Any, ...]]:
    return Counter(stored_rows(root, "lineitem"))


def events_of(project: Project) -> list[tuple[str, str]]:
    return [(row["event"], row["subject"]) for row in project.target.registry.history(History.EVENTS, "shop")]


def assert_history_came_first(project: Project) -> None:
    history, live = "LINEITEM.unnamed-0", "LINEITEM.unnamed-1"
    order = [event for event in events_of(project) if event[1] in (history, live)]
    names = [event[0] for event in order]
    assert order.index(("connector reached its end", history)) < order.index(("connector started", live)), names


def assert_views_agree(project: Project) -> None:
    query = (
        "SELECT L_RETURNFLAG, COUNT(*) AS lines, SUM(L_EXTENDEDPRICE * (1 - L_DISCOUNT)) AS revenue "
        "FROM LINEITEM GROUP BY L_RETURNFLAG ORDER BY 1"
    )
    pipeline = project.pipeline("shop")
    assert list(pipeline.query("SELECT * FROM revenue ORDER BY 1")) == list(pipeline.query(query))


def test_history_then_live_as_printed(tmp_path: Path, spark_engine: Engine, kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic()
    kafka_broker.produce(topic, inserts(range(SYNCED)))
    live = [*inserts(range(42, 60)), *deletes([3, 50, 41, 7]), *inserts([50]), *deletes([999])]
    kafka_broker.produce(topic, live)
    project = applied(tmp_path / "shop", spark_engine, topic, [SYNCED], kafka_broker)
    result = project.pipeline("shop").run_once()
    assert rows_of(tmp_path / "shop") == netted(range(SYNCED), live)
    assert_history_came_first(project)
    assert_views_agree(project)
    assert [sum(step.unmatched.values()) for step in result.steps] == [0, 1]
    # Nothing is left, and nothing comes twice.
    assert project.pipeline("shop").run_once().steps == ()
    later = [*deletes([44]), *inserts([60, 60])]
    kafka_broker.produce(topic, later)
    project.pipeline("shop").run_once()
    assert rows_of(tmp_path / "shop") == netted(range(SYNCED), [*live, *later])
    assert project.pipeline("shop").plan().is_empty


@pytest.mark.slow
def test_history_then_three_partitions(tmp_path: Path, spark_engine: Engine, kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic(partitions=3)
    live: dict[int, list[Mapping[str, Any]]] = {}
    for partition in range(3):
        kafka_broker.produce(topic, inserts(range(partition, SYNCED, 3)), partition)
        own = range(100 + partition, 130, 3)
        live[partition] = [*inserts(own), *deletes([100 + partition, partition])]
        kafka_broker.produce(topic, live[partition], partition)
    project = applied(tmp_path / "shop", spark_engine, topic, [SYNCED // 3] * 3, kafka_broker)
    project.pipeline("shop").run_once()
    assert rows_of(tmp_path / "shop") == netted(range(SYNCED), [one for part in live.values() for one in part])
    assert_history_came_first(project)
    assert_views_agree(project)


@pytest.mark.slow
def test_the_broker_dies_on_the_way_and_comes_back(tmp_path: Path, spark_engine: Engine, kafka_broker: Broker) -> None:
    topic = kafka_broker.create_topic()
    kafka_broker.produce(topic, inserts(range(SYNCED)))
    early = [*inserts(range(42, 50)), *deletes([2])]
    kafka_broker.produce(topic, early)
    root = tmp_path / "shop"
    project = applied(root, spark_engine, topic, [SYNCED], kafka_broker)
    stopping = threading.Event()
    told: list[str] = []
    running = Session(spark_engine, tell=told.append, boundary=no_boundary)
    target = project.target

    def go() -> None:
        run_pipeline(target, "shop", running, Pace(once=False, interval_seconds=0.2, stop=stopping.is_set))

    thread = threading.Thread(target=go)
    thread.start()
    try:
        wait_until(lambda: rows_of(root) == netted(range(SYNCED), early))
        kafka_broker.kill()
        try:
            wait_until(lambda: ("connector failing", "LINEITEM.unnamed-1") in events_of(project))
        finally:
            kafka_broker.start()
        late = [*inserts(range(50, 58)), *deletes([43, 1])]
        kafka_broker.produce(topic, late)
        wait_until(lambda: rows_of(root) == netted(range(SYNCED), [*early, *late]))
        wait_until(lambda: ("connector recovered", "LINEITEM.unnamed-1") in events_of(project))
    finally:
        stopping.set()
        thread.join(120)
    assert not thread.is_alive()
    assert_history_came_first(project)
    assert_views_agree(project)
