"""What is told, read and removed of what lies below a location, wherever that is."""

import time

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.objects import can_be_listed, read_objects, remove_objects, stored_objects
from tests.delta.lakes import Lake


class ObjectsContract:
    """Inherit, and give the fixture `lake`."""

    @pytest.fixture(params=["t", "with a space and ü", "deeper/t"])
    def place(self, lake: Lake, request: pytest.FixtureRequest) -> str:
        return lake.location(request.param)

    def test_everything_below_is_told_with_its_size_and_its_time(self, lake: Lake, place: str) -> None:
        texts = {"a.parquet": "one", "_delta_log/00.json": "{}", "v-1/_delta_log/0 0.json": "é", "v-1/b=1/x": "1234"}
        for path, text in texts.items():
            lake.put(place, path, text)
        for path in ("beside", "t2/a", "t"):
            lake.put(f"{place}-beside", path, "of another")
        lake.age(place, "v-1/b=1/x", time.time() - 86400)
        found = {one.path: one for one in stored_objects(place)}
        assert {path: one.bytes for path, one in found.items()} == {p: len(t.encode()) for p, t in texts.items()}
        assert found["v-1/b=1/x"].written == pytest.approx(time.time() - 86400, abs=60)
        assert found["a.parquet"].written == pytest.approx(time.time(), abs=60)
        assert can_be_listed(place)

    def test_what_is_below_a_folder_of_it_is_told_by_its_path(self, lake: Lake, place: str) -> None:
        for path in ("_delta_log/a", "_delta_log/deeper/b", "_delta_log2/c", "_delta"):
            lake.put(place, path, "some")
        assert sorted(one.path for one in stored_objects(place, "_delta_log")) == ["_delta_log/a", "_delta_log/deeper/b"]

    def test_nothing_there_is_nothing(self, lake: Lake, place: str) -> None:
        assert list(stored_objects(place)) == []
        assert list(stored_objects(place, "_delta_log")) == []
        lake.put(place, "a", "some")
        assert list(stored_objects(place, "_delta_log")) == []

    def test_very_many_are_all_told_and_read_in_order(self, lake: Lake) -> None:
        place = lake.location("many")
        paths = [f"{number:05}" for number in range(230)]
        for path in paths:
            lake.put(place, path, f"text {path}")
        assert sorted(one.path for one in stored_objects(place)) == paths
        assert [text.decode() for text in read_objects(place, paths[::-1])] == [f"text {path}" for path in paths[::-1]]
        assert list(read_objects(place, [])) == []

    def test_what_is_removed_is_gone_and_nothing_else(self, lake: Lake, place: str) -> None:
        for path in ("a", "b/a", "b/ü", "c"):
            lake.put(place, path, "some")
        for _ in range(2):
            remove_objects(place, ["a", "b/ü", "none/at all"])
        assert lake.paths(place) == {"b/a", "c"}
        remove_objects(place, [])
        assert lake.paths(place) == {"b/a", "c"}

    def test_what_can_not_be_read_is_an_error(self, lake: Lake, place: str) -> None:
        lake.put(place, "a", "some")
        with pytest.raises(RegistryError, match="none") as raised:
            list(read_objects(place, ["a", "none"]))
        assert (raised.value.code, place in raised.value.message) == ("G602", True)
