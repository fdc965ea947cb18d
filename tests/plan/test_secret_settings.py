"""No form of a plan, no lock and no diagnostic shows a secret of a connector, whichever setting has it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.diagnostics import render_diagnostic
from reconciler.base.schema_files import schema
from reconciler.connectors.catalogue import TRANSPORTS, secret_paths
from tests.plan.planted_secrets import LOGIN, TOKENS, every_secret, example_of, read, shown, with_option


def test_every_transport_marks_secrets() -> None:
    assert {transport for transport, _ in every_secret()} == set(TRANSPORTS) - {"datagen", "http_input"}
    assert len(every_secret()) >= 40


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, TOKENS.map(lambda text: f"{text}other"), st.booleans())
def test_a_secret_in_a_marked_option_is_shown_nowhere(
    place: tuple[str, str], one: str, other: str, by_variable: bool
) -> None:
    shows_no_secret_of_a_marked_option(place, one, other, by_variable)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, TOKENS.map(lambda text: f"{text}other"), st.booleans())
def test_a_secret_in_a_marked_option_is_shown_nowhere_in_many_more_cases(
    place: tuple[str, str], one: str, other: str, by_variable: bool
) -> None:
    shows_no_secret_of_a_marked_option(place, one, other, by_variable)


def shows_no_secret_of_a_marked_option(place: tuple[str, str], one: str, other: str, by_variable: bool) -> None:
    transport, key = place
    base = example_of(transport)
    bare, _ = read(base, {})
    given_first, given_second = (LOGIN.format(one), LOGIN.format(other)) if key == "sasl.jaas.config" else (one, other)
    value, variables = ("${var:hidden}", {"hidden": given_first}) if by_variable else (given_first, {})
    first, problems = read(with_option(base, key, value), variables)
    second, _ = read(with_option(base, key, given_second), {})
    assert first is not None, problems
    assert second is not None
    assert first.digest != second.digest
    told = []
    for applied, desired in ((bare, first), (first, second), (second, bare), (None, first), (first, None)):
        for plan, text in shown(applied, desired):
            assert one not in text
            assert other not in text
            told.append(f"{key} changed (not shown)" in text)
            assert plan.diff.connectors, "it is a change"
    assert any(told)
    for problem in problems:
        assert one not in render_diagnostic(problem)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, st.integers(10**9, 10**12))
def test_a_secret_of_the_wrong_kind_is_shown_in_no_diagnostic(place: tuple[str, str], token: str, number: int) -> None:
    tells_no_secret_of_the_wrong_kind(place, token, number)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, st.integers(10**9, 10**12))
def test_a_secret_of_the_wrong_kind_is_shown_in_no_diagnostic_in_many_more_cases(
    place: tuple[str, str], token: str, number: int
) -> None:
    tells_no_secret_of_the_wrong_kind(place, token, number)


def tells_no_secret_of_the_wrong_kind(place: tuple[str, str], token: str, number: int) -> None:
    transport, key = place
    base = example_of(transport)
    for value in (number, number + 0.5, [token], {"a": token}, f"${{{token}", f"x${{var:{token}}}y"):
        _, problems = read(with_option(base, key, value), {})
        for problem in problems:
            if value != f"x${{var:{token}}}y":
                assert token not in render_diagnostic(problem), value
            assert str(number) not in render_diagnostic(problem), value


# Where no schema says that a value is plain, and where it says so and the value is more than that.
HIDING_PLACES = (
    ("kafka_input", "bootstrap.servers", "bob:{}@host:9092"),
    ("kafka_input", "bootstrap.servers", "h:9092,{}@h:9093"),
    ("kafka_input", "client.id", "{}"),
    ("kafka_input", "group.id", "{}"),
    ("kafka_input", "sasl.oauthbearer.header", "{}"),
    ("kafka_input", "sasl.oauthbearer.client_assertion", "{}"),
    ("kafka_input", "ssl.keystore.certificate.chain", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----"),
    ("kafka_input", "security.protocol", "SSL {}"),
    ("kafka_input", "fetch.max.bytes", "{}"),
    ("kafka_output", "of.tomorrow", "{}"),
    ("delta_table_input", "uri", "s3://bob:a b {}@host/path"),
    ("delta_table_input", "uri", "s3://host/path?sv=2020&x={}"),
    ("delta_table_input", "uri", "https://host/{}/{}"),
    ("delta_table_input", "uri", "s3://host/path#{}"),
    ("delta_table_input", "aws_access_key_id", "{}"),
    ("delta_table_input", "azure_authority", "{}"),
    ("delta_table_input", "fs.azure.account.oauth2.client.endpoint", "https://h/?{}"),
    ("delta_table_input", "aws_endpoint", "http://bob:{}@h:9000"),
    ("delta_table_input", "filter", "token = '{}'"),
    ("delta_table_input", "filter", "x = 'ghp_{}0123456789'"),
    ("file_input", "path", "/data?sig={}"),
    ("file_input", "path", "/data/sig={}"),
    ("file_input", "path", "s3://b/glpat-{}"),
    ("file_output", "path", "s3://b/x;AccountKey={}"),
    ("postgres_input", "uri", "postgresql://bob:pa ss {}@h:5432/db"),
    ("postgres_input", "uri", "postgresql://h:5432/db?user=a&x={}"),
    ("postgres_input", "query", """SELECT 1 AS a /* {"password": "{}"} */"""),
    ("postgres_input", "query", "SELECT 1 AS a -- Authorization: Bearer {}"),
)


@pytest.mark.parametrize(("transport", "key", "template"), HIDING_PLACES)
@settings(max_examples=3, deadline=None)
@given(TOKENS, TOKENS)
def test_a_secret_where_no_mark_says_that_the_value_is_plain_is_shown_nowhere(
    transport: str, key: str, template: str, one: str, other: str
) -> None:
    base = example_of(transport)
    if key == "query":
        del base["transport"]["config"]["table"]
    first, problems = read(with_option(base, key, template.replace("{}", one)), {})
    second, _ = read(with_option(base, key, template.replace("{}", other + "x")), {})
    for problem in problems:
        assert one not in render_diagnostic(problem)
    if first is None:
        return
    for applied, desired in ((first, second), (second, first), (None, first), (first, None)):
        for _, text in shown(applied, desired):
            assert one not in text
            assert other not in text


@pytest.mark.parametrize("transport", sorted(TRANSPORTS))
def test_every_setting_is_marked_or_hidden(transport: str) -> None:
    """Any text in place of any setting that no mark lets through: never shown, whatever the setting is called."""
    base = example_of(transport)
    token = "ZqHUNTER2HUNTER2"
    config = schema(f"{transport}.schema.json")["properties"]["transport"]["properties"]["config"]
    for key, described in config["properties"].items():
        first, problems = read(with_option(base, key, f"{token} {token}"), {})
        assert all(token not in render_diagnostic(problem) for problem in problems) or described.get("x-plain") is True, key
        if first is not None and described.get("x-plain") is not True:
            assert all(token not in text for _, text in shown(None, first)), key


def test_plain_settings_are_shown() -> None:
    base = example_of("kafka_input")
    first, _ = read(base, {})
    second, _ = read(with_option(with_option(base, "topic", "other"), "bootstrap.servers", "a:9092, b.c:9093"), {})
    assert first is not None
    for _, text in shown(first, second):
        if text.startswith("shop (dev)"):
            assert "a:9092, b.c:9093" in " ".join(text.split())
            assert "topic: lineitem → other" in " ".join(text.split())


def test_options_of_a_transport_of_another_version_are_judged_by_their_names() -> None:
    config = {"a": "1", "api_key": "x", "nested": {"token": "y"}, "token_type": "z", "password": True}
    found = secret_paths({"transport": {"name": "of_the_future", "config": config}})
    assert found == (("transport", "config", "api_key"), ("transport", "config", "nested", "token"))
