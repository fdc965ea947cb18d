"""A view's fingerprint is the digest of its content, however it is put together."""

import pytest

from reconciler.base.declarations import Settings, ViewDeclaration, ViewKind
from reconciler.base.digest import canonical_json, digest_json
from reconciler.project.program.model import View
from reconciler.project.program.settings import decisive_settings
from reconciler.project.snapshot.fingerprint import view_content, view_fingerprint

PLAIN = Settings("shop")
SPARK = Settings("shop", spark={"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Europe/Berlin"})


@pytest.mark.parametrize("settings", [PLAIN, SPARK])
@pytest.mark.parametrize(
    "functions", [pytest.param((), id="nothing beside"), pytest.param((("tax", "tax@v0"),), id="bound functions")]
)
def test_it_is_the_digest_of_the_content(settings: Settings, functions: tuple[tuple[str, str], ...]) -> None:
    query = "SELECT 'ä\"' AS Name FROM orders"
    declaration = ViewDeclaration("Big", ViewKind.MATERIALIZED, ("Name",), query, query, functions=functions)
    view = View(declaration, "SELECT 'ä\"' AS name FROM orders", (), ("Name",))

    fingerprint = view_fingerprint(view, canonical_json(decisive_settings(settings)))

    assert fingerprint == digest_json(view_content(view, settings))
