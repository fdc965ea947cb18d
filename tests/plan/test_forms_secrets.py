"""No form of a plan, no lock, no diagnostic and no status shows the value of a secret, wherever it is planted."""

import html
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.diagnostics import Diagnostic, errors_among, render_diagnostic
from reconciler.base.redaction import Plain, masked, masked_in_code, plain_value, shown_address
from reconciler.base.schema_files import schema
from reconciler.cli.main import run
from reconciler.cli.output import show_csv, show_json, show_rows, show_table
from reconciler.connectors.catalogue import TRANSPORTS, secret_paths
from reconciler.diff.model import MetadataChange
from reconciler.plan.graph_form import graph_of, render_dot, render_mermaid
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import render_section
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_comment, render_markdown
from reconciler.plan.model import Plan, Policies
from reconciler.plan.text_form import query_difference, render_text
from reconciler.plan.words import describe_metadata
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.plan.test_forms import POLICIES

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
TOKENS = st.text("ABCDEFGHIJKLMNPQRSTUVWXYZ23456789", min_size=12, max_size=20).map(lambda text: f"Zq{text}")


def example_of(transport: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(schema(f"{transport}.schema.json")["examples"][0]))
    return found


def read(connector: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[Snapshot | None, tuple[Diagnostic, ...]]:
    relation = {"table": "t"} if str(connector["transport"]["name"]).endswith("_input") else {"view": "v"}
    yaml = {
        "apiVersion": "reconciler/v1",
        "kind": "Pipeline",
        "metadata": {"name": "shop"},
        "spec": {"connectors": [{"name": "live", **relation, **connector}]},
    }
    files = {"pipelines/shop/pipeline.yaml": json.dumps(yaml), "pipelines/shop/program.sql": PROGRAM}
    found = read_manifest("pipelines/shop", files, variables)
    if found.manifest is None:
        return None, found.diagnostics
    compiled = compile_program(found.manifest)
    diagnostics = (*found.diagnostics, *compiled.diagnostics)
    return (None if errors_among(diagnostics) else take_snapshot(compiled.program)), diagnostics


def shown(applied: Snapshot | None, desired: Snapshot | None, policies: Policies = POLICIES) -> Iterator[tuple[Plan, str]]:
    """Everything that is shown of the plan between two snapshots."""
    if applied is None and desired is None:
        return
    plan = make_plan("shop", "dev", applied, desired, policies)
    before, after = (snapshot.program if snapshot else empty(applied or desired) for snapshot in (applied, desired))
    graph = graph_of(plan, before, after)
    for text in (
        render_text(plan),
        render_text(plan, width=40, whole=True),
        render_markdown(plan),
        render_comment([plan, plan]),
        json.dumps(plan_to_json(plan)),
        render_mermaid(graph),
        render_dot(graph),
        render_section(plan, "1"),
        repr(plan),
    ):
        yield plan, text


def empty(snapshot: Snapshot | None) -> Program:
    assert snapshot is not None
    return replace(snapshot.program, tables={}, views={}, connectors={}, order=())


def secret_keys(transport: str) -> list[str]:
    """The options that a transport's schema marks, and one for each pattern that it marks."""
    config = schema(f"{transport}.schema.json")["properties"]["transport"]["properties"]["config"]
    keys = [key for key, described in config["properties"].items() if described.get("x-secret")]
    patterns = [pattern for pattern, described in config.get("patternProperties", {}).items() if described.get("x-secret")]
    examples = {"fs": "fs.s3a.secret.key", "aws": "aws_sse_customer_key_base64", "kafka": "sasl.jaas.config"}
    for pattern in patterns:
        kind = "fs" if pattern.startswith("^fs") else "aws" if "aws" in pattern else "kafka"
        keys.append(examples[kind])
    return keys


LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="{}";'


def every_secret() -> list[tuple[str, str]]:
    return [(transport, key) for transport in sorted(TRANSPORTS) for key in secret_keys(transport)]


def with_option(connector: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    transport = connector["transport"]
    return {**connector, "transport": {**transport, "config": {**transport["config"], key: value}}}


def test_every_transport_marks_secrets() -> None:
    assert {transport for transport, _ in every_secret()} == set(TRANSPORTS) - {"datagen"}
    assert len(every_secret()) >= 40


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, TOKENS.map(lambda text: f"{text}other"), st.booleans())
def test_a_secret_in_a_marked_option_is_shown_nowhere(
    place: tuple[str, str], one: str, other: str, by_variable: bool
) -> None:
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


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(every_secret()), TOKENS, st.integers(10**9, 10**12))
def test_a_secret_of_the_wrong_kind_is_shown_in_no_diagnostic(place: tuple[str, str], token: str, number: int) -> None:
    transport, key = place
    base = example_of(transport)
    for value in (number, number + 0.5, [token], {"a": token}, f"${{{token}", f"x${{var:{token}}}y"):
        _, problems = read(with_option(base, key, value), {})
        for problem in problems:
            if value != f"x${{var:{token}}}y":
                assert token not in render_diagnostic(problem), value
            assert str(number) not in render_diagnostic(problem), value


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
        (made("first"), made("second"), f"{second}; until now {first.removeprefix('reads ').removeprefix('writes ')}"),
    ):
        plan = make_plan("shop", "dev", applied, desired, POLICIES)
        assert told in render_text(plan)
        assert told in render_section(plan, "1")
        for text in (render_markdown(plan), render_comment([plan])):
            assert told in html.unescape(re.sub(r"\\(.)", r"\1", text.replace("&#8203;", "")))
        (change,) = plan_to_json(plan)["connectors"]
        assert change["address"] == second.removeprefix("reads ").removeprefix("writes to ") or applied is None
        assert (change["applied_address"] is None) == (applied is None)


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "ZqSECRET"}',
        "{'client_secret': 'ZqSECRET'}",
        "Authorization: Bearer ZqSECRET",
        "it said 'Bearer ZqSECRETZqSECRET'",
        "authorization: Basic ZqSECRET",
        "X-Api-Key: ZqSECRET",
        "set-cookie: ZqSECRET",
        "ghp_ZqSECRETZqSECRET0123456789",
        "eyJZqSECRET00.eyJZqSECRET.ZqSECRET",
        "postgres://bob:a b ZqSECRET@host",
        "-----BEGIN RSA PRIVATE KEY-----\nZqSECRET\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_credential_is_masked_in_any_text(text: str) -> None:
    assert "ZqSECRET" not in masked(f"before {text} after")


