"""Of an address scheme, host and path are shown, and no credential; where rows go and come from is told."""

import html
import re

import pytest
import yaml
from hypothesis import given, settings

from reconciler.base.diagnostics import render_diagnostic
from reconciler.base.secrets.redaction import Plain, masked, plain_value, shown_address
from reconciler.connectors.catalogue import TRANSPORTS
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import render_section
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_comment, render_markdown
from reconciler.plan.text_form import render_text
from reconciler.project.snapshot.model import Snapshot
from tests.plan.planted_secrets import TOKENS, example_of, read, shown, with_option
from tests.plan.test_forms import POLICIES

ADDRESSES = (
    "s3://bob:{}@host/path",
    "s3a://{}:{}@bucket/x",
    "https://{}@example.com/x",
    "https://bob:{}@example.com:8080/x?a=1",
    "https://bob:p@ss{}@example.com/x",
    "https://example.com/x?sv=2020&sig={}&se=1",
    "https://example.com/x?X-Amz-Signature={}",
    "https://example.com/x?X-Amz-Security-Token={}#f",
    "jdbc://h/x?user=a&password={}",
    "s3://h/x?access_key={}&secret_key={}",
    "abfss://c@account.dfs.core.windows.net/x?sas={}",
    "h:9092;AccountKey={};x=1",
    'module required username="bob" password="{}";',
)


@pytest.mark.parametrize("address", ADDRESSES)
@settings(max_examples=5, deadline=None)
@given(TOKENS, TOKENS)
def test_credentials_within_an_address_are_masked(address: str, one: str, other: str) -> None:
    key = "uri"
    base = example_of("delta_table_input")
    first, problems = read(with_option(base, key, address.replace("{}", one)), {})
    second, _ = read(with_option(base, key, "${var:lake}"), {"lake": address.replace("{}", other) + "2"})
    assert first is not None, problems
    for applied, desired in ((first, second), (second, first), (None, first)):
        for _, text in shown(applied, desired):
            assert one not in text
            assert other not in text
    assert one not in masked(address.replace("{}", one))
    wrong = with_option(base, key, address.replace("{}", one) + "@v1")
    assert all(one not in render_diagnostic(problem) for problem in read(wrong, {})[1])


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/path",
        "abfss://container@account.dfs.core.windows.net/path",
        "hdfs://name:8020/path@x",
        "/lake/orders@home",
        "https://example.com/x?design=1&region=eu",
        "s3://${secret:USER}:${secret:PASSWORD}@host/x",
        "s3://bob:${secret:PASSWORD}@host/x",
        "https://example.com/x?sig=${secret:SIG}",
        "localhost:9092,other:9092",
        "org.apache.kafka.common.serialization.StringDeserializer",
    ],
)
def test_what_is_no_credential_stands(text: str) -> None:
    assert masked(text) == text


PLAIN_ADDRESSES = (
    "s3://bucket/path/of.it/*.csv",
    "s3a://bucket",
    "abfss://container@account.dfs.core.windows.net/path",
    "gs://b/p",
    "hdfs://name:8020/path",
    "file:///data/x",
    "/data/day=2024-01-01/x.json",
    "data",
    "./data/orders",
    "localhost:9092",
    "postgresql://h:5432/db",
    "s3://${var:bucket}/x",
    "[::1]:9092",
)


@pytest.mark.parametrize("address", PLAIN_ADDRESSES)
def test_plain_addresses_are_shown(address: str) -> None:
    assert plain_value(address, Plain.ADDRESS) == address


@pytest.mark.parametrize("address", PLAIN_ADDRESSES)
def test_plain_addresses_are_shown_whole(address: str) -> None:
    assert shown_address(address) == address


@pytest.mark.parametrize(
    ("address", "shown_of_it"),
    [
        ("s3://bob:ZqSECRET@host/path", "s3://***@host/path"),
        ("https://bob:p@ssZqSECRET@example.com:8080/x?a=1#b", "https://***@example.com:8080/x?***"),
        ("postgresql://reader@h:5432/db", "postgresql://***@h:5432/db"),
        ("postgresql://u:${secret:PASSWORD}@h/db?user=ZqSECRET", "postgresql://***@h/db?***"),
        ("abfss://c@account.dfs.core.windows.net/x?ZqSECRET", "abfss://c@account.dfs.core.windows.net/x?***"),
        ("s3://h/x#ZqSECRET", "s3://h/x#***"),
        ("/data/x?sig=ZqSECRET", "/data/x?***"),
        ("${secret:PLACE}", "${secret:PLACE}"),
        # What stands before such a sign may be the begin of a password that holds it.
        ("postgresql://u:12?ZqSECRET@h/db", "***"),
        ("s3://u:12/ZqSECRET@h", "***"),
        ("s3://u:12#ZqSECRET@h", "***"),
        ("bob:ZqSECRET@host:9092", "***"),
        ("h:9092;AccountKey=ZqSECRET", "***"),
        ("s3://b/a b ZqSECRET", "***"),
        ("s3://b/ghp_ZqSECRET0123456789abc", "***"),
    ],
)
def test_of_an_address_scheme_host_and_path_are_shown(address: str, shown_of_it: str) -> None:
    assert shown_address(address) == shown_of_it


CONFIGS = {
    "delta_table_input": ("uri: '{}', mode: snapshot", "reads {}"),
    "delta_table_output": ("uri: '{}'", "writes to {}"),
    "file_input": ("path: '{}'", "reads {}"),
    "file_output": ("path: '{}'", "writes to {}"),
    "http_input": ("path: '/{}'", "reads /{}"),
    "kafka_input": ("topic: 'x{}', bootstrap.servers: 'h:9092,g:9092'", "reads x{} at h:9092,g:9092"),
    "kafka_output": ("topic: 'x{}', bootstrap.servers: 'h:9092'", "writes to x{} at h:9092"),
    "postgres_input": ("uri: 'postgresql://bob@h/d', table: 'x{}'", "reads x{} at postgresql://***@h/d"),
}


@pytest.mark.parametrize("transport", sorted(set(TRANSPORTS) - {"datagen"}))
def test_the_address_of_what_is_new_or_changed_is_shown(transport: str) -> None:
    """A reviewer sees where rows go and come from, whatever he reads."""
    config, words = CONFIGS[transport]

    def made(address: str) -> Snapshot:
        base = example_of(transport)
        base["transport"]["config"] = yaml.safe_load("{" + config.replace("{}", address) + "}")
        base.pop("start_after", None)
        found, problems = read(base, {})
        assert found is not None, problems
        return found

    first, second = words.replace("{}", "first"), words.replace("{}", "second")
    for applied, desired, told in (
        (None, made("first"), first),
        (made("first"), made("second"), f"{second} (was {first.removeprefix('reads ').removeprefix('writes to ')})"),
    ):
        plan = make_plan("shop", "dev", applied, desired, POLICIES)
        assert told in render_text(plan)
        assert told in render_section(plan, "1")
        for text in (render_markdown(plan), render_comment([plan])):
            assert told in html.unescape(re.sub(r"\\(.)", r"\1", text.replace("&#8203;", "")))
        (change,) = plan_to_json(plan)["connectors"]
        assert change["address"] == second.removeprefix("reads ").removeprefix("writes to ") or applied is None
        assert (change["applied_address"] is None) == (applied is None)
