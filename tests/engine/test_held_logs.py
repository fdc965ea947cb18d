"""Of a log those rows are picked that a step needs: all of them, and of one key of one column no others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.digest import JsonObject
from reconciler.delta.arrow_writes import put_table
from reconciler.engine.sources import LogSource, Needed, StoredSource
from reconciler.engine.spark.held_logs import HeldLogs
from reconciler.engine.spark.held_rows import Held, HeldRows

KINDS = {"left": "string", "right": "string", "number": "integer", "due": "long", "due_last": "long", "row": "long"}
ARROW = {"string": pa.string(), "integer": pa.int32(), "long": pa.int64()}

_times = st.one_of(st.none(), st.integers(0, 5))
_texts = st.one_of(st.none(), st.sampled_from(("", "a", "b", "c")))
_dues = st.one_of(st.just((None, None)), st.tuples(st.integers(0, 5), st.integers(0, 5)))
_rows = st.lists(
    st.builds(lambda *row: (*row[:3], *row[3]), _texts, _texts, st.one_of(st.none(), st.integers(0, 2)), _dues), max_size=12
)
_came = st.lists(st.tuples(_texts, st.one_of(st.none(), st.integers(0, 2))), max_size=4)

CAME = StoredSource("came", "", 0)
ONE = (("left",),)
KEYS = (ONE, (("left",), ("number",)), (("left", "right"),), (("number",),), (("left", "number"), ("right",)))


def schema() -> JsonObject:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in KINDS.items()]
    return {"type": "struct", "fields": fields}


def put(folder: Path, rows: Sequence[Sequence[Any]]) -> None:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(KINDS)
    arrays = [pa.array(list(values), ARROW[kind]) for values, kind in zip(columns, KINDS.values(), strict=True)]
    put_table(str(folder), schema(), pa.table(arrays, names=list(KINDS)))


def held_came(rows: Sequence[tuple[Any, Any]]) -> Held:
    texts, numbers = ([row[place] for row in rows] for place in (0, 1))
    table = pa.table({"Text": pa.array(texts, pa.string()), "n": pa.array(numbers, pa.int32())})
    return Held(schema(), table)


def key_of(keys: Sequence[Sequence[str]], row: Sequence[Any]) -> tuple[Any, ...]:
    values = dict(zip(KINDS, row, strict=True))
    return tuple(next((values[name] for name in names if values[name] is not None), None) for names in keys)


def wanted(rows: Sequence[Sequence[Any]], needed: Needed, came: set[tuple[Any, ...]]) -> list[int]:
    """The numbers of the rows that are needed."""

    def is_due(row: Sequence[Any]) -> bool:
        first, last = row[3], row[4]
        if needed.due is None or first is None or last is None or needed.to is None:
            return False
        return bool(first <= needed.to and (needed.after is None or last > needed.after))

    keys = came | (set() if needed.by_row else {key_of(needed.keys, row) for row in rows if is_due(row)})
    return [row[5] for row in rows if key_of(needed.keys, row) in keys or (needed.by_row and is_due(row))]


@pytest.mark.parametrize("keys", KEYS, ids=str)
@given(
    segments=st.lists(_rows, min_size=1, max_size=3),
    came=_came,
    after=_times,
    to=_times,
    by_row=st.booleans(),
    has_due=st.booleans(),
)
def test_all_that_is_needed_is_picked(
    tmp_path_factory: pytest.TempPathFactory,
    keys: tuple[tuple[str, ...], ...],
    segments: list[list[tuple[Any, ...]]],
    came: list[tuple[Any, Any]],
    after: int | None,
    to: int | None,
    by_row: bool,
    has_due: bool,
) -> None:
    root = tmp_path_factory.mktemp("log")
    rows: list[tuple[Any, ...]] = []
    for number, segment in enumerate(segments):
        numbered = [(*row, len(rows) + place) for place, row in enumerate(segment)]
        put(root / str(number), numbered)
        rows += numbered
    names = tuple("n" if columns == ("number",) else "text" for columns in keys)
    due = ("due", "due_last") if has_due and to is not None else None
    needed = Needed(keys, (("Came", names),), due, after, to, by_row)
    source = LogSource("log", tuple(str(root / str(number)) for number in range(len(segments))), needed)
    found = HeldLogs(HeldRows()).needed(source, {CAME: held_came(came)}, whole=0)
    assert found is not None
    picked = sorted(found.rows.column("row").to_pylist())
    of_came = {tuple(row[1] if name == "n" else row[0] for name in names) for row in came}
    if found.rows.num_rows < len(rows) or keys == ONE:
        assert set(picked) >= set(wanted(rows, needed, of_came))
    if keys == ONE:
        assert picked == wanted(rows, needed, of_came)
    assert {one["row"]: tuple(one.values()) for one in found.rows.to_pylist()} == {
        row[5]: row for row in rows if row[5] in picked
    }


def test_a_small_log_is_taken_whole(tmp_path: Path) -> None:
    put(tmp_path / "0", [("a", None, 1, None, None, 0), ("b", None, 1, None, None, 1)])
    source = LogSource("log", (str(tmp_path / "0"),), Needed(ONE, (("came", ("text",)),)))
    found = HeldLogs(HeldRows()).needed(source, {CAME: held_came([("a", 1)])})
    assert found is not None
    assert found.rows.num_rows == 2


@pytest.mark.parametrize("reason", ["another type", "no rows at hand", "nothing is said", "a column that is not there"])
def test_what_is_not_sure_is_left_to_the_engine(reason: str, tmp_path: Path) -> None:
    put(tmp_path / "0", [("a", None, 1, None, None, 0)])
    names = {"another type": ("n",), "a column that is not there": ("other",)}.get(reason, ("text",))
    needed = None if reason == "nothing is said" else Needed(ONE, (("came", names),))
    source = LogSource("log", (str(tmp_path / "0"),), needed)
    came = {} if reason == "no rows at hand" else {CAME: held_came([("a", 1)])}
    found = HeldLogs(HeldRows()).needed(source, came, whole=0)
    if reason == "another type":
        assert found is not None, "one that is as good as any: all rows"
        assert found.rows.num_rows == 1
    else:
        assert found is None
