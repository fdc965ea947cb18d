"""The cache on disk: whatever becomes of its file, plans are those without it. And what must be looked at again is, and
nothing else."""

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bench.applied import write_applied
from bench.programs import PIPELINE, column_types, make_program, write_pipeline, write_view
from reconciler.apply.planning import plan_pipeline
from reconciler.base.cache import MemoryCache
from reconciler.base.errors import ManifestInvalid
from reconciler.environment.cache_store import StoredCache, open_cache
from reconciler.environment.target import Target, open_target
from reconciler.plan.text_form import render_text
from reconciler.workspace.desired import read_desired
from tests.cells import mostly_slow

VIEWS = 30
_PLAN = "import sys; from reconciler.cli.main import main; main(['plan', '--repo', sys.argv[1], '--all'])"


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one view edited since it was applied."""
    root = tmp_path_factory.mktemp("changed")
    program = make_program(VIEWS)
    write_pipeline(program, root)
    write_applied(root, column_types(program))
    write_view(make_program(VIEWS, changed=True).views[0], root)
    return root


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def right(changed: Path) -> str:
    """The plan without a cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECONCILE_CACHE", "off")
        text = planned(changed)
    assert "modify" in text
    return text


def planned(root: Path) -> str:
    return render_text(plan_pipeline(open_target(root, None), PIPELINE), whole=True)


def file_of(folder: Path) -> Path:
    (file,) = folder.glob("objects-*.sqlite")
    return file


def test_cold_warm_and_none_give_the_same_plan(changed: Path, folder: Path, right: str) -> None:
    assert planned(changed) == right
    size = file_of(folder).stat().st_size
    assert size > 10_000
    assert planned(changed) == right


def cut(part: int) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size * part // 10])


