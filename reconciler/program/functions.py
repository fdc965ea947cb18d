"""Functions within a program."""

from collections.abc import Iterable, Sequence

from reconciler.diagnostics import Diagnostic
from reconciler.manifest.model import FunctionDeclaration
from reconciler.names import fold
from reconciler.program.model import Function


def compile_functions(declarations: Sequence[FunctionDeclaration], into: list[Diagnostic]) -> dict[str, Function]:
    """The functions by folded name."""
    return {fold(one.name): Function(one) for one in declarations}


def called_functions(query: str, known: Iterable[str]) -> tuple[str, ...]:
    """Which of the known functions (folded names) a query calls, sorted."""
    return ()
