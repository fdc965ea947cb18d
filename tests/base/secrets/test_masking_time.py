"""Masking takes as long as the text is, whatever it holds."""

import time

import pytest

from reconciler.base.secrets.redaction import Plain, masked, masked_in_code, plain_value, shown_address
from tests.pace import at_usual_pace

PIECES = (
    "a",
    "a.",
    "a-",
    "a=",
    "a:",
    "//",
    "://a",
    '"',
    "eyJ",
    "eyJa.",
    "-----BEGIN ",
    "a@",
    "gh",
    "\\",
    "/a",
    "s3://a:",
    "//a:",
    "a='",
    "?a=",
    ";",
    "Bearer ",
    "'Basic ",
    "'a' ",
    "password: '",
    "'password', ",
    "a='b', ",
    "'\\'",
    "/*",
    "/* '",
    "-- '\n",
    "'' ",
    "\\u0041'",
    "'https://u:' ",
    "password=>",
    "password=",
    "password='",
    "password='\\\\",
    "password=(\\\\w+",
    "password={}:",
    "password=(a|",
    "a:",
    "password='<a>",
    "OPTIONS (",
    "OPTIONS (a '",
    "OPTIONS (a 'b', ",
    "OPTIONS (a /* ",
    "OPTIONS (`",
    "password: a[",
    "password=[ ",
    "password: [",
    'password: [\\"',
    "password: ['a', ",
    "password: {",
    "password: [\"'",
    "password=[a]*",
    "x/password: [",
    "password = /* a */ '",
    "'\n-- a ",
    "password: [a]b",
    "password: [${",
    "password: ['a",
    "password: [x=",
    "password='[",
    "['a', ",
    "[",
    "[&token=[a]+",
    "{{&token=",
    "password=.+(",
    "password={{",
    "password={{a}}",
    "/password:",
    "://password:8",
    "password     ",
    "password =          '",
    "password = ['a', ",
    "'password': ['a', ",
    "-- options(\n",
    "options(--",
    "options(/*",
    "options/*",
    "options -- a\n",
    "options('\\'",
    "options(\\'",
    "options(\"a'",
    "options(password(",
    "options(password = a || ",
    "options(a.`b`.",
    "options(password '",
    "SharedAccess",
    "apiKeyApi",
    "password=f(",
    "password=f('",
    "password=f('x', ",
    "select 'a' AS password, ",
    "(select ('a' as password) ",
    "password=case when ",
    "password a default f(",
    "password is ",
    "--password ",
    "<password>",
    "a\\_",
    "%3D",
    "with (password f(",
    "map('password', f(",
    "`password` ",
    "password: a = ",
    "set_password(",
    "password is 'a",
    "'password' , ",
    "case when 'a' then ",
)


@pytest.mark.parametrize("piece", PIECES)
def test_masking_takes_as_long_as_the_text_is(piece: str) -> None:
    """Five times the text takes about five times as long; with the square of its length it would take 25 times. Of three
    tries the quickest counts: the processor is shared."""
    assert any(seconds(50_000, piece) < 12 * seconds(10_000, piece) for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_masking_takes_as_long_as_a_long_text_is(piece: str) -> None:
    assert seconds(400_000, piece) < 5


def seconds(length: int, piece: str) -> float:
    """What it takes of the processor to mask a text of this length."""
    text = "@//=:" + piece * (length // len(piece))
    began = time.process_time()
    masked(text)
    masked_in_code(text)
    plain_value(text, Plain.ADDRESS)
    shown_address(text)
    return time.process_time() - began


@pytest.mark.parametrize(
    "piece", ["password=[", "password=[a", "password: ['a', ", "--token ", "password is ", "password | "]
)
def test_masking_a_literal_takes_as_long_as_the_text_is(piece: str) -> None:
    began = time.process_time()
    masked_in_code(f"'{piece * (400_000 // len(piece))}'")
    assert at_usual_pace(time.process_time() - began) < 5
