"""Which output columns of two versions of a query differ, where surely the same rows come out of both.

Two queries are compared whose texts are equal but for the items of the outermost select list: the same WITH, the same text
behind the list. Then the same rows come out if nothing that decides rows looks into the list, and nothing in the list
decides rows. So there is no answer (None) for
- DISTINCT, a set operation at the top, GROUP BY ALL, any LIMIT, OFFSET or TABLESAMPLE outside the list, and calls there
  that give other values each time;
- GROUP BY, HAVING, QUALIFY or WINDOW naming a changed item by name or by number;
- generators among the changed items, or a function that is neither Spark's nor the pipeline's own;
- aggregates without GROUP BY on one side only, or anything that may be one (all but what surely is none);
- a `*` that is changed, or that stands where its columns or their names can't be told.

An item that uses the name of a changed item may use that item, so it is changed, too. Items are compared by what stands in
them under each name of an output column; being in another place is no change.

Not here: whether what is read has changed, and whether values can be repeated (`lineage`).
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.determinism import non_deterministic_calls
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.row_functions import is_quantifier, kind_of_call, surely_aggregates
from reconciler.sql.words import FunctionKind, spark_functions, spark_words

_SET_OPERATORS: Final = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
_SEEING_NAMES: Final = ("GROUP", "HAVING", "QUALIFY", "WINDOW")
_NO_LIST: Final = ("DISTINCT", "ALL", "TRANSFORM")


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of the list: its text, the words in it that may be names, and the name that it gives itself, if it does.

    `aggregates`: it surely does. `may_aggregate`: it is not sure that it does not. `may_generate` is the same of rows that
    it may make.
    """

    text: tuple[str, ...]
    words: frozenset[str]
    alias: str | None
    is_star: bool
    may_generate: bool
    aggregates: bool
    may_aggregate: bool


_Items = dict[str, _Item | None]


@dataclass(frozen=True, slots=True)
class _Query:
    """A query in three parts. `seeing`: the words of the clauses that see names of the list; `numbers`: those of items
    that GROUP BY names."""

    before: tuple[str, ...]
    items: tuple[_Item, ...]
    behind: tuple[str, ...]
    seeing: frozenset[str]
    numbers: tuple[int, ...]
    is_grouped: bool


def changed_outputs(
    applied: str,
    desired: str,
    applied_names: tuple[str, ...],
    desired_names: tuple[str, ...],
    functions: Collection[str] = (),
) -> frozenset[str] | None:
    """The folded names of the output columns that were added, removed or changed; None when other rows may come out.

    The queries are canonical texts; the names are those of their output columns in order, empty when they are unknown.
    `functions` are the pipeline's own (folded names): each makes one value of one row.
    """
    one, other = _read(applied, functions), _read(desired, functions)
    if one is None or other is None or one.before != other.before or one.behind != other.behind:
        return None
    before, after = _by_name(one, applied_names), _by_name(other, desired_names)
    if before is None or after is None or not _stars_agree(one, other, before, after):
        return None
    changed = {name for name in {*before, *after} if _text(before, name) != _text(after, name)}
    if [item.text for item in one.items if item.is_star] != [item.text for item in other.items if item.is_star]:
        return None
    touched = _spread(before, after, changed)
    differing = [item for items in (before, after) for name, item in items.items() if item is not None and name in touched]
    named = touched | {item.alias for item in differing if item.alias is not None}
    if named & one.seeing or any(item.may_generate for item in differing):
        return None
    if not _numbers_agree(one, other, differing) or not _aggregate_alike(one, other, differing):
        return None
    return frozenset(touched)


def _text(items: _Items, name: str) -> tuple[str, ...] | None:
    if name not in items:
        return None
    item = items[name]
    return item.text if item is not None else ("*",)


def _read(query: str, functions: Collection[str]) -> _Query | None:
    """The parts of a query; None for one that is not of this shape, or that may give other rows each time."""
    tokens = list(query_tokens(query))
    depths = _depths(tokens)
    if depths is None:
        return None
    top = [index for index, depth in enumerate(depths) if depth == 0]
    starts = [index for index in top if tokens[index].is_word("SELECT")]
    if len(starts) != 1 or any(tokens[index].is_word(*_SET_OPERATORS) for index in top if not _is_except(tokens, index)):
        return None
    start = starts[0]
    if start and not tokens[0].is_word("WITH"):
        return None
    first = start + 1
    while first < len(tokens) and tokens[first].is_symbol("/*+"):
        first = next((index + 1 for index in range(first, len(tokens)) if tokens[index].is_symbol("*/")), len(tokens))
    if first >= len(tokens) or tokens[first].is_word(*_NO_LIST):
        return None
    end = next((index for index in top if index > first and _begins_from(tokens, index)), None)
    if end is None:
        return None
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed) or not isinstance(parsed.tree, exp.Select) or not _is_steady(parsed.tree):
        return None
    before, behind = tokens[:first], tokens[end:]
    if non_deterministic_calls(_written(before)) or non_deterministic_calls(_written(behind)):
        return None
    cuts = [index for index in top if first <= index < end and tokens[index].is_symbol(",")]
    spans = list(zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True))
    nodes = parsed.tree.expressions
    if len(spans) != len(nodes):
        return None
    items = tuple(_item(tokens[left:right], node, functions) for (left, right), node in zip(spans, nodes, strict=True))
    numbers = _numbers(parsed.tree)
    if numbers is None:
        return None
    seeing = _seeing(tokens, [index for index in top if index >= end])
    is_grouped = parsed.tree.args.get("group") is not None or parsed.tree.args.get("having") is not None
    return _Query(_texts(before), items, _texts(behind), seeing, numbers, is_grouped)


