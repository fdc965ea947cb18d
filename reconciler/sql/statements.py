"""Read one SQL file of a pipeline: CREATE TABLE, VIEW and FUNCTION statements into declarations and diagnostics.

    CREATE TABLE t (column type [NOT NULL | NULL] [PRIMARY KEY], …, [PRIMARY KEY (a, b)]) [WITH ('…' = '…', …)];
    CREATE [LOCAL | MATERIALIZED] VIEW v [(a, b)] [WITH ('connectors' = '[…]')] AS query;
    CREATE FUNCTION f (a type, …) RETURNS type [AS expression];      -- see `functions`

Rules:
- DDL follows the seeds' dialect: words in any case, `"…"` and backticks quote names, the only escape in '…' is ''. The
  text after AS is Spark SQL, where `"…"` is a string. `lexer` says where one ends.
- A query is kept as written up to the semicolon; so is the statement, without the comments before it.
- A column of the primary key can't be NULL, whether or not it says so.
- Every mistake is a diagnostic at its own line and column. Mistakes that leave the statement readable are collected;
  others give the statement up, and reading goes on at the next semicolon or at the next CREATE.
- What the design foresees and this version lacks (CREATE TYPE, FOREIGN KEY, …) says so with its own code.

Not here: whether a query is good SQL (`check`), names across files (`program.compile`).
"""

from collections.abc import Sequence
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import (
    ConnectorDeclaration,
    FunctionDeclaration,
    SqlBody,
    TableDeclaration,
    ViewDeclaration,
    ViewKind,
)
from reconciler.base.diagnostics import Diagnostic, Location, in_order
from reconciler.base.invisible import code_point, first_invisible
from reconciler.base.names import did_you_mean, fold, is_identifier
from reconciler.sql.columns import read_columns
from reconciler.sql.cursor import Abandoned, Cursor, is_template, shown
from reconciler.sql.declared import SqlFile
from reconciler.sql.functions import read_function
from reconciler.sql.lexer import Dialect, Kind, Token, cut_query, next_token, query_tokens, remember_tokens, unquote
from reconciler.sql.limits import HINT_OF_FILE, MAXIMUM_TOKENS_OF_FILE, TOKENS_OF_A_QUERY, TOO_MANY_TOKENS_OF_FILE
from reconciler.sql.properties import TABLE_PROPERTIES, VIEW_PROPERTIES, read_properties

KNOWN_STATEMENTS = "CREATE TABLE, CREATE [LOCAL | MATERIALIZED] VIEW or CREATE FUNCTION"
_LATER = ("AGGREGATE", "INDEX", "LINEAR", "RECURSIVE", "TYPE")
_STARTS = ("CREATE", "DECLARE")
_CREATED = ("AGGREGATE", "EXTERNAL", "FUNCTION", "INDEX", "LINEAR", "LOCAL", "MATERIALIZED", "OR", "RECURSIVE")
_CREATED_TOO = ("TABLE", "TEMP", "TEMPORARY", "TYPE", "VIEW", "GLOBAL")
_QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")


@dataclass(slots=True)
class _Found:
    tables: list[TableDeclaration] = field(default_factory=list)
    views: list[ViewDeclaration] = field(default_factory=list)
    connectors: list[ConnectorDeclaration] = field(default_factory=list)
    functions: list[FunctionDeclaration] = field(default_factory=list)
    words: int = 0
    """Of all queries and functions' bodies so far, as `limits` counts them."""
    place: Location | None = None
    """Where the last of these begins."""

    def count(self, text: str, place: Location | None) -> None:
        """One more query or body of a function, and where it begins."""
        self.words += len(query_tokens(text)) + TOKENS_OF_A_QUERY
        self.place = place


def read_sql(text: str, file: str) -> SqlFile:
    """Read a whole file. `file` is its path from the repository's root, for locations."""
    cursor = Cursor(text, file)
    hidden = first_invisible(text)
    if hidden is not None:
        return SqlFile((), (), (), (invisible_diagnostic(text[hidden], cursor.at(hidden)),))
    found = _Found()
    while True:
        token = cursor.peek()
        if token.kind is Kind.END:
            break
        if token.is_symbol(";"):
            cursor.take()
            continue
        try:
            _read_statement(cursor, token, found)
            if found.words > MAXIMUM_TOKENS_OF_FILE:
                # All of them are left out: to go on with some would take as long, and tell of the others' names as unknown.
                return SqlFile((), (), (), (Diagnostic("S296", TOO_MANY_TOKENS_OF_FILE, found.place, HINT_OF_FILE),))
        except Abandoned as abandoned:
            if not cursor.note(abandoned):
                break
            _skip_statement(cursor)
    diagnostics = in_order(cursor.diagnostics)
    return SqlFile(tuple(found.tables), tuple(found.views), tuple(found.connectors), diagnostics, tuple(found.functions))


