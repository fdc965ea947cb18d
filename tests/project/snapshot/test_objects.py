"""What one version of an object is, and by what its meaning is known again."""

from dataclasses import replace

import pytest

from reconciler.base.names import fold
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.objects import VersionedObject, object_key, object_keys, versioned_objects
from tests.diff.test_hidden_changes import snapshot

SQL = """\
CREATE TABLE Tab (id BIGINT NOT NULL PRIMARY KEY, X INT COMMENT 'of who');
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, X FROM tab;
CREATE MATERIALIZED VIEW V AS SELECT id, f(X) AS Y FROM l;
"""
DATA = "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM tab;\n"
KEYS = ("function:f", "table:tab", "view:l", "view:v")


def program(sql: str = SQL, spec: str = "spec: {}") -> Program:
    return snapshot(sql, spec).program


def one(key: str, sql: str = SQL, spec: str = "spec: {}") -> VersionedObject:
    return versioned_objects(program(sql, spec), frozenset((key,)))[key]


def is_known(found: VersionedObject, recorded: VersionedObject) -> bool:
    """Whether the same version of reconciler takes one for the other."""
    return bool({*found.sought_as} & {*recorded.content["known_as"]})


def test_the_keys_of_all_objects() -> None:
    assert object_keys(program()) == KEYS
    assert object_key("view", "V") == "view:v"


def test_a_version_holds_the_definition_as_it_is_stored() -> None:
    found = versioned_objects(program(), frozenset(KEYS))
    assert tuple(found) == KEYS
    stored = {f"{row['kind']}:{row['name']}": row["definition"] for row in encode_program(program())}
    for key in KEYS:
        assert found[key].key == key
        assert found[key].kind == key.partition(":")[0]
        assert fold(found[key].name) == key.partition(":")[2]
        assert found[key].definition == stored[key]
    assert found["view:v"].name == "V"
    assert found["table:tab"].content["primary_key"] == ["id"]
    assert found["table:tab"].content["columns"][1] == {"name": "X", "type": "INT", "nullable": True}
    assert found["view:v"].content["canonical"] == program().views["v"].canonical
    assert found["view:v"].content["reads"] == {"l": ["id", "X"]}
    assert found["view:v"].content["calls"] == ["f"]
    assert found["view:v"].content["columns"] == [{"name": "id"}, {"name": "Y"}]
    assert found["function:f"].content["returns"] == "INT"
    assert versioned_objects(program(), frozenset()) == {}


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("table:tab", "X INT", "X BIGINT"),
        ("table:tab", " PRIMARY KEY", ""),
        ("function:f", "x + 1", "x + 2"),
        ("function:f", "RETURNS INT", "RETURNS BIGINT"),
        ("view:l", "LOCAL VIEW", "VIEW"),
        ("view:l", "id, X FROM", "X, id FROM"),
        ("view:v", "VIEW V AS", "VIEW V (id, z) AS"),
    ],
)
def test_another_meaning_is_not_known_again(key: str, before: str, after: str) -> None:
    assert before in SQL
    other = one(key, SQL.replace(before, after))
    assert one(key).fingerprint != other.fingerprint
    assert not is_known(one(key), other)
    assert not is_known(other, one(key))
    assert one(key).written_as != other.written_as


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("table:tab", "COMMENT 'of who'", ""),
        ("table:tab", "X INT", "x int"),
        ("function:f", "x + 1", "X+1 /* one */"),
        ("view:v", "SELECT id, f(X) AS Y", "select id,\nF(x) as y"),
    ],
)
def test_what_is_written_otherwise_is_known_again(key: str, before: str, after: str) -> None:
    assert before in SQL
    other = one(key, SQL.replace(before, after))
    assert one(key).fingerprint == other.fingerprint
    assert is_known(one(key), other)
    assert one(key).definition != other.definition


def test_the_name_of_a_table_or_view_is_no_part_of_its_meaning() -> None:
    moved = SQL.replace("VIEW V", "VIEW W").replace("TABLE Tab", "TABLE other").replace("FROM tab", "FROM other")
    assert one("view:w", moved).fingerprint == one("view:v").fingerprint
    assert one("table:other", moved).fingerprint == one("table:tab").fingerprint


def test_columns_that_come_from_what_is_read_are_part_of_a_view() -> None:
    def star(columns: str) -> VersionedObject:
        return one("view:s", f"CREATE TABLE t ({columns}); CREATE VIEW s AS SELECT * FROM t;")

    assert star("a INT").fingerprint != star("a INT, b INT").fingerprint
    assert star("a INT").definition == star("a INT, b INT").definition
    assert star("a INT").written_as != star("a INT, b INT").written_as
    assert star("a INT").fingerprint == star("a BIGINT").fingerprint


def test_settings_that_decide_results_are_part_of_a_view_and_of_nothing_else() -> None:
    spec = "spec: {runtime: {spark: {spark.sql.session.timeZone: Asia/Tokyo}}}"
    for key in KEYS:
        is_same = not key.startswith("view")
        assert (one(key, spec=spec).fingerprint == one(key).fingerprint) is is_same
        assert (one(key, spec=spec).written_as == one(key).written_as) is is_same
    other = "spec: {runtime: {spark: {spark.sql.shuffle.partitions: '7'}}}"
    assert one("view:v", spec=other).fingerprint == one("view:v").fingerprint


def test_letter_case_counts_as_it_does_for_a_diff() -> None:
    """As spelled, if it counts on either side."""
    lower = SQL.replace("X", "x")
    for key in ("table:tab", "view:l"):
        assert is_known(one(key, lower), one(key))
        for sides in ((lower + DATA, SQL + DATA), (lower + DATA, SQL), (lower, SQL + DATA)):
            assert not is_known(one(key, sides[0]), one(key, sides[1]))
        for sides in ((SQL + DATA, SQL + DATA), (SQL + DATA, SQL), (SQL, SQL + DATA)):
            assert is_known(one(key, sides[0]), one(key, sides[1]))


def test_a_function_in_python_is_looked_up_by_its_name_as_spelled() -> None:
    from reconciler.base.declarations import Settings
    from reconciler.project.program.model import Function
    from tests.project.snapshot.test_function_content import TAX

    def version(name: str) -> str:
        found = Program(Settings("shop"), {}, {}, {}, functions={"tax": Function(replace(TAX, name=name))})
        return versioned_objects(found, frozenset(("function:tax",)))["function:tax"].fingerprint

    assert version("tax") != version("Tax")
