"""Rows that have to do with few changed rows, looked for in tables by their keys."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.arrow_writes import put_table
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import LinkedSource, LogSource, StoredSource
from reconciler.engine.spark import linked_rows as linked_rows_module
from reconciler.engine.spark.held_rows import Held, HeldRows
from reconciler.engine.spark.linked_rows import linked_rows
from reconciler.engine.spark.searched_columns import SearchedColumns
from reconciler.sql.row_condition import RowCondition, Sign

MANY = 30_000


def schema(**columns: str) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return {"type": "struct", "fields": fields}


ORDERS = schema(id="long", Buyer="long", note="string")
BUYERS = schema(id="long", city="integer", name="string")
CITIES = schema(id="integer", name="string")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Orders 0 to 29,999, each of the buyer of its number in reverse, every tenth of nobody; buyers, in 100 cities."""
    folder = tmp_path_factory.mktemp("tables")
    numbers = range(MANY)
    buyers = [None if one % 10 == 0 else MANY - 1 - one for one in numbers]
    names = [f"n{one}" for one in numbers]
    tables = {
        "orders": (ORDERS, [pa.array(numbers, pa.int64()), pa.array(buyers, pa.int64()), pa.array(names)]),
        "buyers": (
            BUYERS,
            [pa.array(numbers, pa.int64()), pa.array([one % 100 for one in numbers], pa.int32()), pa.array(names)],
        ),
    }
    for name, (of, columns) in tables.items():
        put_table(str(folder / name), of, pa.table(columns, names=[field["name"] for field in of["fields"]]))
    return {name: str(folder / name) for name in tables}


CHANGED = Held(schema(id="long"), pa.table({"id": pa.array([3, 10, None], pa.int64())}))
CITY_ROWS = Held(CITIES, pa.table({"id": pa.array(range(100), pa.int32()), "name": [f"c{one}" for one in range(100)]}))


def few(source: StoredSource) -> Held | None:
    return {"__changed_orders": CHANGED, "cities": CITY_ROWS}.get(source.name)


@pytest.fixture
def found(places: dict[str, str]) -> Callable[..., dict[str, list[tuple[Any, ...]]]]:
    columns = SearchedColumns()

    def by_terms(
        *terms: tuple[LinkedSource, ...], used: tuple[str, ...] | None = ("ID", "buyer", "city"), must_find: bool = False
    ) -> Any:
        sources = [
            StoredSource("__changed_orders", "/nowhere", 1, ranges=((0, 1),), changes=True),
            StoredSource("cities", "/c", 0),
        ]
        sources += [StoredSource(name, place, 0, used=used) for name, place in places.items()]
        build = ViewBuild("v", "SELECT 1", (), tuple(sources), "/staging", {}, terms=terms, must_find=must_find)
        given = linked_rows(build, few, columns).found
        return {
            source.name: list(zip(*(column.to_pylist() for column in held.rows.columns), strict=True))
            for source, held in given.items()
            if isinstance(source, StoredSource)
        }

    return by_terms


ROOT = LinkedSource("__changed_orders")
TO_ORDERS = LinkedSource("orders", 0, (("id", "id"),))


def test_equal_keys_lead_from_what_changed_to_the_next_relation_and_on(found: Any) -> None:
    to_buyers, to_cities = LinkedSource("buyers", 1, (("buyer", "id"),)), LinkedSource("cities", 2, (("city", "id"),))

    assert found((ROOT, TO_ORDERS, to_buyers, to_cities)) == {
        # What is not used is NULL.
        "orders": [(3, 29_996, None), (10, None, None)],
        "buyers": [(29_996, 96, None)],
        "cities": [(96, "c96")],
    }


def test_rows_that_fail_a_condition_lead_nowhere(found: Any) -> None:
    to_orders = replace(TO_ORDERS, conditions=(RowCondition("id", Sign.LESS, (10,)),))
    to_buyers = LinkedSource("buyers", 1, (("buyer", "id"),))
    again = LinkedSource("cities", 1, (("id", "id"),), with_null=True)

    given = found((ROOT, to_orders, to_buyers, again))
    # Each is given. To what is asked of all rows all lead.
    assert [row[0] for row in given["orders"]] == [3, 10]
    assert [row[0] for row in given["buyers"]] == [29_996]
    assert [row[0] for row in given["cities"]] == [3, 10]
    assert found((replace(ROOT, conditions=(RowCondition("id", Sign.MORE, (10,)),)), TO_ORDERS)) == {"orders": []}


def test_rows_whose_partners_fail_a_condition_lead_nowhere(found: Any) -> None:
    of_city = RowCondition("city", Sign.AMONG, (96,))
    to_buyers = LinkedSource("buyers", 1, (("buyer", "id"),), conditions=(of_city,), narrows=True)
    to_cities = LinkedSource("cities", 1, (("id", "id"),))
    first = replace(ROOT, source="cities"), replace(TO_ORDERS, conditions=(RowCondition("id", Sign.AT_MOST, (5,)),))

    given = found((*first, to_buyers, to_cities))
    assert [row[0] for row in given["cities"]] == [3], "orders 1, 2, 4 and 5 are of buyers in other cities"
    assert [row[0] for row in found((*first, replace(to_buyers, narrows=False), to_cities))["cities"]] == [0, 1, 2, 3, 4, 5]


