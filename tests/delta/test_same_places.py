"""Whether two addresses are one place, however they are written."""

import os
from pathlib import Path

import pytest

from reconciler.delta.same_places import as_written, on_this_disk


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/out/a", "/out/a/"),
        ("/out/a", "/out//a"),
        ("/out/a", "/out/./b/../a"),
        ("/out/a", "file:/out/a"),
        ("/out/a", "file:///out/a"),
        ("/out/a", "FILE:///out/a/"),
        ("/out/a", "file:///out/%61"),
        ("/out/a", "/out/A"),
        ("out/a", "./out/b/../a/"),
        ("a_b://c", "./a_b:/c/"),
        ("s3://lake/a", "s3a://lake/a/"),
        ("s3://lake/a", "S3://Lake//x/../a"),
        ("hdfs://host:1/a", "HDFS://HOST:1/b/../a/"),
        ("s3://${secret:B}/a", "s3a://${secret:B}/a/"),
    ],
)
def test_spellings_of_one_place(one: str, other: str) -> None:
    assert as_written(one) & as_written(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/out/a", "/out/a/b"),
        ("/out/a", "/out/ab"),
        ("out/a", "/out/a"),
        ("s3://lake/a", "s3://lake/A"),
        ("s3://lake/a", "gs://lake/a"),
        ("hdfs://host:1/a", "hdfs://host:2/a"),
        ("s3://${secret:B}/a", "s3://${secret:b}/a"),
        ("abfss://one@acc/a", "abfss://two@acc/a"),
    ],
)
def test_two_places(one: str, other: str) -> None:
    assert not as_written(one) & as_written(other)


def test_links_are_followed_where_the_disk_is_at_hand(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for name in ("a", ""):
        assert on_this_disk(f"{tmp_path}/link/{name}") & on_this_disk(f"file://{tmp_path}/real/{name}")
        assert not as_written(f"{tmp_path}/link/{name}") & as_written(f"{tmp_path}/real/{name}")
    assert not on_this_disk(f"{tmp_path}/link/a") & on_this_disk(f"{tmp_path}/link/b")


@pytest.mark.parametrize(("one", "other"), [("Data", "data"), ("100%41", "100A")])
def test_folders_that_the_disk_tells_apart_are_two_places(tmp_path: Path, one: str, other: str) -> None:
    places = tmp_path / one, tmp_path / other
    assert on_this_disk(f"{places[0]}") & on_this_disk(f"file:{places[1]}"), "not made yet: nobody has told them apart"
    places[0].mkdir()
    places[1].mkdir(exist_ok=True)
    is_one = os.path.samefile(*places)
    for more in ("", "/", "/deep/new"):
        assert bool(on_this_disk(f"{places[0]}{more}") & on_this_disk(f"file:{places[1]}{more}")) == is_one, more
    assert on_this_disk(f"{places[0]}/New/x") & on_this_disk(f"{places[0]}/new/X")


def test_a_folder_and_what_is_not_made_yet(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "link").symlink_to("new")
    assert not on_this_disk(f"{tmp_path}/made") & on_this_disk(f"{tmp_path}/new")
    assert not on_this_disk(f"{tmp_path}/made") & on_this_disk(f"{tmp_path}/made/deep")
    assert on_this_disk(f"{tmp_path}/link") & on_this_disk(f"{tmp_path}/made/../NEW")


@pytest.mark.parametrize("is_made", [False, True])
def test_dots_behind_a_link_are_read_as_the_system_does_and_as_java_does(tmp_path: Path, is_made: bool) -> None:
    real, elsewhere = tmp_path / "real", tmp_path / "else"
    for folder in (real, elsewhere / "deep"):
        folder.mkdir(parents=True)
    (tmp_path / "one").symlink_to(real)
    (real / "two").symlink_to(elsewhere / "deep")
    if is_made:
        (real / "out").mkdir()
        (elsewhere / "out").mkdir()
    written = on_this_disk(f"{tmp_path}/one/two/../out")
    assert written & on_this_disk(f"{elsewhere}/out"), "as the system reads it"
    assert written & on_this_disk(f"{real}/out"), "as Java does"
    assert not written & on_this_disk(f"{elsewhere}/deep/out")
