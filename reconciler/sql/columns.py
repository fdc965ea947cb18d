"""The column list of CREATE TABLE: `(name type [NOT NULL | NULL] [PRIMARY KEY] […], …, [PRIMARY KEY (a, b)])`; what else may
stand after a type is read by `column_clauses`.

Rules:
- A type is read as far as types go; what follows must be a constraint, a comma or the closing parenthesis, so that a
  forgotten comma is found where it is missing.
- A column whose type is unknown stays in the list with the type `UNKNOWN`, which nothing accepts but which keeps views
  that read it from being blamed too.
- One primary key, of columns of this table, each once; its columns can't be NULL.
"""

from dataclasses import replace
from typing import NoReturn

from reconciler.base.declarations import ColumnDeclaration
from reconciler.base.names import did_you_mean, fold, is_identifier
from reconciler.sql.column_clauses import CLAUSES, Clauses, check_clauses, read_clause
from reconciler.sql.cursor import Cursor, shown
from reconciler.sql.lexer import Kind, Token, unquote
from reconciler.sql.types import KNOWN_TYPES, canonical_type, is_variant

UNKNOWN_TYPE = "UNKNOWN"
_LATER = ("WATERMARK", "GENERATED", "INTERNED", "CHECK", "UNIQUE", "REFERENCES")
_LATER_CONSTRAINTS = ("FOREIGN", "CONSTRAINT", "UNIQUE", "CHECK")


