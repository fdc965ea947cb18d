"""CREATE FUNCTION, and what can be said of a function without Spark.

    CREATE FUNCTION name(a type [NOT NULL], …) RETURNS type [NOT NULL];                     -- written in Python
    CREATE FUNCTION name(a type [NOT NULL], …) RETURNS type [NOT NULL] AS expression;       -- an expression of Spark SQL

Rules:
- The expression goes up to the semicolon; `RETURN expression`, Spark's own spelling, is the same. It is one value over
  the parameters: it reads no relation, aggregates nothing, and makes no rows.
- A function can't have the name of one of Spark's: which of the two is meant would depend on who reads the query.

Not here: which functions a text calls (`calls`), bodies in Python (`manifest.functions`), names across files
(`program.functions`).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.declarations import FunctionDeclaration, ParameterDeclaration, PythonBody, SqlBody
from reconciler.base.diagnostics import Diagnostic, Location, in_order
from reconciler.base.names import fold, is_identifier
from reconciler.sql.arity import wrong_calls
from reconciler.sql.blocks import Analyser
from reconciler.sql.check import analyse_query
from reconciler.sql.columns import read_type
from reconciler.sql.cursor import Cursor, shown
from reconciler.sql.determinism import non_deterministic_calls
from reconciler.sql.forbidden import forbidden
from reconciler.sql.lexer import Dialect, Kind, Token, next_token, query_tokens, unquote
from reconciler.sql.positions import Positions
from reconciler.sql.problems import Problem
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.row_functions import is_quantifier
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.types import is_variant
from reconciler.sql.words import FunctionKind, spark_functions, spark_words

_SELECT: Final = "SELECT "
_PARAMETERS: Final = "__parameters"
_CLAUSES: Final = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "WINDOW")
_NO_OPTIONS: Final = ("LANGUAGE", "DETERMINISTIC", "NOT", "COMMENT", "CONTAINS", "READS", "SQL", "USING")


def read_function(cursor: Cursor, first: Token, name: Token) -> FunctionDeclaration:
    """What follows the name; `first` is the statement's first token. A body in Python is still without module."""
    called = unquote(name)
    if called.lower() in spark_functions():
        hint = "choose another name: in a query, the two would be ambiguous"
        cursor.report("S250", name, f"Spark already has a function {called.lower()!r}", hint)
    elif called.lower() in spark_words():
        cursor.report("S250", name, f"{called.lower()!r} is a word of Spark's grammar", "choose another name")
    parameters = _read_parameters(cursor)
    cursor.expect_word("RETURNS", "and the type after the parameters")
    returns = read_type(cursor, f"what {called} returns")
    nullable = _read_nullability(cursor)
    end = cursor.position
    start = cursor.accept_word("AS", "RETURN")
    if start is None:
        _expect_end(cursor)
        text = cursor.text[first.start : end]
        body: PythonBody | SqlBody = PythonBody("", {})
        place = None
        if any(is_variant(kind) for kind in (returns, *(one.type for one in parameters))):
            hint = "pass a text: to_json(…), and apply parse_json(…) to the result"
            cursor.report(
                "S282", name, f"{called} is written in Python, and Python functions can't take or return VARIANT", hint
            )
    else:
        begin, end = _read_expression(cursor, start)
        text = cursor.text[first.start : end]
        body = SqlBody(cursor.text[begin:end])
        place = cursor.at(begin)
    at = cursor.at(first.start)
    return FunctionDeclaration(
        called, parameters, returns, body, False, text, at, returns_nullable=nullable, body_location=place
    )


