"""Bad input and bad circumstances, as their user sees them: through `status` and events of a live run. Each time the state
says what is wrong, the other connectors go on, nothing is lost, and the connector recovers by itself when the cause is gone,
or by the command that the message names, which is carried out here as it is printed.

One run serves all tests of the file. Connectors that are to fail are declared paused; each test resumes its own.
"""

import json
import os
import re
import resource
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import arro3.core
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.cli.main import run
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.pipeline import Pipeline
from reconciler.service.status_model import ConnectorStatus
from tests.acceptance.shop import open_shop, stored_rows, write_shop
from tests.kafka.broker import Broker
from tests.shops import lineitem
from tests.waiting import wait_until

PATIENCE = 240.0
PROGRAM = """\
CREATE TABLE good (id BIGINT);
CREATE TABLE from_broker (id BIGINT);
CREATE TABLE later (id BIGINT);
CREATE TABLE expired (id BIGINT);
CREATE TABLE strict (id BIGINT NOT NULL, amount BIGINT NOT NULL);
CREATE TABLE typed (id BIGINT, amount BIGINT);
CREATE TABLE cut (id BIGINT, amount BIGINT);
CREATE TABLE letters (id BIGINT, amount BIGINT);
CREATE TABLE large (id BIGINT, noise VARCHAR);
CREATE TABLE followed (id BIGINT, amount BIGINT);
CREATE MATERIALIZED VIEW many AS SELECT COUNT(*) AS n FROM good;
"""
QUICK = {"request.timeout.ms": "2000", "default.api.timeout.ms": "3000"}


