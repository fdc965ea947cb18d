"""The canonical type that a CAST gives."""

from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from reconciler.sql.types import canonical_type

_SPARK = sqlglot.Dialect.get_or_raise("spark")


def type_of_cast(node: exp.Cast) -> str | None:
    """The type after AS, canonical; None where it is not known here."""
    kind = node.to
    sizes = tuple([str(size.this) for size in kind.expressions if isinstance(size, exp.DataTypeParam)])
    if isinstance(kind, exp.DataType) and len(sizes) == len(kind.expressions) and not kind.args.get("nested"):
        return _of_parts(kind.this, sizes, str(kind.args.get("kind")))
    # Nothing is changed by writing it out, so no copy need be made.
    return canonical_type(kind.sql(dialect=_SPARK, copy=False))


@lru_cache(maxsize=4096)
def _of_parts(kind: Any, sizes: tuple[str, ...], name: str) -> str | None:
    expressions = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in sizes]
    arguments = {"kind": exp.to_identifier(name)} if kind is exp.DataType.Type.USERDEFINED and name != "None" else {}
    return canonical_type(exp.DataType(this=kind, expressions=expressions, **arguments).sql(dialect=_SPARK))
