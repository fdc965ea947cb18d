"""A pipeline with views that follow what changes: sales in a till, and the goods that are sold. Its input comes in files, a
step for each of a table. Without Spark, it is computed by SQLite; so its numbers are integers."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import Choice, Sizes, can_follow, following
from reconciler.incremental.model import KeptAggregate, Method, Way
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project
from tests.engine.delta_writer import DeltaWriter
from tests.incremental.small import ComputingEngine, Small

PIPELINE = "till"
TABLES = {"sales": ("id", "good", "amount"), "goods": ("good", "kind"), "visits": ("good", "who")}
QUERIES = {
    "by_good": "SELECT good, COUNT(*) AS n, SUM(amount) AS amount, AVG(amount) AS mean FROM sales GROUP BY good",
    "by_kind": (
        "SELECT g.kind, COUNT(*) AS n, SUM(s.amount) AS amount FROM sales s JOIN goods g ON g.good = s.good GROUP BY g.kind"
    ),
    "whole": "SELECT SUM(n) AS n, COUNT(*) AS kinds FROM by_kind",
    "often": (
        "SELECT good, COUNT(*) AS n FROM sales WHERE amount > 0 GROUP BY good "
        "HAVING COUNT(*) > 1 ORDER BY n DESC, good LIMIT 2"
    ),
    "as_often": (
        "SELECT n, COUNT(*) AS goods, MAX(good) AS last FROM "
        "(SELECT good, COUNT(*) AS n FROM sales GROUP BY good) AS s GROUP BY n"
    ),
    "seen": "SELECT v.good, v.who, g.kind FROM visits v LEFT JOIN goods g ON g.good = v.good",
    "seen_by_kind": "SELECT kind, COUNT(*) AS n FROM seen GROUP BY kind",
    "largest": "SELECT good, MAX(amount) AS amount FROM sales GROUP BY good",
    "doubled": "SELECT good, amount * 2 AS amount FROM sales WHERE amount > 1 UNION ALL SELECT good, id FROM sales",
    "doubled_by_good": "SELECT good, COUNT(*) AS n FROM doubled GROUP BY good",
    "numbers": (
        "SELECT COUNT(DISTINCT amount) AS amounts, good, COUNT(DISTINCT id) AS n FROM sales WHERE amount > -2 "
        "GROUP BY good HAVING COUNT(*) > 0"
    ),
    "pairs": "SELECT a.id, b.id AS other, a.good FROM sales a LEFT JOIN sales b ON b.id = a.amount",
}
STATELESS = ("seen", "doubled", "pairs", "numbers")
"""Those of which nothing is kept."""
PROGRAM = "\n".join(
    [
        "CREATE TABLE sales (id BIGINT NOT NULL PRIMARY KEY, good STRING, amount BIGINT);",
        "CREATE TABLE goods (good STRING, kind STRING);",
        "CREATE TABLE visits (good STRING, who BIGINT) WITH ('append_only' = 'true');",
        *(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in QUERIES.items()),
    ]
)
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: till}
spec:
  bootstrap_policy: allow
  connectors:
    - name: files
      table: sales
      max_batch_size: 1
      transport: {name: file_input, config: {path: source/sales}}
      format: {name: json, config: {update_format: insert_delete}}
    - name: files
      table: goods
      max_batch_size: 1
      transport: {name: file_input, config: {path: source/goods}}
      format: {name: json, config: {update_format: insert_delete}}
    - name: files
      table: visits
      max_batch_size: 1
      transport: {name: file_input, config: {path: source/visits}}
      format: {name: json, config: {update_format: insert_delete}}
"""


def sale(number: int, good: str | None, amount: int | None) -> dict[str, Any]:
    return {"insert": {"id": number, "good": good, "amount": amount}}


def visit(name: str, who: int | None) -> dict[str, Any]:
    return {"insert": {"good": name, "who": who}}


