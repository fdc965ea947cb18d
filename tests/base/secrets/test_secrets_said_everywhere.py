"""However a secret is said of a name, it is not shown; SQL and Python that say none stay as they are."""

from itertools import islice

import pytest

from reconciler.base.secrets.redaction import masked_in_code
from tests.base.secrets.secret_sayings import SECRET, in_code, in_words

_EVERY = 13
"""Of the cells of a quick run: a prime, so that each value of each dimension is among them."""


def leaks(cells: "islice[str]") -> list[str]:
    return [text for text in cells if SECRET in masked_in_code(text)[0]]


def test_code_that_sets_a_secret_name_does_not_show_to_what() -> None:
    assert leaks(islice(in_code(), 0, None, _EVERY)) == []


def test_words_that_say_a_secret_do_not_show_it() -> None:
    assert leaks(islice(in_words(), 0, None, _EVERY)) == []


@pytest.mark.slow
def test_no_cell_of_code_or_words_shows_a_secret() -> None:
    assert leaks(islice(in_code(), None)) == []
    assert leaks(islice(in_words(), None)) == []


def test_the_cells_are_many() -> None:
    assert sum(1 for _ in in_code()) > 30_000
    assert sum(1 for _ in in_words()) > 5_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password = upper('s3cretZq9') AND kind = 'abcd1'", "password = upper('***') AND kind = 'abcd1'"),
        ("SELECT upper('s3cretZq9') AS password, 'abcd1' AS kind", "SELECT upper('***') AS password, 'abcd1' AS kind"),
        (
            "SELECT CASE WHEN kind = 'abcd1' THEN 's3cretZq9' END AS password",
            "SELECT CASE WHEN kind = 'abcd1' THEN '***' END AS password",
        ),
        ("SELECT regexp_replace('s3cretZq9', 'a', 'bcde') secret", "SELECT regexp_replace('***', 'a', '***2') secret"),
        ("map('password', upper('s3cretZq9'), 'kind', 'abcd1')", "map('password', upper('***'), 'kind', 'abcd1')"),
        ("map('kind', f('abcd1'), 'password', 's3cretZq9')", "map('kind', f('abcd1'), 'password', '***')"),
        ("password = os.environ.get('A_PASSWORD', 's3cretZq9')", "password = os.environ.get('A_PASSWORD', '***')"),
        ("password = a if kind == 'abcd1' else 's3cretZq9'", "password = a if kind == 'abcd1' else '***'"),
        ("client.set_password('s3cretZq9')", "client.set_password('***')"),
        (
            "password STRING DEFAULT 's3cretZq9', kind STRING DEFAULT 'abcd1'",
            "password STRING DEFAULT '***', kind STRING DEFAULT 'abcd1'",
        ),
        ("WITH (a 'abcd1', password 's3cretZq9')", "WITH (a 'abcd1', password '***')"),
        ("a = 'password=%s3cretZq9%'", "a = 'password=***'"),
        (r"-- pass\_word: s3cretZq9", r"-- pass\_word: ***"),
        ("-- `password`: s3cretZq9, the `token` is 's3cretZq9'", "-- `password`: ***, the `token` is '***'"),
        ("-- password:: s3cretZq9 of ours", "-- password:: *** of ours"),
        ("-- run it with --api-key s3cretZq9 --kind abcd1", "-- run it with --api-key *** --kind abcd1"),
        ("a = '<password>secrets</password>'", "a = '<password>***</password>'"),
        # What a column is compared with may be somebody's secret, whoever declares the column.
        ("SELECT a FROM t WHERE token = 'pending'", "SELECT a FROM t WHERE token = '***'"),
    ],
)
def test_of_what_is_said_the_secret_alone_is_masked(text: str, shown: str) -> None:
    assert masked_in_code(text) == (shown,)
    assert masked_in_code(shown) == (shown,)


