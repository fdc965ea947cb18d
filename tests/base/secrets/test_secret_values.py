"""What a process knows of secrets is taken out of what it says, however it is spelled and taken apart; the rest stays."""

import base64
import json
import re
import time
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.errors import EngineError, ReconcileError
from reconciler.base.printing import printable, printable_json, printable_lines
from reconciler.base.secrets.known_values import forget_secrets, remember_secret, without_secrets, without_secrets_within
from reconciler.engine.secrets import remember_credentials, resolved
from tests.pace import at_usual_pace

SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \n\tü€😀"
SECRETS = st.text("ABCdefghijk0123" + SIGNS, min_size=4, max_size=24).map(lambda text: f"Zq{text}Xv")


@given(SECRETS)
@settings(max_examples=40)
def test_it_is_found_however_it_is_spelled(secret: str) -> None:
    remember_secret(secret)
    alphabet = {"+": "-", "/": "_"}
    for before in ("", "u", "u:"):
        for spelled in (
            secret,
            secret.lower(),
            quote(secret, safe=""),
            quote(secret),
            quote_plus(secret),
            quote(quote(secret, safe=""), safe=""),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            json.dumps(json.dumps(secret))[3:-3],
            repr(secret)[1:-1],
            secret.encode("unicode_escape").decode("ascii"),
            re.escape(secret),
            escape(secret),
            " ".join(secret.split()),
            secret.encode().hex(),
        ):
            assert without_secrets(f"<{before}{spelled}|") == f"<{before}***|", spelled
        encoded = base64.b64encode(f"{before}{secret}".encode()).decode()
        for text in (encoded, "".join(alphabet.get(one, one) for one in encoded), encoded.rstrip("=")):
            said = without_secrets(f"<{text}>")
            assert "***" in said
            assert len(said) <= len("<***>") + 10, "but for the characters that hold something of what stands beside it"
    forget_secrets()


JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="reader9" '
    'password="correct horsebattery;stap=le,four@five:six77/seven&eight?nine";'
)


@pytest.mark.parametrize(
    "said",
    [
        "Value not specified for key 'horsebattery' in JAAS config",
        "unexpected stap",
        "no user reader9",
        "five:six77",
        "SEVEN",
        "eight?nine",
        "correct+horsebattery",
    ],
)
def test_of_a_text_that_is_taken_apart_no_part_is_said(said: str) -> None:
    resolved({"sasl.jaas.config": "${secret:LOGIN}"}, {"LOGIN": JAAS})
    message = EngineError("X746", said).message
    for part in ("reader9", *re.findall(r"\w{4,}", JAAS.partition("password=")[2])):
        assert part.lower() not in message.lower()


@pytest.mark.parametrize(
    "said",
    [
        "orders.k1: Kafka's client for localhost:9092 failed: Could not find a 'KafkaClient' entry in the JAAS config",
        "a login module is required, and PlainLoginModule is no class; true is not false",
        "no matching PRIVATE KEY entries in PEM file",
    ],
)
def test_messages_stay_readable(said: str) -> None:
    texts = {
        "LOGIN": JAAS,
        "WHERE": "localhost:9092",
        "KEY": "-----BEGIN PRIVATE KEY-----\nMIIEvQ+IBADANB/gkq\n-----END PRIVATE KEY-----",
    }
    resolved(
        {"sasl.jaas.config": "${secret:LOGIN}", "bootstrap.servers": "${secret:WHERE}", "ssl.key": "${secret:KEY}"}, texts
    )
    said = said.replace("localhost:9092", "the broker")
    assert EngineError("X746", said).message == said
    assert without_secrets("unexpected MIIEvQ in MIIEvQ+IBADANB") == "unexpected *** in ***"


@pytest.mark.parametrize(
    ("secret", "said", "shown"),
    [
        ("true", "true is no number: untrue", "*** is no number: untrue"),
        ("9092", "port 9092 of 19092", "port *** of 19092"),
        ("kafka", "no kafka at Kafka-1; kafkas", "no *** at ***-1; kafkas"),
        ("ab", "ab is about ab.c", "*** is about ***.c"),
        ("123456", "id9123456x", "id9***x"),
        ("  ", "a  b", "a  b"),
        ("", "ab", "ab"),
    ],
)
def test_a_short_or_common_secret_is_replaced_where_it_stands_alone(secret: str, said: str, shown: str) -> None:
    remember_secret(secret)
    assert without_secrets(said) == shown


def test_what_stands_in_clear_where_a_secret_belongs_is_taken_out_too() -> None:
    resolved({"transport": {"config": {"sasl.password": "swordfish-9"}}}, {})
    assert ReconcileError("X700", "bad swordfish-9").message == "bad ***"


def test_what_a_session_logs_in_with_is_taken_out_too() -> None:
    spark = {"spark.hadoop.fs.s3a.bucket.lake.secret.key": "swordfish-9", "spark.executor.memory": "4g"}
    remember_credentials(spark, {"AWS_SECRET_ACCESS_KEY": "stap/ler", "AWS_REGION": "eu-west-7"})
    assert ReconcileError("X700", "swordfish-9 stap%2Fler 4g eu-west-7").message == "*** *** 4g eu-west-7"


def test_every_way_of_saying_takes_it_out() -> None:
    remember_secret("swordfish-9\nseven")
    error = EngineError("X700", "swordfish-9", "swordfish-9")
    assert (error.message, error.hint, str(error)) == ("***", "***", "***")
    assert printable("a swordfish-9") == "a ***"
    assert printable_lines("a swordfish-9\nseven") == "a ***"
    value = {"message": "swordfish", "parts": [{"s3://swordfish": 1, "seven": 2}], "n": 3}
    assert without_secrets_within(value) == {"message": "***", "parts": [{"s3://***": 1, "seven": 2}], "n": 3}
    assert json.loads(printable_json(value)) == without_secrets_within(value)


def test_a_secret_that_is_a_word_of_json_leaves_it_json() -> None:
    for secret in ("true", '"', "null", "{", "1"):
        remember_secret(secret)
    assert json.loads(printable_json({"true": True, "n": 1, "none": None})) == {"true": True, "n": 1, "none": None}


def test_it_takes_as_long_as_the_text_is() -> None:
    for number in range(3):
        remember_secret(" ".join(f"{number}\\ %{one}" for one in range(9)))
    began = time.monotonic()
    without_secrets("\\" * 20_000 + "%25" * 5_000 + " " * 20_000 + "0 " * 10_000)
    assert time.monotonic() - began < 10


def test_of_a_long_secret_its_lines_are_taken_out_in_little_time() -> None:
    lines = [base64.b64encode(number.to_bytes(48)).decode() for number in range(1, 5000)]
    certificates = "-----BEGIN CERTIFICATE-----\n" + "\n".join(lines) + "\n-----END CERTIFICATE-----\n"
    said = f"can't read {lines[7]}\nnor {json.dumps(chr(10).join(lines[8:11]))}: " + "nothing that is secret " * 100
    started = time.process_time()
    remember_secret(certificates, ("ssl.truststore.certificates",))
    for _ in range(20):
        shown = without_secrets(said)

    assert at_usual_pace(time.process_time() - started) < 1
    assert shown == said.replace(lines[7], "***").replace(lines[8], "***").replace(lines[9], "***").replace(lines[10], "***")
