"""Views whose queries ask for a value of relations that mostly stay as they are: it is asked for once."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Rows, Selection
from reconciler.incremental.model import Way
from tests.engine.delta_writer import DeltaWriter
from tests.incremental.small import ComputingEngine
from tests.incremental.till import apply, good, require_right, run, sale, visit, write_till
from tests.materialize.test_incremental_steps import ways

QUERIES = {
    "kept": "SELECT good, COUNT(*) AS n FROM sales WHERE amount > (SELECT MIN(who) FROM visits WHERE who > 0) GROUP BY good",
    "linear": "SELECT good, amount FROM sales WHERE (amount + (SELECT COUNT(*) FROM visits)) * 2 > 5 AND id > 0",
    "groups": (
        "SELECT good, COUNT(DISTINCT amount) AS n, COUNT(DISTINCT id) AS m FROM sales "
        "WHERE amount BETWEEN (SELECT MIN(who) FROM visits) AND 100 GROUP BY good"
    ),
    "texts": "SELECT good, COUNT(*) AS n FROM sales WHERE good <= (SELECT MAX(good) FROM visits) GROUP BY good",
}
PROGRAM = "\n".join(
    [
        "CREATE TABLE sales (id BIGINT NOT NULL PRIMARY KEY, good STRING, amount BIGINT);",
        "CREATE TABLE goods (good STRING, kind STRING);",
        "CREATE TABLE visits (good STRING, who BIGINT) WITH ('append_only' = 'true');",
        *(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in QUERIES.items()),
    ]
)


class Asked(ComputingEngine):
    """Remembers which values it was asked for."""

    asked: list[str] = []  # noqa: RUF012
    fails = False

    def select(self, selection: Selection) -> Rows:
        self.asked.append(selection.sql)
        if self.fails:
            raise EngineError("X700", "it fails")
        return ComputingEngine.select(self, selection)


@pytest.fixture
def of() -> Asked:
    of = Asked(DeltaWriter(), texts=frozenset({"good", "kind", "key_0", "__key_0"}))
    of.asked = []
    return of


@pytest.fixture
def till(tmp_path: Path, of: Asked) -> Path:
    write_till(tmp_path, PROGRAM)
    apply(tmp_path)
    put(tmp_path, 0, sales=[sale(1, "tea", 3), sale(2, "tea", 5), sale(3, "cup", None)], visits=[visit("tea", 2)])
    run(tmp_path, of)
    put(tmp_path, 1, sales=[sale(4, "tea", 1)])
    run(tmp_path, of)
    of.asked.clear()
    return tmp_path


def put(root: Path, number: int, **records: list[dict[str, Any]]) -> None:
    for table, of in records.items():
        (root / f"source/{table}/{number:03}.json").write_text("".join(json.dumps(one) + "\n" for one in of))


def test_a_value_is_asked_for_once(till: Path, of: Asked) -> None:
    for number, amount in enumerate((7, None, 1, 100), 2):
        put(till, number, sales=[sale(10 + number, "pot", amount), {"delete": {"id": number - 1}}])
        run(till, of)
        require_right(till, QUERIES)
        assert not {Way.RECOMPUTED, Way.DEARER, Way.GIVEN_UP} & set(ways(till)[-1].values())
    # What is a text is not written down.
    assert {one for one in of.asked if "MAX(good)" not in one} == set()


def test_where_what_it_is_of_changes_it_is_another_one(till: Path, of: Asked) -> None:
    put(till, 2, visits=[visit("pot", 1), visit("pot", 4)])
    run(till, of)
    require_right(till, QUERIES)
    assert of.asked == [], "the views are computed anew"
    put(till, 3, sales=[sale(20, "pot", 2), sale(21, "tea", 1)])
    run(till, of)
    require_right(till, QUERIES)
    assert len({one for one in of.asked if "MAX(good)" not in one}) == 3
    put(till, 4, goods=[good("tea", "food")], sales=[sale(22, "pot", 2)])
    run(till, of)
    require_right(till, QUERIES)


def test_a_value_that_fails_is_left_to_the_query(till: Path, of: Asked) -> None:
    put(till, 2, visits=[visit("pot", 3)])
    run(till, of)
    put(till, 3, sales=[sale(20, "pot", 2)])
    of.fails = True
    run(till, of)
    require_right(till, QUERIES)
    assert set(ways(till)[-1].values()) == {Way.CHANGES, Way.ADDED}
