"""Canonical texts under random changes of layout, comments and letter case; and on texts that are no queries."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.lexer import Dialect, Kind, tokens_of
from reconciler.sql.words import spark_aggregates, spark_functions, spark_words

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
    assert (
        canonical_query("select " + "(" * 5000 + "x.a + 1" + ")" * 5000 + " from t x") == "select ( x . a + 1 ) from t as x"
    )


def test_word_lists_are_in_order() -> None:
    folder = Path(canonical_query.__code__.co_filename).parent
    for name in ("spark_functions.txt", "spark_words.txt", "spark_aggregates.txt"):
        lines = [line for line in (folder / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines == sorted(set(lines))
    assert {"sum", "coalesce", "array_agg"} <= spark_functions()
    assert spark_aggregates() <= spark_functions()
    assert {"select", "current_date", "true"} <= spark_words()