def invisible_diagnostic(character: str, location: Location | None) -> Diagnostic:
    """That a text holds a character that nobody sees."""
    message = f"the text holds {code_point(character)}, an invisible control character"
    return Diagnostic("S280", message, location, f"remove it; in a string, write '\\u{ord(character):04x}'")


def _skip_statement(cursor: Cursor) -> None:
    """Past the next semicolon, or up to what looks like the start of another statement."""
    moved = False
    while True:
        token = next_token(cursor.text, cursor.position, Dialect.QUERY)
        if token.kind is Kind.BAD:
            # Already past what could be read: what is left has no shape. One diagnostic has been given.
            cursor.position = len(cursor.text)
            return
        if token.kind is Kind.END:
            return
        if moved and _starts_statement(cursor.text, token):
            return
        cursor.position = token.end
        moved = True
        if token.is_symbol(";"):
            return


def _starts_statement(text: str, token: Token) -> bool:
    """Whether CREATE TABLE, CREATE VIEW or the like begins here."""
    if not token.is_word(*_STARTS):
        return False
    return next_token(text, token.end, Dialect.DDL).is_word(*_CREATED, *_CREATED_TOO)


def _read_statement(cursor: Cursor, first: Token, found: _Found) -> None:
    start = cursor.take()
    if start.is_word("LATENESS", "DECLARE"):
        cursor.fail("S212", start, f"{start.text.upper()} is not supported by this version")
    if not start.is_word("CREATE"):
        hint = did_you_mean(start.text, ["CREATE"]) if start.kind is Kind.WORD else None
        reason = "to run an INSERT or DELETE: reconcile execute" if start.is_word("INSERT", "DELETE") else None
        cursor.fail("S202", start, f"expected {KNOWN_STATEMENTS}, found {shown(start)}", hint or reason)
    kind = cursor.peek()
    if cursor.accept_word("OR"):
        cursor.fail("S203", kind, "CREATE OR REPLACE is not supported", "remove OR REPLACE: the file is the definition")
    if cursor.accept_word("TEMP", "TEMPORARY", "GLOBAL"):
        cursor.fail(
            "S203", kind, f"CREATE {kind.text.upper()} is not supported", "use CREATE LOCAL VIEW: only views can read it"
        )
    if cursor.accept_word(*_LATER):
        cursor.fail("S212", kind, f"CREATE {kind.text.upper()} is not supported by this version")
    if cursor.accept_word("TABLE"):
        _read_table(cursor, first, found)
    elif cursor.accept_word("VIEW"):
        _read_view(cursor, first, ViewKind.PLAIN, found)
    elif cursor.accept_word("LOCAL"):
        cursor.expect_word("VIEW", "after LOCAL")
        _read_view(cursor, first, ViewKind.LOCAL, found)
    elif cursor.accept_word("MATERIALIZED"):
        cursor.expect_word("VIEW", "after MATERIALIZED")
        _read_view(cursor, first, ViewKind.MATERIALIZED, found)
    elif cursor.accept_word("FUNCTION"):
        function = _read_function(cursor, first)
        found.functions.append(function)
        if isinstance(function.body, SqlBody):
            found.count(function.body.expression, function.body_location)
    else:
        words = ("FUNCTION", "LOCAL", "MATERIALIZED", "TABLE", "VIEW")
        hint = did_you_mean(kind.text, words) if kind.kind is Kind.WORD else None
        cursor.fail("S202", kind, f"expected {KNOWN_STATEMENTS}, found CREATE {shown(kind)}", hint)


def _read_function(cursor: Cursor, first: Token) -> FunctionDeclaration:
    name = cursor.peek()
    _read_relation_name(cursor, "function")
    return read_function(cursor, first, name)


def _read_relation_name(cursor: Cursor, what: str) -> str:
    if cursor.peek().is_word("IF"):
        cursor.fail("S203", cursor.take(), "IF NOT EXISTS is not supported", "remove it: the file is the definition")
    token = cursor.expect_name(f"the {what}'s name")
    name = unquote(token)
    after = cursor.peek()
    if after.is_symbol("@"):
        cursor.fail("S211", token, f"a {what}'s name can't contain '@'", "name a version where you read it")
    if after.is_symbol("."):
        cursor.fail(
            "S211", token, f"a {what}'s name must have one part", "a pipeline is one namespace: remove the qualifier"
        )
    if not is_identifier(name):
        hint = "use letters, digits and '_', and do not begin with a digit"
        cursor.fail("S211", token, f"{shown(token)} is not a valid name of a {what}", hint)
    return name


def _end_of_ddl(cursor: Cursor) -> int:
    """The offset where the statement ends; the semicolon, when there is one, is taken."""
    end = cursor.position
    token = cursor.peek()
    if token.kind is Kind.END or cursor.accept_symbol(";"):
        return end
    if _starts_statement(cursor.text, token):
        cursor.report("S203", token, f"expected ';' before {shown(token)}", "statements are separated by ';'")
        return end
    hints = {
        "AS": "a table has columns and no query: use CREATE MATERIALIZED VIEW",
        "USING": "remove it: every table is a Delta table",
        "PARTITIONED": "remove it: the layout is not part of the definition",
    }
    hint = hints.get(token.text.upper())
    return cursor.fail("S203", token, f"expected WITH or ';' here, found {shown(token)}", hint)


