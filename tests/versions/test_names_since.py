"""What columns are called for good, whatever their names become."""

import random

import pytest

from reconciler.versions.names_since import renamed_columns

CASES = [
    ({}, "a b", "b", {"a": "a/2", "b": "a"}),
    ({"a": "a/2", "b": "a"}, "b a", "a", {}),
    ({}, "a b, b a", "a b", {"a": "b", "b": "a"}),
    ({"a": "b", "b": "a"}, "a b, b a", "a b", {}),
    ({}, "a b, b c, c a", "a b c", {"a": "c", "b": "a", "c": "b"}),
    # What took the name moves on, too.
    ({"a": "a/2", "b": "a"}, "a c", "b c", {"a": "a/3", "b": "a", "c": "a/2"}),
    ({"a": "a/2", "b": "a"}, "b c", "a c", {"a": "a/2", "c": "a"}),
]


@pytest.mark.parametrize(("before", "moves", "declared", "after"), CASES)
def test_a_column_stays_what_it_is_called_for_good(
    before: dict[str, str], moves: str, declared: str, after: dict[str, str]
) -> None:
    renames = {new: old for old, new in (one.split() for one in moves.split(","))}
    assert renamed_columns(before, renames, declared.split()) == after


def test_no_two_columns_of_a_table_are_ever_called_alike() -> None:
    """Whatever is renamed, traded, dropped and made; and each column goes on as what it was."""
    for seed in range(300):
        chance = random.Random(seed)
        columns: dict[str, str] = {}
        names = ["a", "b"]
        for _ in range(12):
            there = {name: columns.get(name, name) for name in names}
            old, new = chance.choice(names), chance.choice("abcd")
            renames = {new: old, old: new} if new in names else {new: old}
            if chance.random() < 0.5 and old != new:
                names = sorted({*names} - {old} | {new} if new not in names else names)
                columns = renamed_columns(columns, renames, names)
                now = {name: columns.get(name, name) for name in names}
                assert all(now[to] == there[source] for to, source in renames.items() if to in now), seed
            elif new not in names:
                names = sorted({*names, new})
            elif len(names) > 1:
                names.remove(new)
            now = {name: columns.get(name, name) for name in names}
            assert len({*now.values()}) == len(now), (seed, columns, names)
