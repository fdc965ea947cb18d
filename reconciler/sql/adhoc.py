"""Statements that are given by hand: `reconcile query` takes a SELECT, `reconcile execute` an INSERT or a DELETE.

Each reader gives the parts that the shell needs to pin versions (the relations named, as written, CTEs aside), or a
Diagnostic without place that says what was expected. Whether the relations exist is for the caller to say.
`INSERT OVERWRITE`, MERGE, UPDATE and every DDL are refused: state is changed by rows, definitions by files.
"""

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.invisible import first_invisible
from reconciler.base.names import fold, is_identifier
from reconciler.sql.cursor import shown
from reconciler.sql.forbidden import files_problem, forbidden, reads_files
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of
from reconciler.sql.problems import Problem
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import named_relations
from reconciler.sql.statements import invisible_diagnostic
from reconciler.sql.versioned_names import quote_versions

_QUERY_HINT = "for example: SELECT * FROM t WHERE …"
_CHANGE_HINT = "for example: INSERT INTO t VALUES (…), or DELETE FROM t WHERE …"


@dataclass(frozen=True, slots=True)
class Select:
    """One query."""

    sql: str
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table [(columns)] source."""

    table: str
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM table [WHERE condition]. `relations` are those that the condition reads besides the table."""

    table: str
    relations: tuple[str, ...]


def _tokens(sql: str) -> list[Token]:
    tokens = list(tokens_of(sql, Dialect.QUERY))
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    return tokens


def read_select(sql: str) -> Select | Diagnostic:
    """Read one SELECT. Names of versions (`revenue@v2`) come quoted."""
    if (hidden := first_invisible(sql)) is not None:
        return invisible_diagnostic(sql[hidden], None)
    sql = quote_versions(sql)
    tokens = _tokens(sql)
    if not tokens:
        return Diagnostic("S240", "there is no query", None, _QUERY_HINT)
    text = sql[tokens[0].start : tokens[-1].end]
    relations = _relations(text)
    if isinstance(relations, Problem):
        if relations.code == "S216":
            return _not_allowed(relations)
        if relations.code == "S213":
            # That speaks of a view's query.
            return _no_select(tokens)
        return Diagnostic("S240", f"not one SELECT: {relations.message}", None, relations.hint or _QUERY_HINT)
    return Select(text, relations)


def _no_select(tokens: list[Token]) -> Diagnostic:
    """Why a text is not one query at all."""
    if any(token.is_symbol(";") for token in tokens):
        return Diagnostic("S240", "not one SELECT: several statements", None, "run one at a time")
    changes = tokens[0].is_word("INSERT", "DELETE")
    hint = "to change rows, run: reconcile execute" if changes else _QUERY_HINT
    return Diagnostic("S240", f"not one SELECT: the statement begins with {shown(tokens[0])}", None, hint)


def read_change(sql: str) -> Insert | Delete | Diagnostic:
    """Read one INSERT or DELETE."""
    if (hidden := first_invisible(sql)) is not None:
        return invisible_diagnostic(sql[hidden], None)
    tokens = _tokens(sql)
    if not tokens:
        return Diagnostic("S241", "there is no statement", None, _CHANGE_HINT)
    if tokens[-1].kind is Kind.BAD:
        return _refused(tokens[-1].text)
    if any(token.is_symbol(";") for token in tokens):
        return _refused("several statements", "run one at a time")
    if tokens[0].is_word("INSERT"):
        return _insert(sql, tokens)
    if tokens[0].is_word("DELETE"):
        return _delete(sql, tokens)
    return _refused(f"expected INSERT or DELETE, found {shown(tokens[0])}")


