"""The list of Spark's functions, compared with Spark: whichever the next version has, and whatever it makes of rows.

`RECONCILE_UPDATE_FUNCTIONS=1` writes the list anew. What is said here by hand then asks for a look.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql import words
from reconciler.sql.check import analyse_query
from reconciler.sql.determinism import NON_DETERMINISTIC, NON_DETERMINISTIC_WITHOUT_ARGUMENTS
from reconciler.sql.repeatable import Number, is_repeatable
from reconciler.sql.words import FunctionKind, spark_functions
from tests.engine.engines import session_of
from tests.sql.spark_registry import Registered, functions_of_spark

pytestmark = pytest.mark.spark

LIST = Path(words.__file__).with_name("spark_functions.txt")
OF_THE_GRAMMAR = {"case", "timestampadd", "timestampdiff", "try_cast"}
"""Written like functions, and not registered."""
OTHERWISE = {
    "session_window": (FunctionKind.GENERATOR, "Spark merges rows into sessions below the block"),
    "window": (FunctionKind.GENERATOR, "windows that slide make several rows of one: Spark expands them below the block"),
}
"""What is another thing here than its class says, with the reason."""
UNLISTED = {
    "table_changes": "Delta's: it reads the past of a table, which no query may",
    "table_changes_by_path": "Delta's: it reads files by their path, which no query may",
}
"""What is registered and unknown here, so that queries that call it are refused, with the reason."""
REPEATABLE = {"convert_timezone": "the zone of the session is a setting, which counts by itself"}
"""What Spark puts something of the session into, with the reason why that changes nothing."""


@pytest.fixture(scope="module")
def registered(spark_engine: Engine) -> dict[str, Registered]:
    session: Any = session_of(spark_engine)
    return functions_of_spark(session)


def _listed(registered: dict[str, Registered]) -> dict[str, FunctionKind]:
    kinds = {name: function.kind for name, function in registered.items() if name not in UNLISTED}
    return {
        **kinds,
        **dict.fromkeys(OF_THE_GRAMMAR, FunctionKind.SCALAR),
        **{name: kind for name, (kind, _) in OTHERWISE.items()},
    }


def test_each_function_is_listed_as_what_spark_says_it_is(registered: dict[str, Registered]) -> None:
    listed = _listed(registered)
    if os.environ.get("RECONCILE_UPDATE_FUNCTIONS"):
        head = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        lines = [*head, *(f"{name} {kind}" for name, kind in sorted(listed.items()))]
        LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")
        spark_functions.cache_clear()
    assert spark_functions() == listed
    assert len(registered) > 500


def test_what_is_said_otherwise_is_registered_and_differs(registered: dict[str, Registered]) -> None:
    assert not OF_THE_GRAMMAR & registered.keys()
    assert {name for name, (kind, _) in OTHERWISE.items() if registered[name].kind is not kind} == set(OTHERWISE)


@pytest.mark.parametrize("name", UNLISTED)
def test_what_is_unlisted_is_registered_and_refused(registered: dict[str, Registered], name: str) -> None:
    assert name in registered
    for query in (
        f"SELECT * FROM system.builtin.`{name}` ('/past', 0)",
        f"SELECT * FROM {name}('t', 0)",
        f"SELECT a FROM t, LATERAL {name}('t', 0)",
        f"SELECT {name}(a) AS x FROM t",
    ):
        assert analyse_query(query, None, {"t": {"a": "INT"}}).diagnostics, query


def test_nothing_that_varies_is_repeatable(registered: dict[str, Registered]) -> None:
    """Neither chance nor the clock, nor the session."""
    varying = {name for name, function in registered.items() if function.varies}
    assert varying.issuperset(REPEATABLE)
    varying -= REPEATABLE.keys()
    assert len(varying) > 20
    assert [
        name for name in sorted(varying - NON_DETERMINISTIC_WITHOUT_ARGUMENTS) if is_repeatable(name, [Number.INTEGER])
    ] == []
    assert [name for name in sorted(varying) if is_repeatable(name, [])] == []


def test_what_is_told_to_vary_does(registered: dict[str, Registered]) -> None:
    told = NON_DETERMINISTIC | NON_DETERMINISTIC_WITHOUT_ARGUMENTS
    assert {name for name in told if not registered[name].varies} == set()
