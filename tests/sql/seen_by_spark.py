"""What Spark's own parser makes of a text, so that two texts can be compared by it.

Two forms of one plan: its text, which shows common table expressions, and its JSON, which shows what the text leaves out
(IGNORE NULLS, types of literals). Numbers that Spark gives anew with each plan are left out. As to letter case,

- names of functions, relations, windows, hints and collations never count, nor that of a column right before the alias of
  all that it ends;
- all other names do where names are data; else only what Spark takes from a variant does.
"""

import json
import re
from typing import Any

_NUMBERED = re.compile(r"#\d+L?")
_RELATION_LIST = (
    "SubqueryAlias|UnresolvedRelation|CTE|UnresolvedWith|Generate|UnresolvedHint|UnresolvedTableValuedFunction|"
    "UnresolvedInlineTable"
)
_UNCOUNTED = (
    re.compile(r"[\w.`]+(?=\()"),
    re.compile(r"(?<=unresolvedcollation\()[^)]*"),
    re.compile(r"(?<=windowspecreference\()[^)]*"),
    re.compile(rf"^[\s:|+-]*'?(?:{_RELATION_LIST}) .*$", re.MULTILINE),
    # LIKE shows its escape behind its pattern.
    re.compile(r"'[\w`]+(?=(?:, \\)?\)* AS )"),
)
_OF_THE_PLAN = frozenset({"exprId", "jvmId", "resultId", "planId", "origin"})
_OF_RELATIONS = frozenset(
    {"SubqueryAlias", "UnresolvedRelation", "UnresolvedTableValuedFunction", "Generate", "UnresolvedHint", "UnresolvedWith"}
    | {"UnresolvedFunction", "FunctionIdentifier", "Tuple3", "UnresolvedInlineTable", "UnresolvedCollation"}
    | {"WindowSpecReference"}
)
_NAMES_OF_RELATIONS = frozenset(
    {"identifier", "multipartIdentifier", "nameParts", "qualifier", "name", "funcName", "_1", "rows", "collationName"}
)


class SparksParser:
    """Reads texts by the parser of a session."""

    def __init__(self, session: Any) -> None:
        self._parser = session._jsparkSession.sessionState().sqlParser()
        # Long plans are cut short else.
        session.conf.set("spark.sql.debug.maxToStringFields", "10000")

    def parse(self, query: str) -> tuple[str, str] | None:
        """The plan as text and as JSON; None of what is no query."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            plan = self._parser.parsePlan(query)
            return _NUMBERED.sub("#", plan.toString()), plan.toJSON()
        except (Py4JJavaError, PySparkException):
            return None


def as_seen(parsed: tuple[str, str] | None, names_are_data: bool) -> tuple[str, str] | None:
    """What of a plan must be the same in two texts of one meaning."""
    if parsed is None:
        return None
    text, form = parsed
    tree = json.dumps(_plain(json.loads(form), names_are_data))
    if not names_are_data or '.Unpivot"' in form:
        # Columns of UNPIVOT and their aliases stand far apart in the text of a plan.
        return text.lower(), tree
    for pattern in _UNCOUNTED:
        text = pattern.sub(lambda found: found.group().lower(), text)
    return text, tree


def _plain(value: Any, names_are_data: bool) -> Any:
    match value:
        case dict():
            return _plain_node(value, names_are_data)
        case list():
            found = [_plain(one, names_are_data) for one in value if not isinstance(one, int)]
            for index, node in enumerate(found):
                if isinstance(node, dict) and str(node.get("class")).endswith(".Alias"):
                    _fold_last(found, index)
            return found
        case str() if value.startswith("[B@"):
            return "bytes"
        case str() if not names_are_data:
            return value.lower()
    return value


def _fold_last(nodes: list[Any], index: int) -> None:
    """Nodes stand in their order, each before its children: find the last below one, and fold it where it is a column."""
    last, open_children = index, nodes[index]["num-children"]
    while open_children and last + 1 < len(nodes):
        last += 1
        open_children += nodes[last]["num-children"] - 1
    parts = str(nodes[last].get("nameParts", ""))
    if str(nodes[last]["class"]).endswith(".UnresolvedAttribute") and "," not in parts:
        nodes[last]["nameParts"] = parts.lower()


def _plain_node(node: dict[str, Any], names_are_data: bool) -> dict[str, Any]:
    kind = str(node.get("class", node.get("product-class", ""))).rpartition(".")[2]
    # Where children stand is told by their order, and two that are equal may be told to be one.
    kept = {
        key: part
        for key, part in node.items()
        if key not in _OF_THE_PLAN and (key == "num-children" or type(part) is not int)
    }
    if kind == "SemiStructuredExtract":
        return kept
    of_relations = _NAMES_OF_RELATIONS if kind in _OF_RELATIONS else ()
    found = {key: _plain(part, names_are_data and key not in of_relations) for key, part in kept.items()}
    if kind == "Unpivot":
        aliases, columns = kept.get("aliases"), found.get("values")
        if isinstance(aliases, list) and isinstance(columns, list):
            given = zip(columns, aliases, strict=False)
            found["values"] = [column if alias is None else _plain(column, False) for column, alias in given]
    return found
