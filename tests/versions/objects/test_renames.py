"""Versions of objects that are renamed: the numbers go along."""

from pathlib import Path

from reconciler.registry.model import ObjectVersions
from reconciler.versions.history import program_at, time_of
from tests.acceptance.shop import contents
from tests.versions.objects.numbered import (
    ALL,
    EVOLVE,
    OTHER,
    RENAMED,
    SQL,
    apply,
    head_of,
    moved,
    numbers,
    recorded,
    target_of,
    told_active,
)


def test_a_rename_keeps_the_number_and_is_told(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    renamed = RENAMED.replace("f(x) AS y", "f(x + 1) AS y")
    after = apply(shop, renamed, more=moved("v vv", "s ss"))
    assert after == {"function:f": 0, "table:ss": 0, "table:t": 0, "view:l": 0, "view:vv": 1, "view:w": 1}
    assert head_of(shop).versions["view:vv"] == ObjectVersions("view:v", 1, 1)
    assert len(recorded(shop)) == len(ALL) + 2, "one of v, and one of w, whose query names it"
    assert told_active(shop)["view:v"] == (1, "vv")
    program = program_at(target_of(shop), "shop", time_of("2999-01-01"))
    assert {f"{one.kind}:{one.name}": one.version for one in program.objects if one.kind != "settings"} == after
    assert apply(shop, RENAMED.replace("TABLE ss", "TABLE s"), more=moved("v vv", "ss s"))["view:vv"] == 0
    assert head_of(shop).versions["table:s"] == ObjectVersions("table:s", 0, 0)


def test_a_rename_together_with_a_change(shop: Path) -> None:
    after = apply(shop, RENAMED.replace("f(x) AS y", "f(x + 1) AS y"), more=moved("v vv", "s ss"))
    assert (after["view:vv"], after["table:ss"], "view:v" in after) == (1, 0, False)


def test_what_takes_a_name_that_another_one_gave_up_begins_anew(shop: Path) -> None:
    apply(shop, RENAMED, more=moved("v vv", "s ss"))
    after = apply(shop, RENAMED + "CREATE TABLE s (a INT); CREATE VIEW v AS SELECT id FROM t;", more=EVOLVE)
    versions = head_of(shop).versions
    assert (versions["view:vv"].id, versions["view:v"].id) == ("view:v", "view:v/2")
    assert (versions["table:ss"].id, versions["table:s"].id) == ("table:s", "table:s/2")
    assert (after["view:v"], after["view:vv"], after["table:s"]) == (0, 0, 0)


def test_a_rename_onto_a_name_that_was_used_long_ago(shop: Path) -> None:
    without = SQL.replace("CREATE TABLE s (id BIGINT);\n", "")
    assert apply(shop, without, more=EVOLVE)["table:s"] is None
    with_new = without.replace("TABLE t", "TABLE s").replace("FROM t", "FROM s")
    after = apply(shop, with_new, more=moved("t s"))
    assert after["table:s"] == 0
    assert head_of(shop).versions["table:s"].id == "table:t"
    assert head_of(shop).versions["formerly:table:s"] == ObjectVersions("table:s", None, 0)
    # And away again: what had the name first is itself when it comes back.
    apply(shop, without, more=moved("s t"))
    assert apply(shop, SQL.replace("s (id BIGINT)", "s (id INT)"), more=EVOLVE) == numbers(s=1)
    assert head_of(shop).versions["table:s"] == ObjectVersions("table:s", 1, 1)


def test_a_query_that_follows_a_rename_is_a_version_that_one_can_go_back_to(shop: Path) -> None:
    before = contents(shop)
    followed = SQL.replace("TABLE t", "TABLE u").replace("FROM t", "FROM u")
    assert apply(shop, followed, more=moved("t u"))["view:l"] == 1
    assert contents(shop)["v"] == before["v"]
    pin = EVOLVE + "  views: {l: {version: v1}}\n"
    assert apply(shop, followed, more=pin)["view:l"] == 1
    changed = followed.replace("FROM u;", "FROM u WHERE x > 0;")
    assert apply(shop, changed, more=EVOLVE)["view:l"] == 2
    assert apply(shop, changed, more=pin)["view:l"] == 1
    assert apply(shop, followed, more=EVOLVE)["view:l"] == 1
    # Another table of that name: it reads that one now, as it did when it was first written so.
    both = SQL.replace("TABLE t", "TABLE u") + "CREATE TABLE t (id BIGINT, x INT);\n"
    assert apply(shop, both, more=EVOLVE)["view:l"] == 0