def _depths(tokens: list[Token]) -> list[int] | None:
    """How deep in parentheses each token stands, the parentheses themselves inside; None when they do not match."""
    found: list[int] = []
    depth = 0
    for token in tokens:
        if token.kind is Kind.BAD:
            return None
        if token.kind is Kind.SYMBOL and token.text in ("(", "["):
            depth += 1
        found.append(depth)
        if token.kind is Kind.SYMBOL and token.text in (")", "]"):
            depth -= 1
            if depth < 0:
                return None
    return found if depth == 0 else None


def _is_except(tokens: list[Token], index: int) -> bool:
    """Whether an EXCEPT belongs to a `*`."""
    return tokens[index].is_word("EXCEPT") and index > 0 and tokens[index - 1].is_symbol("*")


def _begins_from(tokens: list[Token], index: int) -> bool:
    """Whether the list ends here; IS DISTINCT FROM stands within it."""
    return tokens[index].is_word("FROM") and not tokens[index - 1].is_word("DISTINCT")


def _is_steady(tree: exp.Select) -> bool:
    """Whether nothing outside the list makes the rows another selection each time, or depend on the whole list."""
    if tree.args.get("distinct") is not None or tree.args.get("kind") is not None:
        return False
    group = tree.args.get("group")
    if group is not None and group.args.get("all"):
        return False
    for part, content in tree.args.items():
        if part == "expressions":
            continue
        for node in content if isinstance(content, list) else [content]:
            if isinstance(node, exp.Expr) and node.find(exp.Limit, exp.Offset, exp.Fetch, exp.TableSample) is not None:
                return False
    return True


def _numbers(tree: exp.Select) -> tuple[int, ...] | None:
    """The numbers of items (from 0) by which GROUP BY groups; None when one is no number of an item."""
    group = tree.args.get("group")
    if group is None:
        return ()
    found: set[int] = set()
    for literal in group.find_all(exp.Literal):
        if isinstance(literal.parent, (exp.Group, exp.Tuple, exp.Paren, exp.Rollup, exp.Cube, exp.GroupingSets)):
            if literal.is_string:
                continue
            if not str(literal.this).isdigit():
                return None
            found.add(int(str(literal.this)) - 1)
    return tuple(sorted(found))


def _seeing(tokens: list[Token], top: list[int]) -> frozenset[str]:
    """The words from the first clause on that sees names of the select list and decides rows."""
    start = next((index for index in top if tokens[index].is_word(*_SEEING_NAMES)), len(tokens))
    return frozenset(_word(one) for one in tokens[start:] if one.kind in (Kind.WORD, Kind.QUOTED))


def _item(tokens: list[Token], node: exp.Expr, functions: Collection[str]) -> _Item:
    calls = _calls(tokens, functions)
    aggregates, explained = _in_tree(node)
    alias = fold(node.alias) if isinstance(node, exp.Alias) else None
    body = tokens[:-2] if alias is not None and len(tokens) > 2 and tokens[-2].is_word("AS") else tokens
    words = frozenset(
        _word(token)
        for index, token in enumerate(body)
        if token.kind in (Kind.WORD, Kind.QUOTED) and not (index and body[index - 1].is_symbol("."))
    )
    return _Item(
        _texts(tokens),
        words,
        alias if alias is not None else (fold(node.name) if isinstance(node, exp.Column) else None),
        isinstance(node, (exp.Star, exp.Column)) and node.is_star,
        isinstance(node, exp.Aliases) or (isinstance(node, exp.Dot) and node.is_star) or any(map(_may_generate, calls)),
        aggregates,
        aggregates or calls.total() > explained,
    )


