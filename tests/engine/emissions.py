"""What tests of outputs share: emissions of views that are made once, sinks of files, what happens while one is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reconciler.engine.protocol import Emission, Engine, Selection, TableTarget, ViewBuild
from reconciler.engine.sources import StoredSource
from tests.engine.emit_contract import emission
from tests.engine.engines import DeltaStorage


class Views:
    """Views of one query each, made once: read them, don't change them. Each is a table of its own, which is all the same to
    who compares two of them."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self._made: dict[str, StoredSource] = {}

    def of(self, query: str) -> StoredSource:
        if query not in self._made:
            made = str(self.folder / f"q{len(self._made)}")
            self.engine.build_view(ViewBuild("v", query, (), (), made, {}))
            self._made[query] = StoredSource("v", made, 0)
        return self._made[query]


class Versions:
    """A view's versions, each a query."""

    def __init__(self, views: Views, folder: Path) -> None:
        self.engine, self.folder, self._views = views.engine, folder, views

    def emission(self, before: str | None, after: str, serial: int = 1, **config: Any) -> Emission:
        view = TableTarget("v", "", ())
        made = emission(view, self.folder / "sink", None, 0, serial, **config)
        return replace(made, before=None if before is None else self._views.of(before), after=self._views.of(after))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        version = DeltaStorage().version(str(self.folder / "sink"))
        assert version is not None
        sink = StoredSource("sink", str(self.folder / "sink"), version)
        return list(self.engine.select(Selection(sql, (sink,), {})).rows)


class Meanwhile(tuple[str, ...]):
    """No warehouses. Who writes looks at them when it opens the sink, and just before it writes: then something happens."""

    act: Callable[[], object]
    looks = 0
    acts_at = 2

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        if self.looks == self.acts_at:
            self.act()
        return iter(())


def to_files(made: Emission, folder: Path, name: str, **config: Any) -> Emission:
    transport = {"name": "file_output", "config": {"path": str(folder)}}
    return replace(made, settings={"transport": transport, "format": {"name": name, "config": config}})


def folders(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if not one.name.startswith("."))


def lines(folder: Path) -> list[str]:
    return sorted(line for part in folder.glob("part-*") for line in part.read_text().splitlines())


def endings(folder: Path) -> set[str]:
    return {part.suffix for part in folder.glob("part-*")}


@dataclass(frozen=True)
class Sink:
    """A folder for files. `mounted`: by an address of Hadoop's, as if it lay in a store that is none of S3."""

    path: Path
    mounted: bool

    def emission(self, made: Emission, name: str = "json", **config: Any) -> Emission:
        options: dict[str, str] = {}
        place = str(self.path)
        if self.mounted:
            self.path.mkdir(exist_ok=True)
            place, options = "viewfs://tests/out", {"fs.viewfs.mounttable.tests.link./out": self.path.as_uri()}
        transport = {"name": "file_output", "config": {"path": place, **options}}
        return replace(made, settings={"transport": transport, "format": {"name": name, "config": config}})

    def complete(self) -> list[str]:
        """The numbers of folders that a reader takes, with the letters of their output."""
        return [one.name[18:29] for one in folders(self.path) if (one / "_SUCCESS").exists()]
