"""Pinning, rolling back, staging and promoting by the command line, killed with SIGKILL at each boundary of the journal and
asked for again: over real Delta tables, with the recording engine. Where rows are computed and where they are kept.

With Spark: `test_version_kills`, slow. In one process: `test_pinned_views`, `test_rollback`, `test_staging`.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.testing.crashes import POINTS
from tests.acceptance.killed import kill
from tests.acceptance.shop import stored_rows
from tests.acceptance.versioned_shop import READS, VersionedShop

VIEWS = 2
"""So many are switched: the one that changes, and the one that reads it."""

JOURNAL = [
    "open:before",
    "open:recorded",
    *(f"{kind}:{point}" for kind in ("bootstrap_view", "publish_view", "commit_snapshot") for point in POINTS),
    f"bootstrap_view:effected#{VIEWS}",
    f"publish_view:effected#{VIEWS}",
]
QUICK = ("publish_view:effected",)
"""In every run, for a pin. That such a crash is as good as a kill, at every point: test_pinned_views and its kin."""

STAGING = [
    "stage_view:before",
    "stage_view:effected",
    f"stage_view:effected#{VIEWS}",
    "stage:intended",
    "stage:recorded",
    "stage:told",
]


def program(query: str) -> str:
    total = f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n"
    over = "CREATE MATERIALIZED VIEW over AS SELECT total FROM total;\n"
    return "CREATE TABLE orders (id BIGINT, price INT);\n" + total + over


FIRST, SECOND, THIRD = program("SUM(price)"), program("MAX(price)"), program("MIN(price)")
PIN = READS + "  views: {total: {version: v0}}\n"


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS

    def rows(self) -> list[object]:
        return [stored_rows(self.root, name) for name in ("total", "over")]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions, the second active: `current` with rows of the first that are, `stale` with rows that moved on."""
    from reconciler import Project
    from tests.acceptance.shop import write_shop

    root = tmp_path_factory.mktemp("prepared")
    shop = Shop(root / "current", None)  # type: ignore[arg-type]

    def apply(files: str) -> None:
        write_shop(shop.root, files, more=READS)
        Project.open(shop.root, engine=shop.engine).pipeline("shop").apply()

    apply(FIRST)
    Project.open(shop.root, engine=shop.engine).pipeline("shop").execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    apply(SECOND)
    shutil.copytree(root / "current", root / "stale")
    Project.open(root / "stale", engine=shop.engine).pipeline("shop").execute("INSERT INTO orders VALUES (3, 30)")
    return root


@pytest.fixture(params=["current", "stale"])
def shop(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Shop:
    shutil.copytree(prepared / request.param, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


def undisturbed(shop: Shop, *commands: Sequence[str]) -> list[object]:
    """The rows after these commands with nothing in the way, in a copy."""
    copy = Shop(shop.root.parent / "copy", shop._capsys)
    shutil.copytree(shop.root, copy.root)
    for words in commands:
        copy(*words)
    return copy.rows()


def is_settled(shop: Shop, states: dict[str, str], rows: list[object]) -> None:
    assert shop.states() == states
    assert shop.rows() == rows
    head = shop.head()
    assert (head.journal, head.intent, head.staged) == (None, None, None)
    assert "no changes" in shop("plan", "shop")
    assert "nothing to do" in shop("apply", "shop")


@pytest.mark.parametrize(
    "boundary",
    [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in JOURNAL],
)
def test_a_pin(shop: Shop, boundary: str) -> None:
    shop.write(SECOND, PIN)
    rows = undisturbed(shop, ("apply", "shop"))
    kill(shop.root, boundary, "apply", "shop")
    shop("apply", "shop")
    is_settled(shop, {"v1": "", "v0": "active"}, rows)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", JOURNAL)
def test_a_rollback(shop: Shop, boundary: str) -> None:
    words = ("rollback", "total@v0")
    rows = undisturbed(shop, words)
    kill(shop.root, boundary, *words)
    is_done = boundary in ("commit_snapshot:effected", "commit_snapshot:recorded")
    assert ("A542" in shop(*words, code=1)) if is_done else shop(*words)
    is_settled(shop, {"v1": "", "v0": "active (rolled back)"}, rows)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", STAGING)
def test_staging(shop: Shop, boundary: str) -> None:
    shop.write(THIRD)
    before, words = shop.rows(), ("apply", "shop", "--no-promote")
    rows = undisturbed(shop, words, ("promote", "total@v2"))
    kill(shop.root, boundary, *words)
    assert shop.rows() == before
    shop(*words)
    assert shop.rows() == before
    assert shop.states() == {"v2": "staged", "v1": "active", "v0": ""}
    shop("promote", "total@v2")
    is_settled(shop, {"v2": "active", "v1": "", "v0": ""}, rows)


@pytest.mark.slow
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("boundary", JOURNAL)
def test_promoting(shop: Shop, boundary: str, moves: bool) -> None:
    shop.write(THIRD)
    shop("apply", "shop", "--no-promote")
    if moves:
        shop("execute", "shop", "INSERT INTO orders VALUES (4, 40)")
    words = ("promote", "total@v2")
    rows = undisturbed(shop, words)
    kill(shop.root, boundary, *words)
    is_done = boundary in ("commit_snapshot:effected", "commit_snapshot:recorded")
    assert ("A571" in shop(*words, code=1)) if is_done else shop(*words)
    is_settled(shop, {"v2": "active", "v1": "", "v0": ""}, rows)