_HEX, _LETTERS = "0a1b2c3d4e5f6071" * 4, "aB3dE5fG" * 8
TOKENS = (
    ("sk_live_", _LETTERS[:24]),
    ("rk_live_", _LETTERS[:24]),
    ("sk_test_", _LETTERS[:24]),
    ("rk_test_", _LETTERS[:24]),
    ("SG.", f"{_LETTERS[:22]}.{_LETTERS[:43]}"),
    ("dop_v1_", _HEX),
    ("doo_v1_", _HEX),
    ("dor_v1_", _HEX),
    ("hvs.", _LETTERS[:24]),
    ("hvb.", f"{_LETTERS[:30]}-{_LETTERS[:30]}"),
    ("pypi-AgE", f"IcHlwaS5vcmc{_LETTERS[:40]}-{_LETTERS[:10]}"),
    ("shpat_", _HEX[:32]),
    ("shpss_", _HEX[:32]),
    ("SK", _HEX[:32]),
    ("key-", _HEX[:32]),
    ("NRAK-", "A1B2C3D4E5F6G7H8J9K0L1M2N3P"),
    ("glsa_", f"{_LETTERS[:32]}_{_HEX[:8]}"),
    ("lin_api_", _LETTERS[:40]),
    ("ATATT3", f"xFfGF0{_LETTERS[:40]}={_HEX[:8]}"),
    ("whsec_", f"{_LETTERS[:30]}+/="),
    ("xapp-", f"1-A0B1C2D3E4F-0123456789012-{_HEX}"),
    ("ya29.", f"a0Af_by-{_LETTERS[:40]}"),
    ("glptt-", _HEX[:40]),
    ("glrt-", _LETTERS[:20]),
    ("glrt-", f"t1_{_LETTERS[:20]}"),
    ("gldt-", _LETTERS[:20]),
    ("glcbt-", f"64_{_LETTERS[:20]}"),
    ("glsoat-", _LETTERS[:20]),
    ("glagent-", _LETTERS[:50]),
)