class Lake:
    """The pipeline under its live run."""

    def __init__(self, root: Path, engine: Engine, broker: Broker) -> None:
        self.root, self.engine, self.broker = root, engine, broker
        self.topics = {"from_broker": broker.create_topic(), "expired": broker.create_topic(), "out": broker.create_topic()}
        self.topics["later"] = f"later-{self.topics['out']}"
        self.thread = threading.Thread(target=self.run)
        self.stopping = threading.Event()
        self.goods = 0
        self.max_rejected = 2

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait for something that the run does, as long as there is a run."""

        def comes() -> bool:
            assert self.thread.is_alive(), "the run ended"
            return holds()

        wait_until(comes)

    def write(self) -> None:
        """The files of the pipeline."""

        def kafka(table: str) -> dict[str, Any]:
            config = {"topic": self.topics[table], "bootstrap.servers": self.broker.bootstrap, **QUICK}
            form = {"name": "json", "config": {"update_format": "raw"}}
            return {"transport": {"name": "kafka_input", "config": config}, "format": form}

        def files(table: str, form: str = "json") -> dict[str, Any]:
            transport = {"name": "file_input", "config": {"path": f"source/{table}"}}
            return {"transport": transport, "format": {"name": form}}

        def delta(table: str, mode: str) -> dict[str, Any]:
            return {"transport": {"name": "delta_table_input", "config": {"uri": f"source/{table}", "mode": mode}}}

        inputs: dict[str, dict[str, Any]] = {
            "from_broker": kafka("from_broker"),
            "later": kafka("later"),
            "expired": kafka("expired"),
            "strict": files("strict", "csv"),
            "typed": delta("typed", "snapshot"),
            "cut": files("cut", "parquet"),
            "letters": {**files("letters"), "max_rejected": self.max_rejected},
            "large": files("large"),
            "followed": delta("followed", "snapshot_and_follow"),
        }
        servers = {
            "bootstrap.servers": self.broker.bootstrap,
            **QUICK,
            "max.block.ms": "3000",
            "delivery.timeout.ms": "3000",
        }
        to_topic = {"name": "kafka_output", "config": {"topic": self.topics["out"], **servers}}
        connectors = [
            {"name": "input", "table": "good", **files("good")},
            *({"name": "input", "table": table, "paused": True, **settings} for table, settings in inputs.items()),
            {"name": "output", "view": "many", "transport": to_topic, "format": {"name": "json"}},
        ]
        write_shop(self.root, PROGRAM, more=f"  connectors: {json.dumps(connectors)}\n")

    def run(self) -> None:
        """The live run, until it is to stop."""
        target, running = self.pipeline().target, Session(self.engine)
        run_pipeline(target, "shop", running, Pace(once=False, interval_seconds=0.2, stop=self.stopping.is_set))

    def pipeline(self) -> Pipeline:
        """With everything read anew."""
        return open_shop(self.root, self.engine)

    def command(self, *words: str) -> None:
        """A command of reconcile."""
        assert run([*words, "--repo", str(self.root)], self.engine) == 0

    def resume(self, table: str) -> None:
        self.command("connector", "resume", "shop", f"{table}.input")

    def pause(self, table: str) -> None:
        self.command("connector", "pause", "shop", f"{table}.input")
        self.wait(lambda: self.status(table).activity == "paused")

    def status(self, relation: str, name: str = "input") -> ConnectorStatus:
        return next(one for one in self.pipeline().status().connectors if one.name == f"{relation}.{name}")

    def ids(self, table: str) -> list[int]:
        """What is published of a table, by the first column."""
        published = next(one.version for one in self.pipeline().status().relations if one.name == table)
        return sorted(row[0] for row in stored_rows(self.root, table, published) or [])

    def put(self, table: str, name: str, text: str | bytes) -> None:
        """Put a file in place at once."""
        folder = self.root / "source" / table
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder.with_suffix(".new")
        beside.write_bytes(text.encode() if isinstance(text, str) else text)
        beside.rename(folder / name)

    def write_delta(self, table: str, rows: Mapping[str, Any], **options: Any) -> str:
        """Write a Delta table that is a source."""
        uri = str(self.root / "source" / table)
        write_deltalake(uri, arro3.core.Table.from_pydict(dict(rows)), **options)
        return uri

    def one_more_good(self) -> None:
        """The connector that has nothing to do with it brings a row, and the view over it follows."""
        self.goods += 1
        self.put("good", f"{self.goods:03d}.json", json.dumps({"id": self.goods}) + "\n")
        self.wait(lambda: stored_rows(self.root, "many") == [(self.goods,)])

    def failure(self, relation: str, code: str, *words: str, name: str = "input") -> Mapping[str, Any]:
        """Wait until a connector fails with this code; what status says of it. The others go on meanwhile."""
        self.wait(lambda: self.status(relation, name).activity == "failing")
        found = self.status(relation, name)
        assert found.last_error is not None
        assert (found.last_error["code"], found.retry_at is None) == (code, False), found
        assert f"{relation}.{name}" in found.last_error["message"], found
        for word in words:
            assert word in f"{found.last_error['message']} {found.last_error['hint']}", found
        assert found.reason == f"{code}: {found.last_error['message']}"
        self.one_more_good()
        assert self.pipeline().status().state.value == "Running"
        assert self.status("good").activity == "running"
        assert ("connector failing", f"{relation}.{name}", code) in self.happened()
        return found.last_error

    def recovered(self, relation: str, ids: list[int], name: str = "input") -> None:
        """Wait until the connector has brought all this, each once, and is told to be well."""
        if name == "input":
            self.wait(lambda: self.ids(relation) == ids)
        self.wait(lambda: self.status(relation, name).activity in ("running", "ended"))
        # What a run tells of itself is written a second later at the latest.
        self.wait(lambda: self.status(relation, name).retry_at is None)

    def happened(self) -> list[tuple[str, str, str]]:
        return [(one.event, one.subject, str(one.details.get("code", ""))) for one in self.pipeline().events()]

    def carry_out(self, hint: str) -> None:
        """The command that a message names, as it is printed."""
        found = re.search(r"reconcile (connector seek \S+ \S+ --to (?:'[^']*'|[\w{}]+))", hint)
        assert found is not None, hint
        self.command(*shlex.split(found.group(1)))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine, kafka_broker: Broker) -> Iterator[Lake]:
    """The pipeline, with its live run."""
    lake = Lake(tmp_path_factory.mktemp("lake"), spark_engine, kafka_broker)
    lake.write()
    lake.put("good", "000.json", "")
    lake.pipeline().apply()
    lake.thread.start()
    yield lake
    lake.stopping.set()
    lake.thread.join(120)
    assert not lake.thread.is_alive()


def numbers(*values: int) -> Any:
    return arro3.core.Array(list(values), type=arro3.core.DataType.int64())


def texts(*values: str) -> Any:
    return arro3.core.Array(list(values), type=arro3.core.DataType.utf8())


# Most of it waits; each half is shown in every run: the input's in tests/engine/test_kafka_refusals.py, the output's in
# tests/engine/test_emit_kafka.py and tests/run/test_emitting.py.
@pytest.mark.slow
@pytest.mark.spark
def test_an_unreachable_broker_holds_up_its_input_and_its_output_alone(lake: Lake) -> None:
    """The input fails, the output lags; when the broker is back, both go on by themselves. The output sends what it had
    pinned, then all that changed meanwhile as one net difference."""
    lake.broker.produce(lake.topics["from_broker"], [{"id": 1}])
    lake.resume("from_broker")
    lake.wait(lambda: lake.ids("from_broker") == [1])
    lake.one_more_good()
    lake.wait(lambda: lake.status("many", "output").position == {"sent_version": version(lake), "pending": False})
    before = len(lake.broker.messages(lake.topics["out"]))
    counted = lake.goods

    lake.broker.kill()
    try:
        lake.failure("from_broker", "X740", lake.broker.bootstrap)
        lake.failure("many", "X750", lake.broker.bootstrap, name="output")
        lake.one_more_good()
        assert lake.status("many", "output").position["pending"] is True
    finally:
        lake.broker.start()

    lake.broker.produce(lake.topics["from_broker"], [{"id": 2}, {"id": 3}])
    lake.recovered("from_broker", [1, 2, 3])
    lake.recovered("many", [], name="output")
    lake.wait(lambda: lake.status("many", "output").position == {"sent_version": version(lake), "pending": False})
    assert lake.goods >= counted + 3
    sent = lake.broker.messages(lake.topics["out"])[before:]
    rows: Counter[int] = Counter([counted])
    for message in sent:
        change = json.loads(message.value or b"")
        rows.update({one["n"]: 1 for one in change.values()} if "insert" in change else {})
        rows.subtract({one["n"]: 1 for one in change.values()} if "delete" in change else {})
    assert +rows == Counter([lake.goods])
    # Two serials for three or more steps.
    assert len({dict(message.headers)["serial"] for message in sent}) == 2
    assert {"connector recovered"} <= {event for event, subject, _ in lake.happened() if subject == "from_broker.input"}
    assert {"connector recovered"} <= {event for event, subject, _ in lake.happened() if subject == "many.output"}


@pytest.mark.slow
@pytest.mark.spark
def test_an_unknown_topic_is_read_as_soon_as_it_is_there(lake: Lake) -> None:
    lake.resume("later")
    lake.failure("later", "X741", lake.topics["later"])
    lake.broker.create_topic(lake.topics["later"])
    lake.broker.produce(lake.topics["later"], [{"id": 1}, {"id": 2}])
    lake.recovered("later", [1, 2])


def csv_without_a_column(lake: Lake) -> Callable[[], None]:
    lake.put("strict", "1.csv", "id\n1\n2\n")
    return lambda: lake.put("strict", "1.csv", "id,amount\n1,10\n2,20\n")


def delta_of_other_types(lake: Lake) -> Callable[[], None]:
    from reconciler.engine.spark.session import start

    def write(amount: str) -> None:
        rows = start().sql(f"SELECT id + 1 AS id, {amount} AS amount FROM range(2)").write.format("delta")
        rows.mode("overwrite").option("overwriteSchema", "true").save(str(lake.root / "source/typed"))

    write("array(id)")
    return lambda: write("id * 10")


def parquet_cut_in_half(lake: Lake) -> Callable[[], None]:
    whole = DeltaTable(lake.write_delta("whole", {"id": numbers(1, 2), "amount": numbers(10, 20)})).file_uris()[0]
    data = Path(whole).read_bytes()
    lake.put("cut", "1.parquet", data[: len(data) // 2])
    return lambda: lake.put("cut", "1.parquet", data)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("table", "spoil", "code", "word"),
    [
        ("strict", csv_without_a_column, "X713", "amount"),
        pytest.param("typed", delta_of_other_types, "X712", "array<bigint>", marks=pytest.mark.slow),
        pytest.param("cut", parquet_cut_in_half, "X714", "1.parquet", marks=pytest.mark.slow),
    ],
    ids=["csv without a NOT NULL column", "delta of other types", "parquet cut in half"],
)
def test_what_can_t_be_read_at_all_is_read_when_it_is_mended(
    table: str, spoil: Callable[[Lake], Callable[[], None]], code: str, word: str, lake: Lake
) -> None:
    mend = spoil(lake)
    lake.resume(table)
    lake.failure(table, code, word)
    assert lake.ids(table) == []
    mend()
    lake.recovered(table, [1, 2])


@pytest.mark.spark
def test_bad_records_go_to_the_dead_letters_and_too_many_stop_the_connector(lake: Lake) -> None:
    """Within the limit the good ones go on; over it nothing of the step is kept, until the limit is raised, as the message
    says: by an apply beside the run."""
    lake.put("letters", "1.json", '{"id": 1, "amount": 10}\nnonsense\n{"id": 2, "amount": "many"}\n')
    lake.resume("letters")
    lake.recovered("letters", [1])
    lake.wait(lambda: lake.status("letters").rejected == 2)
    assert all("source/letters/1.json" in row[3] for row in dead_letters(lake))
    assert {row[4][:4] for row in dead_letters(lake)} == {"X714", "X712"}

    lake.put("letters", "2.json", '{"id": 3, "amount": 30}\nnonsense\nmore\nand more\n')
    lake.failure("letters", "X724", "3 record(s)", "at most 2", "max_rejected")
    assert lake.ids("letters") == [1]
    assert len(dead_letters(lake)) == 2
    lake.max_rejected = 3
    lake.write()
    lake.command("apply", "shop")

    lake.recovered("letters", [1, 3])
    lake.wait(lambda: lake.status("letters").rejected == 5)
    assert len(dead_letters(lake)) == 5
    assert lake.status("letters").rows == 2


@pytest.mark.slow
@pytest.mark.spark
def test_a_followed_table_whose_files_were_vacuumed_goes_on_from_where_its_user_says(lake: Lake) -> None:
    source = lake.write_delta("followed", {"id": numbers(1, 2, 3), "amount": numbers(10, 20, 30)})
    lake.resume("followed")
    lake.wait(lambda: lake.ids("followed") == [1, 2, 3])
    lake.pause("followed")
    DeltaTable(source).delete("id = 2")
    DeltaTable(source).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    lake.resume("followed")

    error = lake.failure("followed", "X747", "source/followed")
    lake.carry_out(error["hint"])
    lake.recovered("followed", [1, 2, 3])
    lake.write_delta("followed", {"id": numbers(4), "amount": numbers(40)}, mode="append")

    # What changed while it was gone is not known; what comes from now on is.
    lake.recovered("followed", [1, 2, 3, 4])
    assert ("connector put at a position", "followed.input", "") in lake.happened()


# In every run tests/engine/test_kafka_refusals.py shows that they are told on real Kafka, with this hint, and
# tests/run/test_run_failures.py what becomes of a connector that fails.
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("to", ["as printed", "earliest"])
def test_records_that_expired_are_never_skipped_in_silence(to: str, lake: Lake) -> None:
    topic, known = lake.topics["expired"], lake.ids("expired")
    first = lake.broker.end_offsets(topic)[0]
    lake.resume("expired")
    lake.broker.produce(topic, [{"id": first}])
    lake.wait(lambda: lake.ids("expired") == [*known, first])
    lake.pause("expired")
    lake.broker.produce(topic, [{"id": first + number} for number in (1, 2, 3)])
    lake.broker.delete_records(topic, {0: first + 3})
    lake.resume("expired")

    error = lake.failure("expired", "X742", f"2 of partition 0 ({first + 1} up to {first + 3})", "--to earliest")
    assert lake.ids("expired") == [*known, first]
    if to == "earliest":
        lake.command("connector", "seek", "shop", "expired.input", "--to", "earliest")
    else:
        lake.carry_out(error["hint"])
    lake.recovered("expired", [*known, first, first + 3])


@pytest.mark.spark
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process are Linux's")
def test_a_full_disk_withdraws_the_step_and_it_is_done_when_there_is_room(lake: Lake) -> None:
    """Spark's process may write no file larger than this for a while, which its writers meet as they meet a full disk."""
    from reconciler.engine.spark.session import start

    process = int(start()._jvm.java.lang.ProcessHandle.current().pid())
    limits = resource.prlimit(process, resource.RLIMIT_FSIZE)
    rows = [json.dumps({"id": number, "noise": os.urandom(40).hex()}) for number in range(10_000)]
    lake.put("large", "1.json", "\n".join(rows) + "\n")
    resource.prlimit(process, resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        lake.resume("large")
        lake.failure("large", "X709", "File too large", "free space")
        assert lake.ids("large") == []
        assert ("step withdrawn", "large.input", "X709") in lake.happened()
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, limits)
    lake.recovered("large", list(range(10_000)))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process are Linux's")
