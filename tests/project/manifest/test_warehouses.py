"""A place on S3 has one spelling in reconcile.yaml."""

import pytest

from reconciler.project.manifest.project import read_project
from reconciler.project.manifest.warehouses import canonical_warehouse, is_meant_for_s3, spelled_otherwise

WH = "s3://lake/wh"


@pytest.mark.parametrize(
    "taken", [WH, f"{WH}/", f"{WH}//", "s3a://lake/wh", "s3a://lake/wh/", "s3://lake", "s3://lake/a b/ü=1"]
)
def test_what_is_taken(taken: str) -> None:
    assert not spelled_otherwise(taken)
    meant = canonical_warehouse(taken)
    assert meant is not None
    assert canonical_warehouse(meant) == meant


@pytest.mark.parametrize(
    "other",
    [
        "s3://lake/./wh", "s3://lake/wh/.", "s3://lake/x/../wh", "s3://lake/../wh", "s3://lake//wh", "s3:///lake/wh", "s3://lake/w%68",
        "s3://lake/w%2568", "s3://lake%2Fwh", "s3://lake/%2e/wh", "s3://lake/x/%2E%2e/wh", "s3://lake/wh?x=1", "s3://lake/wh#x",
        "s3://user@lake/wh", "s3://user:word@lake/wh", "s3://lake:443/wh", "s3://Lake/wh", "S3://lake/wh", "S3A://lake/wh",
        "s3n://lake/wh", "s3://lake\\wh", " s3://lake/wh", "s3://lake/wh ", "s3://lake/w\th", "s3://lake/w\nh", "s3://lake/wh/%20",
    ],
)  # fmt: skip
def test_other_spellings_are_refused_with_the_one(other: str) -> None:
    assert is_meant_for_s3(other)
    assert spelled_otherwise(other)
    assert canonical_warehouse(other) in (WH, "s3://lake/wh/", None)


@pytest.mark.parametrize("other", ["s3://lake/./wh", "s3n://lake/wh", "s3://Lake/w%68", "s3://"])
def test_the_error_shows_the_text_that_is_meant(other: str) -> None:
    read = read_project(f"environments:\n  prod: {{warehouse: '{other}'}}\n")
    assert read.project is None
    [problem] = read.diagnostics
    assert problem.code == "M133"
    assert problem.location is not None
    assert (problem.location.file, problem.location.line) == ("reconcile.yaml", 2)
    assert problem.hint == (f"write {WH}" if other != "s3://" else "write s3://bucket/path")


@pytest.mark.parametrize("folder", ["warehouse", "../s3/wh", "/srv/./wh", "file:///srv/wh", "gs://lake/./wh"])
def test_what_is_not_on_s3_is_not_spelled_here(folder: str) -> None:
    assert read_project(f"environments:\n  prod: {{warehouse: '{folder}'}}\n").diagnostics == ()


def test_escapes_within_escapes_name_no_place_and_take_no_time() -> None:
    assert canonical_warehouse("s3://lake/w%25252568") == WH
    read = read_project(f"environments:\n  prod: {{warehouse: 's3://lake/%{'25' * 400_000}'}}\n")
    assert [(one.code, one.hint) for one in read.diagnostics] == [("M133", "write s3://bucket/path")]
