"""A version that is not active is brought up to date once, by the command line over real Delta tables, with the recording
engine: what reads it, how long it counts, what a crash leaves."""

import json
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.apply.refreshing import refresh_version
from reconciler.engine.protocol import Selection
from reconciler.engine.sources import StoredSource
from reconciler.environment.session import Session
from reconciler.testing.crashes import Crash, crash_at
from reconciler.versions.looking import versioned_name
from tests.acceptance.killed import kill
from tests.acceptance.shop import stored_rows
from tests.acceptance.test_versions_with_functions import OLD, bodies
from tests.acceptance.versioned_shop import READS, VersionedShop, held_by_a_run, made_once
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways

BOUNDARIES = ["refresh_view:before", "refresh_view:effected", "refresh:intended", "refresh:recorded", "refresh:told"]


def program(query: str, tax: str = "x * 3", more: str = "") -> str:
    return (
        "CREATE TABLE orders (id BIGINT, price INT);\n"
        f"CREATE FUNCTION tax(x INT) RETURNS INT AS {tax};\n"
        "CREATE FUNCTION gross(x INT) RETURNS INT AS x + tax(x);\n"
        f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n"
        "CREATE VIEW shown AS SELECT price FROM orders;\n" + more
    )


LAST = program("MAX(price)")
WORDS = ("versions", "refresh", "total@v0")


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS

    def read(self, name: str, *options: str) -> tuple[list[tuple[object, ...]], str]:
        """The rows that a query of a relation reads, and what it says of its step."""
        said = self("query", "shop", f"SELECT * FROM {name}", *options)
        selection = next(call for call in reversed(self.engine.calls) if isinstance(call, Selection))
        (source,) = selection.sources
        assert isinstance(source, StoredSource)
        return sorted(DeltaWriter().read(source.location, source.version).rows), said

    def insert(self) -> None:
        self("execute", "shop", "INSERT INTO orders VALUES (1, 10)")

    def refreshed(self) -> str:
        """The folder of the rows that were computed once."""
        one = self.head().refreshed["view:total@v0"]
        return str(self.root / "warehouse" / one.location / one.staging)

    def folders(self) -> set[str]:
        return {one.name for one in (self.root / "warehouse" / "shop" / "total").iterdir() if one.name.startswith("v-")}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Two versions, the first with a function that changed since, and rows that came since."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        shop.write(program("gross(price)", "x * 2"))
        shop("apply", "shop")
        shop.insert()
        shop.write(LAST)
        shop("apply", "shop")
        shop.insert()

    return Shop(made_once(kept, tmp_path / "shop", make), capsys)


def test_it_is_computed_once_and_read_as_of_that_step(shop: Shop) -> None:
    before, said = shop.read("total@v0")
    assert "total@v0 as of step 1" in said
    serving = stored_rows(shop.root, "total")
    shop.engine.calls.clear()
    assert "shop.total@v0 is up to date as of step 3" in shop(*WORDS)
    (build,) = [call for call in shop.engine.calls if hasattr(call, "staging")]
    assert (build.view, bodies(build.functions)) == ("total@v0", OLD)
    now, _ = shop.read("total@v0")
    assert now != before
    assert stored_rows(shop.root, "total") == serving
    assert shop.states() == {"v1": "active", "v0": "refreshed at step 3"}
    assert "no changes" in shop("plan", "shop")
    shop.insert()
    again, said = shop.read("total@v0")
    assert again == now, "once"
    assert "total@v0 as of step 3" in said
    assert shop.read("total@v0", "--at-step", "2")[0] == before
    listed = json.loads(shop("versions", "list", "total", "--format", "json"))
    assert [one["refreshed"] for one in listed["versions"]] == [3, None]


SINCE = "CREATE {}VIEW since AS SELECT o.total AS old FROM `total@v0` o;\n"


def test_a_view_that_names_the_version_goes_on_reading_what_it_read(shop: Shop) -> None:
    """The rows that were computed once are those of whoever asks for the version, not of a view that names it."""
    shop.write(program("MAX(price)", more=SINCE.format("MATERIALIZED ")))
    shop("apply", "shop")
    before, since = shop.read("total@v0")[0], stored_rows(shop.root, "since")
    shop.engine.calls.clear()
    shop(*WORDS)
    assert [call.view for call in shop.engine.calls if hasattr(call, "staging")] == ["total@v0"]
    now, _ = shop.read("total@v0")
    assert now != before
    assert now == sorted(DeltaWriter().read(shop.refreshed(), 0).rows)
    shop.insert()
    assert shop.read("total@v0")[0] == now
    assert stored_rows(shop.root, "since") == since


def test_a_query_tells_it_from_what_a_plain_view_reads_under_its_name(shop: Shop) -> None:
    shop.write(program("MAX(price)", more=SINCE.format("")))
    shop("apply", "shop")
    shop(*WORDS)
    shop("query", "shop", "SELECT * FROM since, total@v0")
    selection = next(call for call in reversed(shop.engine.calls) if isinstance(call, Selection))
    places = [(one.name, getattr(one, "location", "")) for one in selection.sources]
    # As Spark registers them: `since` has read the one before it, the query reads the last one.
    at = [name for name, _ in places].index("since")
    assert [name for name, _ in places[at:]] == ["since", "total@v0"]
    assert places[at - 1][1] == str(shop.root / "warehouse" / "shop" / "total")
    assert places[-1][1] == shop.refreshed()


