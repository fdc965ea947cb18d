"""Changes leave a table as if they had been applied one by one: many small cases, side by side in one table, a few batches.

Each case has a number that stands in its rows, so cases never touch; a batch holds the changes of all of them.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, TableTarget
from tests.cells import mostly_slow
from tests.engine.contract import Storage, ingest_files, json_files

COLUMNS = (
    ColumnType("number", "BIGINT", nullable=False),
    ColumnType("a", "BIGINT"),
    ColumnType("b", "STRING"),
)
KEYED = (COLUMNS[0], ColumnType("a", "BIGINT", nullable=False), COLUMNS[2])

Change = tuple[str, int | None, str | None]
CASES = 40
CHANGES = 6
"""At most, of one case in one batch."""


def chosen_cases(seed: int, batches: int) -> list[list[list[Change]]]:
    """Cases by chance; of each its batches, of each of these its changes."""
    chance = random.Random(seed)

    def change() -> Change:
        return chance.choice(("insert", "delete")), chance.choice((None, 1, 2)), chance.choice((None, "x", "y"))

    def batch() -> list[Change]:
        return [change() for _ in range(chance.randint(0, CHANGES))]

    return [[batch() for _ in range(batches)] for _ in range(CASES)]


@dataclass(slots=True)
class Model:
    """What is right: rows in a list, changes one by one."""

    has_key: bool
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    unmatched: int = 0
    rejected: int = 0

    def apply(self, batch: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        if not self.has_key:
            for kind, row in batch:
                if kind == "insert":
                    self.rows.append(row)
                elif row in self.rows:
                    self.rows.remove(row)
                else:
                    self.unmatched += 1
            return
        before = {row[:2] for row in self.rows}
        fitting = [(kind, row) for kind, row in batch if row[1] is not None]
        self.rejected += len(batch) - len(fitting)
        for kind, row in fitting:
            self.rows = [one for one in self.rows if one[:2] != row[:2]] + ([row] if kind == "insert" else [])
        of_keys: dict[tuple[Any, ...], list[str]] = {}
        for kind, row in fitting:
            of_keys.setdefault(row[:2], []).append(kind)
        # A delete of what came just before it found its row.
        self.unmatched += sum(
            kinds[-1] == "delete" and kinds[-2:-1] != ["insert"] and key not in before for key, kinds in of_keys.items()
        )


class ChangesContract:
    """Inherit, and give the fixtures `engine` and `storage`."""

    @pytest.mark.parametrize(("seed", "batches"), mostly_slow([(1, 2), (2, 3), (3, 3), (4, 3)], (1, 2)))
    @pytest.mark.parametrize("has_key", [False, True], ids=["multiset", "keyed"])
    def test_changes_are_as_good_as_one_by_one(
        self, has_key: bool, seed: int, batches: int, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        cases = chosen_cases(seed, batches)
        columns = KEYED if has_key else COLUMNS
        target = TableTarget("t", str(tmp_path / "t"), columns, ("number", "a") if has_key else ())
        storage.create(target.location, columns)
        model, unmatched, rejected = Model(has_key), 0, 0
        for number in range(batches):
            batch = [(kind, (case, a, b)) for case, changes in enumerate(cases) for kind, a, b in changes[number]]
            model.apply(batch)
            file = tmp_path / f"{number}.json"
            lines = [json.dumps({kind: {"number": row[0], "a": row[1], "b": row[2]}}) for kind, row in batch]
            file.write_text("\n".join(lines), "utf-8")
            letters = DeadLetters(str(tmp_path / "dead-letters"), number)
            written = ingest_files(engine, target, json_files(file, update_format="insert_delete"), number + 1, letters)
            unmatched, rejected = unmatched + written.unmatched, rejected + written.rejected

            assert storage.rows(target.location) == sorted(model.rows, key=repr)
            assert (unmatched, rejected) == (model.unmatched, model.rejected)
