"""`reconcile history`: what was applied, also of what is gone; and the program as it was, of those that were in force."""

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop

pytestmark = pytest.mark.both_ways

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"


class Repository(CommandLine):
    """Its command line."""

    def write(self, pipeline: str, program: str) -> None:
        write_shop(self.root, program)
        if pipeline != "shop":
            folder = self.root / "pipelines" / pipeline
            shutil.rmtree(folder, ignore_errors=True)
            (self.root / "pipelines" / "shop").rename(folder)
            (folder / "pipeline.yaml").write_text((folder / "pipeline.yaml").read_text().replace("shop", pipeline))


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Repository:
    return Repository(tmp_path, capsys)


def now() -> str:
    return datetime.now(UTC).isoformat()


def test_the_program_as_it_was(repository: Repository) -> None:
    before = now()
    repository.write("old", PROGRAM)
    repository("apply", "old")
    first = now()
    repository.write("old", PROGRAM.replace("SELECT id", "SELECT id + 1 AS id"))
    repository("apply", "old")
    assert "-- view v v0\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t" in repository("history", "old", "--at", first)
    assert "-- view v v1\nCREATE MATERIALIZED VIEW v AS SELECT id + 1" in repository("history", "old", "--at", now())
    assert "A523" in repository("history", "old", "--at", before, code=1)
    assert "U819" in repository("history", "old", "--at", "yesterday", code=1)
    assert len(repository("history", "old", "old").splitlines()) == 2 + 2, "each apply once"
    assert len(json.loads(repository("history", "--limit", "1", "--format", "json"))["applies"]) == 1


def test_what_may_be_secret_is_not_shown_of_a_past_program(repository: Repository) -> None:
    config = '{"topic": "x", "bootstrap.servers": "h:9092", "client.id": "hunter2", "sasl.password": "hunter2"}'
    connector = (
        f'{{"name": "live", "transport": {{"name": "kafka_input", "config": {config}}}, "format": {{"name": "json"}}}}'
    )
    repository.write("old", PROGRAM.replace("(id BIGINT)", f"(id BIGINT) WITH ('connectors' = '[{connector}]')"))
    repository("apply", "old")
    for form in ("text", "json"):
        said = repository("history", "old", "--at", now(), "--format", form)
        assert "h:9092" in said
        assert "'connectors' = '…'" in said
        assert "hunter2" not in said
        assert "hunter2" not in repository("versions", "show", "old.t", "--format", form)
    repository.write("old", PROGRAM.replace("(id BIGINT)", f"(id BIGINT, n INT) WITH ('connectors' = '[{connector}]')"))
    for words in (
        ("plan", "old"),
        ("apply", "old"),
        ("versions", "diff", "old.t@v0", "v1"),
        ("explain", "old", "t"),
        ("status", "old"),
    ):
        assert "hunter2" not in repository(*words)


def test_of_several_pipelines_those_that_were_in_force_are_shown(repository: Repository) -> None:
    repository.write("old", PROGRAM)
    repository("apply", "old")
    between = now()
    repository.write("young", PROGRAM)
    repository("apply", "young")
    found = json.loads(repository("history", "--at", between, "--format", "json"))
    assert [one["pipeline"] for one in found["pipelines"]] == ["old"]
    assert "A523" in repository("history", "old", "young", "--at", between, code=1)


def test_a_pipeline_that_was_removed_still_has_a_history(repository: Repository) -> None:
    repository.write("old", PROGRAM)
    repository("apply", "old")
    there = now()
    shutil.rmtree(repository.root / "pipelines" / "old")
    repository("apply", "old")
    assert len(repository("history").splitlines()) == 2 + 2
    assert repository("history", "old") == repository("history")
    assert "-- table t v0" in repository("history", "old", "--at", there)
    assert "was removed" in repository("history", "old", "--at", now(), code=1)
    assert "U812" in repository("history", "other", code=1)


def test_a_version_says_who_wrote_it_and_who_applied_it(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for role, name in (("AUTHOR", "Ann"), ("COMMITTER", "Bea")):
        monkeypatch.setenv(f"GIT_{role}_NAME", name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.com")
    repository.write("shop", PROGRAM)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "the first"]):
        subprocess.run(["git", "-C", str(repository.root), *words], check=True)
    monkeypatch.delenv("GIT_AUTHOR_NAME")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Cleo")
    repository("apply", "shop")
    (found,) = json.loads(repository("versions", "list", "v", "--format", "json"))["versions"]
    assert (found["author"], found["by"], len(found["commit"])) == ("Ann", "Cleo", 40)
    shown = repository("versions", "show", "v")
    assert "author:      Ann" in shown
    assert "applied by:  Cleo" in shown


def test_a_difference_that_is_only_one_of_settings_is_shown(repository: Repository) -> None:
    repository.write("shop", PROGRAM)
    repository("apply", "shop")
    write_shop(repository.root, PROGRAM, more="  runtime: {spark: {spark.sql.ansi.enabled: 'false'}}\n")
    repository("apply", "shop")
    assert "  + spark.sql.ansi.enabled false" in repository("versions", "diff", "v@v0", "v1")
    found = json.loads(repository("versions", "diff", "v@v0", "v1", "--format", "json"))
    assert found["settings"] == {"spark.sql.ansi.enabled": {"before": None, "after": "false"}}
    assert found["same_meaning"] is False
