"""What a move says by itself."""

from collections.abc import Mapping, Sequence

from reconciler.diagnostics import Diagnostic
from reconciler.manifest.model import Move
from reconciler.program.model import Connector, Table, View


def check_moves(
    moves: Sequence[Move],
    tables: Mapping[str, Table],
    views: Mapping[str, View],
    connectors: Mapping[str, Connector],
    into: list[Diagnostic],
) -> None:
    """Report what is wrong with the moves, whatever is applied."""
