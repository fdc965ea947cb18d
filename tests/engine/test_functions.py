"""Functions on Spark: in SQL and in Python, with their types, their NULLs, their failures, and apart from each other."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import Declared, EngineError
from reconciler.engine.protocol import ColumnType, Engine, Selection, Statement, TableTarget, Transaction, ViewBuild
from reconciler.engine.sources import FunctionSource, InlineSource, PythonModule, StoredSource
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

AMOUNT = ColumnType("amount", "DECIMAL(10,2)")
NUMBER = ColumnType("x", "INT")


def python(
    text: str,
    *parameters: ColumnType,
    returns: str = "INT",
    name: str = "f",
    more: Mapping[str, str] | None = None,
    requirements: tuple[str, ...] = (),
    gives_null_on_error: bool = False,
    **settings: bool,
) -> FunctionSource:
    body = PythonModule("functions", {"functions.py": text, **(more or {})}, requirements, gives_null_on_error)
    return FunctionSource(name, parameters or (NUMBER,), returns, body, **settings)


def sql(expression: str, *parameters: ColumnType, returns: str = "INT", name: str = "f", **settings: bool) -> FunctionSource:
    return FunctionSource(name, parameters or (NUMBER,), returns, expression, **settings)


def rows(engine: Engine, query: str, *functions: FunctionSource, **settings: str) -> list[tuple[Any, ...]]:
    spark = {name.replace("_", "."): text for name, text in settings.items()}
    return [tuple(row) for row in engine.select(Selection(query, (), spark, functions)).rows]


def failure(engine: Engine, query: str, *functions: FunctionSource) -> EngineError:
    with pytest.raises(EngineError) as raised:
        rows(engine, query, *functions)
    assert "\n" not in raised.value.message
    return raised.value


class TestSql:
    def test_arguments_are_converted_and_functions_call_each_other(self, engine: Engine) -> None:
        half = sql("amount / 2 -- half", AMOUNT, returns="DECIMAL(10,2)", name="Half")
        fourth = sql("half(HALF(amount))", AMOUNT, returns="DECIMAL(10,2)", name="fourth")

        assert rows(engine, "SELECT fourth('10'), Fourth(3), fourth(NULL)", half, fourth) == [
            (Decimal("2.50"), Decimal("0.75"), None)
        ]

    def test_null_where_it_may_not_come(self, engine: Engine) -> None:
        strict = sql("amount", ColumnType("amount", "INT", nullable=False))
        promising = sql("nullif(x, 1)", returns_nullable=False)

        assert rows(engine, "SELECT f(1)", strict) == [(1,)]
        error = failure(engine, "SELECT f(nullif(id, 0)) FROM range(1)", strict)
        assert (error.code, "parameter amount is NOT NULL, but got NULL" in error.message) == ("X708", True)
        assert error.about == Declared("function", "f")
        assert rows(engine, "SELECT f(2)", promising) == [(2,)]
        assert failure(engine, "SELECT f(int(id) + 1) FROM range(1)", promising).code == "X708"

    def test_no_call_sees_functions_of_another(self, engine: Engine) -> None:
        assert rows(engine, "SELECT f(1)", sql("x + 1")) == [(2,)]
        assert rows(engine, "SELECT f(1)", sql("x + 2")) == [(3,)]
        assert failure(engine, "SELECT f(1)").code == "X703"

    def test_where_spark_takes_none_the_error_says_what_to_do(self, engine: Engine) -> None:
        error = failure(engine, "SELECT id FROM range(3) ORDER BY f(int(id))", sql("x + 1"))

        assert (error.code, error.hint) == (
            "X703",
            "call the function in the select list of a subquery, and use its result column",
        )


class TestPython:
    def test_it_is_called_with_its_declared_types(self, engine: Engine) -> None:
        text = "def f(amount):\n    return None if amount is None else type(amount).__name__ + str(amount)\n"
        function = python(text, AMOUNT, returns="STRING")

        assert rows(engine, "SELECT f(1), f('2.5'), f(NULL)", function) == [("Decimal1.00", "Decimal2.50", None)]

    @pytest.mark.parametrize(
        ("returns", "expression", "expected"),
        [
            ("DECIMAL(10,2)", "Decimal('1.005') * x", Decimal("1.01")),
            ("DECIMAL(10,2)", "x", Decimal("1.00")),
            ("DOUBLE", "x", 1.0),
            ("DATE", "date(2025, 9, x)", datetime.date(2025, 9, 1)),
            ("TIMESTAMP", "datetime(2025, 9, x, 12)", datetime.datetime(2025, 9, 1, 12, tzinfo=datetime.UTC)),
            ("TIMESTAMP_NTZ", "datetime(2025, 9, x, 12)", datetime.datetime.fromisoformat("2025-09-01T12:00:00")),
            ("ARRAY<STRING>", "('a', None, 'b' * x)", ["a", None, "b"]),
            ("ARRAY<DECIMAL(4,1)>", "[x, Decimal('0.25')]", [Decimal("1.0"), Decimal("0.3")]),
            ("MAP<STRING,DATE>", "{'a': date(2025, 9, x)}", {"a": datetime.date(2025, 9, 1)}),
            ("STRUCT<a:INT,b:STRING>", "{'b': 'y', 'a': x}", (1, "y")),
            ("BINARY", "b'a' * x", bytearray(b"a")),
            ("BOOLEAN", "x == 1", True),
            ("BIGINT", "2 ** 40", 2**40),
        ],
    )
    def test_types_of_results(self, engine: Engine, returns: str, expression: str, expected: Any) -> None:
        text = f"from datetime import date, datetime\nfrom decimal import Decimal\ndef f(x):\n    return {expression}\n"

        assert rows(engine, "SELECT f(1)", python(text, returns=returns)) == [(expected,)]

    @pytest.mark.parametrize(
        ("returns", "expression"),
        [
            ("INT", "'1'"),
            ("INT", "True"),
            ("INT", "2 ** 31"),
            ("INT", "1.0"),
            ("STRING", "1"),
            ("DECIMAL(4,2)", "1.5"),
            ("DECIMAL(4,2)", "100"),
            ("DATE", "datetime(2025, 1, 1)"),
            ("ARRAY<INT>", "['1']"),
            ("STRUCT<a:INT>", "{'b': 1}"),
        ],
    )
    def test_results_of_other_types_are_refused(self, engine: Engine, returns: str, expression: str) -> None:
        text = f"from datetime import datetime\ndef f(x):\n    return {expression}\n"

        error = failure(engine, "SELECT f(1)", python(text, returns=returns))

        assert error.code == "X708"
        assert f"function f: it is declared {returns}, but returned" in error.message

    def test_instants_come_and_go_in_utc(self, engine: Engine) -> None:
        text = "def f(t):\n    assert t.utcoffset().total_seconds() == 0\n    return t.isoformat()\n"
        shown = python(text, ColumnType("t", "TIMESTAMP"), returns="STRING")
        same = python("def g(t):\n    return t\n", ColumnType("t", "TIMESTAMP"), returns="TIMESTAMP", name="g")
        instant = "TIMESTAMP '2025-09-01 12:00:00'"

        assert rows(
            engine, f"SELECT f({instant}), g({instant}) = {instant}", shown, same, spark_sql_session_timeZone="Asia/Tokyo"
        ) == [("2025-09-01T03:00:00+00:00", True)]

    def test_an_exception_is_told_with_its_line(self, engine: Engine) -> None:
        text = "from lib import rates\n\ndef f(x):\n    return rates.rate(x)\n"
        more = {"lib/rates.py": "def rate(x):\n    if x == 2:\n        raise ValueError('no rate\\nfor 2')\n    return x\n"}

        error = failure(engine, "SELECT f(int(id)) FROM range(5)", python(text, more=more))

        assert error.code == "X708"
        assert error.message == "select: function f: ValueError: no rate for 2 (udf/lib/rates.py, line 3)"

    def test_what_fails_while_it_is_loaded(self, engine: Engine) -> None:
        error = failure(engine, "SELECT f(1)", python("\nRATE = 1 / 0\ndef f(x):\n    return x\n"))

        assert error.message == "select: function f: ZeroDivisionError: division by zero (udf/functions.py, line 2)"

    def test_null_where_it_may_not_come(self, engine: Engine) -> None:
        strict = python("def f(x):\n    return x\n", ColumnType("x", "INT", nullable=False))
        promising = python("def f(x):\n    return None\n", returns_nullable=False)

        assert "parameter x is NOT NULL, but got NULL" in failure(engine, "SELECT f(NULL)", strict).message
        assert "it is declared NOT NULL, but returned None" in failure(engine, "SELECT f(1)", promising).message

    def test_requirements_are_checked_where_it_runs(self, engine: Engine) -> None:
        text = "def f(x):\n    return x\n"

        def message(requirement: str) -> str:
            return failure(engine, "SELECT f(1)", python(text, requirements=(requirement,))).message

        assert "needs no-such-package==1.0, which is not installed" in message("no-such-package==1.0")
        assert "needs pyspark==1.0, but 4." in message("pyspark==1.0")

    def test_modules_import_each_other_in_every_way(self, engine: Engine) -> None:
        text = (
            "from __future__ import annotations\n"
            "import json, lib.deep.rates as deeper\nimport lib.rates\nfrom . import other\nfrom lib import *\n"
            "from lib.rates import RATE as first\nfrom dataclasses import dataclass\n\n"
            "@dataclass\nclass Pair:\n    a: int\n    b: int = 1\n\n"
            "def f(x):\n    from lib.late import late\n    import other as again\n"
            "    assert again is other and json.loads('1') == 1\n"
            "    return deeper.RATE + lib.rates.RATE + other.OTHER + VALUE + first + late() + Pair(x).a\n"
        )
        more = {
            "other.py": "OTHER = 1000\n",
            "json.py": "def loads(text):\n    return 1\n",
            "lib/__init__.py": "VALUE = 10000\n",
            "lib/rates.py": "from ..other import OTHER\nRATE = OTHER // 500\n",
            "lib/deep/rates.py": "from ..rates import RATE as R\nRATE = R * 10\n",
            "lib/late.py": "def late():\n    return 100000\n",
        }

        assert rows(engine, "SELECT f(7)", python(text, more=more)) == [(111031,)]

    def test_versions_of_one_module_do_not_meet(self, engine: Engine) -> None:
        """Workers are used again; two versions in one query, and one after the other, keep apart."""
        text = "import rates\n\ndef {name}(x):\n    return x * rates.RATE\n"
        first = python(text.format(name="f"), more={"rates.py": "RATE = 2\n"})
        second = python(text.format(name="g"), more={"rates.py": "RATE = 3\n"}, name="g")
        third = python(text.format(name="f"), more={"rates.py": "RATE = 4\n"})

        assert rows(engine, "SELECT f(1), g(1), f(g(1)) FROM range(1)", first, second) == [(2, 3, 6)]
        assert rows(engine, "SELECT f(1)", third) == [(4,)]
        assert rows(engine, "SELECT f(1)", first) == [(2,)]

    def test_functions_in_sql_call_those_in_python(self, engine: Engine) -> None:
        tax = python("def tax(x):\n    return x + 1\n", name="tax")

        assert rows(engine, "SELECT gross(1)", tax, sql("x + tax(x)", name="gross")) == [(3,)]

    def test_one_that_is_not_deterministic_is_no_argument_of_an_aggregate(self, engine: Engine) -> None:
        text = "def f(x):\n    return x\n"
        query = "SELECT sum(f(int(id))) FROM range(4)"

        assert rows(engine, query, python(text, deterministic=True)) == [(6,)]
        error = failure(engine, query, python(text))
        assert error.hint == "if the function is deterministic, declare that: spec.functions.<name>.deterministic"

    def test_views_and_statements_call_functions(self, engine: Engine, tmp_path: Path) -> None:
        storage = DeltaStorage()
        target = TableTarget("t", str(tmp_path / "t"), (ColumnType("id", "INT"),))
        storage.create(target.location, target.columns)
        tax = python("def tax(x):\n    return x * 10\n", name="tax", deterministic=True)
        add = Statement(target, "INSERT INTO t SELECT tax(int(id)) FROM range(3)", (), {}, Transaction("t", 1), (tax,))
        engine.execute(add)
        source = StoredSource("t", target.location, 1)
        inline = InlineSource("taxed", "SELECT tax(id) AS id FROM t")
        staging = str(tmp_path / "v" / "v-1")

        engine.build_view(ViewBuild("v", "SELECT sum(id) AS n FROM taxed", (), (source, inline), staging, {}, (tax,)))

        assert storage.rows(target.location) == [(0,), (10,), (20,)]
        assert storage.rows(staging) == [(300,)]


class TestNullWhereItFails:
    """`on_error: give_null`."""

    TEXT = "def f(x):\n    if x == 7:\n        return 'seven'\n    return 10 // x\n"

    def test_calls_that_fail_give_null_and_are_counted(self, engine: Engine, tmp_path: Path) -> None:
        function = python(self.TEXT, gives_null_on_error=True)
        strict = python(
            "def g(x):\n    return x\n", ColumnType("x", "INT", nullable=False), name="g", gives_null_on_error=True
        )

        built = engine.build_view(
            ViewBuild(
                "v",
                "SELECT id, f(int(id) % 10) AS tenth, g(nullif(int(id), 3)) AS same FROM range(0, 30, 1, 4)",
                (),
                (),
                str(tmp_path / "v" / "v-1"),
                {},
                (function, strict),
            )
        )

        assert [(one.function, one.count) for one in built.failed_calls] == [("f", 6), ("g", 1)]
        assert built.failed_calls[0].first in (
            "function f: ZeroDivisionError: integer division or modulo by zero (udf/functions.py, line 4)",
            "function f: it is declared INT, but returned str 'seven'",
        )
        assert built.failed_calls[1].first == "function g: parameter x is NOT NULL, but got NULL"
        stored = StoredSource("v", str(tmp_path / "v" / "v-1"), 0)
        found = engine.select(Selection("SELECT id FROM v WHERE tenth IS NULL ORDER BY id", (stored,), {})).rows
        assert [row[0] for row in found] == [0, 7, 10, 17, 20, 27]
        assert rows(engine, "SELECT id FROM range(1)") == [(0,)]

    def test_each_computation_counts_its_own(self, engine: Engine, tmp_path: Path) -> None:
        function = python(self.TEXT, gives_null_on_error=True)
        inline = InlineSource("i", "SELECT f(int(id)) AS x FROM range(2)", (), (function,))

        def build(name: str, query: str) -> list[int]:
            wanted = ViewBuild(name, query, (), (inline,), str(tmp_path / name / "v-1"), {}, ())
            return [one.count for one in engine.build_view(wanted).failed_calls]

        assert rows(engine, "SELECT f(0)", function) == [(None,)]
        assert build("a", "SELECT x FROM i") == [1]
        with pytest.raises(EngineError):
            build("b", "SELECT x, raise_error('no') AS y FROM i")
        assert build("b", "SELECT x FROM i") == [1]
        assert build("b", "SELECT x FROM i") == []  # it is reused: nothing was computed

    @pytest.mark.parametrize(
        ("text", "requirements", "said"),
        [
            ("import nowhere_to_be_found\ndef f(x):\n    return x\n", (), "ModuleNotFoundError"),
            ("def f(x):\n    return x\n", ("numpy==0.0.1",), "numpy"),
            ("def f(x):\n    raise MemoryError\n", (), "MemoryError"),
        ],
    )
    def test_what_is_not_the_fault_of_one_call_fails(
        self, engine: Engine, text: str, requirements: tuple[str, ...], said: str
    ) -> None:
        error = failure(engine, "SELECT f(1)", python(text, requirements=requirements, gives_null_on_error=True))

        assert (error.code, said in error.message) == ("X708", True)
