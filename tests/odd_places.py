"""Places where something else stands than a connector expects: each is made in a folder, and given as an address."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

_FIRST = f"_delta_log/{0:020d}"
_COMMIT = (
    '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n'
    '{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\\"type\\":\\"struct\\",\\"fields\\":'
    '[{\\"name\\":\\"id\\",\\"type\\":\\"long\\",\\"nullable\\":true,\\"metadata\\":{}}]}","partitionColumns":[],'
    '"configuration":{},"createdTime":1}}\n'
)


def _file(path: Path, contents: bytes = b"x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    return path


def _loop(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.name)
    return path


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def _table(path: Path) -> Path:
    _file(path / f"{_FIRST}.json", _COMMIT.encode())
    return path


def _with(act: Callable[[Path], object]) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        act(folder / "place")
        return str(folder / "place")

    return make


def _below(act: Callable[[Path], object]) -> Callable[[Path], str]:
    return lambda folder: f"{_with(act)(folder)}/below"


ODD: Final[dict[str, Callable[[Path], str]]] = {
    "nothing": lambda folder: str(folder / "place"),
    "an empty folder": _with(_folder),
    "a file": _with(_file),
    "below a file": _below(_file),
    "a loop of links": _with(_loop),
    "below a loop of links": _below(_loop),
    "a link that leads nowhere": _with(lambda place: place.symlink_to("nowhere")),
    "below a link that leads nowhere": _below(lambda place: place.symlink_to("nowhere")),
    "a name too long": lambda folder: str(folder / ("n" * 300)),
    "a path too long": lambda folder: str(folder / "/".join(["n" * 200] * 25)),
    "a name with NUL": lambda folder: f"{folder}/a\0b",
    "an address with NUL": lambda folder: f"file://{folder}/a%00b",
    "a log that is a file": _with(lambda place: _file(place / "_delta_log")),
    "a log that is a loop": _with(lambda place: _loop(place / "_delta_log")),
    "a commit that is a folder": _with(lambda place: _folder(place / f"{_FIRST}.json")),
    "a commit that is a loop": _with(lambda place: _loop(place / f"{_FIRST}.json")),
    "a commit without text": _with(lambda place: _file(place / f"{_FIRST}.json", b"\xff\xfe")),
    "a commit without JSON": _with(lambda place: _file(place / f"{_FIRST}.json", b"nonsense\n")),
    "a commit without objects": _with(lambda place: _file(place / f"{_FIRST}.json", b"1\n[]\n")),
    "an empty commit": _with(lambda place: _file(place / f"{_FIRST}.json", b"")),
    "a checksum that is a folder": _with(lambda place: _folder(_table(place) / f"{_FIRST}.crc")),
    "a checksum that is a loop": _with(lambda place: _loop(_table(place) / f"{_FIRST}.crc")),
    "a checksum without text": _with(lambda place: _file(_table(place) / f"{_FIRST}.crc", b"\xff\xfe")),
    "a checksum without objects": _with(lambda place: _file(_table(place) / f"{_FIRST}.crc", b"[1]\n")),
    "a file in it that is a loop": _with(lambda place: _loop(place / "a.csv")),
    "a file in it that is a folder": _with(lambda place: _folder(place / "a.csv")),
}
"""By what stands there: makes it below a folder, and gives its address."""
