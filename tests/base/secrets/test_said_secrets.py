"""Literals and comments are judged by what they say; names, comparisons and what is no secret stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.secrets.redaction import masked_in_code

HIDDEN = "Hunter2pass"


def test_in_sql_names_and_comparisons_stand() -> None:
    for text in ("token = t.token AND key = 5", "password: 'x'", "SELECT basic a_long_alias_1", "a@b", "s3://b/a?b=1;c=2"):
        assert masked_in_code(text) == (text,)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a = 'password=hunter2'", "a = 'password=***'"),
        ("a = 'host=h user=u password=hunter2 x=1'", "a = 'host=h user=u password=*** x=1'"),
        ('a = "Pwd=hunter2;x=1"', 'a = "Pwd=***;x=1"'),
        ("a = 'it''s api_key=hunter2'", "a = 'it''s api_key=***'"),
        ("a = 'one' AND password=b OR c = 'x'", None),
        ("-- don't\nSELECT password=b", None),
        ("a LIKE 'password=%' OR regexp_extract(a, 'token=([^&]+)') = 'code=5'", None),
        ("a = 'password=${secret:P}'", None),
        ("a = '\\' password=b'", "a = '\\' password=***'"),
    ],
)
def test_what_a_literal_says_of_a_password_is_masked_and_code_stands(text: str, shown: str | None) -> None:
    once = masked_in_code(text)
    assert once == (shown or text,)
    assert masked_in_code(*once) == once


SPELLED = (
    ("a = 'https://u:Qz''Qz@h/db'", "a = 'https://***@h/db'"),
    ('a = "https://u:Qz\'Qz@h/db"', 'a = "https://***@h/db"'),
    ("a = 'https://u:Qz' 'Qz@h/db'", "a = 'https://***@h/db'"),
    ("a = 'https://u:Qz\\'Qz@h/db'", "a = 'https://***@h/db'"),
    ("a = 'https:\\/\\/u:QzQz@h/db'", "a = 'https:\\/\\/***@h/db'"),
    ("a = 'https://u:Qz\\u0022Qz@h/db'", "a = 'https://***@h/db'"),
    ("a = 'https://u:' || 'QzQz' || '@h/db'", "a = 'https://***' || '@h/db'"),
    ("a = 'https://u:'\n  -- of ours\n  'QzQz' '@h/db'", "a = 'https://***\n***\n***' '@h/db'"),
    ("a = 'AKIAIOSQZDNN7' 'EXAMPLE'", "a = '***'"),
    ("a = '\\u0041KIAIOSQZDNN7EXAMPLE'", "a = '***'"),
    ("a = r'https://u:Qz\\Qz@h/db'", "a = r'https://***@h/db'"),
    ("a = X'414B4941494F53465151514E4E374558414D504C45'", "a = X'***'"),
    ("a = unhex('414b4941494f53465151514e4e374558414d504c45')", "a = unhex('***')"),
    ("a = 'api_key: QzQzQz'", "a = 'api_key: ***'"),
    ('a = \'{"password": "Qz\\\\"Qz Qz", "b": 1}\'', 'a = \'{"password": "***", "b": 1}\''),
    ("a = 'password = QzQz'", "a = 'password = ***'"),
    (
        "CREATE TABLE t (a INT) WITH ('password' = 'QzQz', 'user' = 'u')",
        "CREATE TABLE t (a INT) WITH ('password' = '***', 'user' = 'u')",
    ),
    ("map('user', 'u', 'password', 'QzQz')", "map('user', 'u', 'password', '***')"),
    ('read.option("password", "QzQz")', 'read.option("password", "***")'),
    ("WHERE kind IN ('password', 'token', 'fingerprint')", None),
    ("connect(user='u', password=\"QzQz\")", "connect(user='u', password=\"***\")"),
    ("connect('https://u:'\n        f'QzQz@{host}')", "connect('https://***\n***@{host}')"),
    ("-- password: QzQz\nSELECT a", "-- password: ***\nSELECT a"),
    ("/* don't: password='QzQz' */ SELECT a", "/* don't: password='***' */ SELECT a"),
    ("-- 'tis\nSELECT 'https://u:Qz''Qz@h'", "-- 'tis\nSELECT 'https://***@h'"),
    ("SELECT from_json(a, 'struct<password: string, token:INT>') LIKE 'password: %'", None),
    ("SELECT a FROM t WHERE token_type = 'refresh' AND password = ''", None),
    ("SELECT map('password', '${secret:P}'), 'password', 'another' AS token", None),
    ("d['password'] = 'QzQz'", "d['password'] = '***'"),
    ('spark.conf["fs.secret"] = "QzQz"', 'spark.conf["fs.secret"] = "***"'),
    ("password: str = 'QzQz'", "password: str = '***'"),
    ("password: Final[str | None] = 'QzQz'", "password: Final[str | None] = '***'"),
    ("os.environ.get('password', 'QzQz')", "os.environ.get('password', '***')"),
    ("os.getenv('DB_PASSWORD', 'QzQz')", "os.getenv('DB_PASSWORD', '***')"),
    ("setattr(it, 'password', 'QzQz')", "setattr(it, 'password', '***')"),
    ("OPTIONS (user 'u', password 'QzQz')", "OPTIONS (user 'u', password '***')"),
    ("TBLPROPERTIES ('password' 'QzQz', 'a' = 'b')", "TBLPROPERTIES ('password' '***', 'a' = 'b')"),
    (
        "options(\n  -- of ours\n  `fs.secret.key` 'Qz' 'Qz', header 'true')",
        "options(\n  -- of ours\n  `fs.secret.key` '***', header 'true')",
    ),
    ("OPTIONS (path '(a', api_key \"Qz Qz\", pwd 12345678)", "OPTIONS (path '(a', api_key \"***\", pwd ***2)"),
    ("password = 'correct QzQz'", "password = '***'"),
    ("option('api_key', 'Qz Qz')", "option('api_key', '***')"),
    ("{'password': 'what somebody knows'}", None),
    ("token_query = 'SELECT a FROM t'", None),
    ("_HEADER = 'Written by somebody'; TOO_MANY_TOKENS = 'there are too many'", None),
    ("# credentials: ${{ secrets.A }}", None),
    ("a = f'password=${{secret:P}}'", None),
    ("password = '$Qz1'", "password = '***'"),
    ("password='(Qz)Q'", "password='***'"),
    ("password = '<Qz'", "password = '***'"),
    ("password = '*Qz'", "password = '***'"),
    ("password='Q@z'", "password='***'"),
    ("password = '{}' OR password = '<yours>' OR password = '${secret:P}' OR password = '%s'", None),
    ("token = '(\\\\w+)' OR token = '|' OR token = 'Y'", None),
    ("a = 'password=$Qz'", "a = 'password=***'"),
    ("a = 'password=Qz*Qz;b'", "a = 'password=***;b'"),
    ("a = 'x?password=Qz*Qz&b'", "a = 'x?password=***&b'"),
    ("a = 'password=date-Qz'", "a = 'password=***'"),
    ("a = 'thin:u:password=QzQz'", "a = 'thin:u:password=***'"),
    (f"a = 'password={'Qz' * 200}'", "a = 'password=***'"),
    (f'a = \'{{"password": "{"Qz" * 200}"}}\'', 'a = \'{"password": "***"}\''),
    ("a = \"d['password'] = 'QzQz'\"", "a = \"d['password'] = '***'\""),
    ("regexp_replace(a, 'token=([^&]+)', 'token=$1') LIKE '%token=%'", None),
    ('a = \'{"tokens": [1, 2], "token": {"a": 1}, "token": true}\'', None),
    ("a = 'arn:aws:secretsmanager:eu:1:secret:x' OR a = 'https://h/token:8080'", None),
    ("df.select('token', 'user_id').drop('password', 'ssn'); a.isin('token', 'auth')", None),
    ("spark.read.option('header', 'true')", None),
)


@pytest.mark.parametrize(("text", "shown"), SPELLED)
def test_a_literal_is_judged_by_what_it_says(text: str, shown: str | None) -> None:
    once = masked_in_code(text)
    assert once == (shown or text,)
    assert masked_in_code(*once) == once


SAYING = (
    "https://u:{}@host/db",
    "https://{}@host/db",
    "password={}",
    "a=1;Pwd={};b=2",
    "{{|password|: |{}|}}",
    "api_key: {}",
    "Bearer {}",
    "//u:a{}@host?a=b",
)
LETTERS = "JQVW"


@st.composite
def spelled(draw: st.DrawFn) -> str:
    """A literal of Spark that says a secret made of some letters alone, which nothing else in it has."""
    quote = draw(st.sampled_from("'\""))
    secret = draw(st.text(LETTERS, min_size=12, max_size=16))
    said = draw(st.sampled_from(SAYING)).replace("|", '"').format(secret)
    pieces = []
    for letter in said:
        ways = [letter] if letter not in "'\"" else [f"\\{letter}"]
        ways += [f"\\u{ord(letter):04x}", f"\\{ord(letter):03o}"]
        ways += [f"{quote} {quote}{ways[0]}", f"{quote}\n{quote}{ways[0]}"]
        pieces.append(draw(st.sampled_from([ways[0]] * 8 + ways)))
    return f"{quote}{''.join(pieces)}{quote}"


@settings(max_examples=80, deadline=None)
@given(spelled())
def test_no_spelling_of_a_secret_is_shown(literal: str) -> None:
    shows_no_spelling(literal)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(spelled())
def test_no_spelling_of_a_secret_is_shown_in_many_more_cases(literal: str) -> None:
    shows_no_spelling(literal)


def shows_no_spelling(literal: str) -> None:
    [shown] = masked_in_code(f"SELECT a, {literal} AS b FROM t")
    assert set(LETTERS).isdisjoint(shown), shown
    for letter in LETTERS:
        assert f"u{ord(letter):04x}" not in shown, shown
        assert f"\\{ord(letter):03o}" not in shown, shown
    assert (shown[:10], shown[-12:]) == ("SELECT a, ", " AS b FROM t")


@pytest.mark.parametrize("sign", ["=", "==", "<=>", "<>", "!=", "<", ">="])
@pytest.mark.parametrize(
    "name", ["password", "t.password", "t.`password`", "(password)", "((t.password))", "upper(password)"]
)
@pytest.mark.parametrize("value", ["'{}'", "('{}')", '"{}"'])
def test_what_a_secret_name_is_compared_with_is_not_shown(name: str, sign: str, value: str) -> None:
    literal = value.format(HIDDEN)
    known = [f"WHERE {name} {sign} {literal}"] if (")" not in name and "(" not in literal) or sign[0] == "=" else []
    known += [f"WHERE {literal} {sign} {name}"] if sign[0] == "=" and not name.startswith("upper") else []
    for text in known:
        assert HIDDEN not in masked_in_code(f"SELECT a FROM t {text}")[0], text


@pytest.mark.parametrize(
    "value",
    [
        "get(array('{}'), 0)",
        "get(array(lower('{}')), 0)",
        "get(array(s, '{}'), 1)",
        "nth_value('{}', 1) OVER (ORDER BY a)",
        "transform(array(1), x -> '{}')[0]",
        "element_at(array(s), length(nullif('{}', a)))",
        "date_trunc(concat('{}', a), b)",
    ],
)
def test_a_literal_of_a_call_within_an_argument_is_not_shown(value: str) -> None:
    for text in (f"SELECT {value} AS password", f"SELECT {value} password", f"password = {value}"):
        assert HIDDEN not in masked_in_code(text.format(HIDDEN))[0], text


@pytest.mark.parametrize(
    "text",
    [
        "password = getenv('which one of them')",
        "SELECT regexp_extract(s, 'a pattern of it') AS password",
        "SELECT date_trunc('quarter', a) AS token",
        "def of(password): 'What it does.'",
        "SELECT upper(password), 'another column'",
        "SELECT transform(a, x -> x + 1) AS b, 'another column' AS c",
    ],
)
def test_what_says_which_or_stands_beside_is_shown(text: str) -> None:
    assert masked_in_code(text)[0] == text


@pytest.mark.parametrize(
    "name", ["pw", "db_pw", "user.pw", "DB_PW", "passcode", "pass_code", "db_credentials", "credentials"]
)
def test_a_short_name_says_so_too(name: str) -> None:
    for text in (
        f"SELECT '{HIDDEN}' AS `{name}`",
        f"SELECT 'a=b {name}={HIDDEN}' AS a",
        f"SELECT map('{name}', '{HIDDEN}')",
    ):
        assert HIDDEN not in masked_in_code(text)[0], text


@pytest.mark.parametrize("name", ["power", "pwr_w", "pass", "pin", "otp", "passed", "spawn", "kpw2"])
def test_a_name_that_only_looks_like_it_says_nothing(name: str) -> None:
    assert HIDDEN in masked_in_code(f"SELECT '{HIDDEN}' AS {name}")[0]
