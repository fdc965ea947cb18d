"""No two outputs write into one place; that another pipeline writes there is told."""

import shutil
from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_ERROR, ManifestInvalid
from reconciler.cli.main import run
from reconciler.service.project import Project
from tests.acceptance.shop import write_shop
from tests.shops.emissions import PROGRAM, Shop, connector, lake, topic


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path / "project")
    made.root.mkdir()
    made.rows(1)
    return made


def second(place: str, transport: str = "file_output", more: str = "") -> str:
    return connector("second", transport, place, more)


def messages(shop: Shop, *connectors: str) -> list[tuple[str, str]]:
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + "".join(connectors))
    found = shop.pipeline.validate().diagnostics
    assert {one.code for one in found} <= {"C419"}
    return [(f"{one.location}", one.message) for one in found]


@pytest.mark.parametrize(
    "place",
    ["lake", "lake/", "./lake", "out/../lake", "'file:ROOT/lake'", "'file://ROOT/lake'", "'FILE:ROOT/lake/'", "link/lake"],
)
def test_two_outputs_into_one_place_are_refused_however_it_is_written(shop: Shop, place: str) -> None:
    (shop.root / "link").symlink_to(".")
    place = place.replace("ROOT", str(shop.root))

    found = messages(shop, lake(), second(place, more=", on_bootstrap: truncate"))

    assert found == [
        (
            "pipelines/shop/pipeline.yaml:9:7",
            "file_output of v writes where delta_table_output of v (pipelines/shop/pipeline.yaml:8:7) does: one would "
            "delete or overwrite rows of the other",
        )
    ]
    with pytest.raises(ManifestInvalid):
        shop.pipeline.plan()


def test_places_of_their_own_topics_and_other_servers_are_fine(shop: Shop) -> None:
    assert messages(shop, lake(), second("lake2"), topic(), topic().replace("name: topic", "name: again")) == []
    here, there = ("s3://b/k, aws_endpoint: 'http://one'", "s3://b/k, aws_endpoint: 'http://two'")
    assert messages(shop, lake(here), second(there, "delta_table_output")) == []
    assert len(messages(shop, lake(here), second(here.replace("s3:", "s3a:"), "delta_table_output"))) == 1


def copied(shop: Shop, *connectors: str) -> None:
    """A second pipeline, `other`, with these outputs."""
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + "".join(connectors))
    shutil.copytree(shop.root / "pipelines" / "shop", shop.root / "pipelines" / "other")
    file = shop.root / "pipelines" / "other" / "pipeline.yaml"
    file.write_text(file.read_text().replace("name: shop", "name: other"))


def test_validate_refuses_it_over_the_pipelines_of_a_project(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    copied(shop, lake("lake/"))
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("x/../lake"))

    assert run(["validate", "--repo", str(shop.root)]) == EXIT_ERROR

    said = capsys.readouterr().out
    assert (
        "pipelines/shop/pipeline.yaml:8:7: error C419: file_output of v writes where delta_table_output of other.v" in said
    )
    assert "(pipelines/other/pipeline.yaml:8:7)" in said
    assert "1 error(s)" in said


def hazards(shop: Shop) -> list[str]:
    return [one.message for one in shop.pipeline.plan().hazards if one.code == "H939"]


def test_a_plan_tells_of_the_outputs_of_other_pipelines(shop: Shop) -> None:
    copied(shop, lake("lake/"))
    Project.open(shop.root, engine=shop.engine).pipeline("other").apply()
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("./lake"))

    assert hazards(shop) == [
        "v.second writes where other.v.lake does: if one of them empties or overwrites that place, the other loses its rows"
    ]
    before = shop.pipeline.plan().digest
    shop.apply(second("./lake"))
    assert hazards(shop) == [], "told when it is new"
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("./lake", more=", on_bootstrap: truncate"))
    assert len(hazards(shop)) == 1, "and when it comes to empty the place"
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("lake2"))
    assert hazards(shop) == []
    assert shop.pipeline.plan().digest != before


def test_an_approval_from_before_the_other_pipeline_wrote_there_does_not_serve(shop: Shop) -> None:
    copied(shop, lake("lake"))
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("lake"))
    before = shop.pipeline.plan().digest
    Project.open(shop.root, engine=shop.engine).pipeline("other").apply()
    assert shop.pipeline.plan().digest != before


def test_a_relative_place_of_another_repository_is_another_place(shop: Shop) -> None:
    copied(shop, lake("lake"))
    Project.open(shop.root, engine=shop.engine).pipeline("other").apply()
    shutil.rmtree(shop.root / "pipelines" / "other")
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + second("lake"))
    assert hazards(shop) == []
