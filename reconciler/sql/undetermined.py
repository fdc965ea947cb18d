"""What of a query its rows alone do not determine: which of several comes first, where nothing says so.

Found are
- functions that take rows as they come: `any_value`, `first`, `collect_list`, `mode`, …, and those that estimate;
- windows that count rows off (`row_number`, `lag`, frames of ROWS) in an order in which two rows may be equal;
- LIMIT and OFFSET in such an order;
- the same in no order at all; TABLESAMPLE.

An order has no ties where its keys hold a key of the rows: of a table its PRIMARY KEY, of groups what they are grouped by,
of DISTINCT all columns; through subqueries, CTEs, views, and joins of these. Neither do ties matter where equal rows are
equal in all of their columns, or in all that comes out, nor the order of a list that is sorted or counted at once. What is
not surely so is found: what is found is told, and changes no plan.

Not here: calls of chance and the clock (`determinism`), and sums that round (`repeatable`).
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Final, TypeAlias

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.lexer import words_in
from reconciler.sql.places import written_name
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key
from reconciler.sql.row_functions import surely_aggregates
from reconciler.sql.row_keys import Block, Given, Key, renamed_by
from reconciler.sql.undetermined_signs import (
    BY_ANOTHER,
    CALLED,
    COUNTING_OFF,
    ESTIMATING,
    LISTING,
    TAKING_ONE,
    may_be_undetermined,
)
from reconciler.sql.words import spark_functions, spark_generators

_REGARDLESS: Final = frozenset(
    {"array_contains", "array_max", "array_min", "array_size", "array_sort", "cardinality", "size", "sort_array"}
)
_MOST_KEYS: Final = 8
# A query that is longer was written by a program, and to parse it again takes longer than it is worth.
_LONGEST: Final = 100_000
# What the parser calls by names that Spark does not have, and does not remember the name of.
_PARSED_AS: Final[dict[type[exp.Expr], str]] = {exp.GroupConcat: "listagg", exp.ApproxQuantile: "percentile_approx"}


@dataclass(frozen=True, slots=True)
class Undetermined:
    """What is found: functions that take rows as they come, what takes them in an order that may have ties, and what takes
    them in none. Names as in the query, sorted."""

    calls: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()


NOTHING_FOUND: Final = Undetermined()

Relations: TypeAlias = Callable[[str], Given]
"""What is known of a relation, by its folded name."""


def undetermined_parts(query: str, relations: Relations) -> Undetermined:
    """See the module. Of a query that can't be parsed, or is too long or too deep to be looked at twice, nothing is said."""
    if len(query) > _LONGEST or not may_be_undetermined(words_in(query)):
        return NOTHING_FOUND
    walk = _Walk(query, relations)
    if walk.whole() is None:
        return NOTHING_FOUND
    return Undetermined(*(tuple(sorted(found)) for found in (walk.calls, walk.ties, walk.unordered)))


def given_by(query: str, relations: Relations) -> Given:
    """What a query gives."""
    if len(query) > _LONGEST:
        return Given()
    return _Walk(query, relations).whole() or Given()


Named: TypeAlias = dict[str, Given]


