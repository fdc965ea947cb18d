"""What is recorded as a version and what is not, and how it is looked at: by the command line over real Delta tables, with
the recording engine, of each kind of object. Which numbers come of whatever else: tests/versions/objects."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.cli.version_differences import show_difference
from reconciler.versions.history import time_of
from reconciler.versions.looking import compare_versions
from tests.acceptance.versioned_shop import READS, VersionedShop

pytestmark = pytest.mark.both_ways

PROGRAM = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, price FROM orders;
CREATE MATERIALIZED VIEW total AS
-- of all orders
SELECT SUM(f(price)) AS total FROM l;
CREATE VIEW everything AS SELECT * FROM total;
"""
NAMES = ("orders", "f", "l", "total", "everything")
EVOLVE = "  evolution: evolve\n"
OUTPUT = """\
  connectors:
    - name: out
      view: total
      transport: {name: delta_table_output, config: {uri: %s, mode: append}}
"""


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = EVOLVE

    def apply(self, program: str, more: str = "", metadata: str = "") -> None:
        self.write(program, EVOLVE + more)
        file = self.root / "pipelines/shop/pipeline.yaml"
        file.write_text(file.read_text().replace("  name: shop\n", f"  name: shop\n{metadata}"))
        assert "nothing to do" not in self("apply", "shop")

    def numbers(self) -> dict[str, str]:
        """The active version of each object."""
        return {name: self.active(name).split()[0] for name in NAMES}

    def found(self, *words: str) -> Any:
        return json.loads(self(*words, "--format", "json"))


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, applied, with rows."""
    root = tmp_path_factory.mktemp("applied")
    # There is nobody yet whose output could be read.
    shop = Shop(root, None)  # type: ignore[arg-type]
    shop.write(PROGRAM)
    pipeline = Project.open(root, engine=shop.engine).pipeline("shop")
    pipeline.apply()
    pipeline.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param("id BIGINT, price INT", "id BIGINT, price INT, note STRING", {"orders"}, marks=pytest.mark.slow),
        ("price INT)", "price BIGINT)", {"orders", "l"}),
        pytest.param("(id BIGINT,", "(id BIGINT NOT NULL PRIMARY KEY,", {"orders"}, marks=pytest.mark.slow),
        pytest.param("SUM(f(price))", "MAX(f(price))", {"total"}, marks=pytest.mark.slow),
        pytest.param("SELECT id, price FROM", "SELECT id, price * 2 AS price FROM", {"l"}, marks=pytest.mark.slow),
        # Its query is as it was, and its columns are not.
        ("AS total FROM l", "AS total, COUNT(*) AS n FROM l", {"total", "everything"}),
        ("x + 1", "x + 2", {"f", "total"}),
        pytest.param("RETURNS INT", "RETURNS BIGINT", {"f", "total"}, marks=pytest.mark.slow),
    ],
)  # Each of them in every run by the functions beneath: tests/versions/objects/test_numbers.py
def test_a_change_of_meaning_is_the_next_version_of_what_it_changes(
    shop: Shop, before: str, after: str, changed: set[str]
) -> None:
    assert PROGRAM.count(before) == 1
    shop.apply(PROGRAM.replace(before, after))
    assert shop.numbers() == {name: "v1" if name in changed else "v0" for name in NAMES}
    # A definition that comes back is the version that it was.
    shop.apply(PROGRAM)
    assert shop.numbers() == dict.fromkeys(NAMES, "v0")
    assert all(len(shop.states(name)) == 1 + (name in changed) for name in NAMES)


@pytest.mark.parametrize(
    ("more", "metadata"),
    [
        pytest.param("", "  description: all that was sold\n", marks=pytest.mark.slow),
        ("", "  owner: ann\n"),
        pytest.param("", "  tags: [sold]\n", marks=pytest.mark.slow),
        pytest.param("  views: {total: {description: the total}}\n", "", marks=pytest.mark.slow),
        pytest.param("  tables: {orders: {description: what was sold}}\n", "", marks=pytest.mark.slow),
        pytest.param("  views: {total: {used_by: [a report]}}\n", "", marks=pytest.mark.slow),
        (OUTPUT % "sink", ""),
        pytest.param("  runtime: {workers: 2}\n", "", marks=pytest.mark.slow),
        pytest.param("  runtime: {spark: {spark.sql.shuffle.partitions: '3'}}\n", "", marks=pytest.mark.slow),
        pytest.param(READS, "", marks=pytest.mark.slow),
        ("  retention: {versions: 3}\n", ""),
    ],
)
def test_what_is_no_meaning_updates_in_place(shop: Shop, more: str, metadata: str) -> None:
    before = {name: shop.found("versions", "list", name)["versions"] for name in NAMES}
    shop.built()
    shop.apply(PROGRAM, more, metadata)
    assert {name: shop.found("versions", "list", name)["versions"] for name in NAMES} == before
    assert shop.built() == []
    assert len(shop.found("history", "shop")["applies"]) == 2
    assert "no changes" in shop("plan", "shop")


def test_a_connector_that_changes_and_goes_makes_no_version(shop: Shop) -> None:
    for more in (OUTPUT % "sink", OUTPUT % "elsewhere", ""):
        shop.apply(PROGRAM, more)
        assert shop.numbers() == dict.fromkeys(NAMES, "v0")


def test_a_number_is_not_given_twice_though_its_object_was_gone(shop: Shop) -> None:
    without = PROGRAM.partition("CREATE MATERIALIZED VIEW total")[0]
    shop.apply(without)
    assert "total is no longer part of shop" in shop("versions", "list", "total")
    assert "SUM(f(price))" in shop("versions", "show", "total@v0")
    shop.apply(PROGRAM.replace("SUM(f", "MIN(f"))
    assert shop.states() == {"v1": "active", "v0": ""}
    shop.apply(without)
    shop.apply(PROGRAM)
    assert shop.states() == {"v1": "", "v0": "active"}


def test_a_version_holds_all_that_is_to_be_known_of_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for role, name in (("AUTHOR", "Ann"), ("COMMITTER", "Bea")):
        monkeypatch.setenv(f"GIT_{role}_NAME", name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", f"{name}@example.com")
    shop.write(PROGRAM, policy="await_approval")
    shop("apply", "shop")
    second = PROGRAM.replace("SUM(f(price)) AS total", "MAX( price )  AS Largest")
    shop.write(second, policy="await_approval")
    for words in (["init", "-q"], ["add", "pipelines", "reconcile.yaml"], ["commit", "-qm", "the second"]):
        subprocess.run(["git", "-C", str(shop.root), *words], check=True)
    (plan,) = shop.found("plan", "shop")["plans"]
    shop("approve", "shop", plan["digest"], "--by", "Cleo")
    shop("apply", "shop")
    commit = subprocess.run(
        ["git", "-C", str(shop.root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()

    found = shop.found("versions", "show", "total@v1")
    told = ("commit", "author", "by", "approval", "approved_by", "plan_digest")
    assert [found[name] for name in told] == [commit, "Ann", "Bea", "recorded", "Cleo", plan["digest"]]
    assert found["definition"]["sql"].startswith("CREATE MATERIALIZED VIEW total AS\n-- of all orders\nSELECT MAX( price )")
    assert found["content"]["canonical"] == "select max ( price ) as largest from l"
    assert [one["name"] for one in found["content"]["columns"]] == ["Largest"]
    assert found["fingerprint"].startswith("sha256:")
    applied = shop.found("history", "shop")["applies"][-1]
    assert applied["at"] == found["at"]
    assert applied["apply_id"] == found["apply_id"]

    said = shop("versions", "show", "total@v1")
    for line in (f"commit:      {commit}", "author:      Ann", "applied by:  Bea", "approval:    recorded by Cleo"):
        assert f"{line}\n" in said
    assert f"plan:        {plan['digest']}\n" in said
    assert f"fingerprint: {found['fingerprint']}\n" in said
    assert "-- of all orders\nSELECT MAX( price )  AS Largest FROM l" in said
    assert f"canonical:\n{found['content']['canonical']}\n" in said


def test_two_versions_are_compared_by_definition_columns_and_lineage(shop: Shop) -> None:
    shop.apply(PROGRAM.replace("SELECT SUM(f(price)) AS total FROM l", "SELECT MAX(id) AS total, COUNT(*) AS n FROM l"))
    shop.apply(PROGRAM)
    said = shop("versions", "diff", "total@v0", "total@v1")
    assert "-SELECT SUM(f(price)) AS total FROM l" in said
    assert "+SELECT MAX(id) AS total, COUNT(*) AS n FROM l" in said
    assert "  + n" in said
    assert "reads:\n" in said
    found = shop.found("versions", "diff", "total@v0", "total@v1")
    assert found["reads"] == {"l": {"before": ["price"], "after": ["id"]}}
    assert [(one["name"], one["before"] is None) for one in found["columns"]][-1] == ("n", True)
    assert found["same_meaning"] is False
    # With the active one, unless another is named.
    assert shop("versions", "diff", "total@v1") == shop("versions", "diff", "total@v1", "total@v0")
    assert "mean the same" in shop("versions", "diff", "total@v0")


def test_functions_and_tables_are_compared_as_well(shop: Shop) -> None:
    shop.apply(PROGRAM.replace("x + 1", "x + 2").replace("price INT", "price INT, note STRING"))
    assert "+CREATE FUNCTION f(x INT) RETURNS INT AS x + 2" in shop("versions", "diff", "f@v0")
    said = shop("versions", "diff", "orders@v0")
    assert "+CREATE TABLE orders (id BIGINT, price INT, note STRING)" in said
    assert "  + note STRING" in said


IN_PYTHON = PROGRAM.replace("RETURNS INT AS x + 1", "RETURNS INT")
PYTHON = """\
  functions:
    f: {deterministic: %s, on_error: %s}
