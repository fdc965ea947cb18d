"""Rows as a hash: the same rows have the same, whatever their order."""

import io

from reconciler.engine.protocol import Rows
from reconciler.engine.stored import ColumnType
from reconciler.rest.answers import write_answer

Row = tuple[int, str | None]


def hash_of(*rows: Row, type_: str = "int") -> str:
    into = io.BytesIO()
    write_answer(Rows((ColumnType("id", type_), ColumnType("name", "string")), [*rows]), "hash", into)
    return into.getvalue().decode()


def test_a_hash_knows_rows_and_no_order() -> None:
    one, other = (1, "a"), (2, None)
    found = hash_of(one, other)
    assert found == found.upper()
    assert len(found) == 64
    assert found == hash_of(other, one)
    different = [hash_of(), hash_of(one), hash_of(one, one), hash_of(one, (2, "")), hash_of(one, other, type_="bigint")]
    assert len({found, *different}) == 6
