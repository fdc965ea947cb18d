"""Where something odd stands at the place of a connector, this connector fails, and says where: nothing else escapes.

What is no EngineError ends a whole run, or is taken for the registry's trouble, and then nothing is read or sent.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.same_places import as_written, on_this_disk
from reconciler.delta.tables import create_table
from reconciler.delta.warehouse_places import places_of_registries, warehouse_around
from reconciler.engine.protocol import (
    ColumnType,
    DeadLetters,
    Emission,
    Engine,
    Ingestion,
    TableTarget,
    Transaction,
    ViewBuild,
)
from reconciler.engine.sources import StoredSource
from tests.cells import mostly_slow
from tests.odd_places import ODD

COLUMNS = (ColumnType("id", "BIGINT"),)

INPUTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "snapshot": lambda place: _settings("delta_table_input", uri=place, mode="snapshot"),
    "follow": lambda place: _settings("delta_table_input", uri=place, mode="follow"),
    "follow from 0": lambda place: _settings("delta_table_input", uri=place, mode="follow", version=0),
    "both": lambda place: _settings("delta_table_input", uri=place, mode="snapshot_and_follow"),
    "by time": lambda place: _settings("delta_table_input", uri=place, mode="snapshot", timestamp="2020-01-01"),
    "files": lambda place: _settings("file_input", path=place),
    "a pattern": lambda place: _settings("file_input", path=f"{place}/*.csv"),
}
ODD_ON_SPARK = mostly_slow(
    list(ODD),
    "nothing",
    "a file",
    "below a loop of links",
    "a name with NUL",
    "a commit without JSON",
    "a checksum that is a loop",
    "a file in it that is a folder",
)
"""In every run one of each kind: nothing, a file, links, names, and what Delta, its checksums and files can be instead."""
OUTPUTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "table": lambda place: _settings("delta_table_output", uri=place),
    "files": lambda place: _settings("file_output", "json", path=place),
}


def _settings(transport: str, form: str = "csv", **config: Any) -> dict[str, Any]:
    return {"transport": {"name": transport, "config": config}, "format": {"name": form}}


def _is_told(act: Callable[[], object], connector: str) -> None:
    told = None
    try:
        act()
    except EngineError as error:
        told = error
    assert told is None or told.code.startswith("X7"), told
    assert told is None or (f"connector {connector}" in told.message and "\n" not in told.message)


@pytest.fixture(scope="module")
def view(spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("view") / "v")
    spark_engine.build_view(ViewBuild("v", "SELECT 1 AS id", (), (), made, {}))
    return made


@pytest.mark.parametrize("odd", ODD)
def test_a_plan_compares_places_whatever_stands_there(odd: str, tmp_path: Path) -> None:
    place = ODD[odd](tmp_path)

    assert as_written(place)
    assert on_this_disk(place)
    assert warehouse_around(place, (str(tmp_path / "warehouse"),)) is None
    list(places_of_registries(place))


@pytest.mark.spark
@pytest.mark.parametrize("odd", ODD_ON_SPARK)
def test_an_input_tells_what_stands_in_its_place(odd: str, spark_engine: Engine, tmp_path: Path) -> None:
    place = ODD[odd](tmp_path)
    target = TableTarget("t", str(tmp_path / "t"), COLUMNS)
    create_table(target.location, COLUMNS, Transaction("create", 1))
    ranges: dict[str, list[dict[str, Any]]] = {
        "delta_table_input": [{"uri": place, "version": 0}, {"uri": place, "from": 0, "to": 1, "table": "t"}],
        "file_input": [{"files": [{"path": f"{place}{name}", "size": 2, "modified": 1}]} for name in ("", "/a.csv")],
    }
    for made in INPUTS.values():
        settings = made(place)
        for position in (None, {"version": 0, "table": "t"}):
            if position is None or settings["transport"]["name"] == "delta_table_input":
                _is_told(lambda s=settings, p=position: spark_engine.discover("t.inp", s, p), "t.inp")  # type: ignore[misc]
        for number, range_ in enumerate(ranges[settings["transport"]["name"]]):
            letters = DeadLetters(str(tmp_path / "letters"), 1, 10)
            ingestion = Ingestion(target, "t.inp", settings, range_, Transaction("t", number), letters)
            _is_told(lambda i=ingestion: spark_engine.ingest(i), "t.inp")  # type: ignore[misc]


@pytest.mark.spark
@pytest.mark.parametrize("odd", ODD_ON_SPARK)
def test_an_output_tells_what_stands_in_its_place(odd: str, view: str, spark_engine: Engine, tmp_path: Path) -> None:
    for name, made in OUTPUTS.items():
        folder = tmp_path / name
        folder.mkdir()
        settings = made(ODD[odd](folder))
        emission = Emission("v.out", "v", settings, None, StoredSource("v", view, 0), False, 1, Transaction("o", 1), id="a")
        _is_told(lambda e=emission: spark_engine.emit(e), "v.out")  # type: ignore[misc]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("odd", "says", "hint"),
    [
        ("below a file", "Not a directory", "there is a file where a folder should be"),
        ("a loop of links", "Too many levels of symbolic links", "form a cycle"),
        ("a name too long", "File name too long", "a shorter name"),
    ],
)
def test_what_the_system_refuses_has_a_place_and_a_way_on(
    odd: str, says: str, hint: str, spark_engine: Engine, tmp_path: Path
) -> None:
    place = ODD[odd](tmp_path)
    settings = _settings("delta_table_input", uri=place, mode="follow")

    with pytest.raises(EngineError) as caught:
        spark_engine.discover("t.inp", settings, None)

    assert (caught.value.code, hint in (caught.value.hint or "")) == ("X757", True)
    assert caught.value.message == f"connector t.inp: {place}/_delta_log: {says}"
