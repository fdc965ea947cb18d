"""Which folder of files counts: of an emission that is repeated, that two write at once, or that comes late."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reconciler.base.errors import AnotherEmission, EngineError, LeaseHeld
from reconciler.engine.protocol import Transaction
from tests.engine.emissions import Meanwhile, Sink, Versions, folders, lines, to_files

pytestmark = pytest.mark.spark

BOTH_WAYS = True
"""What is small is tried without Spark, too (conftest.py)."""


def test_a_complete_folder_is_left_and_an_incomplete_one_is_written_anew(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT 1 AS a"), out, "json", update_format="raw")
    versions.engine.emit(made)
    (folder,) = folders(out)
    before = {part.name for part in folder.iterdir()}
    again = versions.engine.emit(made)
    assert (again.reused, again.inserted) == (True, 1)
    assert {part.name for part in folder.iterdir()} == before
    # Killed while it was written: rubbish under the hidden name. Killed while an object store renamed: no marker.
    (out / f".{folder.name}").mkdir()
    (out / f".{folder.name}" / "part-rubbish").write_text("rubbish")
    (folder / "_SUCCESS").unlink()
    (folder / "part-half").write_text("half")
    repeated = versions.engine.emit(made)
    assert not repeated.reused
    assert lines(folder) == ['{"a":1}']
    # Somebody may still write there, until there is another emission.
    assert sorted(path.name for path in out.iterdir()) == [f".{folder.name}", folder.name]
    versions.engine.emit(to_files(versions.emission(None, "SELECT 2 AS a", 2), out, "json", update_format="raw"))
    assert sorted(path.name[:21] for path in out.iterdir()) == [f"{1:020d}-", f"{2:020d}-"]


def test_files_of_another_emission_with_its_number_are_no_repeat(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT 1 AS a"), out, "json", update_format="raw")
    versions.engine.emit(made)
    (folder,) = folders(out)

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(replace(made, id="another"))

    assert caught.value.serial == 1
    assert str(out) in caught.value.message
    assert lines(folder) == ['{"a":1}']
    assert versions.engine.emit(replace(made, id="")).reused, "an earlier version pinned it"


def test_files_of_a_later_emission_are_no_repeat(versions: Versions) -> None:
    out = versions.folder / "out"
    first, third = (to_files(versions.emission(None, f"SELECT {n} AS a", n), out, "json") for n in (1, 3))
    versions.engine.emit(first)
    versions.engine.emit(third)
    assert versions.engine.emit(first).reused, "it came late, and finds what it has sent"

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(to_files(versions.emission(None, "SELECT 2 AS a", 2), out, "json"))

    assert caught.value.serial == 3
    assert len(list(out.iterdir())) == 2


def test_two_emissions_with_one_number_at_once_leave_the_files_of_one(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT id FROM range(0, 40, 1, 4)"), out, "json", update_format="raw")

    def told(by: str) -> str:
        try:
            return "reused" if versions.engine.emit(replace(made, id=by)).reused else "written"
        except AnotherEmission as error:
            return error.code

    with ThreadPoolExecutor(2) as threads:
        found = sorted(threads.map(told, ["ours", "theirs"]))

    assert found == ["X756", "written"]
    (folder,) = folders(out)
    assert sorted(lines(folder)) == sorted(f'{{"id":{number}}}' for number in range(40))


def test_two_that_write_the_same_emission_at_once_leave_each_row_once(versions: Versions) -> None:
    """One that was taken over while it wrote, and goes on: neither takes along what the other wrote."""
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT id FROM range(0, 40, 1, 4)"), out, "json", update_format="raw")
    with ThreadPoolExecutor(2) as threads:
        told = [one.result() for one in [threads.submit(versions.engine.emit, made) for _ in range(2)]]
    assert {one.inserted for one in told} == {40}
    (folder,) = folders(out)
    assert sorted(lines(folder)) == sorted(f'{{"id":{number}}}' for number in range(40))
    assert versions.engine.emit(to_files(versions.emission(None, "SELECT 1 AS a", 2), out, "json")).inserted == 1
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("look", [2, 3])
def test_who_comes_late_brings_back_no_folder_that_was_emptied_away(versions: Versions, sink: Sink, look: int) -> None:
    """Its successor has written the same emission, and a later one that emptied the sink: before it wrote, and before it
    was to be settled whose folder counts."""
    late = sink.emission(versions.emission(None, "SELECT 1 AS a", 5))
    later = sink.emission(replace(versions.emission(None, "SELECT 2 AS a", 6), replaces=True))
    meanwhile = Meanwhile()
    meanwhile.acts_at = look
    meanwhile.act = lambda: (versions.engine.emit(late), versions.engine.emit(later))

    if sink.mounted:
        assert versions.engine.emit(replace(late, warehouses=meanwhile)).reused, "a file says that it was settled"
    else:
        with pytest.raises(AnotherEmission) as caught:
            versions.engine.emit(replace(late, warehouses=meanwhile))
        assert caught.value.serial == 6

    assert [one[:2] for one in sink.complete()] == ["06"]
    assert len(folders(sink.path)) == 1


def test_who_comes_late_leaves_the_folders_of_an_output_that_was_made_anew(versions: Versions, tmp_path: Path) -> None:
    """What it was to empty first was emptied, and its own folder with it."""
    sink = Sink(tmp_path / "out", mounted=True)
    late = sink.emission(replace(versions.emission(None, "SELECT 1 AS a", 5), replaces=True))
    versions.engine.emit(late)
    anew = replace(late, transaction=Transaction("reconcile/emit/shop/v.lake/2", 9), id="9 by us")
    versions.engine.emit(anew)
    (made,) = sink.complete()

    assert versions.engine.emit(late).reused
    assert sink.complete() == [made]
    assert made[:2] == "09"


@dataclass
class TakenOver:
    """The check of a process that another one takes over, and writes, when it asks for the `at`-th time. `is_told` at once;
    else it had asked a moment before."""

    at: int
    act: Callable[[], object]
    is_told: bool
    asked: int = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.asked == self.at:
            self.act()
        if self.asked > self.at or (self.is_told and self.asked == self.at):
            raise LeaseHeld("A503", "another process took it over")


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("replaces", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_who_was_taken_over_removes_nothing_of_an_output_that_was_made_anew(
    versions: Versions, sink: Sink, replaces: bool, is_told: bool
) -> None:
    """Whenever that happens; and once it is told, nothing that it wrote comes to count."""
    before = sink.emission(versions.emission(None, "SELECT 0 AS a", 4))
    made = sink.emission(replace(versions.emission(None, "SELECT 1 AS a", 5), replaces=replaces))
    anew = sink.emission(versions.emission(None, "SELECT 2 AS a", 9))
    anew = replace(anew, transaction=Transaction("reconcile/emit/shop/v.lake/2", 9))
    places = 0
    while True:
        shutil.rmtree(sink.path, ignore_errors=True)
        sink.path.mkdir()
        versions.engine.emit(before)
        late = TakenOver(places + 1, lambda: versions.engine.emit(anew), is_told)
        try:
            versions.engine.emit(made, late)
        except LeaseHeld:
            assert late.asked >= late.at
        if late.asked < late.at:
            break
        places += 1
        found = [one[:2] for one in sink.complete()]
        assert "09" in found
        assert not is_told or "05" not in found
    assert places >= 1, "before anything of it is there"


def test_complete_folders_stay_though_nothing_says_any_more_that_they_count(versions: Versions, tmp_path: Path) -> None:
    """Somebody tidied up, or copied the sink without its hidden files."""
    sink = Sink(tmp_path / "out", mounted=True)
    first, second, third = (sink.emission(versions.emission(None, f"SELECT {n} AS a", n)) for n in (1, 2, 3))
    versions.engine.emit(first)
    versions.engine.emit(second)
    made = sink.complete()
    for hidden in sink.path.glob(".*"):
        hidden.unlink()

    assert versions.engine.emit(second).reused
    assert sink.complete() == made
    # What was never complete goes, as ever.
    (sink.path / f"{folders(sink.path)[0].name[:-8]}deadbeef").mkdir()
    versions.engine.emit(third)

    assert sink.complete()[:2] == made
    assert len(folders(sink.path)) == 3
    assert len([one for one in sink.path.glob(".*-taken") if one.name[1:21] < f"{3:020d}"]) == 2, (
        "said again, for who comes late"
    )


def test_a_settled_folder_that_is_gone_is_not_taken_for_sent(versions: Versions, tmp_path: Path) -> None:
    """The process died when it was settled what counts, and the folder went since: no later emission emptied it away."""
    sink = Sink(tmp_path / "out", mounted=True)
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(first)
    (folder,) = folders(sink.path)
    (taken,) = sink.path.glob(".*-taken")
    shutil.rmtree(folder)
    # Of an output that wrote here before.
    (sink.path / f"{0:020d}-deadbeef-deadbeef").mkdir()

    with pytest.raises(EngineError) as caught:
        versions.engine.emit(first)

    assert caught.value.code == "X700"
    assert caught.value.message.endswith(f"/{folder.name} was recorded and no longer exists")
    assert f"delete {taken.name}" in str(caught.value.hint)
    taken.unlink()
    assert not versions.engine.emit(first).reused


def test_a_folder_that_somebody_took_away_before_it_counts_is_told(versions: Versions, sink: Sink) -> None:
    made = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    meanwhile = Meanwhile()
    meanwhile.acts_at = 3
    meanwhile.act = lambda: [shutil.rmtree(one) for one in sink.path.iterdir()]

    with pytest.raises(EngineError) as caught:
        versions.engine.emit(replace(made, warehouses=meanwhile))

    assert caught.value.code == "X700"
    assert "the folder belongs to this output alone" in str(caught.value.hint)
    assert not versions.engine.emit(made).reused
    assert len(sink.complete()) == 1


def test_an_empty_marker_is_no_complete_folder(versions: Versions, sink: Sink) -> None:
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"), update_format="raw")
    versions.engine.emit(first)
    (folder,) = folders(sink.path)
    for crc in folder.glob("._SUCCESS.crc"):
        crc.unlink()
    (folder / "_SUCCESS").write_text("")

    versions.engine.emit(first)

    (folder,) = folders(sink.path)
    assert json.loads((folder / "_SUCCESS").read_text())["inserted"] == 1
    assert lines(folder) == ['{"a":1}']