def test_a_second_time_takes_the_place_of_the_first(shop: Shop) -> None:
    shop(*WORDS)
    first = shop.head().refreshed["view:total@v0"].staging
    assert first in shop.folders()
    shop.insert()
    done, _ = json.JSONDecoder().raw_decode(shop(*WORDS, "--format", "json"))
    assert (done["version"], done["step"]) == ("v0", 4)
    assert first not in shop.folders()
    assert shop.states()["v0"] == "refreshed at step 4"


def test_what_is_active_again_has_rows_of_its_own(shop: Shop) -> None:
    shop(*WORDS)
    shop("rollback", "total@v0")
    assert shop.head().refreshed == {}
    shop("rollback", "--end", "total")
    assert "as of step 4" in shop.read("total@v0")[1]


def test_another_change_leaves_it(shop: Shop) -> None:
    shop(*WORDS)
    rows = shop.read("total@v0")[0]
    shop.write(program("MIN(price)"))
    shop("apply", "shop")
    assert shop.read("total@v0")[0] == rows
    assert shop.states() == {"v2": "active", "v1": "", "v0": "refreshed at step 3"}


@pytest.mark.beside_a_run
def test_beside_a_live_run(shop: Shop) -> None:
    with held_by_a_run(Project.open(shop.root).target.registry):
        assert "up to date" in shop(*WORDS)


def test_something_else_that_is_applied_meanwhile_is_what_it_is_computed_in(shop: Shop) -> None:
    def apply_other() -> None:
        shop.write(LAST + "CREATE MATERIALIZED VIEW other AS SELECT id FROM orders;\n")
        Project.open(shop.root, engine=shop.engine).pipeline("shop").apply()

    done = False

    def boundary(name: str) -> None:
        nonlocal done
        if name == "refresh_view:effected" and not done:
            done = True
            apply_other()

    target = Project.open(shop.root).target
    told: list[str] = []
    result = refresh_version(
        target,
        versioned_name("total@v0"),
        Session(shop.engine, report=lambda one: None, tell=told.append, boundary=boundary),
    )
    assert "starting again" in told[-1]
    assert result.refreshed.step == 4
    assert shop.states()["v0"] == "refreshed at step 4"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("total@v1", "A593"),
        ("shown@v0", "A593"),
        ("total@v7", "A522"),
        ("total@none", "A522"),
        ("orders@v0", "A520"),
        ("total", "U818"),
    ],
)
def test_what_can_t_be_brought_up_to_date(shop: Shop, name: str, code: str) -> None:
    assert code in shop("versions", "refresh", name, code=1)


def test_nor_can_what_does_not_fit_today(shop: Shop) -> None:
    shop.write(LAST.replace("price INT", "amount INT").replace("price", "amount"))
    shop("apply", "shop")
    assert "A593" in shop(*WORDS, code=1)
    assert shop.states()["v0"] == ""


def test_nor_what_is_maintained(shop: Shop) -> None:
    shop.write(LAST, READS + "  views: {total: {versions: {v0: {maintain: true}}}}\n")
    shop("apply", "shop")
    assert "A593" in shop(*WORDS, code=1)


def test_retention_knows_it(shop: Shop) -> None:
    shop.write(LAST, READS + "  retention: {versions: 1, steps: 0s}\n")
    shop("apply", "shop")
    shop(*WORDS)
    rows = shop.read("total@v0")[0]
    shop("prune", "shop")
    assert shop.read("total@v0")[0] == rows, "it is the one that stays"
    shop.write(LAST, READS + "  retention: {versions: 0, steps: 0s}\n")
    shop("apply", "shop")
    assert "prune  total@v0" in shop("prune", "shop")
    assert shop.head().refreshed == {}
    assert "X735" in shop("query", "shop", "SELECT * FROM total@v0", code=1)
    shop(*WORDS)
    assert shop.read("total@v0")[0] == rows, "what was pruned can be computed again"
    assert "prune  total@v0" in shop("prune", "shop")
    assert "X735" in shop("query", "shop", "SELECT * FROM total@v0", code=1)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_crash_on_the_way_leaves_either_rows(shop: Shop, boundary: str) -> None:
    before = shop.read("total@v0")[0]
    pipeline = Project.open(shop.root, engine=shop.engine).pipeline("shop")
    with pytest.raises(Crash):
        pipeline.observed(boundary=crash_at(boundary)).refresh_version("total@v0")
    is_done = boundary in ("refresh:recorded", "refresh:told")
    assert (shop.read("total@v0")[0] != before) is is_done
    assert "no changes" in shop("plan", "shop")
    shop(*WORDS)
    assert shop.states()["v0"] == "refreshed at step 3"
    assert len(shop.folders()) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_kill_on_the_way(shop: Shop, boundary: str) -> None:
    kill(shop.root, boundary, *WORDS)
    assert "no changes" in shop("plan", "shop")
    shop(*WORDS)
    assert shop.states()["v0"] == "refreshed at step 3"
