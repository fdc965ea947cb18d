"""Where names can be data, spelling is meaning, in the whole program; elsewhere it is not."""

import pytest

from reconciler.base.declarations import Manifest, Settings
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.statements import read_sql


def snapshot(text: str) -> Snapshot:
    read = read_sql(text, "p.sql")
    return take_snapshot(compile_program(Manifest(Settings("shop"), read.tables, read.views, read.connectors)).program)


MAPS = "create table props (id int, props map<string, string>); create table t (id int, m map<string, string>); "
JSON = "; create materialized view j as select to_json(struct(*)) as x from "

DATA = {
    "a key of a map named like its table": (
        MAPS + "create view v as select props.Color from props",
        MAPS + "create view v as select props.color from props",
    ),
    "a key of a map named like the alias": (
        MAPS + "create view v as select m.Key from t m",
        MAPS + "create view v as select m.key from t m",
    ),
    "a key of a map named like a CTE": (
        MAPS + "create view v as with m as (select m from t) select m.Foo from m",
        MAPS + "create view v as with m as (select m from t) select m.foo from m",
    ),
    "a key of a map in a lambda": (
        MAPS + "create view v as select transform(array(m), x -> x.Key) as k from t x",
        MAPS + "create view v as select transform(array(m), x -> x.key) as k from t x",
    ),
    "an alias that another view makes JSON of": (
        "create table t (id int); create view v as select id as Total from t" + JSON + "v",
        "create table t (id int); create view v as select id as total from t" + JSON + "v",
    ),
    "an alias that is a keyword": (
        "create table t (id int); create view v as select id as Key from t" + JSON + "v",
        "create table t (id int); create view v as select id as key from t" + JSON + "v",
    ),
    "a keyword that names a column": (
        "create table t (id int); create view v as select id Last from t" + JSON + "v",
        "create table t (id int); create view v as select id last from t" + JSON + "v",
    ),
    "a column that another view makes JSON of": (
        "create table t (Total int)" + JSON + "t",
        "create table t (total int)" + JSON + "t",
    ),
    "a list of columns that another view makes JSON of": (
        "create table t (id int); create view v (Total) as select id from t" + JSON + "v",
        "create table t (id int); create view v (total) as select id from t" + JSON + "v",
    ),
    "a key of a map named like a word of SQL": (
        MAPS + "create view v as select props.Offset as o from props",
        MAPS + "create view v as select props.offset as o from props",
    ),
    "a path in a variant named like a word of SQL": (
        "create table t (s string); create view v as select parse_json(s):Order as o from t",
        "create table t (s string); create view v as select parse_json(s):order as o from t",
    ),
    "a map that a view makes": (
        "create table t (id int, s string); create view v as select str_to_map(s) as m from t; "
        "create view w as select m.Key from v m",
        "create table t (id int, s string); create view v as select str_to_map(s) as m from t; "
        "create view w as select m.key from v m",
    ),
    "a column in a tuple": (
        "create table t (id int, a int); create view v as select id, (A, id) as x from t",
        "create table t (id int, a int); create view v as select id, (a, ID) as x from t",
    ),
    "a column in a tuple that another view gives": (
        "create table t (id int, A int); create view v as select (*, 1) as x from t",
        "create table t (id int, a int); create view v as select (*, 1) as x from t",
    ),
    "a parameter in a tuple": (
        "create table t (xs array<int>); create view v as select transform(xs, X -> (X, 1)) as x from t",
        "create table t (xs array<int>); create view v as select transform(xs, x -> (x, 1)) as x from t",
    ),
}


@pytest.mark.parametrize("claim", DATA)
def test_spelling_is_meaning(claim: str) -> None:
    before, after = map(snapshot, DATA[claim])
    assert before.program.names_are_data
    assert before.digest != after.digest


def test_spelling_is_no_meaning_elsewhere() -> None:
    before = snapshot("create table t (Id int); create view v (A) as select T.Id as Total from t")
    after = snapshot("create table t (id int); create view v (a) as select t.ID as total from T")
    assert not before.program.names_are_data
    assert before.digest == after.digest


def test_layout_and_keywords_are_no_meaning_anywhere() -> None:
    first = "select Sum(`Total`) as Key from t where Year in (1) group by 1"
    second = "SELECT SUM(Total)  AS Key FROM t WHERE Year IN (1) GROUP BY 1;"
    canonical = canonical_query(first, True)
    assert canonical == canonical_query(second, True) == canonical_query(canonical, True)
    assert canonical != canonical_query(first.replace("Year", "year"), True)
    assert canonical != canonical_query(first.replace("Key", "key"), True)
