"""What no query may hold, because it reaches past the relations that the pipeline declares.

- `IDENTIFIER(…)` names a relation or a column by a text: what is read would be known to Spark alone.
- `java_method`, `reflect`, `try_reflect` call any static Java method: they may do anything, and stop the process.
- `from_xml` and `schema_of_xml` with the option `rowValidationXSDPath` read a file of the machine, or an address, and what
  they find there may read others. So their options are written out: `map('mode', 'PERMISSIVE')`.
- `USING 'command'` (of `TRANSFORM`, `MAP` and `REDUCE`) runs a command of the machine.
- `table_changes`, `table_changes_by_path` (Delta's) read a table's past, of any folder, behind the back of the registry.
- Files in the place of a relation (``csv.`/in` ``): a query reads what connectors brought in.

Judged on tokens, so that it holds for every text, however it parses. Of a query that can be parsed, files are told by its
relations (`reads_files`): there, `json.people` may be relation people of a pipeline that is called json.
"""

import re
from typing import Final

from reconciler.base.names import is_identifier
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.problems import Problem

_CODE: Final = "S216"
_NAMING: Final = "identifier"
_CALLING_JAVA: Final = frozenset({"java_method", "reflect", "try_reflect"})
_READING_THE_PAST: Final = frozenset({"table_changes", "table_changes_by_path"})
_RUNNING: Final = "using"
_READING_XML: Final = {"from_xml": 2, "schema_of_xml": 1}
"""How many arguments stand before the options."""
_OPTION: Final = re.compile(r"'[A-Za-z]+'|\"[A-Za-z]+\"")
_OPTION_OF_A_PLACE: Final = "rowvalidationxsdpath"
_CANDIDATE: Final = re.compile(
    "|".join(sorted({_NAMING, _RUNNING, *_CALLING_JAVA, *_READING_THE_PAST, *_READING_XML})), re.IGNORECASE
)
_FORMATS: Final = frozenset({"avro", "binaryfile", "csv", "delta", "iceberg", "json", "orc", "parquet", "text", "xml"})
_PATH_SIGNS: Final = ("/", "\\", ":")
_FILES_HINT: Final = "declare a table with an input connector, and read that table"


def reads_files(name: str, *, is_pipeline: bool = True) -> str | None:
    """What is wrong with a relation's name that Spark would take for files: ``parquet.`/in` ``; None where it is none.
    `is_pipeline`: the first part may be a pipeline's name, so that a plain name after it is a relation's."""
    kind, point, rest = name.partition(".")
    if not point or not (any(sign in rest for sign in _PATH_SIGNS) or kind.lower() in _FORMATS):
        return None
    if is_pipeline and is_identifier(rest):
        return None
    return f"{name!r} reads files directly, which is not allowed in a query"


def files_problem(message: str, offset: int) -> Problem:
    """The problem that `reads_files` found."""
    return Problem(_CODE, message, offset, _FILES_HINT)


def forbidden(query: str, *, paths: bool = False) -> tuple[Problem, ...]:
    """A problem for each thing that no query may hold. `paths`: look for paths in the place of relations, too."""
    if not paths and not _CANDIDATE.search(query):
        return ()
    tokens = query_tokens(query)
    found = (_problem(tokens, index, paths) for index in range(len(tokens) - 1))
    return tuple(problem for problem in found if problem is not None)


def _problem(tokens: tuple[Token, ...], index: int, paths: bool) -> Problem | None:
    token = tokens[index]
    # With spark.sql.ansi.doubleQuotedIdentifiers, a string in double quotes is a name.
    if token.kind not in (Kind.WORD, Kind.QUOTED) and not (token.kind is Kind.STRING and token.text[0] == '"'):
        return None
    name = token.text.strip('`"').lower()
    if token.is_word("USING") and tokens[index + 1].kind is Kind.STRING:
        hint = "write it in SQL, or as a function in Python"
        return Problem(_CODE, "a command (USING '…') is not allowed in a query", token.start, hint)
    if tokens[index + 1].is_symbol("("):
        if name == _NAMING:
            hint = "write the name itself, without IDENTIFIER( … )"
            return Problem(_CODE, "IDENTIFIER( … ) is not allowed in a query", token.start, hint)
        if name in _CALLING_JAVA:
            hint = "a query can call only SQL functions, not Java methods"
            return Problem(_CODE, f"{name} is not allowed in a query", token.start, hint)
        if name in _READING_THE_PAST:
            return Problem(_CODE, f"{name} reads files directly, which is not allowed in a query", token.start, _FILES_HINT)
        if name in _READING_XML and not _are_harmless(_arguments(tokens, index + 2)[_READING_XML[name] :]):
            message = f"{name} with options that may name a file is not allowed in a query"
            hint = "write the options as they are, without rowValidationXSDPath: map('mode', 'PERMISSIVE')"
            return Problem(_CODE, message, token.start, hint)
    if paths and _is_path(tokens, index, name):
        return files_problem(
            f"'{name}.{tokens[index + 2].text.strip('`')}' reads files directly, which is not allowed in a query",
            token.start,
        )
    return None


def _arguments(tokens: tuple[Token, ...], index: int) -> list[list[Token]]:
    """The arguments of a call, from behind its bracket on."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[index:]:
        if token.is_symbol(",") and not depth:
            found.append([])
            continue
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth < 0:
            break
        found[-1].append(token)
    return found


def _are_harmless(options: list[list[Token]]) -> bool:
    """Whether these are at most one `map('name', 'value', …)`, of which each name can be read, and none is of a place."""
    if not options:
        return True
    if len(options) > 1 or [token.text.lower() for token in options[0][:2]] != ["map", "("]:
        return False
    *written, closing = options[0][2:] or options[0]
    texts, commas = written[::2], written[1::2]
    return (
        closing.is_symbol(")")
        and len(texts) % 2 == 0
        and all(token.is_symbol(",") for token in commas)
        and all(token.kind is Kind.STRING for token in texts)
        and all(_OPTION.fullmatch(name.text) and name.text[1:-1].lower() != _OPTION_OF_A_PLACE for name in texts[::2])
    )


def _is_path(tokens: tuple[Token, ...], index: int, name: str) -> bool:
    """``format.`path` `` behind FROM, JOIN, TABLE or a comma."""
    if not index or index + 2 >= len(tokens) or not tokens[index + 1].is_symbol("."):
        return False
    has_signs = any(sign in tokens[index + 2].text for sign in _PATH_SIGNS) and tokens[index + 2].kind is not Kind.SYMBOL
    if tokens[index - 1].is_word("FROM", "JOIN", "TABLE"):
        return name in _FORMATS or has_signs
    return tokens[index - 1].is_symbol(",") and name in _FORMATS and has_signs
