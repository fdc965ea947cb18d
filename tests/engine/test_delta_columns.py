"""Which columns of a table are the same in two versions: by what Delta knows them by, never by their names alone."""

from typing import Any

import pytest

from reconciler.engine.spark.ingest.delta_columns import Columns, changed_everywhere, columns_of, same


def column(name: str, number: int | None = None, physical: str | None = None, kind: Any = "integer") -> dict[str, Any]:
    metadata: dict[str, Any] = {} if number is None else {"delta.columnMapping.id": number}
    metadata |= {} if physical is None else {"delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped(*fields: dict[str, Any], highest: int | None = 3) -> Columns:
    return columns_of({"fields": list(fields)}, "name", None if highest is None else str(highest))


def plain(*fields: dict[str, Any]) -> Columns:
    return columns_of({"fields": list(fields)}, None, None)


ID = column("id", 1, "id")
PRICE = column("Price", 2, "col-p")
STRUCT = {"type": "struct", "fields": [column("a", 4, "col-a")]}
OTHER_STRUCT = {"type": "struct", "fields": [column("a", 5, "col-b")]}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        pytest.param(mapped(ID, PRICE), mapped(PRICE, ID), False, id="another order"),
        pytest.param(mapped(PRICE), mapped(column("PRICE", 2, "col-p")), False, id="another case"),
        pytest.param(mapped(PRICE), mapped(ID), True, id="dropped"),
        pytest.param(mapped(PRICE), mapped(column("price", 4, "col-q"), highest=4), True, id="dropped and added"),
        pytest.param(mapped(PRICE), mapped(column("price", 2, "col-p", "long")), True, id="retyped"),
        pytest.param(mapped(column("cost", 2, "col-p")), mapped(PRICE), True, id="renamed into"),
        pytest.param(mapped(ID), mapped(ID, column("price", 4, "col-q"), highest=4), False, id="new"),
        pytest.param(mapped(ID), mapped(ID, PRICE), True, id="restored"),
        pytest.param(mapped(ID, highest=None), mapped(ID, column("price", 4, "col-q")), True, id="unknown what was"),
        pytest.param(mapped(ID), mapped(ID, column("price", None, "col-q")), True, id="without id"),
        pytest.param(plain(column("id")), plain(column("id"), column("price")), False, id="new, not mapped"),
        pytest.param(plain(column("price")), mapped(column("price", 2, "price")), False, id="mapped from now on"),
        pytest.param(plain(column("cost")), mapped(column("price", 2, "cost")), True, id="mapped and renamed"),
        pytest.param(plain(column("id")), mapped(ID, column("price", 4, "col-q")), True, id="mapped and added"),
        pytest.param(
            mapped(column("price", 2, "p", STRUCT)), mapped(column("price", 2, "p", OTHER_STRUCT)), True, id="within"
        ),
        pytest.param(mapped(ID), mapped(ID, column("other", 2, "col-p")), False, id="not of the table"),
    ],
)
def test_a_name_of_the_table_means_another_column(before: Columns, after: Columns, changes: bool) -> None:
    assert changed_everywhere(before, after, ["id", "price"] if "id" in before.fields else ["price"], {}) is changes


def test_a_new_column_is_no_default() -> None:
    before, after = mapped(ID), mapped(ID, column("price", 4, "col-q"), highest=4)

    assert changed_everywhere(before, after, ["price"], {"price": "1"})
    assert not same("price", before, after)
    assert same("nothing", before, after)
