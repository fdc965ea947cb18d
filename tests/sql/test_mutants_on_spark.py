"""The canonical text judged by Spark's own parser: it makes one plan of a query and of its canonical text, however the query
is made. So no two queries of different meaning have one canonical text, and what is no query is judged equal to none.

Both ways are tried: names where their letter case counts, and where it does not. The queries are those of the pairs, and
mutants (`tests.sql.mutants`): a few here, 12,000 in the slow test, of which more than half parse. Alone: `pytest
tests/sql/test_mutants_on_spark.py`. `RECONCILE_MUTANTS=7,8` tries other seeds.
"""

import os
from collections.abc import Iterable

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.canonicalise import canonical_query
from tests.engine.engines import session_of
from tests.sql.mutants import grown, mutated
from tests.sql.seen_by_spark import SparksParser, as_seen
from tests.sql.test_pairs import DIFFERENT, EQUAL, read_pair

pytestmark = pytest.mark.spark

SEEDS = tuple(int(seed) for seed in os.environ.get("RECONCILE_MUTANTS", "1,2,3,4").split(","))
WRITTEN = [query for path in (*EQUAL, *DIFFERENT) for query in read_pair(path)]


@pytest.fixture(scope="module")
def parser(spark_engine: Engine) -> SparksParser:
    return SparksParser(session_of(spark_engine).newSession())


def _judge(parser: SparksParser, queries: Iterable[str]) -> int:
    """How many queries there were; one whose canonical text is another query fails the test."""
    count = 0
    for query in queries:
        if query.lower().startswith(("desc", "explain")):
            # These keep the text that they describe; they are no queries.
            continue
        plan = parser.parse(query)
        count += plan is not None
        for names_are_data in (False, True):
            canonical = canonical_query(query, names_are_data)
            seen = as_seen(parser.parse(canonical), names_are_data)
            assert seen == as_seen(plan, names_are_data), (query, canonical)
    return count


def test_the_pairs(parser: SparksParser) -> None:
    assert _judge(parser, WRITTEN) > 0.9 * len(WRITTEN)


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_some_mutants(parser: SparksParser, seed: int) -> None:
    assert _judge(parser, grown(seed, 50)) > 25
    assert _judge(parser, mutated(seed, 50, [*WRITTEN, *grown(seed, 20)])) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_many_mutants(parser: SparksParser, seed: int) -> None:
    queries = _judge(parser, grown(seed, 1500)) + _judge(parser, mutated(seed, 1500, [*WRITTEN, *grown(seed, 300)]))
    assert queries > 1500
