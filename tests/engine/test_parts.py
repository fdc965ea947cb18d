"""The engine's pure parts: statements cut apart, positions of files, secrets."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.errors import EngineError
from reconciler.engine.files import File, Listing, files_of, local_listing, unread
from reconciler.engine.secrets import resolved
from reconciler.engine.spark.ingest.storage import storage_options
from reconciler.engine.statement import Delete, Insert, read_statement


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("insert into t values (1, ';'), (2, 'it''s') ;", Insert("t", (), "values (1, ';'), (2, 'it''s')")),
        ("INSERT INTO TABLE `a``b` (x, `y z`) SELECT 1, 2", Insert("a`b", ("x", "y z"), "SELECT 1, 2")),
        ("INSERT INTO t (SELECT 1)", Insert("t", (), "(SELECT 1)")),
        ("INSERT INTO t (x) (SELECT 1)", Insert("t", ("x",), "(SELECT 1)")),
        ("-- why\nINSERT /* what */ INTO t WITH a AS (SELECT 1) SELECT * FROM a", None),
        ("DELETE FROM t", Delete("t", "t", None, False)),
        ("delete from t where a = 'from'", Delete("t", "t", "a = 'from'", False)),
        ("DELETE FROM t AS u WHERE u.a IN (SELECT a FROM s)", Delete("t", "u", "u.a IN (SELECT a FROM s)", True)),
        ("DELETE FROM t u", Delete("t", "u", None, False)),
    ],
)
def test_a_statement_is_cut_apart_as_written(sql: str, expected: Insert | Delete | None) -> None:
    found = read_statement(sql)

    assert found == (expected or Insert("t", (), "WITH a AS (SELECT 1) SELECT * FROM a"))


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 1",
        "INSERT t VALUES (1)",
        "INSERT INTO",
        "DELETE t",
        "DELETE FROM t WHERE",
        "DELETE FROM t u v",
        "INSERT INTO 5 VALUES (1)",
    ],
)
def test_anything_else_is_refused(sql: str) -> None:
    with pytest.raises(EngineError) as raised:
        read_statement(sql)

    assert raised.value.code == "X720"


names = st.text(st.sampled_from("ab/. %é"), min_size=1, max_size=6)
files = st.lists(
    st.builds(File, names.map("/in/".__add__), st.integers(0, 9), st.integers(0, 9)), unique_by=lambda file: file.path
)


@given(files, files)
def test_every_file_is_read_exactly_once(first: list[File], more: list[File]) -> None:
    known = {file.path for file in first}
    later = [*first, *(file for file in more if file.path not in known)]

    before = unread(Listing(tuple(sorted(first)), False), None)
    position = json.loads(json.dumps(before.position)) if before else None
    after = unread(Listing(tuple(sorted(later)), False), position)

    read = [*(files_of(before.range) if before else []), *(files_of(after.range) if after else [])]
    assert sorted(read) == sorted(later)
    if after is not None:
        assert unread(Listing(tuple(sorted(later)), False), after.position) is None


def test_a_pattern_finds_what_is_not_hidden(tmp_path: Path) -> None:
    for name in ("a.json", "b.csv", ".c.json", "_d.json", "deep/e.json", "_hidden/f.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    def found(path: str) -> list[str]:
        return [Path(file.path).name for file in local_listing(tmp_path / path).files]

    assert found("*.json") == ["a.json"]
    assert found("") == ["a.json", "b.csv", "e.json"]
    assert found("?.[cj]s*") == ["a.json", "b.csv"]
    assert found("none*") == []


def test_secrets_are_replaced_wherever_they_stand() -> None:
    settings = {"a": ["x ${secret:KEY} y", 5, None], "b": {"c": "${secret:KEY}"}}

    assert resolved(settings, {"KEY": "k"}) == {"a": ["x k y", 5, None], "b": {"c": "k"}}
    with pytest.raises(EngineError, match="KEY"):
        resolved(settings, {})


def test_options_of_object_stores_are_hadoops() -> None:
    config = {"uri": "s3a://b/t", "mode": "snapshot", "aws_region": "eu-1", "fs.s3a.path.style.access": True}

    assert storage_options(config, "s3a://b/t") == {
        "fs.s3a.endpoint.region": "eu-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.impl.disable.cache": "true",
    }
    assert storage_options({"uri": "/t", "mode": "snapshot"}, "/t") == {}
    with pytest.raises(EngineError, match="azure_storage_account_name") as raised:
        storage_options({"azure_storage_account_name": "x"}, "abfss://c@x/t")
    assert raised.value.code == "X716"
