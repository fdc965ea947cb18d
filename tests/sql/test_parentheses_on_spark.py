"""Parentheses judged by Spark's own parser: queries that differ in parentheses, and have one canonical text, are one plan.

The queries are made without chance, from each place of the grammar where parentheses may stand (`tests.sql.bracketed`). So
what is found is found in every run. Not all that Spark parses is parsed here: only what has its canonical text in common
with another. Alone: `pytest tests/sql/test_parentheses_on_spark.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.words import spark_words
from tests.engine.engines import session_of
from tests.sql.bracketed import bracketed, bracketed_beside, filled, places_of_names, written
from tests.sql.seen_by_spark import SparksParser, as_seen

pytestmark = pytest.mark.spark

QUERIES = written()
PARTS = 12
# Words that begin something, when they are no names.
FEW_WORDS = (
    "all",
    "distinct",
    "case",
    "interval",
    "not",
    "select",
    "values",
    "date",
    "exists",
    "first",
    "where",
    "in",
    "map",
)


@pytest.fixture(scope="module")
def parser(spark_engine: Engine) -> SparksParser:
    return SparksParser(session_of(spark_engine).newSession())


def _judge(parser: SparksParser, texts: Iterable[str], most: int = 1_000_000) -> int:
    """How many texts were compared, at most so many of one canonical text; all that differ fail the test together."""
    groups: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        groups[canonical_query(text)].add(text)
    count, differing = 0, []
    for canonical, alike in groups.items():
        if len(alike) < 2:
            continue
        expected = as_seen(parser.parse(canonical), False)
        for text in sorted(alike, key=lambda text: (len(text), text))[:most]:
            count += 1
            if as_seen(parser.parse(text), False) != expected:
                differing.append((text, canonical))
    assert not differing, f"{len(differing)} of {count}: " + "\n".join(
        f"{text}   IS NOT   {other}" for text, other in differing
    )
    return count


def _joined(queries: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for query in queries:
        yield " ".join(query)


def test_some_parts_in_parentheses(parser: SparksParser) -> None:
    assert _judge(parser, (text for query in QUERIES[::6] for text in _joined(bracketed(query, 3))), 2) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_parts_in_parentheses(parser: SparksParser, part: int) -> None:
    assert _judge(parser, (text for query in QUERIES[part::PARTS] for text in _joined(bracketed(query, 25)))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_that_may_stand_in_parentheses(parser: SparksParser, part: int) -> None:
    """Each thing in place of each name of each query."""
    places = [(query, place) for query in QUERIES for place in places_of_names(query)]
    assert _judge(parser, (text for query, place in places[part::PARTS] for text in _joined(filled(query, place)))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_words_of_the_grammar_in_parentheses(parser: SparksParser, part: int) -> None:
    """Each word in place of one name of each query, a word that begins something in place of each."""

    def texts() -> Iterator[str]:
        for number, word in list(enumerate(sorted(spark_words())))[part::PARTS]:
            for query in QUERIES:
                places = places_of_names(query)
                for place in places if word in FEW_WORDS else places[number % max(1, len(places)) :][:1]:
                    changed = (*query[:place], word, *query[place + 1 :])
                    yield from _joined(bracketed_beside(changed, place))

    assert _judge(parser, texts()) > 0
