"""The cases that are written down: what the reference model gives, in order, and that there is one of each kind."""

from itertools import product

import pytest

from tests.streams import golden
from tests.streams.reference import machine

TRIGGERS = ("window_close", "count", "after_watermark", "early", "late", "early_and_late")
# A late row needs lateness.
WITHOUT_MEANING = [("no_lateness", "late"), ("no_lateness", "early_and_late")]


@pytest.mark.parametrize("name", golden.names())
def test_the_reference_model_gives_them_in_order(name: str) -> None:
    case, before = golden.case(name), None
    model = machine(case.of)
    for step in case.steps:
        given = model.step(step.inputs, before, step.watermark)
        assert given.rows == step.gives
        assert given.late == step.late
        before = step.watermark


def test_each_combination_has_one() -> None:
    wanted = {
        f"{window}_{trigger}_{lateness}_{accumulation}"
        for window, trigger, lateness, accumulation in product(
            ("tumbling", "hopping", "session"), TRIGGERS, ("no_lateness", "lateness"), ("accumulating", "discarding")
        )
        if (lateness, trigger) not in WITHOUT_MEANING
    }
    assert wanted <= set(golden.names())
    assert len(golden.names()) >= 80
