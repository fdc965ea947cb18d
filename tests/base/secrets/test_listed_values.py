"""What AS gives a secret name to is masked, whatever stands before it in the list."""

import time

import pytest

from reconciler.base.secrets.redaction import masked_in_code, masked_within

_SECRET = "Zq7hunTer2Xk"
_ITEMS = (
    "'{}'",
    "upper('{}')",
    "trim(BOTH 'x' FROM '{}')",
    "overlay('{}' PLACING 'x' FROM 1)",
    "a || '{}'",
    "a IS DISTINCT FROM b, '{}'",
    "CASE WHEN a = 1 THEN '{}' END",
    "(SELECT max('{}') FROM u)",
    "max('{}') FILTER (WHERE a > 1)",
    "first_value('{}') OVER (PARTITION BY a ORDER BY b)",
)
_BEFORE = (
    "SELECT {} AS password FROM t",
    "SELECT DISTINCT {} AS password FROM t",
    "SELECT * EXCEPT (note), {} AS password FROM t",
    "SELECT t.* EXCEPT (note), {} AS `password` FROM t",
    "SELECT note IS DISTINCT FROM 'x' AS changed, {} AS password FROM t",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) AS mid, {} AS password FROM t",
    "SELECT note LIKE 'a!%' ESCAPE '!' AS a, {} AS api_key FROM t",
    "SELECT a FROM t UNION ALL SELECT {} AS password FROM t",
    "SELECT a FROM t |> EXTEND {} AS password",
    "FROM t |> EXTEND a AS b, {} AS password",
    "FROM t |> AGGREGATE {} AS password GROUP BY a",
    "WITH c AS (SELECT id, {} AS password FROM t) SELECT id FROM c",
    "SELECT a FROM t WHERE b IN (SELECT {} AS password FROM u)",
)


@pytest.mark.parametrize("item", _ITEMS)
@pytest.mark.parametrize("query", _BEFORE)
def test_an_item_that_is_called_a_secret_is_masked(query: str, item: str) -> None:
    written = query.format(item.format(_SECRET))
    assert _SECRET not in masked_in_code(written)[0]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'a' AS kind, b AS password FROM t",
        "SELECT 'a' AS kind FROM tokens AS token WHERE token.kind = 'b'",
        "SELECT CASE kind WHEN 'a' THEN b END AS password FROM t",
        "SELECT a LIKE 'x%' AS b, c AS password FROM t WHERE d = 'e'",
        "SELECT date_format(a, 'yyyy-MM') AS b, get_json_object(c, '$.d') AS password FROM t",
        "SELECT 'refresh' AS token FROM t",
        "with open('file') as token_file:\n    pass",
    ],
)
def test_what_is_called_otherwise_stays_readable(query: str) -> None:
    assert masked_in_code(query)[0] == query


@pytest.mark.parametrize("unit", ["SELECT (", "SELECT 'x' AS password,", "(SELECT ", "AS password ", ", 'x' AS password"])
def test_it_takes_as_long_as_the_text_is(unit: str) -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        masked_in_code("SELECT " + unit * count)
        return time.process_time() - began

    seconds(100)
    assert seconds(48_000) < 12 * seconds(12_000) + 0.5


def test_defaults_and_words_are_judged_by_the_names_around_them_in_json() -> None:
    columns = [
        {"name": "password", "type": "STRING", "default": f"'{_SECRET}'"},
        {"name": "api_key", "default": f"upper('{_SECRET}')", "comment": f"password={_SECRET}"},
    ]
    shown = masked_within({"columns": columns, "description": f"password={_SECRET}", "owner": f"secret: {_SECRET}"})
    assert _SECRET not in str(shown)
    assert [one["name"] for one in shown["columns"]] == ["password", "api_key"]
    plain = {"name": "kind", "default": "'a'", "comment": "which kind", "description": "all of them"}
    assert masked_within(plain) == plain
