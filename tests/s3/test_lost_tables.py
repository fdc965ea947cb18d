"""Tables on S3 that are gone, or others in their place, beside the registry that knows them."""

from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.removal import remove_folder, table_identity
from reconciler.delta.standing import Recorded, faults_of
from reconciler.delta.tables import create_table
from reconciler.engine.stored import ColumnType, Transaction
from reconciler.registry.delta import DeltaRegistry
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.s3.lake import S3Lake
from tests.s3.server import Bucket

FIRST = Transaction("apply", 1)


def test_many_are_asked_at_once(bucket: Bucket) -> None:
    lake = S3Lake(bucket)
    places = [lake.location(f"t{number}") for number in range(5)]
    for place in places:
        create_table(place, (ColumnType("id", "bigint"),), FIRST)
    known = [Recorded(place, 0, table_identity(place)) for place in places]
    assert list(faults_of(known)) == []
    remove_folder(places[1])
    remove_folder(places[3])
    create_table(places[3], (ColumnType("id", "bigint"),), FIRST)
    assert list(faults_of(known)) == [
        f"there is no table at {places[1]}",
        f"the table at {places[3]} is another one: the one that was published is gone",
    ]


def opened(root: Path) -> Pipeline:
    return Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")


def test_an_apply_and_a_run_tell_and_a_plan_asks_the_store_nothing(bucket: Bucket, tmp_path: Path) -> None:
    folder = tmp_path / "pipelines/shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n")
    (folder / "program.sql").write_text("CREATE TABLE a (id BIGINT);\n")
    warehouse = S3Lake(bucket).location("warehouse")
    (tmp_path / "reconcile.yaml").write_text(f"default: dev\nenvironments:\n  dev: {{warehouse: '{warehouse}'}}\n")
    opened(tmp_path).apply()
    assert opened(tmp_path).apply().did_nothing
    remove_folder(f"{warehouse}/shop/a")
    assert opened(tmp_path).plan().changes_nothing
    for what in (Pipeline.apply, Pipeline.run_once):
        with pytest.raises(RegistryError, match=r"there is no table at .*/shop/a") as refusal:
            what(opened(tmp_path))
        assert refusal.value.code == "G610"


@pytest.mark.parametrize("how", ["no such bucket", "nobody there"])
def test_the_hint_of_a_store_that_does_not_answer_names_the_store(
    how: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = bucket.name
    if how == "no such bucket":
        name = "no-such-bucket-here"
    else:
        for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with pytest.raises(RegistryError) as refusal:
        DeltaRegistry(f"s3://{name}/warehouse").head("shop")
    assert refusal.value.code == "G602"
    assert f"make sure that s3://{name} exists and can be reached from here" in (refusal.value.hint or "")
    assert "backup" not in (refusal.value.hint or "")


def test_the_hint_of_a_registry_that_is_damaged_there_is_a_backup(bucket: Bucket) -> None:
    bucket.put("warehouse/_registry/shop/head/_delta_log/00000000000000000000.json", "{garbage")
    with pytest.raises(RegistryError, match="can't be read") as refusal:
        DeltaRegistry(f"s3://{bucket.name}/warehouse").head("shop")
    assert "from a backup" in (refusal.value.hint or "")
