"""Versions that other versions of reconciler recorded, or did not record."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from reconciler.base.digest import canonical_json
from reconciler.registry.protocol import History
from tests.acceptance.shop import contents
from tests.versions.objects.numbered import EVOLVE, OTHER, RENAMED, SQL, apply, head_of, moved, numbers, target_of


def without_versions(root: Path, *, with_histories: bool) -> None:
    registry = target_of(root).registry
    stored = registry.head("shop")
    assert stored is not None
    registry.replace_head(stored.token, replace(stored.value, versions={}), "an older version")
    if not with_histories:
        for name in ("versions", "activations"):
            shutil.rmtree(root / "warehouse/_registry/shop" / name)


def test_what_was_applied_before_there_were_versions_is_v0(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    without_versions(shop, with_histories=False)
    before = contents(shop)
    assert apply(shop, OTHER, more=EVOLVE, metadata="  owner: ann\n") == numbers()
    assert contents(shop) == before
    assert apply(shop, SQL, more=EVOLVE) == numbers(v=1)


def test_numbers_that_an_older_version_did_not_write_are_had_from_the_histories(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    apply(shop, RENAMED, more=moved("v vv", "s ss"))
    apply(shop, RENAMED.replace("CREATE TABLE ss (id BIGINT);\n", ""), more=moved("v vv"))
    versions = head_of(shop).versions
    without_versions(shop, with_histories=True)
    apply(shop, RENAMED.replace("CREATE TABLE ss (id BIGINT);\n", ""), more=moved("v vv"), metadata="  owner: ann\n")
    assert head_of(shop).versions == versions
    without_versions(shop, with_histories=True)
    assert apply(shop, RENAMED.replace("f(x)", "f(x + 7)"), more=moved("v vv"))["view:vv"] == 2


def from_another_version(root: Path) -> None:
    """All that is recorded was recorded by another version of reconciler, which told meanings otherwise."""
    registry = target_of(root).registry
    rows = []
    for row in registry.history(History.VERSIONS, "shop"):
        known_as = [one for one in json.loads(row["content"])["known_as"] if one.startswith("written:")]
        rows.append(
            {**row, "reconciler": "0.0.1", "fingerprint": "sha256:x", "content": canonical_json({"known_as": known_as})}
        )
    shutil.rmtree(root / "warehouse/_registry/shop/versions")
    registry.append(History.VERSIONS, "shop", rows, head_of(root).last_step)


SETTING = "  runtime: {spark: {spark.sql.session.timeZone: Asia/Tokyo}}\n"


def test_what_another_version_of_reconciler_recorded_is_known_by_what_was_written(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    from_another_version(shop)
    assert apply(shop, SQL, more=EVOLVE) == numbers()
    assert apply(shop, OTHER, more=EVOLVE) == numbers(v=1)


def test_what_is_written_the_same_and_means_something_else_is_another_version(shop: Path) -> None:
    from_another_version(shop)
    assert apply(shop, SQL, more=EVOLVE + SETTING) == numbers(l=1, v=1, w=1)
    assert apply(shop, SQL, more=EVOLVE) == numbers()
    # The text of w stays, its columns do not.
    assert apply(shop, SQL.replace("f(x) AS y", "f(x) AS z"), more=EVOLVE) == numbers(v=2, w=2)
