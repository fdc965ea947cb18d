"""pipeline.yaml read and checked by itself; through the cache, where it was read before without a complaint.

A document that is known gives its value at once; where its parts stand is found out when it is asked for the first time.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Protocol

from reconciler.base.cache import Cache
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.places import Path, Places


class Document(Places, Protocol):
    """A file's value, with the places of its parts and everything that is wrong with it by itself."""

    @property
    def value(self) -> Any: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...


class ReadDocument:
    """A document of a value that is at hand. `find_places` reads where its parts stand."""

    def __init__(
        self, value: Any, diagnostics: tuple[Diagnostic, ...], root: Location | None, find_places: Callable[[], Places]
    ) -> None:
        self.value = value
        self.diagnostics = diagnostics
        self._root = root
        self._find_places = find_places
        self._places: Places | None = None

    def of_key(self, path: Path) -> Location | None:
        return self._known_places().of_key(path) if path else self._root

    def of_value(self, path: Path) -> Location | None:
        return self._known_places().of_value(path) if path else self._root

    def _known_places(self) -> Places:
        if self._places is None:
            self._places = self._find_places()
        return self._places


def read_document(text: str, file: str, cache: Cache) -> Document:
    """Read pipeline.yaml, and check it against its schema and what this version can do."""
    key = f"yaml:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"

    def find_places() -> Places:
        from reconciler.project.manifest.yaml_text import load_yaml

        return load_yaml(text, file)

    kept = cache.recall(key)
    if kept is not None:
        value, line, column = json.loads(kept)
        return ReadDocument(value, (), Location(file, line, column), find_places)
    from reconciler.project.manifest.check import check_pipeline
    from reconciler.project.manifest.yaml_text import load_yaml

    read = load_yaml(text, file)
    found = list(read.diagnostics)
    if read.value is not None:
        # What could not be read has a stand-in, of which nothing more is said.
        told = {problem.location for problem in found}
        found += [problem for problem in check_pipeline(read.value, read) if problem.location not in told]
    root = read.of_value(())
    if not found and root is not None and json.loads(json.dumps(read.value)) == read.value:
        cache.remember(key, json.dumps([read.value, root.line, root.column]))
    return ReadDocument(read.value, tuple(found), root, lambda: read)