def random_bytes(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def scattered_bytes(file: Path) -> None:
    """One byte of each hundred is another."""
    numbers, content = random.Random(2), bytearray(file.read_bytes())
    for place in range(100, len(content), 100):
        content[place] = numbers.randrange(256)
    file.write_bytes(content)


def folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


def other_tables(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE objects (something TEXT)")


def set_values(expression: str) -> Callable[[Path], object]:
    def alter(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            assert connection.execute(f"UPDATE objects SET value = {expression}").rowcount > 10

    return alter


DAMAGES: dict[str, Callable[[Path], object]] = {
    **{f"cut to {part} tenths": cut(part) for part in range(10)},
    "random bytes": random_bytes,
    "scattered bytes": scattered_bytes,
    "a folder in its place": folder_instead,
    "other tables": other_tables,
    "values altered by hand": set_values("replace(value, 'a', 'b')"),
    "values that are none": set_values("NULL"),
    "values that are no text": set_values("CAST(value AS BLOB)"),
    "values that are numbers": set_values("7"),
    "gone": lambda file: file.unlink(),
    "gone with its folder": lambda file: shutil.rmtree(file.parent),
}


@pytest.mark.parametrize(
    "damage",
    mostly_slow(
        list(DAMAGES), *(name for name in DAMAGES if not name.startswith("cut to ")), "cut to 0 tenths", "cut to 5 tenths"
    ),
)
def test_damage_is_not_believed_and_mended(damage: str, changed: Path, folder: Path, right: str) -> None:
    assert planned(changed) == right
    DAMAGES[damage](file_of(folder))
    for _ in range(3):
        assert planned(changed) == right


class Interrupted:
    """A cache to which something happens at the n-th recall."""

    def __init__(self, cache: StoredCache, at: int, happens: Callable[[], object]) -> None:
        self._cache, self._left, self._happens = cache, at, happens

    def prepare(self, keys: Iterable[str]) -> None:
        """Each value is read when it is asked for, so that something can happen in between."""

    def recall(self, key: str) -> str | None:
        self._left -= 1
        if self._left == 0:
            self._happens()
        return self._cache.recall(key)

    def remember(self, key: str, value: str) -> None:
        self._cache.remember(key, value)


@pytest.mark.parametrize(
    "damage", ["gone", "gone with its folder", "random bytes", "cut to 5 tenths", "a folder in its place"]
)
@pytest.mark.parametrize("at", mostly_slow([1, 20, 60], 20))
def test_the_file_may_be_lost_while_it_is_used(damage: str, at: int, changed: Path, folder: Path, right: str) -> None:
    planned(changed)
    file = file_of(folder)
    stored = StoredCache(file)
    assert stored.recall("anything") is None
    target = replace(open_target(changed, None), cache=Interrupted(stored, at, lambda: DAMAGES[damage](file)))
    assert render_text(plan_pipeline(target, PIPELINE), whole=True) == right
    stored.remember("another", "1")
    stored.close()
    assert planned(changed) == right


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_on_one_cache_give_right_plans(processes: int, changed: Path, folder: Path) -> None:
    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", _PLAN, str(changed)], stdout=subprocess.PIPE, text=True, cwd=ROOT)

    shown = []
    for running in [start() for _ in range(processes)]:
        out, _ = running.communicate(timeout=300)
        assert running.returncode == 0
        shown.append(out)
    assert len(set(shown)) == 1
    assert "modify" in shown[0]
    connection = sqlite3.connect(file_of(folder))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


ROOT = Path(__file__).parents[2]


def test_a_full_disk_costs_the_cache_only(changed: Path, folder: Path, right: str) -> None:
    """No file may grow beyond a few pages: SQLite is told what a full disk tells it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        assert planned(changed) == right
        assert planned(changed) == right
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert planned(changed) == right


def test_a_folder_that_cannot_be_made_or_written_costs_the_cache_only(
    changed: Path, tmp_path: Path, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "file" / "below"))
    assert planned(changed) == right
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    monkeypatch.setenv("RECONCILE_CACHE", str(closed))
    assert planned(changed) == right


def test_without_a_home_there_is_no_cache(changed: Path, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECONCILE_CACHE", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert not isinstance(open_cache(), StoredCache)
    assert planned(changed) == right


def test_off_writes_nothing(changed: Path, tmp_path: Path, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RECONCILE_CACHE", "off")
    assert planned(changed) == right
    assert list(tmp_path.iterdir()) == []


def test_the_cache_is_the_users_and_never_in_the_repository_by_itself(
    changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECONCILE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(changed)
    before = sorted(os.walk(changed))
    planned(Path("."))
    assert sorted(os.walk(changed)) == before
    assert list((tmp_path / ".cache" / "reconciler").glob("objects-*.sqlite"))


def test_a_cache_that_grew_too_large_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "objects-a.sqlite"
    first = StoredCache(file, maximum_bytes=50_000)
    first.remember("large", "x" * 100_000)
    first.close()
    assert file.stat().st_size > 100_000
    second = StoredCache(file, maximum_bytes=50_000)
    assert second.recall("large") is not None
    second.remember("small", "1")
    second.close()
    assert file.stat().st_size < 50_000
    third = StoredCache(file, maximum_bytes=50_000)
    assert (third.recall("small"), third.recall("large")) == ("1", None)
    third.close()


def test_what_is_prepared_is_answered_without_the_file_and_as_it_would_be_with_it(tmp_path: Path) -> None:
    file = tmp_path / "objects.sqlite"
    values = {f"key {number}": f"value {number}" for number in range(1200)}
    written = StoredCache(file)
    for key, value in values.items():
        written.remember(key, value)
    written.close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE objects SET value = 'another' WHERE key = 'key 700'")
    connection.close()
    cache = StoredCache(file)
    cache.prepare([*values, "unknown", "key 1"])
    file.unlink()
    assert {key: cache.recall(key) for key in values} == {**values, "key 700": None}
    assert cache.recall("unknown") is None


def test_nothing_need_stand_where_values_are_prepared(tmp_path: Path) -> None:
    cache = StoredCache(tmp_path / "none" / "objects.sqlite")
    cache.prepare(["a", "b"])
    cache.prepare([])
    assert cache.recall("a") is None
    cache.remember("a", "1")
    cache.prepare(["a", "b"])
    assert cache.recall("a") == "1"


def test_what_was_prepared_and_not_there_may_come_from_another_process(tmp_path: Path) -> None:
    file = tmp_path / "objects.sqlite"
    cache, other = StoredCache(file), StoredCache(file)
    cache.prepare(["a", "b"])
    other.remember("a", "1")
    other.remember("b", "2")
    other.close()
    assert cache.recall("a") is None
    assert cache.recall("a") == "1"
    cache.prepare(["b"])
    assert cache.recall("b") == "2"


def test_the_first_file_of_another_version_ends_those_of_older_ones(tmp_path: Path) -> None:
    for name in ("objects-a.sqlite", "objects-b.sqlite"):
        cache = StoredCache(tmp_path / name)
        cache.remember("key", name)
        cache.close()
    assert [path.name for path in tmp_path.iterdir()] == ["objects-b.sqlite"]


class Counting(MemoryCache):
    """Notes what is looked for and not found: what must be computed."""

    def __init__(self) -> None:
        super().__init__()
        self.missed: list[str] = []

    def recall(self, key: str) -> str | None:
        found = super().recall(key)
        if found is None:
            self.missed.append(key)
        return found

    def misses(self, kind: str) -> int:
        return sum(key.startswith(f"{kind}:") for key in self.missed)


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_broken_file_among_many_is_told_with_all_else_and_spoils_no_cache(tmp_path: Path, count: int) -> None:
    program = make_program(count)
    write_pipeline(program, tmp_path)
    cache = Counting()
    target: Target = replace(open_target(tmp_path, None), cache=cache)
    before = read_desired(target, PIPELINE)
    assert before is not None
    files = sorted((tmp_path / "pipelines" / PIPELINE).glob("*.sql"))
    assert cache.misses("sql") == len(files) == count + 1
    folder = tmp_path / "pipelines" / PIPELINE
    broken, doubled = (folder / f"{program.views[at].name}.sql" for at in (count // 2, count * 9 // 10))
    manifest = folder / "pipeline.yaml"
    texts = {file: file.read_text() for file in (broken, doubled, manifest)}
    broken.write_text(texts[broken].replace("CREATE", "CRATE", 1))
    doubled.write_text(texts[doubled] + texts[doubled])
    manifest.write_text(texts[manifest].replace("await_approval", "perhaps"))
    cache.missed.clear()
    with pytest.raises(ManifestInvalid) as caught:
        read_desired(target, PIPELINE)
    found = {one.location.file: (one.code, one.location.line) for one in caught.value.diagnostics if one.location}
    assert {Path(file).name for file in found} == {file.name for file in texts}
    assert all(line >= 1 for _, line in found.values())
    # Only what is another text is read again.
    assert cache.misses("sql") == 2
    for file, text in texts.items():
        file.write_text(text)
    cache.missed.clear()
    after = read_desired(target, PIPELINE)
    assert after == before
    assert cache.missed == []
    write_view(make_program(count, changed=True).views[0], tmp_path)
    read_desired(target, PIPELINE)
    assert cache.misses("sql") == cache.misses("facts") == cache.misses("analysis") == 1


class Prepared(MemoryCache):
    """Notes what is asked for alone, and how many times several values are asked for together."""

    def __init__(self) -> None:
        super().__init__()
        self.alone: list[str] = []
        self.together: list[frozenset[str]] = []

    def prepare(self, keys: Iterable[str]) -> None:
        self.together.append(frozenset(keys))

    def recall(self, key: str) -> str | None:
        if not any(key in keys for keys in self.together):
            self.alone.append(key)
        return super().recall(key)


def test_values_of_views_are_asked_for_together(tmp_path: Path) -> None:
    write_pipeline(make_program(200), tmp_path)
    cache = Prepared()
    for _ in range(2):
        cache.alone, cache.together = [], []
        assert read_desired(replace(open_target(tmp_path, None), cache=cache), PIPELINE) is not None
    assert {key.partition(":")[0] for key in cache.alone} <= {"yaml", "connectors", "manifest"}
    # As many times as views are deep, and once for files and for facts.
    assert len(cache.together) <= 25
    assert sum(len(keys) for keys in cache.together) > 500


def test_threads_share_a_cache(tmp_path: Path) -> None:
    file = tmp_path / "objects-x.sqlite"
    cache = StoredCache(file)
    cache.remember("a", "1")
    cache.flush()
    cache = StoredCache(file)
    assert cache.recall("nothing") is None
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(cache.recall, ["a"] * 50)) == {"1"}
        list(threads.map(lambda number: cache.remember(f"k{number}", str(number)), range(50)))
        threads.submit(cache.flush).result()
    cache.close()
    again = StoredCache(file)
    assert [again.recall(f"k{number}") for number in range(50)] == [str(number) for number in range(50)]
    assert file.is_file()


def test_what_a_process_remembers_is_named_by_the_code_that_it_runs(tmp_path: Path) -> None:
    """Also where another version is installed under it, as an upgrade does."""
    package = Path(
        shutil.copytree(ROOT / "reconciler", tmp_path / "reconciler", ignore=shutil.ignore_patterns("__pycache__"))
    )
    program = """
import sys
from pathlib import Path
from reconciler.environment.cache_store import code_version
before = code_version()
with Path(sys.argv[1], "base", "names.py").open("a") as file:
    file.write("# newer")
print(before, code_version())
"""
    command = [sys.executable, "-c", program, str(package)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = partial(subprocess.run, command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    runs = [run().stdout for _ in range(2)]
    (before, after), (newer, _) = (one.split() for one in runs)
    assert before == after != newer
