"""Who read a command's output goes away: what it does goes on, what it only shows ends, and neither looks like a mistake."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_DONE, EXIT_ERROR
from reconciler.cli.main import run
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.shops.emissions import OTHER_QUERY, Shop, lake
from tests.shops.runs import state, status


@contextmanager
def unread() -> Iterator[None]:
    """Both streams lead into a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(os.dup(writer), "w") as out, os.fdopen(writer, "w") as err, redirect_stdout(out), redirect_stderr(err):
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.rows(1)
    shop.apply(lake())
    return shop


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_run_goes_on(shop: Shop, form: str) -> None:
    shop.engine.sinks.failing.add("v.lake")
    shop.step(1, 2)
    with unread():
        run(["run", "shop", "--once", "--format", form, "--repo", str(shop.root)], shop.engine)
    assert "X750" in status(shop.root).detail, "what its sink refused, and nothing else, is what is told of it"
    shop.engine.sinks.failing.clear()
    with unread():
        code = run(["run", "shop", "--once", "--format", form, "--repo", str(shop.root)], shop.engine)
    assert (code, shop.lake()) == (EXIT_DONE, [1, 2])


def test_an_apply_goes_on(shop: Shop) -> None:
    yaml = shop.root / "pipelines/shop/pipeline.yaml"
    yaml.write_text(yaml.read_text().replace("uri: lake", "uri: elsewhere"))
    with unread():
        assert run(["apply", "--repo", str(shop.root)], shop.engine) == EXIT_DONE
    assert state(shop.root) == "Stopped"
    assert shop.pipeline.plan().changes_nothing


MORE = "  versions: {reads: true}\n  retention: {versions: 0, steps: 0s}\n"


def unread_run(shop: Shop, *words: str) -> int:
    with unread():
        return run([*words, "--repo", str(shop.root)], shop.engine)


def test_what_was_executed_is_done(shop: Shop) -> None:
    shop.rows(1, 2)
    before = shop.head().published
    assert unread_run(shop, "execute", "shop", "INSERT INTO t VALUES (7)") == EXIT_DONE
    after = shop.head().published
    assert before is not None
    assert after is not None
    assert after.step == before.step + 1


def test_every_pipeline_is_pruned(shop: Shop) -> None:
    shop.apply(more=MORE)
    shutil.copytree(shop.root / "pipelines/shop", shop.root / "pipelines/other")
    yaml = shop.root / "pipelines/other/pipeline.yaml"
    yaml.write_text(yaml.read_text().replace("name: shop", "name: other"))
    pipelines = [Project.open(shop.root, engine=shop.engine).pipeline(name) for name in ("shop", "other")]
    pipelines[1].apply()
    for pipeline in pipelines:
        pipeline.execute("INSERT INTO t VALUES (1)")
        pipeline.execute("INSERT INTO t VALUES (2)")
        assert not pipeline.prune(dry_run=True).is_empty
    assert unread_run(shop, "prune") == EXIT_DONE
    assert all(pipeline.prune(dry_run=True).is_empty for pipeline in pipelines)


def test_a_rollback_whose_plan_nobody_reads_is_carried_out(shop: Shop) -> None:
    shop.apply(lake(), program=OTHER_QUERY)
    assert unread_run(shop, "rollback", "v@v0") == EXIT_DONE
    assert shop.head().versions["view:v"].active == 0


def test_what_is_staged_is_promoted(shop: Shop) -> None:
    write_shop(shop.root, OTHER_QUERY, more="  connectors:\n" + lake())
    assert unread_run(shop, "apply", "--no-promote") == EXIT_DONE
    assert unread_run(shop, "promote", "--pipeline", "shop") == EXIT_DONE
    assert shop.head().versions["view:v"].active == 1


def test_what_was_done_is_no_failure(shop: Shop) -> None:
    words = [("checkpoint", "create", "shop", "--name", "then"), ("checkpoint", "restore", "shop", "then")]
    words += [("pause", "shop"), ("resume", "shop"), ("connector", "pause", "shop", "v.lake"), ("stop", "shop")]
    words += [("connector", "seek", "shop", "v.lake", "--to", "latest"), ("versions", "alias", "v@good", "v0")]
    words += [("versions", "unalias", "v@good"), ("plan", "shop", "--write-lock")]
    assert {one[:2]: unread_run(shop, *one) for one in words} == {one[:2]: EXIT_DONE for one in words}


SHOWN = (
    *(("plan", "shop"), ("plan", "shop", "--format", "json"), ("explain", "shop"), ("status",), ("status", "--watch")),
    *(("events", "shop"), ("history",), ("history", "--at", "2100-01-01"), ("validate",), ("versions", "list", "v")),
    *(("versions", "show", "v"), ("checkpoint", "list", "shop"), ("prune", "--dry-run"), ("rollback", "v@v0", "--plan")),
)


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_what_only_shows_something_ends(shop: Shop, words: tuple[str, ...]) -> None:
    if words[0] == "rollback":
        shop.apply(lake(), program=OTHER_QUERY)
    assert unread_run(shop, *words) == EXIT_ERROR


@pytest.mark.parametrize("words", [["run"], ["nothing"], ["connector", "seek", "shop", "v.lake"]])
def test_what_is_wrong_with_words_is_an_error_whoever_reads_it(words: list[str]) -> None:
    with unread():
        assert run(words) == EXIT_ERROR


def test_a_connection_that_breaks_is_no_reader_that_is_gone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(RecordingEngine):
        def __getattribute__(self, name: str) -> object:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.delenv("RECONCILE_TRACEBACK", raising=False)
    assert run(["execute", "shop", "INSERT INTO t VALUES (7)", "--repo", str(shop.root)], Broken()) == EXIT_ERROR
    assert "Broken pipe" in capsys.readouterr().err


def test_what_only_shows_something_ends_in_silence(shop: Shop) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = ["plan", "shop", "--repo", str(shop.root)]
    program = f"from reconciler.cli.main import main; main({words!r})"
    done = subprocess.run([sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (EXIT_ERROR, b"")
