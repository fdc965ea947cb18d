"""Stop, modify, approve, restart: the seed's rules of "How different types of changes are handled", each on a pipeline that
has read half of its input, with Kafka's offsets and files.

No table has a key, so whatever is read twice is there twice. One pipeline is made and drained once; each test changes a copy
of it, approves the plan, and lets it run on while new records are there.
"""

import json
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.base.declarations import RelationKind
from reconciler.base.errors import ApprovalRequired
from reconciler.cli.main import run
from reconciler.delta.opening import open_table
from reconciler.diff.model import Action, approval_diff
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.plan.model import Plan
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.pipeline import Pipeline
from reconciler.state.events import LoggedEvent
from tests.kafka.broker import Broker
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

Connectors = dict[str, dict[str, Any]]
Row = dict[str, Any]

PROGRAM = """\
CREATE TABLE orders (id BIGINT, customer VARCHAR, amount BIGINT);
CREATE TABLE notes (id BIGINT, note VARCHAR);
CREATE TABLE prices (id BIGINT, price BIGINT);
CREATE TABLE gone (id BIGINT);
CREATE MATERIALIZED VIEW totals AS SELECT customer, SUM(amount) AS amount FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW doubled AS SELECT customer, amount * 2 AS amount FROM totals;
CREATE MATERIALIZED VIEW counted AS SELECT COUNT(*) AS n FROM notes;
CREATE MATERIALIZED VIEW ids AS SELECT id FROM gone;
"""
ORDERS = [{"id": 1, "customer": "a", "amount": 10}, {"id": 2, "customer": "b", "amount": 20}]
OF_GONE = """\
CREATE TABLE gone (id BIGINT);
"""
IDS = """\
CREATE MATERIALIZED VIEW ids AS SELECT id FROM gone;
"""


def from_kafka(topic: str, broker: Broker, **config: Any) -> dict[str, Any]:
    transport = {"name": "kafka_input", "config": {"topic": topic, "bootstrap.servers": broker.bootstrap, **config}}
    return {"transport": transport, "format": {"name": "json", "config": {"update_format": "raw"}}}


def from_files(folder: str) -> dict[str, Any]:
    return {"transport": {"name": "file_input", "config": {"path": f"source/{folder}"}}, "format": {"name": "json"}}


def to_delta(folder: str, **more: Any) -> dict[str, Any]:
    return {"transport": {"name": "delta_table_output", "config": {"uri": f"out/{folder}"}}, **more}


