"""What every engine promises of Delta sinks; inherited as tests/engine/contract.py is, with `engine` and `storage`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import AnotherEmission, EngineError, LeaseHeld
from reconciler.engine.protocol import ColumnType, Emission, Engine, TableTarget, Transaction
from reconciler.engine.sources import StoredSource
from tests.engine.contract import Storage, change

COLUMNS = (ColumnType("id", "BIGINT"), ColumnType("name", "STRING"))


def emission(
    view: TableTarget,
    sink: Path,
    before: int | None,
    after: int,
    serial: int = 1,
    *,
    replaces: bool = False,
    by: str = "us",
    **config: Any,
) -> Emission:
    """An emission of a connector to a Delta table. `by` whom: what others give the same number is another one."""
    return Emission(
        connector="v.lake",
        view=view.name,
        settings={"transport": {"name": "delta_table_output", "config": {"uri": str(sink), **config}}},
        before=None if before is None else StoredSource(view.name, view.location, before),
        after=StoredSource(view.name, view.location, after),
        replaces=replaces,
        step=after,
        transaction=Transaction("reconcile/emit/shop/v.lake/1", serial),
        commit={"pipeline": "shop", "step": after},
        id=f"{serial} by {by}",
    )


class EmitContract:
    """Inherit, and give the fixtures `engine` and `storage`."""

    @pytest.fixture
    def view(self, engine: Engine, storage: Storage, tmp_path: Path) -> TableTarget:
        """Version 1: five rows, three of them equal. 2: two without the three. 3: NULLs, twice."""
        return self.make_view(engine, storage, tmp_path)

    @staticmethod
    def make_view(engine: Engine, storage: Storage, folder: Path) -> TableTarget:
        """Make it below a folder."""
        target = TableTarget("v", str(folder / "v"), COLUMNS)
        storage.create(target.location, COLUMNS)
        statements = [
            "INSERT INTO v VALUES (1, 'a'), (1, 'a'), (1, 'a'), (2, 'b'), (3, NULL)",
            "DELETE FROM v WHERE name = 'a'",
            "INSERT INTO v VALUES (NULL, NULL), (NULL, NULL), (3, NULL)",
        ]
        for serial, sql in enumerate(statements, start=1):
            engine.execute(change(target, sql, serial))
        return target

    def test_a_sink_is_made_and_follows(self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"

        first = engine.emit(emission(view, sink, None, 1))
        second = engine.emit(emission(view, sink, 1, 2, 2))
        third = engine.emit(emission(view, sink, 2, 3, 3))

        assert [(one.inserted, one.deleted) for one in (first, second, third)] == [(5, 0), (0, 3), (3, 0)]
        assert storage.rows(str(sink)) == storage.rows(view.location, 3)
        assert storage.version(str(sink)) == 2, "one commit an emission"

    def test_what_went_may_come_back(self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 3))

        back = engine.emit(emission(view, sink, 3, 1, 2))

        assert (back.inserted, back.deleted) == (3, 3)
        assert storage.rows(str(sink)) == storage.rows(view.location, 1)

    def test_some_of_several_equal_rows_go(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, None, 1, 2))
        engine.emit(emission(view, sink, 1, 2, 3))

        assert storage.rows(str(sink)).count((1, "a")) == 3, "six were there, three went"

    def test_a_repeat_writes_nothing(self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, 1, 2, 2))

        again = engine.emit(emission(view, sink, 1, 2, 2))

        assert again.reused
        assert storage.version(str(sink)) == 1
        assert storage.rows(str(sink)) == storage.rows(view.location, 2)

    def test_another_emission_with_its_number_is_no_repeat(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, 1, 2, 2, by="them"))

        with pytest.raises(AnotherEmission) as caught:
            engine.emit(emission(view, sink, 1, 3, 2))

        assert (caught.value.code, caught.value.serial) == ("X756", 2)
        assert str(sink) in caught.value.message
        assert storage.rows(str(sink)) == storage.rows(view.location, 2)

    def test_a_later_emission_of_the_output_is_no_repeat(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        """Number 2 brought nothing, and left nothing that could be told from."""
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, 1, 2, 3, by="them"))

        with pytest.raises(AnotherEmission) as caught:
            engine.emit(emission(view, sink, 1, 3, 2))

        assert caught.value.serial == 3
        assert storage.version(str(sink)) == 1
        engine.emit(emission(view, sink, 2, 3, 4))
        assert storage.version(str(sink)) == 2, "one with a higher number comes through"

    @pytest.mark.parametrize("replaces", [False, True])
    def test_whoever_was_taken_over_while_it_computed_writes_nothing(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path, replaces: bool
    ) -> None:
        """Another output may write there by now, which the transactions of this one say nothing of."""
        sink = tmp_path / "sink"

        def check() -> None:
            raise LeaseHeld("A503", "another process took it over")

        for version in (None, 0):
            assert storage.version(str(sink)) == version
            late = emission(view, sink, None if replaces else version, 2, 2, replaces=replaces)
            with pytest.raises(LeaseHeld):
                engine.emit(late, check)
            assert storage.version(str(sink)) == version
            anew = replace(emission(view, sink, None, 1, 9), transaction=Transaction("reconcile/emit/shop/v.lake/2", 9))
            engine.emit(anew)

    def test_whoever_comes_late_with_what_was_sent_finds_it(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, 1, 2, 2))
        engine.emit(emission(view, sink, 2, 3, 3))

        assert engine.emit(emission(view, sink, 1, 2, 2)).reused
        assert storage.version(str(sink)) == 2

    def test_an_emission_without_an_id_is_judged_by_its_number(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        """An earlier version pinned it."""
        sink = tmp_path / "sink"
        first = replace(emission(view, sink, None, 1), id="")
        engine.emit(first)

        assert engine.emit(first).reused
        engine.emit(emission(view, sink, 1, 2, 2))
        assert engine.emit(replace(emission(view, sink, 1, 2, 2), id="")).reused
        assert engine.emit(first).reused
        assert storage.version(str(sink)) == 1

    def test_what_an_earlier_version_sent_is_not_of_an_emission_with_an_id(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(replace(emission(view, sink, None, 1), id=""))

        with pytest.raises(AnotherEmission):
            engine.emit(emission(view, sink, None, 2))

        assert storage.version(str(sink)) == 0

    def test_nothing_that_changed_is_no_commit(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))

        nothing = engine.emit(emission(view, sink, 1, 1, 2))

        assert (nothing.inserted, nothing.deleted) == (0, 0)
        assert storage.version(str(sink)) == 0

    def test_an_empty_view_makes_an_empty_sink(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        engine.emit(emission(view, tmp_path / "sink", None, 0))

        assert storage.rows(str(tmp_path / "sink")) == []

    def test_a_sink_is_emptied_first(self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))

        replaced = engine.emit(emission(view, sink, None, 2, 2, replaces=True))

        assert (replaced.inserted, storage.version(str(sink))) == (2, 1)
        assert storage.rows(str(sink)) == storage.rows(view.location, 2)

    def test_what_the_sink_lacks_is_passed_over(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        storage.create(str(sink), COLUMNS)

        engine.emit(emission(view, sink, 1, 2))
        engine.emit(emission(view, sink, 2, 3, 2))

        assert storage.rows(str(sink)) == sorted([(3, None), (None, None), (None, None)], key=repr)

    def test_a_version_that_is_gone_is_an_error(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        with pytest.raises(EngineError):
            engine.emit(emission(view, tmp_path / "sink", None, 99))

    def test_an_unknown_transport_is_refused(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        from dataclasses import replace

        settings = {"transport": {"name": "nowhere_output", "config": {}}}
        with pytest.raises(EngineError) as raised:
            engine.emit(replace(emission(view, tmp_path / "sink", None, 1), settings=settings))

        assert raised.value.code == "X716"

    def test_a_sink_within_a_warehouse_is_refused(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        """Whatever the path says: a link may have come in between the plan and the emission."""
        warehouse = tmp_path / "elsewhere" / "wh"
        (warehouse / "_registry" / "pipelines" / "_delta_log").mkdir(parents=True)
        (tmp_path / "link").symlink_to(warehouse)
        sink = tmp_path / "link" / "t"

        with pytest.raises(EngineError) as caught:
            engine.emit(emission(view, sink, None, 1))

        assert caught.value.code == "X755"
        assert str(warehouse) in caught.value.message
        assert storage.version(str(sink)) is None

    def test_a_sink_within_a_warehouse_that_is_named_is_refused(
        self, engine: Engine, storage: Storage, view: TableTarget, tmp_path: Path
    ) -> None:
        made = emission(view, tmp_path / "lake" / "t", None, 1)

        with pytest.raises(EngineError) as caught:
            engine.emit(replace(made, warehouses=("s3://lake", str(tmp_path / "lake"))))

        assert caught.value.code == "X755"
        assert storage.version(str(tmp_path / "lake" / "t")) is None
        engine.emit(made)