def test_where_partners_are_not_found_all_rows_lead_on(found: Any) -> None:
    to_buyers = LinkedSource(
        "buyers", 1, (("buyer", "nobody"),), conditions=(RowCondition("city", Sign.AMONG, (1,)),), narrows=True
    )
    to_cities = LinkedSource("cities", 1, (("id", "id"),))
    assert [row[0] for row in found((ROOT, TO_ORDERS, to_buyers, to_cities))["cities"]] == [3, 10]


def test_all_equalities_hold(found: Any) -> None:
    both = LinkedSource("buyers", 1, (("buyer", "id"), ("id", "city")))
    assert found((ROOT, TO_ORDERS, both))["buyers"] == []


def test_what_any_term_found_is_given(found: Any) -> None:
    again = LinkedSource("orders", 0, (("id", "buyer"),))
    assert [row[0] for row in found((ROOT, TO_ORDERS), (ROOT, again))["orders"]] == [3, 10, 29_989, 29_996]


@pytest.mark.parametrize(
    "term",
    [
        (ROOT, LinkedSource("orders")),
        (ROOT, TO_ORDERS, LinkedSource("orders")),
        (LinkedSource("orders"), LinkedSource("orders", 0, (("id", "id"),))),
        (ROOT, LinkedSource("orders", 0, (("id", "nobody"),))),
        (ROOT, LinkedSource("orders", 0, (("id", "note"),))),
    ],
    ids=["nothing leads there", "also in another way", "not few changed", "no such column", "not used"],
)
def test_where_any_row_may_be_needed_all_are_left_to_spark(term: tuple[LinkedSource, ...], found: Any) -> None:
    assert found(term) == {}
    assert found((ROOT, TO_ORDERS), term) == {}


def test_what_leads_on_from_a_relation_that_is_needed_whole_is_needed_whole(found: Any) -> None:
    assert found((ROOT, LinkedSource("orders"), LinkedSource("buyers", 1, (("buyer", "id"),)))) == {}


def test_from_what_something_else_needs_whole_equalities_lead_on(found: Any) -> None:
    given = found((ROOT, replace(TO_ORDERS, is_whole=True), LinkedSource("buyers", 1, (("buyer", "id"),))), must_find=True)
    assert {name: len(rows) for name, rows in given.items()} == {"buyers": 1}


def test_rows_that_are_part_of_the_result_as_they_are_are_given_apart(places: dict[str, str]) -> None:
    kept = Held(schema(buyer="long", n="long"), pa.table({"buyer": [7, None, MANY - 4, 8], "n": [1, 2, 3, 4]}))

    def few(source: StoredSource) -> Held | None:
        return {"__changed_orders": CHANGED, "__kept": kept}.get(source.name)

    sources = (
        StoredSource("__changed_orders", "/nowhere", 1, ranges=((0, 1),), changes=True),
        StoredSource("orders", places["orders"], 0, used=("id", "buyer")),
        StoredSource("__kept", "/kept", 0, is_kept=True),
    )
    to_kept = LinkedSource("__kept", 1, (("Buyer", "buyer"),), with_null=True)
    build = ViewBuild("v", "SELECT 1", (), sources, "/staging", {}, terms=((ROOT, TO_ORDERS, to_kept),), rest_of="__kept")
    given = linked_rows(build, few, SearchedColumns())
    assert given.found[sources[2]].rows.to_pylist() == [{"buyer": None, "n": 2}, {"buyer": MANY - 4, "n": 3}]
    assert given.rest is not None
    assert given.rest.to_pylist() == [{"buyer": 7, "n": 1}, {"buyer": 8, "n": 4}]
    whole = linked_rows(replace(build, terms=((ROOT, TO_ORDERS, LinkedSource("__kept")),)), few, SearchedColumns())
    assert whole.rest is None
    assert sources[2] not in whole.found


def test_columns_that_are_not_compared_are_passed_over(places: dict[str, str]) -> None:
    prices = pa.array([1, 2, 3], pa.decimal128(9, 2))
    changed = Held(schema(id="long", price="decimal(9,2)"), pa.table({"id": [3, 10, 11], "price": prices}))
    kept = Held(schema(id="long", price="decimal(9,2)"), pa.table({"id": [10, 4, 3], "price": prices}))

    def few(source: StoredSource) -> Held | None:
        return changed if source.name == "__changed_orders" else kept

    sources = (StoredSource("__changed_orders", "/nowhere", 1), StoredSource("__kept", "/kept", 0, is_kept=True))
    link = LinkedSource("__kept", 0, (("id", "id"), ("price", "price")), with_null=True)
    build = ViewBuild("v", "SELECT 1", (), sources, "/staging", {}, terms=((ROOT, link),), rest_of="__kept")
    given = linked_rows(build, few, SearchedColumns())
    assert given.found[sources[1]].rows["id"].to_pylist() == [10, 3]
    assert given.rest is not None
    assert given.rest["id"].to_pylist() == [4]
    alone = replace(build, terms=((ROOT, replace(link, pairs=(("price", "price"),))),))
    assert linked_rows(alone, few, SearchedColumns()).rest is None