def _read_table(cursor: Cursor, first: Token, found: _Found) -> None:
    name = _read_relation_name(cursor, "table")
    opening = cursor.peek()
    if not opening.is_symbol("("):
        hint = "a table has columns and no query: use CREATE MATERIALIZED VIEW" if opening.is_word("AS") else None
        cursor.fail("S203", opening, f"expected '(' and columns after the table's name, found {shown(opening)}", hint)
    columns, primary_key = read_columns(cursor)
    properties = read_properties(cursor, name, TABLE_PROPERTIES)
    end = _end_of_ddl(cursor)
    found.tables.append(
        TableDeclaration(
            name,
            columns,
            primary_key,
            properties.flags.get("materialized", False),
            properties.flags.get("append_only", False),
            cursor.text[first.start : end],
            cursor.at(first.start),
        )
    )
    found.connectors += properties.connectors


def _read_names(cursor: Cursor) -> tuple[str, ...]:
    """The optional list of column names after a view's name."""
    if cursor.accept_symbol("(") is None:
        return ()
    names: list[str] = []
    folded: set[str] = set()
    while True:
        token = cursor.expect_name("a column's name")
        name = unquote(token)
        if not is_identifier(name):
            cursor.report("S211", token, f"{shown(token)} is not a valid name of a column", "use letters, digits and '_'")
        elif fold(name) in folded:
            cursor.report("S209", token, f"column {name!r} is named twice", "column names are case-insensitive")
        names.append(name)
        folded.add(fold(name))
        if cursor.accept_symbol(",") is None:
            break
    cursor.expect_symbol(")", "or ',' after a column's name", "a view's columns have names, but no types")
    return tuple(names)


def _read_view(cursor: Cursor, first: Token, kind: ViewKind, found: _Found) -> None:
    name = _read_relation_name(cursor, "view")
    names = _read_names(cursor)
    properties = read_properties(cursor, name, VIEW_PROPERTIES)
    cursor.expect_word("AS", "and the view's query")
    start, end = _read_query(cursor)
    found.count(cursor.text[start:end], cursor.at(start))
    found.views.append(
        ViewDeclaration(
            name,
            kind,
            names,
            cursor.text[start:end],
            cursor.text[first.start : end],
            cursor.at(first.start),
            cursor.at(start),
        )
    )
    found.connectors += properties.connectors


def _read_query(cursor: Cursor) -> tuple[int, int]:
    """From the first token of the query up to its semicolon, which is taken. The query begins like a SELECT."""
    first = next_token(cursor.text, cursor.position, Dialect.QUERY)
    if first.kind is Kind.END or first.is_symbol(";"):
        cursor.fail("S213", first, "the view has no query", "write a SELECT after AS")
    tokens, stop = cut_query(cursor.text, first.start, _STARTS, _NextStatement(cursor.text).begins)
    for index, (kind, text, start, _) in enumerate(tokens):
        if kind is Kind.SYMBOL and text in "{$" and is_template(cursor.text, _moved(tokens[index], first.start)):
            cursor.position = first.start + start
            hint = "write the value itself, or make it a column of a table"
            cursor.fail("S215", _moved(tokens[index], first.start), "templates are not expanded in SQL", hint)
        elif kind is Kind.BAD:
            cursor.unreadable(_moved(tokens[index], first.start))
    end = first.start + tokens[-1].end
    after = next_token(cursor.text, stop, Dialect.QUERY)
    if after.kind is Kind.WORD:
        cursor.report("S203", after, f"expected ';' before {shown(after)}", "statements are separated by ';'")
    cursor.position = stop if after.kind is Kind.WORD else min(stop + 1, len(cursor.text))
    remember_tokens(cursor.text[first.start : end], tokens)
    return _checked(cursor, first, end)


class _NextStatement:
    """Where the next statement begins though no ';' stands before it. Parentheses are counted on from the last place that
    was asked of: a text of many such places takes time in proportion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._counted = 0

    def begins(self, before: Sequence[Token], position: int) -> bool:
        """Whether it begins at an offset of the text. `before` are the tokens before it, with those of the last call."""
        for token in before[self._counted :]:
            if token.kind is Kind.SYMBOL:
                self._depth += (token.text == "(") - (token.text == ")")
        self._counted = len(before)
        return self._depth <= 0 and _starts_statement(self._text, next_token(self._text, position, Dialect.QUERY))


def _moved(token: Token, by: int) -> Token:
    return token._replace(start=token.start + by, end=token.end + by)


def _checked(cursor: Cursor, first: Token, end: int) -> tuple[int, int]:
    if not (first.is_symbol("(") or first.is_word(*_QUERY_STARTS)):
        cursor.report("S213", first, f"a view's query must be one SELECT, found {shown(first)}", "write a SELECT after AS")
    return first.start, end