"""


def test_functions_in_python_are_compared_and_shown_by_their_files(shop: Shop) -> None:
    assert "AS x + 1" in PROGRAM
    udf = shop.root / "pipelines" / "shop" / "udf"
    udf.mkdir()

    def apply(rate: int, deterministic: str = "false", on_error: str = "fail") -> None:
        (udf / "f.py").write_text(f"RATE = {rate}\n\n\ndef f(x):\n    return x * RATE\n")
        shop.apply(IN_PYTHON, PYTHON % (deterministic, on_error))

    apply(2)
    apply(3)
    said = shop("versions", "diff", "f@v1", "f@v2")
    assert "--- f@v1 f.py\n+++ f@v2 f.py\n" in said
    assert "\n-RATE = 2\n+RATE = 3\n" in said
    found = shop.found("versions", "diff", "f@v1", "f@v2")
    assert (found["sources"], found["parts"]) == (["f.py"], {})
    assert "\nf.py:\nRATE = 3\n" in shop("versions", "show", "f@v2")
    # What calls it is another version by that alone, and says so.
    said = shop("versions", "diff", "total@v1", "total@v2")
    assert "calls:\n  ~ f@v1 → f@v2\n" in said
    assert shop.found("versions", "diff", "total@v1", "total@v2")["functions"] == {"f": {"before": "v1", "after": "v2"}}
    apply(3, "true", "give_null")
    said = shop("versions", "diff", "f@v2", "f@v3")
    assert "function:\n  ~ deterministic false → true\n  ~ on_error fail → give_null\n" in said
    assert "RATE" not in said
    said = shop("versions", "diff", "f@v0", "f@v1")
    assert "  ~ language sql → python\n" in said
    assert "+    return x * RATE\n" in said


def test_two_versions_that_differ_always_say_in_what(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever no part of the comparison knows is told by its name."""
    shop.apply(PROGRAM.replace("x + 1", "x + 2"))
    versions = [Project.open(shop.root).pipeline("shop").version(f"f@v{number}") for number in (0, 1)]
    alike = replace(versions[1], definition={**versions[0].definition, "collation": "de"})
    capsys.readouterr()
    show_difference(compare_versions(versions[0], alike), None)
    assert capsys.readouterr().out == "f@v0 and f@v1 differ in collation\n"
    show_difference(compare_versions(versions[0], replace(versions[1], definition=versions[0].definition)), None)
    assert capsys.readouterr().out.startswith("f@v0 and f@v1 differ in recorded details")