def _read_parameters(cursor: Cursor) -> tuple[ParameterDeclaration, ...]:
    cursor.expect_symbol("(", "and parameters after the function's name", "write () after a function without parameters")
    found: list[ParameterDeclaration] = []
    if cursor.accept_symbol(")"):
        return ()
    while True:
        token = cursor.expect_name("a parameter's name")
        name = unquote(token)
        if not is_identifier(name):
            cursor.report("S211", token, f"{shown(token)} is not a valid name of a parameter", "use letters, digits and '_'")
        elif fold(name) in {fold(other.name) for other in found}:
            cursor.report("S209", token, f"parameter {name!r} is declared twice", "names are case-insensitive")
        kind = read_type(cursor, f"parameter {name!r}")
        found.append(ParameterDeclaration(name, kind, _read_nullability(cursor)))
        if cursor.accept_symbol(",") is None:
            break
    closing = cursor.peek()
    hint = None
    if closing.is_word("DEFAULT"):
        hint = "a parameter can't have a default: every call passes all arguments"
    elif closing.kind in (Kind.WORD, Kind.QUOTED):
        hint = "is a comma missing?"
    cursor.expect_symbol(")", "or ',' after a parameter", hint)
    return tuple(found)


def _read_nullability(cursor: Cursor) -> bool:
    """NOT NULL or NULL, if one stands here: whether NULL may come."""
    if cursor.peek().is_word("NOT"):
        following = next_token(cursor.text, cursor.peek().end, Dialect.DDL)
        if following.is_word("DETERMINISTIC"):
            return True  # what ends the statement says what is wrong with it
        cursor.take()
        cursor.expect_word("NULL", "after NOT")
        return False
    cursor.accept_word("NULL")
    return True


def _expect_end(cursor: Cursor) -> None:
    token = cursor.peek()
    if token.kind is Kind.END or cursor.accept_symbol(";"):
        return
    hint = None
    if token.is_word(*_NO_OPTIONS):
        hint = "other settings of a function belong in pipeline.yaml: spec.functions.<name>"
    cursor.fail("S203", token, f"expected AS or ';' here, found {shown(token)}", hint)


def _read_expression(cursor: Cursor, after: Token) -> tuple[int, int]:
    """From the first token of the expression up to its semicolon, which is taken."""
    first = next_token(cursor.text, cursor.position, Dialect.QUERY)
    if first.kind is Kind.END or first.is_symbol(";"):
        hint = f"write the body after {after.text.upper()}, or remove {after.text.upper()} and write the function in Python"
        cursor.fail("S251", first, "the function has no body", hint)
    end = first.start
    token = first
    while token.kind is not Kind.END and not token.is_symbol(";"):
        if token.kind is Kind.BAD:
            cursor.unreadable(token)
        if token is not first and token.is_word("CREATE"):
            cursor.report("S203", token, f"expected ';' before {shown(token)}", "statements are separated by ';'")
            cursor.position = token.start
            return first.start, end
        end = token.end
        token = next_token(cursor.text, end, Dialect.QUERY)
    cursor.position = token.end if token.kind is not Kind.END else len(cursor.text)
    return first.start, end


def is_steady_expression(
    expression: str,
    parameters: Iterable[ParameterDeclaration],
    functions: Mapping[str, int],
    steady: frozenset[str],
) -> bool:
    """Whether a body surely gives the same for the same arguments. `functions` as for `check_expression`; `steady` are those
    of them that do."""
    if non_deterministic_calls(expression):
        return False
    # A relation without columns would have unknown ones.
    types: dict[str, str | None] = {one.name: one.type for one in parameters} or {_PARAMETERS: None}
    around = QuerySurroundings(functions=functions, steady=steady)
    query = f"{_SELECT}{expression}\nAS value FROM {_PARAMETERS}"
    lineage = analyse_query(query, None, {_PARAMETERS: types}, around=around).lineage
    return lineage is not None and len(lineage.outputs) == 1 and lineage.outputs[0].repeatable


class _BodyAnalyser(Analyser):
    """The walk over the body of a function, where a name without a relation is a parameter."""

    what_names_are = "parameter"


