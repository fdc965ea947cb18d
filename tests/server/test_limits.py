"""A command of a server has its caller's limits, as far as the server may give them."""

import resource

import pytest

from reconciler.server.guarding import limit_within

NONE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("wanted", "hardest", "taken"),
    [
        ((10, 20), 30, (10, 20)),
        ((10, 20), NONE, (10, 20)),
        ((10, NONE), 30, (10, 30)),
        ((10, NONE), NONE, (10, NONE)),
        ((NONE, NONE), 30, (30, 30)),
        ((NONE, NONE), NONE, (NONE, NONE)),
        ((40, 50), 30, (30, 30)),
    ],
    ids=[
        "within",
        "narrower than none",
        "a narrower soft one below a wider hard one",
        "a soft one alone",
        "none at all",
        "none on both sides",
        "wider",
    ],
)
def test_a_narrower_limit_is_taken_whatever_comes_with_it(
    wanted: tuple[int, int], hardest: int, taken: tuple[int, int]
) -> None:
    assert limit_within(wanted, hardest) == taken
