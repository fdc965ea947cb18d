"""Of secrets in SQL no form of a plan shows any, and each shows that one changed."""

import re

import pytest
from hypothesis import given, settings

from reconciler.diff.model import MetadataChange
from reconciler.plan.text_form import query_difference
from reconciler.plan.words import describe_metadata
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from tests.base.test_said_secrets import LETTERS, spelled
from tests.plan.planted_secrets import shown

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


def test_two_values_that_may_not_be_shown_do_not_look_alike() -> None:
    assert describe_metadata(MetadataChange("shop", "spark.some.key", "***", "***")) == "spark.some.key of shop (not shown)"
    assert describe_metadata(MetadataChange("t", "protect", "false", "true")) == "protect of t: false → true"
