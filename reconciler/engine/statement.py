"""Ad-hoc INSERT and DELETE, cut apart by tokens: `INSERT INTO [TABLE] t [(columns)] query` (a query may be VALUES) and
`DELETE FROM t [[AS] alias] [WHERE condition]`.

Query and condition are handed on as written: nothing is printed anew from a syntax tree.
"""

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of

_FORMS = "INSERT INTO t [(columns)] VALUES … | SELECT …, or DELETE FROM t [WHERE …]"


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


def read_statement(sql: str) -> Insert | Delete:
    """Cut a statement apart. Raises EngineError (X720) for anything else."""
    tokens = list(tokens_of(sql, Dialect.QUERY))
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    for token in tokens:
        if token.kind is Kind.BAD:
            raise EngineError("X720", f"the statement has {token.text}")
        if token.is_symbol(";"):
            raise EngineError("X720", "run one statement at a time", f"expected: {_FORMS}")
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
        raise EngineError("X720", f"the DELETE from {table} has unexpected {rest[0].text!r}", f"expected: {_FORMS}")
    condition = sql[rest[1].start : tokens[-1].end]
    return Delete(table, alias, condition, any(token.is_word("SELECT", "WITH", "FROM") for token in rest))


def _name(token: Token) -> str:
    if token.kind is Kind.WORD:
        return token.text
    if token.kind is Kind.QUOTED:
        return token.text[1:-1].replace("``", "`")
    raise EngineError("X720", f"expected a name, found {token.text or 'the end of the statement'!r}", f"expected: {_FORMS}")
