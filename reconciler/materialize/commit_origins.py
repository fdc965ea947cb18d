"""What the commit of a step says of what it was made from, for whoever reads the history of a table."""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.sources import Source, StoredSource

_LONGEST_LIST: Final = 4


def short_range(value: Any) -> Any:
    """A connector's range as a commit tells it: a long list by its first and last item and how many it has."""
    match value:
        case Mapping():
            return {key: short_range(part) for key, part in value.items()}
        case list() | tuple() if len(value) > _LONGEST_LIST:
            return {"count": len(value), "first": short_range(value[0]), "last": short_range(value[-1])}
        case list() | tuple():
            return [short_range(part) for part in value]
        case _:
            return value


def versions_read(sources: tuple[Source, ...]) -> dict[str, int]:
    """The relations that were read and their Delta versions."""
    return {source.name: source.version for source in sources if isinstance(source, StoredSource)}