def test_a_disk_without_any_room_holds_the_run_up_and_nothing_is_lost(tmp_path: Path) -> None:
    """The run itself can write nothing, its registry least of all. It waits, and does all of it when there is room again."""
    root = lineitem.make(tmp_path)
    with lineitem.live(root) as process:
        wait_until(lambda: lineitem.connector(root, "lineitem.history").complete)
        limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, limits[1]))
        lineitem.put(root, "log", "1.json", {"line": "a"}, {"line": "b"})
        assert process.stderr is not None
        told = ""
        while "trying again" not in told:
            told = process.stderr.readline()
            assert told, "the run ended"
        assert "File too large" in told
        assert lineitem.opened(root).select("SELECT * FROM log").rows == ()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
        wait_until(lambda: lineitem.connector(root, "log.lines").rows == 2)
        lineitem.put(root, "log", "2.json", {"line": "c"})
        wait_until(lambda: lineitem.connector(root, "log.lines").rows == 3)
    assert sorted(row[0] for row in stored_rows(root, "log") or []) == ["a", "b", "c"]


def version(lake: Lake) -> int | None:
    """The view's published Delta version."""
    return next(one.version for one in lake.pipeline().status().relations if one.name == "many")


def dead_letters(lake: Lake) -> list[tuple[Any, ...]]:
    return [row for row in stored_rows(lake.root, "dead-letters") or [] if "letters.input" in row]