def test_python_tells_what_the_command_line_tells(shop: Shop) -> None:
    shop.apply(PROGRAM.replace("SUM(f", "MIN(f"))
    pipeline = Project.open(shop.root).pipeline("shop")
    listed = pipeline.versions("total")
    assert [f"v{one.number}" for one in listed.versions] == [
        one["version"] for one in shop.found("versions", "list", "total")["versions"]
    ]
    assert pipeline.version("total@v0").fingerprint == shop.found("versions", "show", "total@v0")["fingerprint"]
    difference = pipeline.compare_versions("total@v0", "total@v1")
    assert difference.same_meaning is shop.found("versions", "diff", "total@v0", "total@v1")["same_meaning"] is False
    applies = shop.found("history", "shop")["applies"]
    assert [one.apply_id for one in pipeline.history()] == [one["apply_id"] for one in applies]
    (then,) = shop.found("history", "shop", "--at", applies[0]["at"])["pipelines"]
    objects = pipeline.program_at(time_of(applies[0]["at"])).objects
    assert [(one.kind, one.name) for one in objects] == [(one["kind"], one["name"]) for one in then["objects"]]
    assert {one["name"]: one["version"] for one in then["objects"] if one["kind"] != "settings"} == dict.fromkeys(
        NAMES, "v0"
    )
    (now,) = shop.found("history", "shop", "--at", applies[1]["at"])["pipelines"]
    assert next(one for one in now["objects"] if one["name"] == "total")["version"] == "v1"
    assert "MIN(f" in next(one for one in now["objects"] if one["name"] == "total")["definition"]["sql"]


@pytest.mark.parametrize("kind", ["pin", "rollback", "sql", "promote"])
def test_what_is_switched_appears_at_the_permanent_path_in_one_commit_and_copies_nothing(shop: Shop, kind: str) -> None:
    """Where rows are kept and current, or staged."""
    from reconciler.delta.opening import open_table

    second = PROGRAM.replace("SUM(f", "MIN(f")
    folder = shop.root / "warehouse/shop/total"
    if kind == "promote":
        shop.write(second)
        shop("apply", "shop", "--no-promote")
    else:
        shop.apply(second)
    table = open_table(str(folder))
    assert table is not None
    files, version = set(folder.rglob("*.parquet")), table.version()
    if kind == "pin":
        shop.apply(second, "  views: {total: {version: v0}}\n")
    elif kind == "sql":
        shop.apply(PROGRAM)
    else:
        shop(kind, "total")
    table = open_table(str(folder))
    assert table is not None
    assert table.version() == version + 1
    assert set(folder.rglob("*.parquet")) <= files
    assert shop.active().split()[0] == ("v1" if kind == "promote" else "v0")
