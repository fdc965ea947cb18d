"""Changes of large programs that are made to keep a plan busy: by name, a program before and after it, each below a
megabyte.

What multiplies: inputs that changed by readers of them, readers of readers, columns that changed by views that stay as they
are, the lines of queries that are compared.
"""

import random
from collections.abc import Callable
from typing import Final

_TABLE: Final = "CREATE TABLE t (id BIGINT, a INT, b INT);\n"


def _fan(constant: int, inputs: int = 300, readers: int = 90) -> str:
    """One view that is changed, read by many, each of which is read by many others."""
    union = " UNION ALL ".join(f"SELECT a FROM w{number}" for number in range(inputs))
    return (
        f"{_TABLE}CREATE VIEW v AS SELECT a + {constant} AS a FROM t;\n"
        + "".join(f"CREATE VIEW w{number} AS SELECT a FROM v;\n" for number in range(inputs))
        + "".join(f"CREATE VIEW z{number} AS SELECT {number} AS a UNION ALL {union};\n" for number in range(readers))
    )


def _changed_inputs(constant: int, inputs: int = 300, readers: int = 90) -> str:
    """Many views that are changed, each read by many others."""
    union = " UNION ALL ".join(f"SELECT a FROM w{number}" for number in range(inputs))
    return (
        _TABLE
        + "".join(f"CREATE VIEW w{number} AS SELECT id, a + {constant} AS a FROM t;\n" for number in range(inputs))
        + "".join(f"CREATE VIEW z{number} AS SELECT {number} AS a UNION ALL {union};\n" for number in range(readers))
    )


def _joined(constant: int) -> str:
    """Readers that name many columns before a point."""
    joins = " ".join(f"JOIN w{number} USING (id)" for number in range(100))
    columns = ", ".join(f"w{number}.a AS a{number}" for number in range(100))
    return (
        _TABLE
        + "".join(f"CREATE VIEW w{number} AS SELECT id, a + {constant} AS a FROM t;\n" for number in range(100))
        + "".join(f"CREATE VIEW z{number} AS SELECT {number} AS n, {columns} FROM t {joins};\n" for number in range(45))
    )


def _chain(constant: int, length: int = 3_000) -> str:
    """Each reads the one before, and the first is changed."""
    links = "".join(f"CREATE VIEW v{number} AS SELECT a, b FROM v{number - 1};\n" for number in range(1, length))
    return f"{_TABLE}CREATE VIEW v0 AS SELECT a + {constant} AS a, b FROM t;\n{links}"


def _diamonds(constant: int) -> str:
    """Each reads the two before it."""
    links = "".join(
        f"CREATE VIEW v{number} AS SELECT l.a, r.b FROM v{number - 1} l JOIN v{number - 2} r ON l.a = r.b;\n"
        for number in range(2, 3_000)
    )
    first = f"CREATE VIEW v0 AS SELECT a + {constant} AS a, b FROM t;\nCREATE VIEW v1 AS SELECT a, b FROM v0;\n"
    return f"{_TABLE}{first}{links}"


def _wide(constant: int) -> str:
    """A view of which many columns are changed, and many that read another one of it."""
    columns = ", ".join(f"a + {constant} AS c{number}" for number in range(700))
    readers = "".join(f"CREATE VIEW w{number} AS SELECT b FROM v;\n" for number in range(600))
    return f"{_TABLE}CREATE VIEW v AS SELECT b, {columns} FROM t;\n{readers}"


def _wide_read(constant: int) -> str:
    """A view of which many columns are changed, and many that read all of them."""
    columns = ", ".join(f"a + {constant} AS c{number}" for number in range(250))
    readers = "".join(f"CREATE VIEW w{number} AS SELECT * FROM v;\n" for number in range(500))
    return f"{_TABLE}CREATE VIEW v AS SELECT b, {columns} FROM t;\n{readers}"


def _functions(constant: int) -> str:
    """Functions that call each other, the first of which is changed, and a view for each."""
    links = "".join(f"CREATE FUNCTION f{number}(x INT) RETURNS INT AS f{number - 1}(x);\n" for number in range(1, 600))
    views = "".join(f"CREATE VIEW v{number} AS SELECT f{number}(a) AS x FROM t;\n" for number in range(600))
    return f"{_TABLE}CREATE FUNCTION f0(x INT) RETURNS INT AS x + {constant};\n{links}{views}"


def _lines(seed: int) -> str:
    """Queries of many lines, each of which may be another."""
    chance = random.Random(seed)
    views = (
        f"CREATE VIEW v{number} AS SELECT id, 1\n"
        + "\n".join(chance.choice(["+1", "+2", "+ 3", "+a", "+b"]) for _ in range(600))
        + " AS x FROM t;\n"
        for number in range(60)
    )
    return _TABLE + "".join(views)


def changing_bombs() -> dict[str, Callable[[int], str]]:
    """By name: the program by a number, of which 1 stands for what is applied and 2 for what is desired."""
    return {
        "one changed view fanned out twice": _fan,
        "changed inputs by readers": _changed_inputs,
        "changed inputs joined": _joined,
        "a chain": _chain,
        "diamonds": _diamonds,
        "columns beside the one that is read": _wide,
        "columns that are read": _wide_read,
        "functions that call each other": _functions,
        "lines of queries": _lines,
    }
