"""Ad-hoc INSERT and DELETE on one table.

`INSERT INTO [TABLE] t [(columns)] query` (a query may be VALUES): the query runs over the sources, its columns are matched
by position and cast to the table's as `conform` says. Into a table with a key it is an upsert: rows replace those of equal
key. `DELETE FROM t [[AS] alias] [WHERE condition]`: a condition with a subquery, which Delta's DELETE does not take,
becomes a merge on the rows it selects.

The statement's text is cut by tokens and handed on as written: it is never printed anew from a syntax tree.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.engine.protocol import Statement, TableTarget, Written
from reconciler.engine.spark import writes
from reconciler.engine.spark.conform import Given, conformed
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, delta_reference, quoted, spark_location
from reconciler.engine.spark.views import isolated, register
from reconciler.errors import EngineError
from reconciler.names import fold
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of

_FORMS = "INSERT INTO t [(columns)] VALUES … | SELECT …, or DELETE FROM t [WHERE …]"
_ROWS = "reconcile_deleted"


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT cut apart: the columns it names (none: all, in order) and its query as written."""

    table: str
    columns: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A DELETE cut apart: the name its condition knows the table by, and the condition as written."""

    table: str
    alias: str
    condition: str | None
    has_subquery: bool


def execute(sessions: Sessions, statement: Statement) -> Written:
    """Run an INSERT or DELETE, once."""
    parsed = read_statement(statement.sql)
    if fold(parsed.table) != fold(statement.target.name):
        raise EngineError("X720", f"the statement writes to {parsed.table}, not to {statement.target.name}")
    done = writes.already_written(sessions, statement.target, statement.transaction)
    if done is not None:
        return done
    session = isolated(sessions, statement.settings)
    register(session, statement.sources)
    if isinstance(parsed, Insert):
        with translated(f"insert into {statement.target.name}"):
            rows = _inserted(session, parsed, statement.target)
            return writes.write(session, statement.target, rows, statement.transaction)
    with translated(f"delete from {statement.target.name}"):
        sql = _delete_sql(session, parsed, statement.target)
        return writes.delete(session, statement.target, sql, statement.transaction)


def read_statement(sql: str) -> Insert | Delete:
    """Cut a statement apart. Raises EngineError (X720) for anything else."""
    tokens = list(tokens_of(sql, Dialect.QUERY))
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    for token in tokens:
        if token.kind is Kind.BAD:
            raise EngineError("X720", f"the statement has {token.text}")
        if token.is_symbol(";"):
            raise EngineError("X720", "one statement at a time", f"expected: {_FORMS}")
    words = [*tokens, *[Token(Kind.END, "", len(sql), len(sql))] * 6]
    if words[0].is_word("INSERT") and words[1].is_word("INTO"):
        return _read_insert(sql, words[3:] if words[2].is_word("TABLE") else words[2:], tokens)
    if words[0].is_word("DELETE") and words[1].is_word("FROM"):
        return _read_delete(sql, words[2:], tokens)
    raise EngineError("X720", "the statement is neither INSERT INTO nor DELETE FROM", f"expected: {_FORMS}")


def _read_insert(sql: str, words: list[Token], tokens: list[Token]) -> Insert:
    table, position = _name(words[0]), 1
    columns: list[str] = []
    # A bracket may open a list of columns or a query; only a list holds nothing but names and commas.
    if words[1].is_symbol("(") and (found := _column_list(words[1:])) is not None:
        columns, used = found
        position += used
    if words[position].kind is Kind.END:
        raise EngineError("X720", f"the INSERT into {table} has no rows", f"expected: {_FORMS}")
    return Insert(table, tuple(columns), sql[words[position].start : tokens[-1].end])


def _column_list(words: list[Token]) -> tuple[list[str], int] | None:
    names: list[str] = []
    position = 1
    while words[position].kind in (Kind.WORD, Kind.QUOTED):
        names.append(_name(words[position]))
        if words[position + 1].is_symbol(")"):
            return names, position + 2
        if not words[position + 1].is_symbol(","):
            return None
        position += 2
    return None


def _read_delete(sql: str, words: list[Token], tokens: list[Token]) -> Delete:
    table = alias = _name(words[0])
    rest = words[1:]
    if rest[0].is_word("AS"):
        rest = rest[1:]
    if rest[0].kind in (Kind.WORD, Kind.QUOTED) and not rest[0].is_word("WHERE"):
        alias, rest = _name(rest[0]), rest[1:]
    if rest[0].kind is Kind.END:
        return Delete(table, alias, None, False)
    if not rest[0].is_word("WHERE") or rest[1].kind is Kind.END:
        raise EngineError("X720", f"the DELETE from {table} goes on with {rest[0].text!r}", f"expected: {_FORMS}")
    condition = sql[rest[1].start : tokens[-1].end]
    return Delete(table, alias, condition, any(token.is_word("SELECT", "WITH", "FROM") for token in rest))


def _name(token: Token) -> str:
    if token.kind is Kind.WORD:
        return token.text
    if token.kind is Kind.QUOTED:
        return token.text[1:-1].replace("``", "`")
    raise EngineError("X720", f"expected a name, found {token.text or 'the end of the statement'!r}", f"expected: {_FORMS}")


def _inserted(session: SparkSession, insert: Insert, target: TableTarget) -> DataFrame:
    known = {fold(column.name) for column in target.columns}
    for name in insert.columns:
        if fold(name) not in known:
            raise EngineError("X720", f"table {target.name} has no column {name}")
    named = [fold(name) for name in insert.columns] or [fold(column.name) for column in target.columns]
    if len(set(named)) != len(named):
        raise EngineError("X720", "the INSERT names a column twice")
    frame = session.sql(insert.query)
    if len(frame.columns) != len(named):
        raise EngineError("X720", f"the INSERT gives {len(frame.columns)} value(s) a row for {len(named)} column(s)")
    # By position: the query's own names may repeat or be expressions.
    plain = frame.toDF(*(f"value {index}" for index in range(len(named))))
    given = {
        name: Given(quoted(part.name), part.dataType.simpleString() == "string")
        for name, part in zip(named, plain.schema.fields, strict=True)
    }
    ordered = plain.withColumn(writes.ORDER, f.monotonically_increasing_id())
    return conformed(ordered, target.columns, given, kept=(writes.ORDER,))


def _delete_sql(session: SparkSession, delete: Delete, target: TableTarget) -> str:
    table = f"{delta_reference(target.location)} AS {quoted(delete.alias)}"
    if delete.condition is None:
        return f"DELETE FROM {table}"
    if not delete.has_subquery:
        return f"DELETE FROM {table} WHERE {delete.condition}"
    # Rows that are equal are chosen alike, so one copy of each chosen row finds all of them.
    by = target.primary_key or tuple(column.name for column in target.columns)
    chosen = session.read.format("delta").load(spark_location(target.location)).alias(delete.alias)
    chosen.where(delete.condition).select(*(quoted(name) for name in by)).distinct().createOrReplaceTempView(_ROWS)
    on = " AND ".join(f"{quoted(delete.alias)}.{quoted(name)} <=> s.{quoted(name)}" for name in by)
    return f"MERGE INTO {table} USING {_ROWS} AS s ON {on} WHEN MATCHED THEN DELETE"
