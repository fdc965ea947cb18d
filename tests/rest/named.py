"""A small program and its change, and how a refusal is looked at, for tests through the real client."""

from collections.abc import Callable

import pytest
from feldera.rest.errors import FelderaAPIError

ITEMS = "CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR);\n"
NAMED = ITEMS + "CREATE MATERIALIZED VIEW named AS SELECT name, COUNT(*) AS n FROM items GROUP BY name;\n"
RENAMED = NAMED.replace("COUNT(*)", "COUNT(id)")


def refused(asked: Callable[[], object], code: str) -> None:
    """What is asked is refused with a code."""
    with pytest.raises(FelderaAPIError) as caught:
        asked()
    assert (caught.value.status_code, caught.value.error_code) == (400, code)