def _refused(message: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic("S241", f"not one INSERT or DELETE: {message}", None, hint or _CHANGE_HINT)


def _not_allowed(problem: Problem) -> Diagnostic:
    return Diagnostic(problem.code, problem.message, None, problem.hint)


def _name(tokens: list[Token], index: int) -> str | None:
    """The plain relation or column name at `index`, without its quotes; double quotes are strings here, as in Spark."""
    if index >= len(tokens) or tokens[index].kind not in (Kind.WORD, Kind.QUOTED):
        return None
    name = tokens[index].text.strip("`")
    return name if is_identifier(name) else None


def _after_table(tokens: list[Token], index: int) -> Diagnostic | None:
    if index < len(tokens) and (tokens[index].is_symbol(".") or tokens[index].is_symbol("@")):
        return _refused("expected a plain table name", "remove the qualifier or version")
    return None


def _insert(sql: str, tokens: list[Token]) -> Insert | Diagnostic:
    if len(tokens) < 2 or not tokens[1].is_word("INTO"):
        found = shown(tokens[1]) if len(tokens) > 1 else "nothing"
        return _refused(f"expected INTO after INSERT, found {found}")
    index = 3 if len(tokens) > 2 and tokens[2].is_word("TABLE") and _name(tokens, 3) is not None else 2
    table = _name(tokens, index)
    if table is None:
        return _refused("expected a table's name after INTO")
    index += 1
    if (problem := _after_table(tokens, index)) is not None:
        return problem
    if index + 1 < len(tokens) and tokens[index].is_symbol("(") and _is_column_list(tokens, index):
        index += 1
        while True:
            if _name(tokens, index) is None:
                return _refused(f"expected a column's name, found {shown(tokens[index])}")
            index += 2
            if tokens[index - 1].is_symbol(")"):
                break
    if index >= len(tokens):
        return _refused("the INSERT has no rows")
    relations = _relations(sql[tokens[index].start : tokens[-1].end])
    if isinstance(relations, Problem):
        return _not_allowed(relations) if relations.code == "S216" else _refused(relations.message, relations.hint)
    return Insert(table, relations)


def _is_column_list(tokens: list[Token], index: int) -> bool:
    """Whether names, commas and a closing parenthesis follow: not a query in parentheses."""
    position = index + 1
    while position + 1 < len(tokens) and tokens[position].kind in (Kind.WORD, Kind.QUOTED):
        if tokens[position + 1].is_symbol(")"):
            return True
        if not tokens[position + 1].is_symbol(","):
            return False
        position += 2
    return False


def _delete(sql: str, tokens: list[Token]) -> Delete | Diagnostic:
    if len(tokens) < 2 or not tokens[1].is_word("FROM"):
        found = shown(tokens[1]) if len(tokens) > 1 else "nothing"
        return _refused(f"expected FROM after DELETE, found {found}")
    table = _name(tokens, 2)
    if table is None:
        return _refused("expected a table's name after FROM")
    if (problem := _after_table(tokens, 3)) is not None:
        return problem
    if len(tokens) == 3:
        return Delete(table, ())
    if not tokens[3].is_word("WHERE"):
        return _refused(f"expected WHERE after the table, found {shown(tokens[3])}")
    if len(tokens) == 4:
        return _refused("WHERE has no condition")
    condition = sql[tokens[4].start : tokens[-1].end]
    relations = _relations(f"SELECT 1 FROM {tokens[2].text} WHERE {condition}")
    if isinstance(relations, Problem):
        return _not_allowed(relations) if relations.code == "S216" else _refused(relations.message, relations.hint)
    return Delete(table, tuple(name for name in relations if fold(name) != fold(table)))


def _relations(query: str) -> tuple[str, ...] | Problem:
    """The relations that a query names, as written, once each, sorted."""
    parsed = parse_query(query)
    if refused := forbidden(query, paths=not isinstance(parsed, Parsed)):
        return refused[0]
    if isinstance(parsed, Problem):
        return parsed
    named = named_relations(parsed, query)
    files = next((found for name in named if (found := reads_files(name)) is not None), None)
    return named if files is None else files_problem(files, 0)