@pytest.mark.parametrize(("sign", "rest"), TOKENS, ids=[sign for sign, _ in TOKENS])
def test_tokens_of_well_known_services_are_masked_in_any_text_and_in_code(sign: str, rest: str) -> None:
    token = sign + rest
    for text in (f"before {token} after", f"SELECT a = '{token}'", f"-- {token}\nSELECT 1"):
        assert masked(text) == text.replace(token, "***")
        assert masked_in_code(text) == (text.replace(token, "***"),)


@pytest.mark.parametrize(
    "text",
    [
        "sk_live_orders",
        "whsec_orders",
        "xapp-orders-of-every-country",
        "ya29.orders",
        "glrt-orders",
        "SG.accounts.countries_of_the_world",
        "pypi-mirror-of-all-packages-that-we-ever-used",
        "hvs.measurements",
        "lin_api_version_of_the_interface",
        f"key-{_HEX[:31]}",
        f"key-{_HEX[:33]}",
        f"SK{_HEX[:31]}",
        f"SK{_HEX[:33]}",
        f"TASK{_HEX[:32]}",
        "SKU0123456789012345678901234567890",
        _HEX[:32],
    ],
)
def test_names_that_only_begin_like_a_token_stand(text: str) -> None:
    assert masked(f"before {text} after") == f"before {text} after"
    assert masked_in_code(f"SELECT a = '{text}'") == (f"SELECT a = '{text}'",)


