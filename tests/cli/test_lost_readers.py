"""Who read a command's output goes away: what it does goes on, what it only shows ends, and neither looks like a mistake."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_DONE, EXIT_ERROR
from reconciler.cli.main import run
from tests.shops.emissions import Shop, lake
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


def test_what_only_shows_something_ends_in_silence(shop: Shop) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = ["plan", "shop", "--repo", str(shop.root)]
    program = f"from reconciler.cli.main import main; main({words!r})"
    done = subprocess.run([sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (EXIT_ERROR, b"")