def check_expression(
    expression: str,
    location: Location | None,
    parameters: Iterable[ParameterDeclaration],
    functions: Mapping[str, int],
    *,
    ansi: bool = True,
) -> tuple[Diagnostic, ...]:
    """What is surely wrong with a body. `functions`: those of the pipeline, folded, with their numbers of parameters."""
    tokens = query_tokens(expression)
    problems = list(_shape(tokens, functions))
    if not problems:
        types = {parameter.name: parameter.type for parameter in parameters}
        query = f"{_SELECT}{expression}\nFROM {_PARAMETERS}" if types else _SELECT + expression
        found = [*forbidden(query), *wrong_calls(query_tokens(query), functions)]
        parsed = parse_query(query)
        if isinstance(parsed, Parsed):
            analyser = _BodyAnalyser({_PARAMETERS: types}, query, QuerySurroundings(ansi, functions))
            try:
                analyser.analyse(parsed.tree)
            except RecursionError:
                analyser.problems.clear()
            found += analyser.problems
            found += _not_one_value(parsed.tree)
        elif isinstance(parsed, Problem) and not found:
            found.append(parsed)
        last = len(expression)
        problems = [Problem(one.code, one.message, min(max(one.offset - len(_SELECT), 0), last), one.hint) for one in found]
    positions = Positions(expression, location) if location is not None else None
    return in_order(
        Diagnostic(one.code, one.message, positions.at(one.offset) if positions else None, one.hint) for one in problems
    )


def _shape(tokens: tuple[Token, ...], functions: Collection[str]) -> Iterable[Problem]:
    """What the tokens alone show: a query, an aggregate, or several values in the place of one."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.is_symbol("(") or token.is_symbol("["):
            depth += 1
        elif token.is_symbol(")") or token.is_symbol("]"):
            depth -= 1
        elif token.is_symbol(",") and depth == 0:
            yield Problem(
                "S251", "a function's body must be one value, found ','", token.start, "use struct( … ) for several values"
            )
            return
        elif token.is_word("SELECT") or (depth == 0 and token.is_word(*_CLAUSES) and not _is_a_call(tokens, index)):
            hint = "a function can read only its parameters: join the relation in the view"
            yield Problem("S251", f"a function's body must be one value, found {shown(token)}", token.start, hint)
            return
        elif (wrong := _of_rows(tokens, index, functions)) is not None:
            yield wrong
            return


def _of_rows(tokens: tuple[Token, ...], index: int, functions: Collection[str]) -> Problem | None:
    """A call of something that makes other than one value of one row."""
    token = tokens[index]
    name = fold(token.text.strip("`"))
    is_called = index + 1 < len(tokens) and tokens[index + 1].is_symbol("(") and not is_quantifier(tokens, index)
    if not is_called or token.kind not in (Kind.WORD, Kind.QUOTED) or name in functions:
        return None
    kind = spark_functions().get(name, FunctionKind.SCALAR)
    if kind in (FunctionKind.AGGREGATE, FunctionKind.WINDOW):
        hint = "a function reads one row: aggregate in the view"
        return Problem("S251", f"a function's body can't aggregate, found {name}", token.start, hint)
    if kind is not FunctionKind.SCALAR:
        hint = "a function returns one value: create rows in the view"
        return Problem("S251", f"a function's body can't create rows, found {name}", token.start, hint)
    return None


def _not_one_value(tree: exp.Expr) -> list[Problem]:
    """`*`, or an alias: what a select list takes and a value is not."""
    items = tree.expressions if isinstance(tree, exp.Select) else []
    wrong = [item for item in items if isinstance(item, (exp.Star, exp.Alias))]
    return [Problem("S251", "a function's body must be one value", len(_SELECT), "remove '*' and AS") for _ in wrong[:1]]


def _is_a_call(tokens: tuple[Token, ...], index: int) -> bool:
    return tokens[index].kind is Kind.WORD and index + 1 < len(tokens) and tokens[index + 1].is_symbol("(")