CREDENTIALS_IN_SQL = (
    "ghp_ZqSECRETZqSECRET012345678{}",
    "AKIAZQSECRETZQ12345{}",
    "Bearer ZqSECRETZqSECRET{}",
    "Basic ZqSECRETZqSECRET{}==",
    "https://bob:ZqSECRET{}@host/a",
    "jdbc:postgresql://host/db?user=a&password=ZqSECRET{}",
    "https://store/a?sig=ZqSECRET{}",
    "-----BEGIN RSA PRIVATE KEY-----\nZqSECRET{}\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("credential", CREDENTIALS_IN_SQL)
def test_of_a_credential_in_sql_no_form_shows_it_and_each_shows_what_changes(credential: str) -> None:
    """Only the credential is masked, another one by another mark; the digest is of what stands in the file."""

    def snapshot(one: str, other: str) -> Snapshot:
        table = f"CREATE TABLE t (id BIGINT, s STRING DEFAULT '{one}');"
        view = f"CREATE MATERIALIZED VIEW v AS SELECT id,\n  '{one}' AS k,\n  s = '{other}' AS token FROM t WHERE id = 5;"
        yaml = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
        read = read_manifest("shop", {"shop/pipeline.yaml": yaml, "shop/p.sql": f"{table}\n{view}"}, {})
        assert read.manifest is not None
        return take_snapshot(compile_program(read.manifest).program)

    first, second, third = (credential.format(sign) for sign in "234")
    sides = [snapshot(first, second), snapshot(first, third), snapshot(second, second)]
    digests = set()
    for desired in sides[1:]:
        found = list(shown(sides[0], desired))
        digests |= {plan.digest for plan, _ in found}
        for plan, text in found:
            # The plan itself has the texts: that is how it has a digest.
            assert "SECRET" not in text.upper() or text == repr(plan)
        whole = next(text for plan, text in found if text.startswith("shop"))
        assert "AS token FROM t WHERE id = 5" in whole or "\n" in credential
        changed = [line.strip()[1:] for line in whole.splitlines() if line.strip()[:1] in ("+", "-") and "***" in line]
        assert len(set(changed)) == len(changed) >= 2, whole
    assert len(digests) == 2


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


@given(spelled())
@settings(max_examples=300, deadline=None)
def test_no_spelling_of_a_secret_is_shown(literal: str) -> None:
    [shown] = masked_in_code(f"SELECT a, {literal} AS b FROM t")
    assert set(LETTERS).isdisjoint(shown), shown
    for letter in LETTERS:
        assert f"u{ord(letter):04x}" not in shown, shown
        assert f"\\{ord(letter):03o}" not in shown, shown
    assert (shown[:10], shown[-12:]) == ("SELECT a, ", " AS b FROM t")


@given(spelled(), spelled())
@settings(max_examples=15, deadline=None)
def test_no_form_of_a_plan_shows_a_spelling_of_a_secret(one: str, other: str) -> None:
    def snapshot(literal: str) -> Snapshot:
        yaml = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
        sql = f"CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id, {literal} AS k FROM t;"
        read = read_manifest("shop", {"shop/pipeline.yaml": yaml, "shop/p.sql": sql}, {})
        assert read.manifest is not None
        return take_snapshot(compile_program(read.manifest).program)

    for plan, text in shown(snapshot(one), snapshot(other)):
        if text == repr(plan):
            continue
        # Names of codes have letters, too: a secret has more of them in a row.
        assert re.search(f"[{LETTERS}]{{2}}", text) is None, text
        assert not any(f"u{ord(letter):04x}" in text for letter in LETTERS), text


def test_that_only_a_masked_value_changed_is_said() -> None:
    assert query_difference("SELECT 'password=hunter2'", "SELECT 'password=hunter3'") == [
        "-SELECT 'password=***'",
        "+SELECT 'password=***2'",
        " (what is not shown changed, too: *** with another number is another value)",
    ]
    assert query_difference("SELECT 'password=hunter2'", "SELECT 'password=hunter2', 1")[-1][0] == "+"


def test_a_mark_that_stands_in_the_file_is_another_line() -> None:
    lines = query_difference("SELECT 'ghp_ZqSECRETZqSECRET0123456789'", "SELECT '***'")
    assert lines == [
        "-SELECT '***2'",
        "+SELECT '***'",
        " (what is not shown changed, too: *** with another number is another value)",
    ]


@pytest.mark.parametrize(
    ("applied", "desired", "is_told"),
    [
        ("SELECT 'password=hunter2'", "SELECT 'password=***'", True),
        ("SELECT 'password=hunter2', a", "SELECT 'password=hunter2', 'token=qwerty'", False),
        ("SELECT 'password=hunter2', a", "SELECT 'password=hunter2', b", False),
        ("-- *** old ***2 b\nSELECT a", "-- *** new\nSELECT a", False),
        ("-- ***2\nSELECT a", "-- ***3\nSELECT a", False),
        ("SELECT 'password=a', 'token=b'", "SELECT 'password=b', 'token=a'", True),
        ("SELECT a,\n 'password=a'", "SELECT 'password=a',\n 'password=b'", True),
    ],
)
def test_that_what_is_not_shown_changed_is_said_where_nothing_else_did(applied: str, desired: str, is_told: bool) -> None:
    lines = query_difference(applied, desired)
    assert lines[-1].startswith(" (what is not shown") == is_told, lines
    gone, come = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    assert gone != come


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
)


@pytest.mark.parametrize("piece", PIECES)
def test_masking_takes_as_long_as_the_text_is(piece: str) -> None:
    text = "@//=:" + piece * (400_000 // len(piece))
    began = time.process_time()
    masked(text)
    masked_in_code(text)
    plain_value(text, Plain.ADDRESS)
    shown_address(text)
    assert time.process_time() - began < 5


def test_options_of_a_transport_of_another_version_are_judged_by_their_names() -> None:
    config = {"a": "1", "api_key": "x", "nested": {"token": "y"}, "token_type": "z", "password": True}
    found = secret_paths({"transport": {"name": "of_the_future", "config": config}})
    assert found == (("transport", "config", "api_key"), ("transport", "config", "nested", "token"))


def test_commands_show_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "ZqHUNTER2HUNTER2"
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text(
        f"default: dev\nenvironments:\n  dev: {{warehouse: wh, variables: {{hidden: {token}}}}}\n"
    )
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec:\n  connectors:\n"
        "    - {name: a, table: t, transport: {name: delta_table_input, config: "
        f"{{uri: 's3://bob:{token}@h/x?sig={token}', mode: snapshot, aws_secret_access_key: '${{var:hidden}}'}}}}}}\n"
        "    - {name: b, table: t, transport: {name: kafka_input, config: "
        f"{{topic: x, bootstrap.servers: b, sasl.jaas.config: '{LOGIN.format(token)}'}}}}, format: {{name: json}}}}\n"
    )
    repository = ("--repo", str(tmp_path))
    for form in ("text", "json", "markdown", "mermaid", "dot"):
        assert (
            run(
                ["plan", *repository, "--format", form, "--all"]
                if form == "text"
                else ["plan", *repository, "--format", form]
            )
            == 0
        )
    assert run(["plan", "shop", *repository, "--write-lock"]) == 0
    for form in ("text", "json"):
        assert run(["validate", *repository, "--format", form]) == 0
        assert run(["status", "shop", *repository, "--format", form]) == 0
    captured = capsys.readouterr()
    assert token not in captured.out + captured.err
    assert "C412" in captured.out + captured.err