def _calls(tokens: list[Token], functions: Collection[str]) -> Counter[FunctionKind | None]:
    """What the calls in an item are, but for those that surely make one value of one row; None of what is not known."""
    found: Counter[FunctionKind | None] = Counter()
    for index in range(len(tokens) - 1):
        token = tokens[index]
        if not tokens[index + 1].is_symbol("(") or is_quantifier(tokens, index):
            continue
        if token.kind in (Kind.WORD, Kind.QUOTED):
            name = _word(token)
            kind = FunctionKind.SCALAR if name in functions else spark_functions().get(name)
            if kind is None and token.kind is Kind.WORD and name in spark_words():
                continue
        elif token.kind is Kind.SYMBOL and token.text in (")", "]"):
            # What is called here has no name.
            kind = None
        else:
            continue
        if kind is not FunctionKind.SCALAR:
            found[kind] += 1
    return found


def _may_generate(kind: FunctionKind | None) -> bool:
    return kind not in (FunctionKind.AGGREGATE, FunctionKind.WINDOW)


def _in_tree(item: exp.Expr) -> tuple[bool, int]:
    """Whether an item surely aggregates the rows of its block, also inside the arguments of a window function; and how many
    aggregates and window functions it has that do not: those with OVER, and those of subqueries."""
    surely, explained = False, 0
    # Without recursion: a chain of operands is as deep as it is long.
    waiting = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query):
            explained += sum(map(_is_of_rows, node.walk()))
        elif isinstance(node, exp.Window):
            function = node.this
            while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)):
                waiting += (child for child in function.iter_expressions() if child is not function.this)
                function = function.this
            explained += _is_of_rows(function)
            waiting += function.iter_expressions()
            waiting += (child for child in node.iter_expressions() if child is not node.this)
        else:
            surely = surely or surely_aggregates(node)
            waiting += node.iter_expressions()
    return surely, explained


def _is_of_rows(node: exp.Expr) -> bool:
    return kind_of_call(node) in (FunctionKind.AGGREGATE, FunctionKind.WINDOW)


def _by_name(query: _Query, names: tuple[str, ...]) -> _Items | None:
    """Items by the folded names of their columns, in order; None for the columns of a `*`. None when names are unknown or
    not distinct."""
    items: list[_Item | None] = list(query.items)
    stars = [index for index, item in enumerate(query.items) if item.is_star]
    if stars:
        # The columns of one `*` are those that the items before and behind it leave.
        width = len(names) - len(items) + 1
        if len(stars) > 1 or width < 1:
            return None
        items[stars[0] : stars[0] + 1] = [None] * width
    aliases = [item.alias for item in query.items if item.alias is not None]
    if len(set(aliases)) != len(aliases):
        return None
    keys = [fold(name) for name in names] if names else [item.alias or "" for item in query.items]
    if len(keys) != len(items) or len(set(keys)) != len(keys) or "" in keys:
        return None
    return dict(zip(keys, items, strict=True))


def _stars_agree(one: _Query, other: _Query, before: _Items, after: _Items) -> bool:
    """Whether a `*` gives the same columns under the same names on both sides."""
    columns = [[name for name, item in items.items() if item is None] for items in (before, after)]
    return columns[0] == columns[1]


def _spread(before: _Items, after: _Items, changed: set[str]) -> set[str]:
    """The changed names, and those of items that may use a changed item by its name.

    Where items stand in another order, an item may see another's name that it did not see before.
    """
    items = [(name, item) for side in (before, after) for name, item in side.items() if item is not None]
    order = [[name for name in side if name in before and name in after] for side in (before, after)]
    used = set() if order[0] == order[1] else {item.alias for _, item in items if item.text != (item.alias,)}
    found = set(changed)
    while True:
        used |= found
        used |= {item.alias for name, item in items if name in found}
        more = {name for name, item in items if name not in found and (item.words - {item.alias}) & used}
        if not more:
            return found
        found |= more


def _numbers_agree(one: _Query, other: _Query, differing: list[_Item]) -> bool:
    """Whether every number in GROUP BY stands for the same unchanged item on both sides."""
    for number in one.numbers:
        if not (0 <= number < min(len(one.items), len(other.items))):
            return False
        for query in (one, other):
            if any(item.is_star for item in query.items[: number + 1]) or query.items[number] in differing:
                return False
        if one.items[number] != other.items[number]:
            return False
    return True


def _aggregate_alike(one: _Query, other: _Query, differing: list[_Item]) -> bool:
    """Whether both sides, or neither, make one row of all without GROUP BY."""
    if one.is_grouped:
        return True
    sure = [any(item.aggregates for item in query.items) for query in (one, other)]
    if sure[0] != sure[1]:
        return False
    return sure[0] or not any(item.may_aggregate for item in differing)


def _word(token: Token) -> str:
    return fold(token.text.strip("`"))


def _texts(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _written(tokens: list[Token]) -> str:
    return " ".join(token.text for token in tokens)