def test_where_it_is_not_known_which_columns_are_used_nothing_is_read(found: Any) -> None:
    assert found((ROOT, TO_ORDERS), used=None) == {}


def test_what_must_be_found_is_found_or_refused(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few_cities = LinkedSource("cities", 1, (("Buyer", "id"),))
    assert set(found((ROOT, TO_ORDERS, few_cities), must_find=True)) == {"orders", "cities"}
    assert found((ROOT, LinkedSource("orders")), must_find=True) == {}, "nothing leads there: to read all is counted"
    monkeypatch.setattr(linked_rows_module, "MOST_ROWS", 1)
    with pytest.raises(EngineError, match="too many rows of orders have to do with what changed for view v"):
        found((ROOT, TO_ORDERS), must_find=True)
    with pytest.raises(EngineError, match="too many rows of orders"):
        found((ROOT, TO_ORDERS, LinkedSource("buyers", 1, (("Buyer", "id"),))), must_find=True)


def test_many_rows_are_left_to_spark(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_rows_module, "MOST_ROWS", MANY - 1)
    assert found((LinkedSource("cities"), LinkedSource("buyers", 0, (("id", "city"),)))) == {}


@pytest.mark.parametrize("first", ["city", "id"])
def test_by_the_column_that_leaves_few_rows_others_are_looked_at(
    first: str, places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever is named first, once it is known how many rows a value has."""
    looked: list[tuple[str, int | None]] = []
    columns = SearchedColumns()

    class Looking(SearchedColumns):
        def equal(self, table: Any, file: Any, field: Any, values: Any, among: Any = None) -> Any:
            looked.append((field["name"], None if among is None else len(among)))
            return columns.equal(table, file, field, values, among)

        def expected(self, *asked: Any) -> float:
            return columns.expected(*asked)

    pairs = [("city", "city"), ("id", "id")]
    term = (LinkedSource("came"), LinkedSource("buyers", 0, tuple(pairs if first == "city" else reversed(pairs))))
    sources = (StoredSource("came", "/nowhere", 0), StoredSource("buyers", places["buyers"], 0, used=("id", "city")))
    build = ViewBuild("v", "SELECT 1", (), sources, "/staging", {}, terms=(term,))
    for number in range(3):
        looked.clear()
        # Others than before: what was found is remembered.
        rows = pa.table({"id": [7, 108 + 100 * number], "city": pa.array([7, 8 + number], pa.int32())})
        came = {"came": Held(schema(id="long", city="integer"), rows)}
        found = linked_rows(build, lambda source, came=came: came.get(source.name), Looking()).found[sources[1]]  # type: ignore[misc]
        assert found.rows.column("id").to_pylist() == ([7, 108] if number == 0 else [7])
    assert looked == [("id", None), ("city", 2)]


SALES = schema(buyer="long", city="integer", rows="long")


def segment(folder: Any, rows: list[tuple[int | None, int | None, int]]) -> str:
    """A segment of a log, with these rows: where it stands."""
    buyers, cities, counts = zip(*rows, strict=True)
    columns = [pa.array(buyers, pa.int64()), pa.array(cities, pa.int32()), pa.array(counts, pa.int64())]
    put_table(str(folder), SALES, pa.table(columns, names=["buyer", "city", "rows"]))
    return str(folder)


@pytest.mark.parametrize("is_held", [True, False])
def test_of_a_log_the_last_row_of_each_key_is_found(is_held: bool, tmp_path: Any) -> None:
    rows = [
        [(one, 1, 1) for one in range(10)] + [(3, 2, 1), (None, 1, 1)],
        [(3, 1, 2), (4, 1, 0), (None, 1, 5)],
        [(3, 1, 3)],
    ]
    locations = tuple(segment(tmp_path / f"s{at}", of) for at, of in enumerate(rows))
    log = LogSource("__kept", locations, latest=("buyer", "city"))
    buyers = Held(schema(id="long"), pa.table({"id": pa.array([3, 4, None, 7, 99], pa.int64())}))
    held = HeldRows()

    def few_of(source: StoredSource | LogSource) -> Held | None:
        if source.name == "__changed_orders":
            return buyers
        return held.of(source.location, 0, is_kept=True) if is_held and isinstance(source, StoredSource) else None

    changed = StoredSource("__changed_orders", "/nowhere", 1, ranges=((0, 1),), changes=True)
    term = (LinkedSource("__changed_orders"), LinkedSource("__kept", 0, (("id", "buyer"),), with_null=True))
    build = ViewBuild("v", "SELECT 1", (), (changed, log), "/staging", {}, terms=(term,))
    found = linked_rows(build, few_of, SearchedColumns()).found[log]
    listed = list(zip(*(column.to_pylist() for column in found.rows.columns), strict=True))
    assert Counter(listed) == Counter([(3, 1, 3), (3, 2, 1), (4, 1, 0), (None, 1, 5), (7, 1, 1)])