class _Walk:
    """The walk over one query."""

    def __init__(self, text: str, relations: Relations) -> None:
        self.text, self.relations = text, relations
        self.calls: set[str] = set()
        self.ties: set[str] = set()
        self.unordered: set[str] = set()

    def whole(self) -> Given | None:
        parsed = parse_query(self.text)
        if not isinstance(parsed, Parsed):
            return None
        try:
            return self.query(parsed.tree, {})
        except RecursionError:
            return None

    def query(self, node: exp.Expr, named: Named) -> Given:
        clause = node.args.get("with_")
        if clause is not None:
            named = dict(named)
            for cte in clause.expressions:
                if clause.recursive:
                    named[fold(cte.alias)] = Given()
                named[fold(cte.alias)] = renamed_by(self.query(cte.this, named), cte.args.get("alias"))
        match node:
            case exp.Select():
                return self._select(node, named)
            case exp.Subquery() if node.this.args.get("joins"):
                # A join in parentheses: what both sides give is not put together here.
                self._below(node, named)
                return self._limited(node, Given())
            case exp.Subquery():
                given = self.source(node.this, named) if isinstance(node.this, exp.Table) else self.query(node.this, named)
                return self._limited(node, given)
            case exp.SetOperation():
                given = self.query(node.this, named)
                self.query(node.expression, named)
                is_distinct = not isinstance(node, exp.Union) or node.args.get("distinct") is not False
                keys = (frozenset(given.columns),) if is_distinct and given.columns else ()
                return self._limited(node, Given(given.columns, keys))
        self._below(node, named)
        return Given()

    def _limited(self, node: exp.Expr, given: Given) -> Given:
        block = Block({"": given}, keys=[frozenset(("", name) for name in key) for key in given.keys])
        whole: list[exp.Expr] = [exp.column(name) for name in given.columns]
        self._cut_off(node, block, whole)
        return given

    def _below(self, node: exp.Expr, named: Named) -> None:
        """Walk the queries inside an expression."""
        for one in node.iter_expressions():
            if isinstance(one, exp.Query):
                self.query(one, named)
            else:
                self._below(one, named)

    def source(self, node: exp.Expr, named: Named) -> Given:
        """One item of FROM by itself."""
        if node.args.get("sample") is not None:
            self.unordered.add("TABLESAMPLE")
        if node.args.get("pivots"):
            self._below(node, named)
            return Given()
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            if not isinstance(node.this, exp.Identifier):
                return Given()
            key = relation_key(node)
            known = named[key] if key in named and node.args.get("db") is None else self.relations(key)
            return renamed_by(known, alias)
        if isinstance(node, exp.Query):
            return renamed_by(self.query(node, named), alias)
        self._below(node, named)
        return Given()

    def _from(self, node: exp.Select, named: Named) -> Block:
        block = Block(items=list(node.expressions))
        origin = node.args.get("from_")
        keys: list[Key] = [frozenset()]
        given, is_clear = Given(), True
        has_more = any(node.args.get(part) for part in ("joins", "laterals", "group", "distinct"))
        waiting = [] if origin is None else [(origin.this, None)]
        waiting += [(join.this, join) for join in node.args.get("joins") or ()]
        waiting += [(lateral, None) for lateral in node.args.get("laterals") or ()]
        while waiting:
            item, join = waiting.pop(0)
            given = self.source(item, named)
            name = fold(item.alias_or_name) or f" {len(block.sources)}"
            waiting = [*((one.this, one) for one in item.args.get("joins") or ()), *waiting]
            waiting += [(one, None) for one in item.args.get("laterals") or ()]
            if join is not None and join.args.get("on") is not None:
                self._below(join.args["on"], named)
            if join is not None and join.kind in ("SEMI", "ANTI"):
                continue
            own: list[Key] = [frozenset((name, column) for column in key) for key in given.keys]
            if name in block.sources:
                # Of two relations with one name, as `a.t` and `b.t` have, it is not known which one is meant.
                own, given, is_clear = [], Given(), False
            block.sources[name] = given
            if join is not None and self._is_of_one(block, join, name, given):
                continue
            keys = [left | right for left, right in product(keys, own)][:_MOST_KEYS]
        block.keys = block.before = keys if is_clear else []
        block.is_of_rows = is_clear and len(block.sources) == 1 and not has_more and bool(given.columns)
        return block

    def _is_of_one(self, block: Block, join: exp.Join, name: str, given: Given) -> bool:
        """Whether a join finds at most one row on the right for each on the left."""
        if join.side in ("RIGHT", "FULL"):
            return False
        matched = {fold(one.name) for one in join.args.get("using") or ()}
        condition = join.args.get("on")
        for one in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            if isinstance(one, exp.EQ):
                for mine, other in ((one.this, one.expression), (one.expression, one.this)):
                    part = block.part(mine)
                    if part[0] == name and not any(block.part(c)[0] == name for c in other.find_all(exp.Column)):
                        matched.add(part[1])
        return any(key <= matched for key in given.keys)

    def _select(self, node: exp.Select, named: Named) -> Given:
        block = self._from(node, named)
        for item in node.expressions:
            if isinstance(item, exp.Alias):
                block.aliases[fold(item.alias)] = item.this
        self._group(node, block)
        block.is_of_rows = block.is_of_rows and block.grouped_by is None
        calls = (one for item in block.items for one in _own(item) if isinstance(one, exp.Func))
        if any(self._any_name(one) in spark_generators() for one in calls):
            block.keys, block.is_of_rows = [], False
        for part in ("expressions", "where", "group", "having", "qualify", "order", "sort"):
            content = node.args.get(part)
            for one in content if isinstance(content, list) else [content]:
                if isinstance(one, exp.Query):
                    self.query(one, named)
                elif isinstance(one, exp.Expr):
                    self._look(one, block, node)
                    self._below(one, named)
        outputs = self._outputs(node, block)
        if node.args.get("distinct") is not None and outputs.columns:
            outputs = Given(outputs.columns, (*outputs.keys, frozenset(outputs.columns)))
            block.keys = [*block.keys, frozenset(block.part(item) for item in node.expressions)]
        self._cut_off(node, block, node.expressions)
        return outputs

    def _group(self, node: exp.Select, block: Block) -> None:
        group = node.args.get("group")
        if group is None:
            if any(self._name(one) and _is_aggregate(one) for item in node.expressions for one in _own(item)):
                block.grouped_by, block.keys = frozenset(), [frozenset()]
            return
        listed = list(group.expressions)
        if group.args.get("all"):
            listed = [item for item in node.expressions if not any(map(_is_aggregate, _own(item)))]
        block.grouped_by = frozenset(block.part(one) for one in listed)
        if any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets")):
            block.keys = []
        else:
            block.keys = [block.grouped_by]

    def _outputs(self, node: exp.Select, block: Block) -> Given:
        columns: list[str] = []
        shown: dict[tuple[str, str], str] = {}
        for item in node.expressions:
            if item.is_star:
                heads = [fold(item.table)] if isinstance(item, exp.Column) else [*block.sources]
                if any(head not in block.sources or not block.sources[head].columns for head in heads):
                    return Given()
                for head in heads:
                    for name in block.sources[head].columns:
                        columns.append(name)
                        shown.setdefault((head, name), name)
                continue
            name = fold(item.alias_or_name)
            columns.append(name)
            shown.setdefault(block.part(item), name)
        if len(set(columns)) != len(columns) or "" in columns:
            return Given()
        keys = tuple(frozenset(shown[part] for part in key) for key in block.keys if all(part in shown for part in key))
        return Given(tuple(columns), keys)

    def _cut_off(self, node: exp.Expr, block: Block, outputs: list[exp.Expr]) -> None:
        word = next((word for word in ("limit", "offset") if node.args.get(word) is not None), None)
        if word is None or isinstance(node.parent, exp.Exists):
            return
        order = node.args.get("order")
        keys = list(order.expressions) if order is not None else []
        if any(isinstance(one.this if isinstance(one, exp.Ordered) else one, exp.Var) for one in keys):
            return
        parts = {block.ordered_part(one) for one in keys}
        all_that_comes_out = bool(outputs) and not any(one.is_star for one in outputs)
        if all_that_comes_out and all(block.part(one) in parts for one in outputs):
            return
        # A window may have told equal rows apart.
        if not (block.tells_apart(parts) or (block.are_whole_rows(parts) and not _windows_of(node))):
            (self.ties if keys else self.unordered).add(word.upper())

    def _look(self, node: exp.Expr, block: Block, select: exp.Select) -> None:
        """Look at the calls of one clause, but not into its subqueries."""
        for one in _own(node):
            if isinstance(one, exp.Window):
                self._window(one, block, select)
                continue
            name = self._name(one)
            if name is not None and not _is_windowed(one):
                self._aggregate(one, name, block)

    def _aggregate(self, node: exp.Expr, name: str, block: Block) -> None:
        arguments = [one for one in node.iter_expressions() if not isinstance(one, exp.Query)]
        first = arguments[0] if arguments else None
        while isinstance(first, (exp.Distinct, exp.IgnoreNulls, exp.RespectNulls)):
            inner = first.expressions[0] if isinstance(first, exp.Distinct) and first.expressions else first.this
            first = inner if isinstance(inner, exp.Expr) else None
        grouped_by = block.grouped_by or frozenset()
        if any(key <= grouped_by for key in block.before):
            # One row a group.
            return
        if name in TAKING_ONE:
            if first is None or block.part(first) not in grouped_by:
                self.calls.add(name)
        elif name in LISTING:
            if not (self._is_regardless(node) or _is_sorted_by(node, first)):
                self.calls.add(name)
        elif name in BY_ANOTHER:
            known = grouped_by | {block.part(one) for one in arguments[1:2]}
            if not any(key <= known for key in block.before) and block.part(arguments[0]) not in known:
                self.calls.add(name)
        elif name in ESTIMATING or (name == "mode" and len(arguments) == 1):
            self.calls.add(name)

    def _is_regardless(self, node: exp.Expr) -> bool:
        """Whether a list is sorted, counted or searched at once."""
        parent = node.parent
        while isinstance(parent, (exp.Filter, exp.Paren)):
            parent = parent.parent
        return isinstance(parent, exp.Func) and (self._any_name(parent) in _REGARDLESS)

    def _window(self, node: exp.Window, block: Block, select: exp.Select) -> None:
        function = node.this
        while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)):
            function = function.this
        definition: exp.Expr = node
        alias = node.args.get("alias")
        if alias is not None:
            named = [one for one in select.args.get("windows") or () if fold(one.this.name) == fold(alias.name)]
            definition = named[0] if named else node
        partition = [*(definition.args.get("partition_by") or ()), *(node.args.get("partition_by") or ())]
        order = node.args.get("order") or definition.args.get("order")
        spec = node.args.get("spec") or definition.args.get("spec")
        kind = (spec.args.get("kind"), spec.args.get("start"), spec.args.get("end")) if spec is not None else (None,) * 3
        counts_rows = kind[0] == "ROWS" and kind[1:] != ("UNBOUNDED", "UNBOUNDED")
        name = self._any_name(function) if isinstance(function, exp.Func) else ""
        if not counts_rows and name not in COUNTING_OFF | TAKING_ONE | LISTING:
            return
        parts = {block.part(one) for one in (*partition, *(order.expressions if order is not None else ()))}
        # Which of equal rows gets which number does not matter where nothing else tells them apart, or leaves some out.
        is_alone = len(_windows_of(select)) == 1 and not any(select.args.get(part) for part in ("limit", "offset"))
        if not (block.tells_apart(parts) or (block.are_whole_rows(parts) and is_alone)):
            found = self.unordered if order is None else self.ties
            found.add(name if name in COUNTING_OFF | TAKING_ONE | LISTING else "ROWS")

    def _name(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Func):
            return None
        name = self._any_name(node)
        return name if name in CALLED or _is_aggregate(node) else None

    def _any_name(self, node: exp.Func) -> str:
        if isinstance(node, exp.Anonymous):
            return fold(node.name)
        written = written_name(node, self.text)
        if written is not None:
            return fold(written)
        known = _PARSED_AS.get(type(node))
        names = [fold(name) for name in type(node).sql_names()]
        return known or next((name for name in names if name in spark_functions()), names[0])


