"""What a view's output columns must be: as many as the view names, and for a stored view distinct and plainly named.

Delta keeps columns by name, without regard to letter case, and takes no blank, comma or parenthesis in one; Spark's
made-up names (`count(1)`, `(a + b)`) hold these. A plain or LOCAL view is only read by others, so it may have them.
"""

from sqlglot import exp

from reconciler.base.names import fold, is_identifier
from reconciler.sql.blocks import Analyser
from reconciler.sql.limits import MAXIMUM_OUTPUTS
from reconciler.sql.places import offset_of
from reconciler.sql.query import Parsed
from reconciler.sql.scopes import CONSTANT, Output, Outputs


def judge_outputs(analyser: Analyser, parsed: Parsed, outputs: Outputs, stored: bool, names: tuple[str, ...]) -> Outputs:
    """The outputs under their final names."""
    start = parsed.tokens[0].start
    count = len(names) or len(outputs or ())
    if count > MAXIMUM_OUTPUTS and analyser.brought.limit is not None:
        message = f"the view has {count:,} columns; at most {MAXIMUM_OUTPUTS:,} are allowed"
        analyser.problem("S294", message, start, "name the columns that you need instead of '*'")
        return None
    if outputs is None:
        return tuple(Output(name, CONSTANT) for name in names) or None
    if names:
        if len(names) != len(outputs):
            message = f"the view names {len(names)} column(s), but its query returns {len(outputs)}"
            analyser.problem("S225", message, start)
            return tuple(Output(name, CONSTANT) for name in names)
        return tuple(Output(name, output.value) for name, output in zip(names, outputs, strict=True))
    if not stored:
        return outputs
    places = _places(parsed, len(outputs))
    seen: dict[str, int] = {}
    for index, output in enumerate(outputs):
        place = places[index] if places[index] is not None else start
        assert place is not None
        if output.name is None:
            if _surely_unnamed(parsed, index, len(outputs)):
                analyser.problem("S224", "this column of a materialized view has no name", place, "name it: … AS name")
            continue
        key = fold(output.name)
        if key in seen:
            message = f"two output columns are named {output.name!r}"
            analyser.problem("S223", message, place, "give one of them another name: … AS other")
        elif not is_identifier(output.name):
            hint = "use letters, digits and '_'"
            analyser.problem("S224", f"{output.name!r} is not a valid name of a column of a materialized view", place, hint)
        seen[key] = index
    return outputs


def _items(parsed: Parsed) -> list[exp.Expr]:
    """The select list that names the columns: the first block's of a set operation."""
    tree: exp.Expr = parsed.tree
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Select) else []


def _places(parsed: Parsed, count: int) -> list[int | None]:
    items = _items(parsed)
    if len(items) == count and not any(item.is_star for item in items):
        return [offset_of(item) for item in items]
    # With a `*` among the items, the items after it stand where they stand from the end.
    places: list[int | None] = [None] * count
    stars = [index for index, item in enumerate(items) if item.is_star]
    if not stars:
        return places
    for index in range(min(stars[0], count)):
        places[index] = offset_of(items[index])
    tail = items[stars[-1] + 1 :]
    for index, item in enumerate(tail):
        places[count - len(tail) + index] = offset_of(item)
    if len(stars) == 1:
        for index in range(stars[0], count - len(tail)):
            places[index] = offset_of(items[stars[0]])
    return places


def _surely_unnamed(parsed: Parsed, index: int, count: int) -> bool:
    """Whether Spark's made-up name surely holds a parenthesis or a blank."""
    items = _items(parsed)
    if len(items) != count or any(item.is_star for item in items):
        return False
    item = items[index]
    while isinstance(item, exp.Paren):
        item = item.this
    return isinstance(item, (exp.Func, exp.Binary, exp.Case, exp.Cast, exp.Not, exp.Between, exp.In, exp.Window)) and not (
        isinstance(item, exp.Dot)
    )