class _Columns:
    """What was read so far."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.columns: list[ColumnDeclaration] = []
        self.folded: set[str] = set()
        self.key: list[Token] | None = None


def read_columns(cursor: Cursor) -> tuple[tuple[ColumnDeclaration, ...], tuple[str, ...]]:
    """The columns and the primary key, from `(` to `)`."""
    read = _Columns(cursor)
    cursor.expect_symbol("(", "after the table's name")
    while True:
        _read_item(read)
        if cursor.accept_symbol(",") is None:
            break
    closing = cursor.peek()
    if not closing.is_symbol(")"):
        hint = "is a comma missing?" if closing.kind in (Kind.WORD, Kind.QUOTED) else None
        cursor.fail("S203", closing, f"expected ',' or ')' after a column, found {shown(closing)}", hint)
    cursor.take()
    key = _check_key(read)
    folded = {fold(name) for name in key}
    columns = tuple(replace(one, nullable=False) if fold(one.name) in folded else one for one in read.columns)
    return columns, key


def _read_item(read: _Columns) -> None:
    cursor = read.cursor
    token = cursor.take()
    if token.is_word("PRIMARY") and cursor.peek().is_word("KEY"):
        cursor.take()
        _read_key(read, token)
        return
    if token.is_word(*_LATER_CONSTRAINTS) and (cursor.peek().is_word("KEY") or cursor.peek().is_symbol("(")):
        _unsupported(cursor, token)
    if token.kind not in (Kind.WORD, Kind.QUOTED):
        cursor.position = token.start
        hint = "remove the comma before the closing parenthesis" if token.is_symbol(")") and read.columns else None
        cursor.fail("S203", token, f"expected a column's name, found {shown(token)}", hint)
    _read_column(read, token)


def _unsupported(cursor: Cursor, token: Token) -> NoReturn:
    cursor.position = token.start
    cursor.fail("S212", token, f"{token.text.upper()} is not supported by this version", "remove it")


def _read_column(read: _Columns, token: Token) -> None:
    cursor = read.cursor
    name = unquote(token)
    if cursor.peek().is_symbol("@"):
        cursor.fail("S211", token, "a column's name can't contain '@'")
    if not is_identifier(name):
        hint = "use letters, digits and '_', and do not begin with a digit"
        cursor.report("S211", token, f"{shown(token)} is not a valid name of a column", hint)
    elif fold(name) in read.folded:
        cursor.report("S209", token, f"column {name!r} is declared twice", "column names are case-insensitive")
    read.folded.add(fold(name))
    column_type = read_type(cursor, f"column {name!r}")
    nullable: bool | None = None
    clauses = Clauses()
    while True:
        word = cursor.peek()
        if word.is_word("NOT"):
            cursor.take()
            cursor.expect_word("NULL", "after NOT")
            if nullable:
                cursor.report("S203", word, f"column {name!r} is both NULL and NOT NULL")
            nullable = False
        elif word.is_word("NULL"):
            cursor.take()
            if nullable is False:
                cursor.report("S203", word, f"column {name!r} is both NULL and NOT NULL")
            nullable = True
        elif word.is_word("PRIMARY"):
            cursor.take()
            cursor.expect_word("KEY", "after PRIMARY")
            if read.key is not None:
                cursor.report("S210", word, "the primary key is given twice", "list its columns: PRIMARY KEY (a, b)")
            else:
                read.key = [token]
        elif word.is_word(*CLAUSES):
            read_clause(cursor, name, column_type, clauses)
        elif word.is_word(*_LATER):
            _unsupported(cursor, word)
        else:
            break
    check_clauses(cursor, name, nullable is not False, clauses)
    read.columns.append(
        ColumnDeclaration(
            name,
            column_type,
            nullable is not False,
            cursor.at(token.start),
            clauses.default,
            clauses.lateness,
            clauses.comment,
        )
    )


def read_type(cursor: Cursor, owner: str) -> str:
    """The canonical type that stands next, UNKNOWN_TYPE when there is no such type. `owner` is what has it, in words."""
    first = cursor.peek()
    if first.kind is not Kind.WORD:
        cursor.fail("S203", first, f"expected the type of {owner}, found {shown(first)}")
    text = _type_text(cursor)
    found = canonical_type(text)
    if found is None:
        hint = did_you_mean(first.text, KNOWN_TYPES) if first.text.upper() not in KNOWN_TYPES else None
        if first.text.upper().startswith(("DECIMAL", "NUMERIC")):
            hint = "write DECIMAL(precision, scale) with a precision from 1 to 38 and a scale up to the precision"
        cursor.report("S208", first, f"unknown type {text}", hint or f"known: {', '.join(KNOWN_TYPES)}")
        return UNKNOWN_TYPE
    if " NOT NULL" in found:
        message = f"NOT NULL is inside the type of {owner}, where nothing enforces it: {text}"
        cursor.report("S208", first, message, "remove it: only columns can be NOT NULL, not the fields inside them")
        return UNKNOWN_TYPE
    return found


def _type_text(cursor: Cursor) -> str:
    """The words of one type: a name, what it has in ( ) or < >, and the seeds' `T ARRAY`."""
    parts = [cursor.take().text]
    if parts[0].upper() == "DOUBLE" and cursor.peek().is_word("PRECISION"):
        parts.append(" " + cursor.take().text)
    if parts[0].upper() == "CHARACTER" and cursor.peek().is_word("VARYING"):
        parts.append(" " + cursor.take().text)
    depth = 0
    opening = cursor.peek()
    if opening.is_symbol("(") or opening.is_symbol("<"):
        while True:
            token = cursor.peek()
            if token.kind is Kind.END or token.is_symbol(";"):
                cursor.fail("S203", token, f"a type's '{opening.text}' is not closed", None)
            cursor.take()
            parts.append((" " if token.kind is Kind.WORD and parts[-1][-1:].isalnum() else "") + token.text)
            if token.kind is Kind.SYMBOL:
                depth += sum(1 for character in token.text if character in "(<")
                depth -= sum(1 for character in token.text if character in ")>")
            if depth <= 0:
                break
    while cursor.peek().is_word("ARRAY"):
        parts.append(" " + cursor.take().text)
    return "".join(parts)


def _read_key(read: _Columns, token: Token) -> None:
    cursor = read.cursor
    cursor.expect_symbol("(", "after PRIMARY KEY")
    names: list[Token] = []
    while True:
        names.append(cursor.expect_name("a column of the primary key"))
        if cursor.accept_symbol(",") is None:
            break
    cursor.expect_symbol(")", "or ',' in the primary key")
    if read.key is not None:
        cursor.report("S210", token, "the primary key is given twice", "keep one PRIMARY KEY (…)")
    else:
        read.key = names


def _check_key(read: _Columns) -> tuple[str, ...]:
    """The primary key as the columns spell it."""
    spelled = {fold(column.name): column.name for column in read.columns}
    key: list[str] = []
    for token in read.key or ():
        name = unquote(token)
        column = spelled.get(fold(name))
        if column is None:
            hint = did_you_mean(name, spelled.values())
            read.cursor.report("S210", token, f"the primary key names {name!r}, which is not a column of this table", hint)
        elif column in key:
            read.cursor.report("S210", token, f"the primary key names {name!r} twice")
        elif any(one.name == column and is_variant(one.type) for one in read.columns):
            hint = "put the key into a separate column"
            read.cursor.report("S210", token, f"the primary key names {name!r}: a VARIANT can't be compared", hint)
        else:
            key.append(column)
    return tuple(key)
