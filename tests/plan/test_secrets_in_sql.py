"""Of secrets in SQL no form of a plan shows any, and each shows that one changed."""

import html
import re

import pytest
from hypothesis import given, settings

from reconciler.diff.model import MetadataChange
from reconciler.plan.escaping import code, inline
from reconciler.plan.text_form import query_difference
from reconciler.plan.words import describe_metadata
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from tests.base.secrets.test_said_secrets import LETTERS, spelled
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
        " (a hidden value changed, too: *** with another number is another value)",
    ]
    assert query_difference("SELECT 'password=hunter2'", "SELECT 'password=hunter2', 1")[-1][0] == "+"


def test_a_mark_that_stands_in_the_file_is_another_line() -> None:
    lines = query_difference("SELECT 'ghp_ZqSECRETZqSECRET0123456789'", "SELECT '***'")
    assert lines == [
        "-SELECT '***2'",
        "+SELECT '***'",
        " (a hidden value changed, too: *** with another number is another value)",
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
    assert lines[-1].startswith(" (a hidden value changed") == is_told, lines
    gone, come = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    assert gone != come


def test_two_values_that_may_not_be_shown_do_not_look_alike() -> None:
    assert describe_metadata(MetadataChange("shop", "spark.some.key", "***", "***")) == "spark.some.key of shop (not shown)"
    assert describe_metadata(MetadataChange("t", "protect", "false", "true")) == "protect of t: false → true"


SECRET = "hunter2Zq9"
TABLE = "CREATE TABLE t (id BIGINT);"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT id FROM t;"
SELECT = f"{TABLE}\nCREATE MATERIALIZED VIEW v AS\n"
USED_BY = f"spec: {{views: {{v: {{used_by: ['the board, password={SECRET}', 'the password is {SECRET}']}}}}}}"
PLACES: dict[str, tuple[str, str]] = {
    # SQL, and what else the pipeline's file says.
    "the default of a column": (f"CREATE TABLE t (id BIGINT, password STRING DEFAULT '{SECRET}');\n{VIEW}", ""),
    "a default within calls": (f"CREATE TABLE t (id BIGINT, password STRING DEFAULT lower(trim('{SECRET}')));\n{VIEW}", ""),
    "the comment of a column": (f"CREATE TABLE t (id BIGINT COMMENT 'the password is {SECRET}');\n{VIEW}", ""),
    "a column of a view": (f"{SELECT}SELECT id, upper('{SECRET}') AS password FROM t;", ""),
    "a CASE of a view": (f"{SELECT}SELECT id, CASE WHEN id = 1 THEN '{SECRET}' END AS `password` FROM t;", ""),
    "a literal of a view": (f"{SELECT}SELECT id, 'password=%{SECRET}%' AS a FROM t;", ""),
    "a comment in a view": (f"{SELECT}-- pass\\_word:: {SECRET}\nSELECT id + 1 AS id FROM t;", ""),
    "used_by": (f"{TABLE}\n{VIEW}", USED_BY),
    "used_by of what is changed": (f"{TABLE}\n{VIEW.replace('id FROM', 'id AS a FROM')}", USED_BY),
}


def pipeline(sql: str, spec: str) -> Snapshot:
    yaml = f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop}}\n{spec}\n"
    found = read_manifest("shop", {"shop/pipeline.yaml": yaml, "shop/p.sql": sql}, {})
    assert found.manifest is not None, found.diagnostics
    return take_snapshot(compile_program(found.manifest).program)


@pytest.mark.parametrize("place", PLACES)
def test_wherever_a_secret_is_said_no_form_shows_it(place: str) -> None:
    none = pipeline(f"{TABLE}\n{VIEW}", "")
    one = pipeline(*PLACES[place])
    other = pipeline(*(text.replace(SECRET, f"other{SECRET}") for text in PLACES[place]))
    for sides in ((none, one), (one, none), (None, one), (one, None), (one, other), (other, one)):
        for plan, text in shown(*sides):
            # The plan itself has the texts: that is how it has a digest.
            assert SECRET not in text or text == repr(plan)


def test_what_markdown_escapes_was_masked_before() -> None:
    for form in (inline, code):
        assert SECRET not in form(f"a | password = upper('{SECRET}')")
        assert "***" in html.unescape(form(f"a | password = upper('{SECRET}')"))
