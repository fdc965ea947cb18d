"""Pruning: staging folders that were left, logs of tables, and folders that were made again."""

import os
import shutil
import time
from pathlib import Path

from reconciler.delta.opening import open_table
from tests.retention.pruning.shop import SECOND, THIRD, Shop, pruned


def test_what_was_staged_and_left_goes_once_it_is_old(shop: Shop) -> None:
    shop.prune()
    left = shop.folder() / f"v-{'0123456789' * 2}"
    shutil.copytree(shop.folder() / "_delta_log", left / "_delta_log")
    (left / "part.parquet").write_text("rows")
    mine = shop.folder() / "notes"
    mine.mkdir()
    (mine / "a.parquet").write_text("not ours")
    assert shop.prune(days=6).is_empty
    done = shop.prune(days=8)
    assert [folder.location for folder in done.folders if folder.files] == ["shop/total"]
    assert not left.exists()
    assert (mine / "a.parquet").exists()


def age_log(folder: Path) -> None:
    """Commits as if there had been one each ten days, until a year ago."""
    for path in (folder / "_delta_log").iterdir():
        if path.name[:20].isdigit():
            os.utime(path, (time.time() - (1000 - 10 * int(path.name[:20])) * 86400,) * 2)


def test_a_log_reaches_back_to_the_first_version_that_stays(shop: Shop) -> None:
    shop.pipeline.put_alias("total@stable", "v1")
    rows = shop.rows("total@v1")
    folder = shop.folder()
    for version in (1, 2, 5):
        table = open_table(str(folder), version)
        assert table is not None
        table.create_checkpoint()
    age_log(folder)
    shop.insert(4)
    shop.prune()
    names = {path.name for path in (folder / "_delta_log").iterdir()}
    assert f"{0:020d}.json" not in names
    assert shop.rows("total@v1") == rows
    shop.pipeline.take_alias_away("total@stable")
    shop.insert(5)
    shop.prune()
    assert shop.read("total@v1") == "X735"
    assert len(shop.rows("total")) == 1
    table = open_table(str(folder))
    assert table is not None
    assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"


def test_a_table_that_an_older_version_made_keeps_its_log_from_now_on(shop: Shop) -> None:
    for relation in ("orders", "total"):
        table = open_table(str(shop.folder(relation)))
        assert table is not None
        table.alter.set_table_properties({"delta.enableExpiredLogCleanup": "true"})
    shop.prune()
    shop.insert(4)
    for relation in ("orders", "total"):
        table = open_table(str(shop.folder(relation)))
        assert table is not None
        assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"
    assert len(shop.rows("orders")) == 4


def test_a_folder_that_was_made_again_is_another_one(shop: Shop) -> None:
    shop.prune()
    shop.apply("CREATE TABLE orders (id BIGINT, price INT);")
    shop.apply(THIRD)
    shop.insert(4)
    shop.apply(SECOND)
    # What was recorded of the former folder says nothing of this one.
    assert (shop.read("total", 7), shop.read("total@v2"), shop.read("total@v1")) == ("read", "read", "read")
    assert pruned(shop.prune()) == ["total@v2"]
    assert shop.read("total@v2") == "X735"
