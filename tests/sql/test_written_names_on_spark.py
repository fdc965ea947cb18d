"""Names that an output writes, judged by Spark: where it spells the columns of a view with an output otherwise than before,
in letter case alone, the plan has a change of that view. And where the program knows the columns of a view, they are what
Spark names them, to the letter. A few programs here, all of them with each of their words turned in the slow test. Alone:
`pytest tests/sql/test_written_names_on_spark.py`."""

import pytest

from reconciler.base.names import fold
from reconciler.diff.compare import compare
from reconciler.engine.protocol import ColumnType, Engine
from reconciler.engine.sources import EmptySource, InlineSource
from reconciler.project.program.model import Program
from tests.engine.engines import session_of
from tests.sql.respelled_names import PROGRAMS, snapshot, turned

pytestmark = pytest.mark.spark


class Names:
    """What Spark names the columns of views."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, program: Program) -> list[str] | None:
        """Of the view `o`; None where Spark refuses it. Views before it are checked on the way."""
        from pyspark.errors import AnalysisException, ParseException

        from reconciler.base.errors import EngineError
        from reconciler.engine.spark.views import register, renamed

        session = session_of(self._engine).newSession()
        try:
            for key in program.order:
                table = program.tables.get(key)
                if table is not None:
                    columns = tuple(ColumnType(one.name, one.type) for one in table.columns)
                    register(session, [EmptySource(table.name, columns)])
                    continue
                view = program.views[key]
                names = renamed(session.sql(view.query), view.declaration.column_names, view.name).columns
                assert view.column_names in ((), tuple(names)), (view.query, view.column_names, names)
                if key == "o":
                    return list(names)
                register(session, [InlineSource(view.name, view.query, view.declaration.column_names)])
        except (AnalysisException, ParseException, EngineError):
            return None
        return None


@pytest.fixture(scope="module")
def names(spark_engine: Engine) -> Names:
    return Names(spark_engine)


def _judge(names: Names, program: str) -> int:
    """How many programs with a word turned have other names. One of which the plan knows nothing fails the test."""
    first = snapshot(program)
    before = names.of(first.program)
    assert before is not None, program
    count = 0
    for other in turned(program):
        second = snapshot(other)
        after = names.of(second.program)
        if after is None or after == before or list(map(fold, after)) != list(map(fold, before)):
            continue
        count += 1
        for pair in ((first, second), (second, first)):
            assert pair[0].digest != pair[1].digest, (program, other)
            assert "o" in {change.name for change in compare(*pair).relations}, (program, other, before, after)
    return count


def test_what_is_written_under_another_name_is_a_change(names: Names) -> None:
    assert sum(_judge(names, program) for program in PROGRAMS[::5]) > 10


@pytest.mark.slow
def test_what_is_written_under_another_name_is_a_change_whatever_the_query(names: Names) -> None:
    assert sum(_judge(names, program) for program in PROGRAMS) > 100
