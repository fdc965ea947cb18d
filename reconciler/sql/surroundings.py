"""What the meaning of a query depends on besides its text and the columns that it reads."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.sql.limits import MAXIMUM_BROUGHT


@dataclass(frozen=True)
class QuerySurroundings:
    """`ansi`: whether the pipeline runs in Spark's ANSI mode. `functions` are the pipeline's own, folded name → number of
    parameters; `steady` those of them that surely give the same for the same. `refused` are relations (by key) that can't be
    read, and why. `limit` is how many columns a query may bring along; None for any number."""

    ansi: bool = True
    functions: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, Diagnostic] = field(default_factory=dict)
    steady: frozenset[str] = frozenset()
    limit: int | None = MAXIMUM_BROUGHT


USUAL: Final = QuerySurroundings()
"""Those of a pipeline that declares no function and sets nothing."""
