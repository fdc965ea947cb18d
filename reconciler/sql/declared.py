"""What one SQL file declares. See `statements` for how it is read."""

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration, FunctionDeclaration, TableDeclaration, ViewDeclaration
from reconciler.base.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class SqlFile:
    """What one file declares, in the order of the file, and what is wrong with it."""

    tables: tuple[TableDeclaration, ...]
    views: tuple[ViewDeclaration, ...]
    connectors: tuple[ConnectorDeclaration, ...]
    diagnostics: tuple[Diagnostic, ...]
    functions: tuple[FunctionDeclaration, ...] = ()
