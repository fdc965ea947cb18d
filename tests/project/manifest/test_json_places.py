"""Places inside JSON that stands in a quoted SQL string."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.diagnostics import Location
from reconciler.base.places import Path
from reconciler.project.manifest.json_places import places_of_json

_TEXTS = st.text(st.sampled_from("ab'\"\\{}[]:, \nä"), max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=10,
)


def _paths(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, (*path, index))


def _from(text: str, location: Location) -> str:
    lines = text.split("\n")
    return "\n".join([lines[location.line - 1][location.column - 1 :], *lines[location.line :]])


@given(_JSON, st.sampled_from([None, 1]))
@settings(deadline=None)
def test_every_value_begins_at_its_place(value: Any, indent: int | None) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=False)
    text = "-- one line\nWITH ('connectors' = '" + body.replace("'", "''") + "');\n"
    origin = Location("f.sql", 2, len("WITH ('connectors' = '") + 1)

    places = places_of_json(text, origin)

    decoder = json.JSONDecoder(strict=False)
    for path, expected in _paths(value):
        location = places.of_value(path)
        assert location is not None
        assert decoder.raw_decode(_from(text, location).replace("''", "'"))[0] == expected
        if path and isinstance(path[-1], str):
            key = places.of_key(path)
            assert key is not None
            assert decoder.raw_decode(_from(text, key).replace("''", "'"))[0] == path[-1]


@given(st.text(st.sampled_from("{}[]\"':, ab1\n"), max_size=30), st.integers(-1, 5), st.integers(-1, 40))
def test_what_is_no_json_has_one_place(text: str, line: int, column: int) -> None:
    places_of_json(text, Location("f", line, column)).of_value(("a", 0))
