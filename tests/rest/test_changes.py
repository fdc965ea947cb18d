"""Changed rows as a listener gets them: each kind of value, in the client's form."""

import json
from typing import Any, cast

import pyarrow as pa
import pytest

from reconciler.engine.arrow.emit.changes import Changes
from reconciler.rest.changes import lines_of

POINT = pa.struct([("x", pa.int32())])


@pytest.mark.parametrize(
    ("kind", "value", "sent"),
    [
        (pa.map_(pa.string(), pa.int32()), [("a", 1), ("b", None)], {"a": 1, "b": None}),
        (pa.map_(pa.int32(), pa.binary()), [(1, b"\x01\x02")], {"1": [1, 2]}),
        (pa.map_(pa.string(), pa.int32()), [], {}),
        (pa.map_(POINT, pa.int32()), [({"x": 1}, 2)], [[{"x": 1}, 2]]),
        (pa.map_(pa.list_(pa.int32()), POINT), [([1, 2], {"x": 3})], [[[1, 2], {"x": 3}]]),
        (pa.map_(POINT, pa.int32()), [], []),
        (pa.list_(pa.map_(pa.string(), pa.binary())), [[("a", b"\x07")], None], [{"a": [7]}, None]),
        (pa.struct([("b", pa.binary()), ("m", pa.map_(pa.string(), POINT))]), {"b": b"", "m": None}, {"b": [], "m": None}),
        (pa.list_(pa.int32()), [1, None], [1, None]),
    ],
    ids=str,
)
def test_a_value_is_sent_as_the_client_knows_it(kind: pa.DataType, value: Any, sent: Any) -> None:
    table = pa.table({"v": pa.array([value], kind)})
    found = Changes(cast(Any, None), None, table, table, (2,), 1, 2)
    inserted, deleted = {"insert": {"v": sent}}, {"delete": {"v": sent}}
    assert [json.loads(line) for line in lines_of(found)] == [deleted, deleted, inserted]
