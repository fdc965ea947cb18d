"""How a secret may be said: spellings of its name, signs between both, quotes, what is computed of it, where it stands.

Each cell is a text that says `SECRET` (of code, as a literal that `quoted` writes) of a name.
"""

from collections.abc import Iterator
from itertools import product

SECRET = "hunter2Zq9"

NAMES = (
    *("password", "PASSWORD", "db_password", "dbPassword", "passwd", "user_pwd", "pass_word", "db_pass", "passphrase"),
    *("api_key", "apiKey", "client_secret", "access_token", "SharedAccessKey"),
)
PARTED = ("sasl.password", "db.`password`", "x.`api_key`")
"""Names of parts."""
ESCAPED = (r"db\_password", r"pass\_word", r"client\_secret", r"sasl\.password", r"api\-key")
"""As markdown escapes them."""

QUOTED = ("'{}'", '"{}"', "r'{}'")

OF_SQL = (
    *("{}", "({})", "(({}))", "upper({})", "lower(trim({}))", "concat({}, '')", "coalesce(NULL, {})", "nvl(a.b, {})"),
    *("CAST({} AS STRING)", "{}::string", "if(a, {}, b)", "a || {}", "{} || a", "unbase64({})", "own_function(a, {})"),
    *("CASE WHEN a = 'DE' THEN {} ELSE b END", "CASE a WHEN 'DE' THEN 'b' ELSE {} END", "regexp_replace({}, 'a', 'b')"),
    *(
        "upper( /* of ours */ {})",
        "upper(\n  {}\n)",
        "upper ({})",
        "concat(a, upper({}))",
        "decode(encode({}, 'utf-8'), 'utf-8')",
    ),
)
OF_PYTHON = (
    *("str({})", "base64.b64decode({})", "(\n    {}\n)", "a or {}", "os.environ.get('A', {})", "{} if a else b"),
    *(
        "a if b == 'c' else {}",
        "''.join([{}])",
        "{}.strip()",
        "hide({}, encoding='utf-8')",
        "Field(default={})",
        "a + str({})",
    ),
    *("getenv('A') or {}", "'%s' % {}", "text[1:] + {}"),
)

SETS_IN_SQL = (
    *(
        "{n} = {v}",
        "{n}={v}",
        "{n} := {v}",
        "{n} => {v}",
        "SET {n} = {v}",
        "OPTIONS (a 'b', {n} {v})",
        "WITH (a 'b', {n} {v})",
    ),
    *(
        "OPTIONS ({n} = {v})",
        "WITH ({n} = {v})",
        "TBLPROPERTIES ({n} {v}, a 'b')",
        "SELECT {v} AS {n} FROM t",
        "SELECT {v} {n}",
    ),
    *("SELECT a, {v} AS {n}, b FROM t", "SELECT DISTINCT {v} AS {n}", "SELECT (SELECT {v} AS {n})"),
    *("CREATE TABLE t ({n} STRING NOT NULL DEFAULT {v})", "WITH c AS (SELECT max(a), {v} AS {n} FROM t) SELECT 1"),
)
SETS_A_LITERAL_NAME = (
    *("'{n}' = {v}", "d['{n}'] = {v}", "map('{n}', {v})", "named_struct('a', 1, '{n}', {v})", "OPTIONS ('{n}' {v})"),
    *(
        "WITH ('{n}' = {v})",
        "WITH ('{n}' {v})",
        ".option('{n}', {v})",
        "{{'{n}': {v}}}",
        "SELECT {v} AS `{n}`",
        "`{n}` = {v}",
    ),
)
SETS_IN_PYTHON = ("{n} = {v}", "{n}: str = {v}", "f({n}={v})", "x = {{'{n}': {v}}}", "def f({n}={v}):", "d['{n}'] = {v}")

SAYS = (
    *("{n}={s}", "{n} = {s}", "{n}: {s}", "{n}:{s}", "{n}:: {s}", "{n} :: {s}", "{n} => {s}", "{n} := {s}", "{n} -> {s}"),
    *(
        "{n} == {s}",
        "{n} === {s}",
        "{n} is {s}",
        "the {n} is {s}",
        "{n}=%{s}%",
        "{n}=%{s}",
        "{n}: {s}%",
        "{n}=%41{s}%42",
        "?{n}={s}",
    ),
    *("`{n}`: {s}", "**{n}**: {s}", "*{n}*: {s}", "**{n}:** {s}", "`{n}`={s}", "`{n}` is {s}", "{n} is `{s}`"),
    *(
        "<{n}>{s}</{n}>",
        "--{n} {s}",
        "--{n}={s}",
        "| {n} | {s} |",
        "{n} = upper({s})",
        "{n}%3D{s}",
        "{n}%3A {s}",
        "{n} - {s}",
    ),
    *("({n}: {s})", "[{n}={s}]", "a;{n}={s};b", "\\{n}={s}"),
)
PLACES = (
    "-- {}\nSELECT a",
    "/* {} */ SELECT a",
    "# {}\na = 1",
    "SELECT '{}' AS a",
    'a = "{}"',
    '"""What it does.\n\n{}\n"""',
    "COMMENT 'x, {}'",
)


def in_code() -> Iterator[str]:
    """Code that sets a name to a literal, or to what is computed of it."""
    for quoted in QUOTED:
        literal = quoted.format(SECRET)
        values = [computed.replace("{}", literal) for computed in OF_SQL]
        for place, value, name in product(SETS_IN_SQL, values, (*NAMES, *PARTED)):
            if "." not in name or "." in place or " AS " not in place:
                yield place.format(n=name, v=value)
        for place, value, name in product(SETS_A_LITERAL_NAME, values, NAMES):
            yield place.format(n=name, v=value)
        for place, computed, name in product(SETS_IN_PYTHON, OF_PYTHON, NAMES):
            yield place.format(n=name, v=computed.replace("{}", literal))


def in_words() -> Iterator[str]:
    """Literals and comments that say it."""
    for place, said, name in product(PLACES, SAYS, (*NAMES, "sasl.password", *ESCAPED)):
        yield place.replace("{}", said.format(n=name, s=SECRET))
