"""What of a topic is to be read next, and what must never be passed over in silence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.errors import EngineError
from reconciler.engine.spark.ingest.kafka_offsets import continued, named_offsets, reached, require_same_topic

ENDS = {0: 10, 1: 5, 2: 0}
NOTHING_EXPIRED = {0: 0, 1: 0, 2: 0}


def refusal(call: object, *arguments: object) -> EngineError:
    assert callable(call)
    with pytest.raises(EngineError) as raised:
        call("t", *arguments)
    return raised.value


def sought(error: EngineError) -> Any:
    """The offsets that the hint's command names."""
    hint = str(error.hint)
    return json.loads(hint[hint.index("'") + 1 : hint.rindex("'")])


class TestNamedOffsets:
    def test_a_list_is_in_the_order_of_the_partitions_that_are_read(self) -> None:
        assert named_offsets("t", [3, 4], {1: 0, 5: 0}, {1: 9, 5: 9}) == {1: 3, 5: 4}

    def test_the_next_record_to_come_is_a_place_to_begin(self) -> None:
        assert named_offsets("t", {"0": 10, "1": 5, "2": 0}, NOTHING_EXPIRED, ENDS) == ENDS

    def test_too_few_name_the_partitions_without(self) -> None:
        error = refusal(named_offsets, [3], NOTHING_EXPIRED, ENDS)

        assert error.code == "X743"
        assert "no offset is given for partitions 1, 2 of topic t" in error.message

    @pytest.mark.parametrize("given", [[1, 1, 0, 7], {"0": 1, "1": 1, "2": 0, "3": 7}])
    def test_too_many_name_the_partition_that_is_not_there(self, given: object) -> None:
        error = refusal(named_offsets, given, NOTHING_EXPIRED, ENDS)

        assert error.code == "X743"
        assert "an offset is given for partition 3 of topic t" in error.message

    @pytest.mark.parametrize("offset", [2, 11])
    def test_an_offset_that_is_not_there_is_refused(self, offset: int) -> None:
        error = refusal(named_offsets, [offset], {0: 3}, {0: 10})

        assert error.code == "X745"
        assert f"offset {offset} of partition 0" in error.message
        assert "it holds 3 up to 10" in error.message


class TestContinued:
    def test_a_partition_that_came_later_is_read_from_its_beginning(self) -> None:
        assert continued("t", {0: 4}, {0: 2, 1: 0}, {0: 9, 1: 9}) == {0: 4, 1: 0}

    def test_what_expired_is_counted_and_the_way_on_is_named(self) -> None:
        error = refusal(continued, {0: 4, 1: 7}, {0: 6, 1: 7}, {0: 9, 1: 9})

        assert error.code == "X742"
        assert "2 of partition 0 (4 up to 6)" in error.message
        assert "partition 1" not in error.message
        assert """reconcile connector seek PIPELINE CONNECTOR --to '{"0": 6, "1": 7}'""" in str(error.hint)

    def test_of_a_part_no_way_on_is_named_that_lacks_the_others(self) -> None:
        with pytest.raises(EngineError) as raised:
            continued("t", {0: 4}, {0: 6}, {0: 9}, is_whole=False)

        assert raised.value.code == "X742"
        assert raised.value.hint == "these records are lost; the next error of this connector says how to skip them"

    def test_a_new_partition_that_lost_its_first_records_is_no_exception(self) -> None:
        assert refusal(continued, {0: 4}, {0: 0, 1: 3}, {0: 9, 1: 9}).code == "X742"

    def test_a_shorter_topic_is_another_one(self) -> None:
        error = refusal(continued, {0: 10}, {0: 0}, {0: 3})

        assert error.code == "X744"
        assert "its partition 0 ends at 3, and everything before 10 was read" in error.message

    def test_a_topic_with_fewer_partitions_is_another_one(self) -> None:
        error = refusal(continued, {0: 1, 1: 1}, {0: 0}, {0: 3})

        assert error.code == "X743"
        assert "no longer has partition 1" in error.message


class TestReached:
    def test_without_a_limit_all_there_is(self) -> None:
        assert reached({0: 1, 1: 5}, {0: 9, 1: 5}, None) == {0: 9, 1: 5}

    def test_a_limit_is_shared_in_proportion(self) -> None:
        assert reached({0: 0, 1: 0, 2: 4}, {0: 80, 1: 20, 2: 4}, 10) == {0: 8, 1: 2, 2: 4}

    @given(
        st.dictionaries(st.integers(0, 50), st.tuples(st.integers(0, 1000), st.integers(0, 10**12)), min_size=1),
        st.integers(1, 10**9),
    )
    def test_a_step_takes_as_much_as_it_may_and_no_more(self, waiting: dict[int, tuple[int, int]], most: int) -> None:
        start = {partition: first for partition, (first, _) in waiting.items()}
        end = {partition: first + count for partition, (first, count) in waiting.items()}

        until = reached(start, end, most)

        assert all(start[one] <= until[one] <= end[one] for one in start)
        assert sum(until[one] - start[one] for one in start) == min(most, sum(end[one] - start[one] for one in start))


def test_a_topic_that_was_made_anew_is_told_by_its_id() -> None:
    error = refusal(require_same_topic, "before", "now", {0: 3}, {0: 7})

    assert error.code == "X744"
    assert "it was recreated, its id was before and is now" in error.message


@pytest.mark.parametrize(("end", "offsets"), [({0: 7, 1: 2}, {0: 3, 1: 1}), ({0: 7, 1: 2, 2: 4}, {0: 3, 1: 1, 2: 0})])
def test_where_a_copy_is_read_on_is_a_place_that_it_has(end: dict[int, int], offsets: dict[int, int]) -> None:
    error = refusal(require_same_topic, "before", "now", {0: 3, 1: 1}, end)

    assert named_offsets("t", sought(error), dict.fromkeys(end, 0), end) == offsets


@pytest.mark.parametrize(("position", "end"), [(None, None), ({0: 3, 1: 1}, {0: 7})])
def test_where_not_all_is_known_or_there_it_is_no_copy(position: dict[int, int] | None, end: dict[int, int] | None) -> None:
    error = refusal(require_same_topic, "before", "now", position, end)

    assert str(error.hint).endswith("from its beginning: reconcile connector seek PIPELINE CONNECTOR --to earliest")


@pytest.mark.parametrize(("known", "found"), [("same", "same"), (None, "now"), ("before", None), (None, None)])
def test_no_id_tells_nothing(known: str | None, found: str | None) -> None:
    require_same_topic("t", known, found, {0: 3}, {0: 7})
