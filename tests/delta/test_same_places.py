"""Whether two addresses are one place, however they are written."""

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