READABLE = r"""
a = 'https://h/token:8080'
a = 'h/token:8080/x'
a = 'h/token:8080?a=1' OR a = 'x'
a = 'h/token:8080#a' OR a = 'x'
a LIKE 'password=%' OR regexp_extract(a, 'token=([^&]+)') = 'code=5'
SELECT get_json_object(payload, '$.user.token') AS token FROM t
SELECT get_json_object(payload, '$.user.token') token, regexp_extract(url, 'key=([a-z]+)', 1) AS api_key FROM t
SELECT split(auth, ' ')[1] AS token, date_format(issued, 'yyyy-MM-dd') AS token_date FROM t
SELECT from_json(body, 'struct<a: string>').a AS secret, CAST(a AS STRING) AS password FROM t
SELECT count_if(kind = 'refresh') AS refresh_token, kind IN ('a1b2c', 'd3e4f') AS is_token FROM t
SELECT CASE WHEN kind = 'refresh' THEN token ELSE NULL END AS token, headers['x-auth-token-1'] AS token FROM t
SELECT element_at(headers, 'x-request-1') AS token, date_trunc('MONTH', a) AS token FROM t
SELECT password, 'refresh' AS kind, 'DE49' AS country FROM t WHERE password IS NOT NULL AND country = 'DE49'
SELECT t.token FROM t JOIN u ON t.token = u.token AND u.kind = 'refresh1' WHERE u.country IN ('DE12', 'FR34')
SELECT t.token FROM t JOIN u ON t.token = lower(u.token) AND u.kind = 'refresh1' OR u.country = 'DE12'
SELECT max_by(token, issued) AS token, 'second' AS next FROM t GROUP BY token HAVING count(*) > 1 AND max(a) = 'x1234'
SELECT a FROM t WHERE token = coalesce(b.token, c.token) AND d = 'abcde1'
SELECT 'token=' || t.token || '&format=json1' AS url FROM t
SELECT concat('token=', t.token, '&format=json1') AS url FROM t
SELECT transform(tokens, token -> upper(token)) AS tokens, filter(a, token -> kind <> 'abc12') AS b FROM t
SELECT 'pending' AS token, 'another' AS token_kind, 'tokens1' AS tokens FROM t
CREATE TABLE t (token STRING, kind STRING DEFAULT 'refresh1', password STRING NOT NULL)
CREATE TABLE t (token STRING COMMENT 'what somebody got in 2024', a INT) WITH ('append_only' = 'true')
-- the token is read from its header, the password is never stored; token - what it is; secrets are resolved
-- | token | what it is |
-- `token`: what somebody gets; **password**: what nobody knows
-- The password is hashed by sha256, the token is base64, `token` is oauth2
-- `CAST(token AS string)`, token::string, x.token::bigint
password = config["db"]["password"]
token = headers.get("x-auth-token")
token = os.environ["TOKEN1"]
token = re.compile(r"[a-z]+[0-9]{4}")
token = text.split("abc1")[0]
api_key = os.environ.get("API_KEY_2")
tokens = set(["access1", "refresh1"])
password = getpass("Password for 1: ")
def f(password: str, kind: str = "abc12") -> str:
self[header] = ctype
password = hashlib.sha256(x.encode("utf-8")).hexdigest()
if token == other and kind == "refresh1":
token = jwt.encode(claims, key, algorithm="HS256")
if token:§    kind = "refresh1"
WITH recent AS (SELECT token, 'abcd1' AS kind FROM t) SELECT token FROM recent WHERE kind = 'abcd1'
SELECT sha2(token, 256) AS token, substring_index(token, '-1-', 1) AS token, nvl2(token, a, b) AS token FROM t
SELECT row_number() OVER (PARTITION BY token ORDER BY 'abcd1') AS token_number, x AS key FROM t
SELECT (SELECT max(token) FROM u WHERE kind = 'abcd1') AS token FROM t
SELECT token, u.a FROM VALUES ('abcd1', 2) AS u(a, b)
SELECT 'abcd1' AS kind, token FROM t UNION ALL SELECT 'abcd2', token FROM u
password = %DB_PASSWORD%
a = 'password=%PASSWORD%'
SELECT if(kind = 'abcd1', token, NULL) AS token, kind = 'abcd2' AS token FROM t
SELECT to_date(token_issued, 'yyyy/MM/dd') AS token, lpad(a, 12, '0') AS token FROM t
""".strip().split("\n")


@pytest.mark.parametrize("text", [text.replace("§", "\n") for text in READABLE])
def test_what_says_no_secret_stands(text: str) -> None:
    assert masked_in_code(text) == (text,)