def test_no_command_shows_a_credential_that_stands_in_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In SQL, in Python, in words of the author, and in what a problem quotes: whoever shows it."""
    tokens = [f"ghp_{number:036}" for number in range(5)]
    folder = tmp_path / "pipelines" / "shop"
    (folder / "udf").mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text("environments: {dev: {warehouse: wh}}\n")
    (folder / "program.sql").write_text(
        f"CREATE TABLE t (a STRING DEFAULT '{tokens[0]}', b INT);\n"
        f"CREATE FUNCTION g(x INT) RETURNS STRING;\n"
        f"CREATE VIEW v AS SELECT a, g(b) AS g FROM t WHERE a <> '{tokens[1]}' AND a <> 'postgresql://bob:{tokens[2]}@h/d';\n"
    )
    (folder / "udf" / "g.py").write_text(f'TOKEN = "{tokens[3]}"\n\n\ndef g(x):\n    return TOKEN\n')
    yaml = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    spec = f"spec: {{bootstrap_policy: allow, views: {{v: {{used_by: ['the board, {tokens[4]}']}}}}}}\n"
    repository = ("--repo", str(tmp_path))
    (folder / "pipeline.yaml").write_text(yaml + spec)
    target = Project.open(tmp_path, engine=RecordingEngine())
    target.pipeline("shop").apply()
    (folder / "pipeline.yaml").write_text(yaml)
    for name in ("t", "v", "g"):
        for form in ("text", "json"):
            assert run(["versions", "show", name, *repository, "--format", form]) == 0
    for form in ("text", "json"):
        assert run(["history", "shop", "--at", "2100-01-01", *repository, "--format", form]) == 0
        assert run(["plan", *repository, "--format", form]) == 0
        assert run(["explain", "shop", "v", *repository, "--format", form]) == 0
    assert run(["plan", *repository, "--format", "markdown", "--write-lock"]) == 0
    (folder / "more.sql").write_text(f"CREATE VIEW w AS SELECT '{tokens[0]}' FROM;\n")
    assert run(["validate", *repository]) == 1
    captured = capsys.readouterr()
    shown = captured.out + captured.err + "".join(file.read_text() for file in folder.glob("plan.lock"))
    assert "***" in shown
    assert not [token for token in tokens if token in shown]


@pytest.mark.parametrize("user", ["AKIAIOSFODNN7EXAMPLE", "bob", "***"])
def test_a_password_goes_whatever_its_user_is(user: str) -> None:
    once = masked_in_code(f"s3://{user}:hunter2secret@bucket/x")
    assert "hunter2secret" not in once[0]
    assert masked_in_code(*once) == once


def test_rows_that_were_asked_for_are_data(capsys: pytest.CaptureFixture[str]) -> None:
    token = "ghp_" + "0" * 36
    show_rows(["a"], [[token]])
    show_csv(["a"], [[token]])
    show_json({"step": 1}, {"rows": [{"a": token}]})
    assert capsys.readouterr().out.count(token) == 3
    show_json({"step": token})
    show_table(["a"], [[token]])
    assert token not in capsys.readouterr().out


def test_two_values_that_may_not_be_shown_do_not_look_alike() -> None:
    assert describe_metadata(MetadataChange("shop", "spark.some.key", "***", "***")) == "spark.some.key of shop (not shown)"
    assert describe_metadata(MetadataChange("t", "protect", "false", "true")) == "protect of t: false → true"
