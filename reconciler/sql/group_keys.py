"""Which columns of a SELECT are keys: those of its columns that were keys before, and that its GROUP BY and the PARTITION BY
of each of its windows name. A SELECT that looks at rows with other keys is refused (see `grouped_blocks`)."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, TypeVar

from sqlglot import exp

from reconciler.sql.aggregate_blocks import Refused
from reconciler.sql.aggregate_walk import AggregateWalk
from reconciler.sql.block_model import NotKept

_CLAUSES: Final = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "windows", "qualify", "distinct", "order"}
)
_MOST_WINDOWS: Final = 8
"""That refer to each other."""

_Key = TypeVar("_Key", bound=Hashable)


def keys_left(
    walk: AggregateWalk,
    node: exp.Select,
    columns: Sequence[_Key | None],
    key_of: Callable[[exp.Expr], _Key | None],
    *,
    is_block: bool = False,
) -> list[_Key | None]:
    """Of each column of a SELECT the key that it is (None: it is none). `columns` are the keys before a look at GROUP BY and
    windows. `key_of` says which key an expression is. `is_block`: it reads relations, and its WHERE may have subqueries."""
    _look_at_clauses(walk, node, is_block=is_block)
    groups = walk.grouping_keys(node, walk.seen[id(node)][0])
    if isinstance(groups, NotKept):
        raise Refused(groups)
    having = node.args.get("having")
    calls = [
        call
        for part in (*node.expressions, *([having.this] if having is not None else []))
        for call in walk.aggregates(part)
    ]
    if (calls or having is not None) and not groups:
        raise Refused(NotKept("all rows are one group in it", "put what is around it into a view of its own"))
    keys = {*columns}
    if groups:
        keys &= {key_of(one) for one in groups}
    for window in windows_of(node):
        parts = _partition_of(window, node)
        if not parts:
            raise Refused(NotKept("a function with OVER and without PARTITION BY looks at all rows"))
        keys &= {key_of(one) for one in parts}
    return [key if key in keys else None for key in columns]


def _look_at_clauses(walk: AggregateWalk, node: exp.Select, *, is_block: bool) -> None:
    """Refuse what makes the rows of a SELECT depend on rows with other keys, or is not known to do so or not."""
    for name, part in node.args.items():
        if part and name not in _CLAUSES:
            raise Refused(
                NotKept(
                    f"{name.strip('_').upper()} stands beside its groups or windows",
                    "put it into a view that reads this one",
                )
            )
    for part in ("expressions", "where", "group", "having", "qualify"):
        clause = node.args.get(part)
        nodes = clause if isinstance(clause, list) else [clause] if clause is not None else []
        if not (is_block and part == "where") and any(one.find(exp.Query) is not None for one in nodes):
            raise Refused(NotKept("a subquery stands beside its groups or windows", "put it into a query around a view"))
    if any(isinstance(one, exp.Aliases) or walk.makes_rows(one) for item in node.expressions for one in item.walk()):
        raise Refused(NotKept("an item of its select list makes several rows"))


def windows_of(node: exp.Select) -> Iterator[exp.Window]:
    """The functions with OVER of a select list, and of QUALIFY."""
    qualify = node.args.get("qualify")
    parts = [*node.expressions, *([qualify] if qualify is not None else [])]
    return (one for part in parts for one in part.find_all(exp.Window))


def _partition_of(window: exp.Expr, node: exp.Select) -> Sequence[exp.Expr]:
    """What the rows of a window are partitioned by, there or where the clause WINDOW defines it."""
    # Of such names the letter case counts.
    defined = {one.name: one for one in node.args.get("windows") or ()}
    found: exp.Expr | None = window
    for _ in range(_MOST_WINDOWS):
        if found is None or found.args.get("partition_by"):
            break
        found = defined.get(found.args["alias"].name) if found.args.get("alias") is not None else None
    return found.args.get("partition_by") or () if found is not None else ()
