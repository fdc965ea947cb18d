"""Canonical texts under random changes of layout, comments and letter case; and on texts that are no queries."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.lexer import Dialect, Kind, tokens_of
from reconciler.sql.shapes import VALUES
from reconciler.sql.words import spark_aggregates, spark_functions, spark_generators, spark_words

QUERIES = (
    "select student_id, class, avg(grade) as class_avg from grades where class_date >= date '2025-09-01' group by 1, 2",
    "select a.id, b.`unit price` from orders a join items b on a.id = b.order_id and (a.x - -1) * 2.50 <> b.y",
    "with c as (select count(*) n from t where name like 'It''s -- no \\' comment') select n from c where n in (1, 2)",
    "select /*+ broadcast(u) */ m['Key'], x'1F', 1e5, interval 1 day from t lateral view explode(xs) e as x order by 1",
    "select sum(p) over (partition by d order by t rows between 1 preceding and current row) from s union all select 1",
)
BLANKS = some.sampled_from(
    [" ", "\n", "\t", "\r\n", "  \n ", " /* x */ ", "\n-- it's; here\n", " /* a /* b */ c' */ ", " /**/", " --\n"]
)
PIECES = some.text(alphabet="ab1.'\"`-/*+() ,;\n\\rR$:=<>\u00a0é", max_size=40)


def _changed_case(text: str, upper: list[bool]) -> str:
    return "".join(c.upper() if up else c.lower() for c, up in zip(text, upper, strict=True))


@given(data=some.data(), query=some.sampled_from(QUERIES))
def test_layout_comments_and_case_do_not_matter(data: some.DataObject, query: str) -> None:
    parts = [data.draw(BLANKS)]
    for token in tokens_of(query, Dialect.QUERY):
        text = token.text
        if token.kind is Kind.WORD:
            upper = data.draw(some.lists(some.booleans(), min_size=len(text), max_size=len(text)))
            text = _changed_case(text, upper)
        parts += [text, data.draw(BLANKS)]
    parts.append(data.draw(some.sampled_from(["", ";", " ; ", ";\n;"])))
    assert canonical_query("".join(parts)) == canonical_query(query)


@given(data=some.data(), query=some.sampled_from(QUERIES))
def test_another_token_is_another_query(data: some.DataObject, query: str) -> None:
    tokens = list(tokens_of(query, Dialect.QUERY))
    index = data.draw(some.integers(0, len(tokens) - 1))
    token = tokens[index]
    changed = query[: token.start] + " zzz " + query[token.end :]
    assert canonical_query(changed) != canonical_query(query)


@given(PIECES)
def test_any_text_has_a_canonical_text(text: str) -> None:
    canonical = canonical_query(text)
    assert canonical_query(canonical) == canonical


@given(PIECES)
def test_what_stands_in_strings_is_kept(text: str) -> None:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    assert quoted in canonical_query(f"select {quoted} as x")


@given(PIECES)
def test_tokens_cover_the_text(text: str) -> None:
    for dialect in Dialect:
        end = 0
        for token in tokens_of(text, dialect):
            assert token.start >= end
            assert token.end > token.start
            assert token.kind is Kind.BAD or text[token.start : token.end] == token.text
            end = token.end


@pytest.mark.parametrize("text", ["", " ", ";", "select '", "/* x", "`a", "select (1", "select 1)", "(" * 5000, ")" * 5000])
def test_what_is_no_query_does_not_raise(text: str) -> None:
    assert isinstance(canonical_query(text), str)


@pytest.mark.parametrize(
    "opening", ["select all a, ", "select sum(a) over (order by ", "select cast(a as long), cast(", "x inner join "]
)
def test_what_is_cut_short_does_not_raise(opening: str) -> None:
    for text in (opening, opening * 500, opening + "union distinct (" * 500, opening + " asc nulls first" * 500):
        canonical = canonical_query(text)
        assert canonical_query(canonical) == canonical


def test_depth_does_not_matter() -> None:
    deep = "select " + "(" * 5000 + "x.a + 1" + ")" * 5000 + " * 2 from t x"
    assert canonical_query(deep) == "select ( x . a + 1 ) * 2 from t as x"


# Keywords in capitals, names in small letters.
SHAPES = (
    "WITH c AS (SELECT a, b FROM t) SELECT c.a, count(*) AS n FROM c WHERE c.b IS NOT NULL GROUP BY c.a HAVING count(*) > 1",
    "SELECT a FROM t INNER JOIN u ON t.a = u.a LEFT OUTER JOIN x USING (a) NATURAL JOIN y HAVING EXISTS (TABLE t)",
    "SELECT CASE WHEN a = 1 THEN NULL ELSE TRUE END AS x, CASE b WHEN 2 THEN 3 END, coalesce(m.key, NULL, FALSE) FROM t",
    "SELECT DISTINCT a FROM t WHERE a NOT IN (1, NULL) AND b BETWEEN 1 AND 2 OR NOT b = NULL ORDER BY a LIMIT 5 OFFSET 2",
    "SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x FROM t",
    "SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT (SELECT c FROM v) INTERSECT SELECT DISTINCT d FROM w",
    "SELECT v:key AS x, a::INT AND b IS DISTINCT FROM c, INTERVAL 1 day + d FROM t LATERAL VIEW explode(m) e AS k HAVING k",
    "SELECT count(DISTINCT a) FILTER (WHERE b LIKE 'x') AS n, CAST(a AS STRUCT<x: INT>) FROM t WHERE a IS TRUE GROUP BY ALL",
)


@pytest.mark.parametrize("query", SHAPES)
def test_letter_case_of_keywords_does_not_matter_where_names_are_data(query: str) -> None:
    small = re.sub(
        r"\b(?!INT|STRUCT|UNBOUNDED|PRECEDING|CURRENT|ROW\b|ALL\Z)[A-Z]+\b", lambda word: word.group().lower(), query
    )
    assert canonical_query(small, True) == canonical_query(query, True)


@pytest.mark.parametrize("query", SHAPES)
def test_letter_case_of_names_matters_where_names_are_data(query: str) -> None:
    def capitals(text: str) -> str:
        return re.sub(r"(?<![\w'])(?:a|k|key|n)(?![\w'(])", lambda word: word.group().upper(), text)

    assert capitals(query) != query
    assert canonical_query(capitals(query), True) != canonical_query(query, True)


def test_words_in_the_places_of_names_are_names() -> None:
    places = (
        "CASE a WHEN b THEN c END {}",
        "m.{}",
        "v:{}",
        "v:a.{}",
        "struct(a {})",
        "struct(a AS {}, b)",
        "(a {}, b)",
        "CAST(s AS STRUCT<{}: INT>)",
        "{}, a",
    )
    relations = (
        "t",
        "t UNPIVOT (x FOR n IN ({}, b))",
        "t UNPIVOT (x FOR n IN (b, c {}))",
        "t LATERAL VIEW explode(m) e AS {}, x",
    )
    queries = [f"SELECT {place} FROM t" for place in places] + [f"SELECT * FROM {relation}" for relation in relations[1:]]
    for word in sorted(spark_words() - {"null", "true", "false"}):
        for query in queries:
            spelled = [canonical_query(query.format(one), True) for one in (word, word.upper())]
            assert spelled[0] != spelled[1], (query, word)


def test_a_word_of_sql_keeps_the_parentheses_around_what_it_begins() -> None:
    """Without them it may be a quantifier, a clause, a literal: `SELECT (all - b)` reads a column."""
    queries = (
        "SELECT {} AS x FROM t",
        "SELECT sum({}) FROM t",
        "SELECT a FROM t WHERE a IN ({}) OR a",
        "SELECT a FROM t GROUP BY {}",
    )
    for word in sorted(spark_words() - VALUES - {"not", "r", "x"}):
        for query in queries:
            for part in (word, f"{word} - b"):
                texts = {canonical_query(query.format(form.format(part))) for form in ("{}", "({})", "(({}))")}
                assert len(texts) == 3, (query, part)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT a FROM t WHERE (a - b)", "SELECT a FROM t WHERE a - b"),
        ("SELECT 1 WHERE (- a)", "SELECT 1 WHERE - a"),
        ("SELECT abs(select(a)) FROM t", "SELECT abs(select a) FROM t"),
        ("SELECT a FROM t UNPIVOT ((v) FOR n IN ((a)))", "SELECT a FROM t UNPIVOT ((v) FOR n IN (a))"),
        ("SELECT sum(a) OVER ((w)) FROM t", "SELECT sum(a) OVER (w) FROM t"),
        ("SELECT a FROM t x ((a))", "SELECT a FROM t x (a)"),
        ("SELECT a FROM VALUES ((1)), ((2))", "SELECT a FROM VALUES (1), (2)"),
    ],
)
def test_parentheses_of_the_grammar_stay(first: str, second: str) -> None:
    """Spark takes one of two for a query, or may do so."""
    assert canonical_query(first) != canonical_query(second)


def test_word_lists_are_in_order() -> None:
    folder = Path(canonical_query.__code__.co_filename).parent
    for name in ("spark_functions.txt", "spark_words.txt"):
        lines = [line for line in (folder / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines == sorted(set(lines))
    assert {"sum", "coalesce", "array_agg"} <= spark_functions().keys()
    assert {"sum", "vector_sum", "any"} <= spark_aggregates()
    assert {"explode", "variant_explode", "window", "range"} <= spark_generators()
    assert {"select", "current_date", "true"} <= spark_words()
