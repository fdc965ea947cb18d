"""What every engine over Delta tables promises of removing files: those that it is given and nobody needs, and no others."""

from pathlib import Path

from reconciler.delta.unneeded_files import unneeded_files
from reconciler.engine.protocol import Engine, TableTarget, Vacuum
from tests.engine.asking import Storage, Tables, change


class VacuumContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

    def test_what_is_named_goes_and_nothing_else(self, engine: Engine, storage: Storage, students: TableTarget) -> None:
        for number in range(1, 4):
            engine.execute(change(students, f"INSERT INTO students VALUES (1, 'n{number}')", number))
        beside = Path(students.location, "beside.parquet")
        beside.write_text("of a writer at work")
        files = [one.path for one in unneeded_files(students.location, 3, (2,), 0.0)]
        assert files
        before = {path.name for path in Path(students.location).glob("*.parquet")}

        for _ in range(2):
            engine.vacuum(Vacuum(students.location, (*files, "gone.parquet")))

        assert {path.name for path in Path(students.location).glob("*.parquet")} == before - set(files)
        assert storage.rows(students.location) == [(1, "n3")]
        assert storage.rows(students.location, 2) == [(1, "n2")]
        assert storage.version(students.location) == 3
        assert [one.path for one in unneeded_files(students.location, 3, (2,), 0.0)] == []

    def test_what_the_newest_version_names_stays_whoever_asks(
        self, engine: Engine, storage: Storage, students: TableTarget
    ) -> None:
        engine.execute(change(students, "INSERT INTO students VALUES (1, 'n')"))
        names = tuple(path.name for path in Path(students.location).glob("*.parquet"))

        engine.vacuum(Vacuum(students.location, names))
        engine.vacuum(Vacuum(students.location, ()))

        assert storage.rows(students.location) == [(1, "n")]