def good(name: str | None, kind: str | None, what: str = "insert") -> dict[str, Any]:
    return {what: {"good": name, "kind": kind}}


BATCHES: tuple[Mapping[str, Sequence[dict[str, Any]]], ...] = (
    {
        "sales": [sale(1, "tea", 3), sale(2, "tea", 5), sale(3, "cup", None), sale(4, None, 2), sale(5, "pot", 9)],
        "goods": [good("tea", "food"), good("cup", "ware"), good("pot", "ware"), good("pot", "ware")],
        "visits": [visit("tea", 1), visit("pot", 1), visit("jar", None)],
    },
    {"sales": [sale(2, "cup", 5), {"delete": {"id": 5}}, sale(6, "tea", -3)], "visits": [visit("pot", 2), visit("pot", 2)]},
    {"sales": [sale(7, "pot", 1), sale(1, None, 3)], "goods": [good("pot", "ware", "delete"), good(None, "none")]},
    {"sales": [{"delete": {"id": 6}}], "goods": [good("tea", "food", "delete"), good("tea", "drink")]},
    {"sales": [sale(8, "tea", 8), sale(9, "tea", 1), sale(9, "tea", 2)], "visits": [visit("tea", 3)]},
)
"""Of these files each is read in a step of its own: keys that change, a group that goes and one that comes, duplicates."""


def engine() -> ComputingEngine:
    return ComputingEngine(DeltaWriter(), texts=frozenset({"good", "kind", "key_0", "__key_0"}), doubles=frozenset({"mean"}))


def by_size(of: ComputingEngine) -> Engine:
    """Tables are written by this process, as in the product: rows that come to `visits` are appended."""
    return EngineBySize(of, dict, many_files=2)


def write_till(root: Path, program: str = PROGRAM) -> None:
    """The pipeline's files."""
    folder = root / "pipelines" / PIPELINE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    for name in TABLES:
        (root / "source" / name).mkdir(parents=True, exist_ok=True)


def put(root: Path, *numbers: int) -> None:
    """Some of the batches."""
    for number in numbers:
        for table, records in BATCHES[number].items():
            text = "".join(json.dumps(record) + "\n" for record in records)
            (root / f"source/{table}/{number:03}.json").write_text(text)


def follow_if_possible(method: Method, sizes: Sizes) -> Way:
    """Whatever it costs: tables are small here."""
    if can_follow(method, sizes):
        return following(method, sizes)
    return Way.ANEW if isinstance(method, KeptAggregate) else Way.RECOMPUTED


FOLLOWING = Choice(-1, follow_if_possible, share_of_groups=10, many_groups=1, share_of_summary=10)


def run(root: Path, of: ComputingEngine | None = None, choice: Choice = FOLLOWING) -> None:
    """Steps until all input is read."""
    run_pipeline(open_target(root, None), PIPELINE, Session(by_size(of or engine()), choice=choice), Pace(once=True))


def apply(root: Path) -> None:
    Project.open(root, engine=engine()).pipeline(PIPELINE).apply()


def head_of(root: Path) -> Head:
    stored = Project.open(root).target.registry.head(PIPELINE)
    assert stored is not None
    return stored.value


def placement(root: Path, name: str) -> Placement:
    published = head_of(root).published
    assert published is not None
    return published.relations[name]


def rows(root: Path, name: str) -> Counter[tuple[Any, ...]]:
    """The rows of a relation where the head says that it stands, as a multiset."""
    place = placement(root, name)
    return Counter(DeltaWriter().read(str(root / "warehouse" / place.location), place.version).rows)


def require_right(root: Path, queries: Mapping[str, str] = QUERIES) -> None:
    """Every view holds what its query gives over the tables as they are."""
    small = Small()
    for table, columns in TABLES.items():
        small.give(table, dict.fromkeys(columns), list(rows(root, table).elements()))
    for name, query in queries.items():
        names, found = small.run(query)
        assert rows(root, name) == Counter(found), name
        small.give(name, dict.fromkeys(names), found)