def _windows_of(node: exp.Expr) -> list[exp.Window]:
    """The windows of a SELECT, but for those of its subqueries."""
    parts = [*node.expressions, *(one for name in ("qualify", "order") if (one := node.args.get(name)) is not None)]
    return [one for part in parts for one in _own(part) if isinstance(one, exp.Window)]


def _own(node: exp.Expr) -> Iterator[exp.Expr]:
    """A node and all below it, but for subqueries."""
    if isinstance(node, exp.Query):
        return
    yield node
    for one in node.iter_expressions():
        yield from _own(one)


def _is_aggregate(node: exp.Expr) -> bool:
    return surely_aggregates(node) and not _is_windowed(node)


def _is_windowed(node: exp.Expr) -> bool:
    """Whether a call is the function of a window."""
    inner, parent = node, node.parent
    while isinstance(parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)) and parent.this is inner:
        inner, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is inner


def _is_sorted_by(node: exp.Expr, argument: exp.Expr | None) -> bool:
    """Whether the items of a list are ordered by themselves, so that those which are equal are the same."""
    # The parser has the order of LISTAGG within its argument.
    within = node.parent.args.get("expression") if isinstance(node.parent, exp.WithinGroup) else argument
    item = argument.this if isinstance(argument, exp.Order) else argument
    listed = within.expressions if isinstance(within, exp.Order) else []
    return any((one.this if isinstance(one, exp.Ordered) else one) == item for one in listed)