class Shop:
    """A copy of the pipeline: its files, what they are changed to, and what came of it."""

    def __init__(self, root: Path, engine: Engine, broker: Broker, topics: Mapping[str, str]) -> None:
        self.root, self.engine, self.broker, self.topics = root, engine, broker, dict(topics)
        self.connectors: Connectors = {
            "orders.live": from_kafka(topics["orders"], broker),
            "orders.files": from_files("orders"),
            "notes.live": from_kafka(topics["notes"], broker),
            "notes.files": from_files("notes"),
            "prices.live": from_kafka(topics["prices"], broker),
            "prices.first": from_files("first"),
            "prices.second": from_files("second"),
            "gone.files": from_files("gone"),
            "totals.to_lake": to_delta("totals"),
            "totals.to_topic": {
                "transport": {
                    "name": "kafka_output",
                    "config": {"topic": topics["out"], "bootstrap.servers": broker.bootstrap},
                },
                "format": {"name": "json"},
                "on_bootstrap": "full",
            },
            "doubled.to_lake": to_delta("doubled"),
            "counted.to_lake": to_delta("counted"),
            "ids.to_lake": to_delta("ids"),
        }
        self.program = PROGRAM
        self.moved: list[dict[str, str]] = []

    def write(self, policy: str = "await_approval") -> None:
        """Write the files of the pipeline."""
        folder = self.root / "pipelines" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        tables = [line.split()[2] for line in self.program.splitlines() if line.startswith("CREATE TABLE")]
        connectors = []
        for qualified, settings in self.connectors.items():
            relation, _, name = qualified.partition(".")
            connectors.append({"name": name, "table" if relation in tables else "view": relation, **settings})
        spec = {"bootstrap_policy": policy, "evolution": "clear", "moved": self.moved, "connectors": connectors}
        head = {"apiVersion": "reconciler/v1", "kind": "Pipeline", "metadata": {"name": "shop"}}
        (folder / "pipeline.yaml").write_text(json.dumps({**head, "spec": spec}))
        (folder / "program.sql").write_text(self.program)
        (self.root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")

    def pipeline(self) -> Pipeline:
        """With everything read anew."""
        return Project.open(self.root, engine=self.engine).pipeline("shop")

    def approve_and_apply(self) -> Plan:
        """The seed's way: the change waits until somebody approves the plan."""
        self.write()
        pipeline = self.pipeline()
        plan = pipeline.plan()
        with pytest.raises(ApprovalRequired):
            pipeline.apply()
        assert pipeline.status().state.value == "AwaitingApproval"
        assert run(["approve", "shop", plan.digest, "--repo", str(self.root)]) == 0
        assert not self.pipeline().apply().did_nothing
        return plan

    def put(self, folder: str, *rows: Row, name: str = "") -> None:
        """Put a file in place."""
        to = self.root / "source" / folder
        to.mkdir(parents=True, exist_ok=True)
        name = name or f"{len(list(to.iterdir())) + 1}.json"
        to.with_suffix(".new").write_text("".join(json.dumps(row) + "\n" for row in rows))
        to.with_suffix(".new").rename(to / name)

    def held(self, topic: str, *folders: str) -> list[str]:
        """All that stands in a topic and in folders, as rows."""
        messages = self.broker.messages(self.topics[topic]) if topic else []
        found = [json.loads(one.value or b"") for one in messages]
        for folder in folders:
            for file in sorted((self.root / "source" / folder).iterdir()):
                found += map(json.loads, file.read_text().splitlines())
        return as_rows(found)

    def rows(self, relation: str) -> list[str]:
        """What is published."""
        stored = self.pipeline().target.registry.head("shop")
        assert stored is not None
        assert stored.value.published is not None
        placement = stored.value.published.relations[relation]
        return delta_rows(self.root / "warehouse" / placement.location, placement.version)

    def sink(self, folder: str) -> list[str]:
        """What stands in a sink."""
        return delta_rows(self.root / "out" / folder)

    def positions(self) -> dict[str, Any]:
        stored = self.pipeline().target.registry.head("shop")
        assert stored is not None
        return dict(stored.value.positions)

    def brought(self) -> Counter[str]:
        """Let it run until nothing is new; the rows by connector."""
        found: Counter[str] = Counter()
        for step in self.pipeline().run_once().steps:
            found.update(step.rows)
        return +found

    def emissions(self, connector: str, after: int) -> list[tuple[int, int]]:
        """Rows that came and went, of each emission of an output since so many events."""
        rows = [one for one in self.events()[after:] if one.event == "emission" and one.subject == connector]
        return [(one.details["inserted"], one.details["deleted"]) for one in rows]

    def events(self) -> tuple[LoggedEvent, ...]:
        return self.pipeline().events()


def delta_rows(location: Path, version: int | None = None) -> list[str]:
    """What another reader of Delta finds."""
    from deltalake import QueryBuilder

    table = open_table(str(location), version)
    assert table is not None
    found = QueryBuilder().register("t", table).execute("select * from t").read_all()
    columns = {name: found[name].to_pylist() for name in found.schema.names}
    return as_rows([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])


def as_rows(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def outcomes(plan: Plan) -> dict[str, str]:
    return {one.connector: one.outcome.value for one in plan.connectors}


@pytest.fixture(scope="module")
def drained(
    tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine, kafka_broker: Broker
) -> tuple[Path, dict[str, str]]:
    """The pipeline, applied, with all that was there read and written out. Copy it; don't change it."""
    topics = {name: kafka_broker.create_topic() for name in ("orders", "notes", "prices", "out")}
    shop = Shop(tmp_path_factory.mktemp("drained"), spark_engine, kafka_broker, topics)
    kafka_broker.produce(topics["orders"], ORDERS)
    kafka_broker.produce(topics["notes"], [{"id": 1, "note": "x"}, {"id": 2, "note": "y"}])
    kafka_broker.produce(topics["prices"], [{"id": 1, "price": 5}, {"id": 2, "price": 6}, {"id": 3, "price": 7}])
    shop.put("orders", {"id": 3, "customer": "b", "amount": 3}, {"id": 4, "customer": "c", "amount": 40})
    shop.put("notes", {"id": 3, "note": "z"})
    shop.put("first", {"id": 10, "price": 1})
    shop.put("second", {"id": 20, "price": 2})
    shop.put("gone", {"id": 7})
    shop.write()
    shop.pipeline().apply()
    assert sum(shop.brought().values()) == 13
    assert shop.rows("orders") == shop.held("orders", "orders")
    assert shop.sink("totals") == shop.rows("totals")
    return shop.root, topics


@pytest.fixture
def shop(drained: tuple[Path, dict[str, str]], tmp_path: Path, spark_engine: Engine, kafka_broker: Broker) -> Shop:
    shutil.copytree(drained[0], tmp_path / "shop")
    return Shop(tmp_path / "shop", spark_engine, kafka_broker, drained[1])


def test_views_added_modified_and_removed(shop: Shop) -> None:
    """A view added, with an output and without: computed from what is there, in full. A view modified, and the one below it:
    only the difference reaches a Delta sink, everything a sink that asks for it. A view removed, with its connector."""
    ten = "SUM(CASE WHEN customer = 'b' THEN amount * 10 ELSE amount END)"
    shop.program = PROGRAM.replace("SUM(amount)", ten).replace(IDS, "") + (
        "CREATE MATERIALIZED VIEW large AS SELECT id, amount FROM orders WHERE amount >= 20;\n"
        "CREATE MATERIALIZED VIEW largest AS SELECT MAX(amount) AS amount FROM orders;\n"
    )
    del shop.connectors["ids.to_lake"]
    shop.connectors["large.to_lake"] = to_delta("large")
    sink_of_ids, seen = shop.sink("ids"), len(shop.events())
    messages = len(shop.broker.messages(shop.topics["out"]))
    before = shop.positions()

    plan = shop.approve_and_apply()

    assert approval_diff(plan.diff) == {
        "added_input_connectors": [],
        "added_output_connectors": ["large.to_lake"],
        "modified_input_connectors": [],
        "modified_output_connectors": [],
        "program_diff": {
            "added_tables": [],
            "added_views": ["large", "largest"],
            "modified_tables": [],
            "modified_views": ["doubled", "totals"],
            "removed_tables": [],
            "removed_views": ["ids"],
        },
        "program_diff_error": None,
        "removed_input_connectors": [],
        "removed_output_connectors": ["ids.to_lake"],
    }
    said = outcomes(plan)
    assert said["large.to_lake"] == "sends full contents"
    assert said["totals.to_lake"] == said["doubled.to_lake"] == "sends the difference"
    assert said["totals.to_topic"] == "sends full contents"
    assert said["ids.to_lake"] == "detaches"
    assert {said[name] for name in shop.connectors if name.split(".")[0] in ("orders", "notes", "prices", "gone")} == {
        "resumes"
    }
    # Computed from what is there: no input was read again, and positions stayed.
    assert shop.positions() == before
    totals = shop.rows("totals")
    assert totals == as_rows(
        [{"customer": "a", "amount": 10}, {"customer": "b", "amount": 230}, {"customer": "c", "amount": 40}]
    )
    assert shop.rows("largest") == as_rows([{"amount": 40}])
    assert not (shop.root / "warehouse/shop/ids").exists()

    shop.put("orders", {"id": 5, "customer": "c", "amount": 25})
    shop.broker.produce(shop.topics["orders"], [{"id": 6, "customer": "d", "amount": 1}])
    shop.brought()

    assert shop.rows("orders") == shop.held("orders", "orders")
    assert [name for name in ("large", "totals", "doubled") if shop.sink(name) != shop.rows(name)] == []
    assert shop.emissions("large.to_lake", seen) == [(2, 0), (1, 0)]
    assert shop.emissions("totals.to_lake", seen) == shop.emissions("doubled.to_lake", seen) == [(1, 1), (2, 1)]
    assert shop.emissions("counted.to_lake", seen) == []
    # The sink of a view that is gone is its owner's.
    assert shop.sink("ids") == sink_of_ids
    sent = [json.loads(one.value or b"") for one in shop.broker.messages(shop.topics["out"])[messages:]]
    assert as_rows([one["insert"] for one in sent[:3]]) == totals
    assert [next(iter(one)) for one in sent[3:]] == ["delete", "insert", "insert"]


@pytest.mark.slow
def test_tables_added_modified_renamed_and_removed(shop: Shop) -> None:
    """A table added: empty, then filled by its connector. A table modified: cleared, with the views over it, its connectors
    begin anew. A table renamed without a declared move: another one. A table removed: with all that it held."""
    shop.program = (
        PROGRAM.replace("note VARCHAR", "note VARCHAR, more VARCHAR")
        .replace(OF_GONE, "")
        .replace(IDS, "")
        .replace("TABLE prices", "TABLE tariffs")
    ) + "CREATE TABLE fresh (id BIGINT);\nCREATE MATERIALIZED VIEW of_fresh AS SELECT id FROM fresh;\n"
    for name in ("ids.to_lake", "gone.files"):
        del shop.connectors[name]
    for name in ("live", "first", "second"):
        shop.connectors[f"tariffs.{name}"] = shop.connectors.pop(f"prices.{name}")
    shop.connectors["fresh.files"] = from_files("fresh")
    before = shop.positions()

    plan = shop.approve_and_apply()

    program = approval_diff(plan.diff)["program_diff"]
    assert program["added_tables"] == ["fresh", "tariffs"]
    assert program["modified_tables"] == ["notes"]
    assert program["removed_tables"] == ["gone", "prices"]
    assert program["modified_views"] == ["counted"]
    said = outcomes(plan)
    assert said["notes.live"] == said["notes.files"] == "resets"
    assert said["tariffs.live"] == said["tariffs.first"] == said["fresh.files"] == "starts"
    assert said["prices.live"] == said["gone.files"] == "detaches"
    assert said["orders.live"] == said["orders.files"] == said["totals.to_lake"] == "resumes"
    assert shop.rows("notes") == shop.rows("tariffs") == shop.rows("fresh") == shop.rows("of_fresh") == []
    assert shop.rows("counted") == as_rows([{"n": 0}])
    assert shop.positions() == {name: before[name] for name in ("orders.files", "orders.live")}
    assert [name for name in ("gone", "prices", "ids") if (shop.root / "warehouse/shop" / name).exists()] == []

    shop.put("fresh", {"id": 1})
    shop.put("orders", {"id": 5, "customer": "a", "amount": 5})
    shop.broker.produce(shop.topics["notes"], [{"id": 4, "note": "w", "more": "new"}])
    brought = shop.brought()

    assert {name: brought[name] for name in ("orders.files", "fresh.files", "tariffs.first", "notes.files")} == {
        "orders.files": 1,
        "fresh.files": 1,
        "tariffs.first": 1,
        "notes.files": 1,
    }
    notes = [{"more": None} | json.loads(row) for row in shop.held("notes", "notes")]
    assert shop.rows("notes") == as_rows(notes)
    assert shop.rows("counted") == shop.sink("counted") == as_rows([{"n": len(notes)}])
    assert shop.rows("tariffs") == shop.held("prices", "first", "second")
    assert shop.rows("orders") == shop.held("orders", "orders")
    assert shop.rows("of_fresh") == as_rows([{"id": 1}])


def test_inputs_added_modified_removed_and_renamed(shop: Shop) -> None:
    """Of inputs: an added one starts as it is configured, a modified one anew by its new configuration, what a removed one
    brought stays, a renamed one is removed and added unless the move is declared, and all others go on where they stood."""
    tail = shop.broker.create_topic()
    shop.broker.produce(tail, [{"id": number, "customer": "t", "amount": 1} for number in (100, 101, 102)])
    second_price = {"start_from": {"offsets": [1]}}
    shop.connectors["orders.tail"] = from_kafka(tail, shop.broker, start_from={"offsets": [1]})
    shop.connectors["orders.more"] = from_files("more")
    shop.connectors["prices.live"] = from_kafka(shop.topics["prices"], shop.broker, **second_price)
    del shop.connectors["notes.files"]
    shop.connectors["prices.primary"] = shop.connectors.pop("prices.first")
    shop.connectors["prices.secondary"] = shop.connectors.pop("prices.second")
    shop.moved = [{"from": "prices.second", "to": "prices.secondary"}]
    shop.put("more", {"id": 200, "customer": "m", "amount": 2})
    before = shop.positions()

    plan = shop.approve_and_apply()

    assert approval_diff(plan.diff) == {
        "added_input_connectors": ["orders.more", "orders.tail", "prices.primary"],
        "added_output_connectors": [],
        "modified_input_connectors": ["prices.live", "prices.secondary"],
        "modified_output_connectors": [],
        "program_diff": {
            f"{action.value}_{kind.value}s": [] for kind in (RelationKind.TABLE, RelationKind.VIEW) for action in Action
        },
        "program_diff_error": None,
        "removed_input_connectors": ["notes.files", "prices.first"],
        "removed_output_connectors": [],
    }
    said = outcomes(plan)
    assert said["orders.tail"] == said["orders.more"] == said["prices.primary"] == "starts"
    assert said["prices.live"] == "resets"
    assert said["notes.files"] == said["prices.first"] == "detaches"
    assert said["prices.secondary"] == said["orders.live"] == said["orders.files"] == said["notes.live"] == "resumes"
    kept = ("gone.files", "notes.live", "orders.files", "orders.live")
    assert shop.positions() == {**{name: before[name] for name in kept}, "prices.secondary": before["prices.second"]}
    prices, notes = shop.rows("prices"), shop.rows("notes")
    assert len(prices) == 5

    shop.put("notes", {"id": 99, "note": "nobody reads this"})
    shop.put("second", {"id": 21, "price": 3})
    shop.put("orders", {"id": 5, "customer": "a", "amount": 5})
    brought = shop.brought()

    assert {name: count for name, count in brought.items() if not name.startswith(("orders.live", "notes.live"))} == {
        "orders.tail": 2,
        "orders.more": 1,
        "orders.files": 1,
        "prices.live": 2,
        "prices.primary": 1,
        "prices.secondary": 1,
    }
    again = [{"id": 2, "price": 6}, {"id": 3, "price": 7}, {"id": 10, "price": 1}, {"id": 21, "price": 3}]
    assert shop.rows("prices") == sorted([*prices, *as_rows(again)])
    of_tail = [{"id": number, "customer": "t", "amount": 1} for number in (101, 102)]
    assert shop.rows("orders") == sorted([*shop.held("orders", "orders", "more"), *as_rows(of_tail)])
    assert set(notes) <= set(shop.rows("notes"))
    assert not any("nobody" in row for row in shop.rows("notes"))


@pytest.mark.slow
def test_outputs_added_modified_removed_and_renamed_by_a_lock_file(shop: Shop) -> None:
    """Of outputs of views that stay: an added one gets what changes from now on, or all there is if it says so; a modified
    one begins as if it were new; a removed one gets nothing more; a renamed one is new, unless the move is declared. What
    is committed with plan.lock is approved."""
    shop.connectors["totals.copy"] = to_delta("copy")
    shop.connectors["totals.whole_copy"] = to_delta("whole_copy", send_snapshot=True)
    shop.connectors["totals.to_lake"] = to_delta("totals_elsewhere")
    del shop.connectors["totals.to_topic"]
    shop.connectors["doubled.to_sea"] = shop.connectors.pop("doubled.to_lake")
    shop.connectors["counted.to_sea"] = shop.connectors.pop("counted.to_lake")
    shop.moved = [{"from": "counted.to_lake", "to": "counted.to_sea"}]
    totals, doubled = shop.sink("totals"), shop.sink("doubled")
    messages, seen = len(shop.broker.messages(shop.topics["out"])), len(shop.events())
    shop.write()
    (shop.root / ".gitignore").write_text("warehouse\n")
    for command in (["init", "-q"], ["config", "user.name", "Ann"], ["config", "user.email", "ann@example.org"]):
        subprocess.run(["git", *command], cwd=shop.root, check=True)
    assert run(["plan", "shop", "--write-lock", "--repo", str(shop.root)]) == 0
    plan = shop.pipeline().plan()
    with pytest.raises(ApprovalRequired):
        shop.pipeline().apply()
    subprocess.run("git add -A && git commit -q -m change", shell=True, cwd=shop.root, check=True)

    shop.pipeline().apply()

    found = approval_diff(plan.diff)
    assert found["added_output_connectors"] == ["doubled.to_sea", "totals.copy", "totals.whole_copy"]
    assert found["modified_output_connectors"] == ["counted.to_sea", "totals.to_lake"]
    assert found["removed_output_connectors"] == ["doubled.to_lake", "totals.to_topic"]
    said = outcomes(plan)
    assert said["totals.copy"] == said["doubled.to_sea"] == "sends only new changes"
    assert said["totals.whole_copy"] == "sends full contents"
    assert said["totals.to_lake"] == said["counted.to_sea"] == said["ids.to_lake"] == "resumes"
    assert said["totals.to_topic"] == said["doubled.to_lake"] == "detaches"

    shop.put("orders", {"id": 5, "customer": "new", "amount": 5})
    shop.put("notes", {"id": 9, "note": "n"})
    shop.brought()

    # Kafka may hold more by now than the drained pipeline had read: what is new is told by the view.
    assert shop.sink("totals") == totals
    assert shop.sink("whole_copy") == shop.rows("totals")
    fresh = Counter(shop.rows("totals")) - Counter(totals)
    assert Counter(shop.sink("copy")) == Counter(shop.sink("totals_elsewhere")) == fresh
    assert as_rows([{"customer": "new", "amount": 5}])[0] in fresh
    assert shop.emissions("totals.whole_copy", seen)[0] == (3, 0)
    assert shop.sink("doubled") == shop.rows("doubled") != doubled
    assert shop.sink("counted") == shop.rows("counted")
    assert len(shop.emissions("counted.to_sea", seen)) == 1
    assert len(shop.broker.messages(shop.topics["out"])) == messages


@pytest.mark.slow
def test_a_live_run_publishes_steps_while_an_apply_builds_and_goes_on_with_the_new_view(shop: Shop) -> None:
    """Nobody stops anything: steps are published while the new view is built beside the run, which then goes on with it."""
    shop.program = PROGRAM + "CREATE MATERIALIZED VIEW large AS SELECT id FROM notes WHERE id >= 2;\n"
    shop.connectors["large.to_lake"] = to_delta("large")
    stopping = threading.Event()
    target = shop.pipeline().target
    going = threading.Thread(
        target=lambda: run_pipeline(
            target, "shop", Session(shop.engine), Pace(once=False, interval_seconds=0.2, stop=stopping.is_set)
        )
    )
    seen = len(shop.events())
    ids = iter(range(50, 60))

    def one_more_step() -> None:
        number = next(ids)
        shop.put("notes", {"id": number, "note": "live"})
        wait_until(lambda: any(f'"id": {number},' in row for row in shop.rows("notes")))

    def while_it_builds(boundary: str) -> None:
        if boundary in ("prebuild:before", "prebuild:effected"):
            one_more_step()

    going.start()
    try:
        one_more_step()
        shop.write()
        plan = shop.pipeline().plan()
        shop.pipeline().approve(plan.digest)
        shop.pipeline().observed(boundary=while_it_builds).apply()
        one_more_step()
        wait_until(lambda: shop.sink("large") == shop.rows("large"))
    finally:
        stopping.set()
        going.join(120)
    assert not going.is_alive()
    noted = [json.loads(row)["id"] for row in shop.rows("notes")]
    assert shop.rows("large") == as_rows([{"id": number} for number in noted if number >= 2])
    assert shop.rows("notes") == as_rows(
        [json.loads(row) for row in shop.held("", "notes")]
        + [{name: row[name] for name in ("id", "note")} for row in map(json.loads, shop.held("notes"))]
    )
    names = [one.event for one in shop.events()[seen:] if not one.event.startswith(("emission", "checkpoint", "connector"))]
    assert names[0] == "run started"
    handed, switched, back = (names.index(one) for one in ("handed over", "apply switched", "taken back"))
    assert handed < switched < back
    # One before the apply, two while it built; then the run goes on.
    assert names[:handed].count("step published") >= 3
    assert names[back:].count("step published") >= 1
    assert names[-1] == "run stopped"
