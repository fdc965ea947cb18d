"""Views that could not follow are tried less and less often."""

from reconciler.environment.given_up import GivenUp


def test_a_view_that_gives_up_time_and_again_is_tried_less_often() -> None:
    given_up, view, other = GivenUp(), ("lake/v", "SELECT 1"), ("lake/v", "SELECT 2")
    tried = []
    for step in range(200):
        if not given_up.waits(view):
            tried.append(step)
            given_up.note(view, gave_up=True)
    assert tried == [0, 1, 3, 7, 15, 31, 63, 127, 191]
    assert not given_up.waits(other)
    given_up.note(view, gave_up=False)
    assert not given_up.waits(view)
    given_up.note(view, gave_up=True)
    assert not given_up.waits(view), "the next step tries again"
