"""Spark's commits on a disk replace none that was made since they looked: the version is taken, and Delta is told so.

Delta's own way looks whether a version's file is there, twice, and then renames over it. Here a commit is stopped after its
last look, by a file system that waits before it renames.
"""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import arro3.core
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.base.errors import EngineError
from reconciler.delta.opening import open_table
from reconciler.delta.restoring import put_back
from reconciler.delta.tables import create_table
from reconciler.delta.transactions import has_transaction
from reconciler.engine.protocol import ColumnType, Engine, Transaction
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.session import start

pytestmark = pytest.mark.spark

COLUMNS = (ColumnType("id", "BIGINT"),)
STEP = Transaction("reconcile/step", 5)
ACTIONS = [{"commitInfo": {"operation": "late"}}, {"txn": {"appId": STEP.application, "version": STEP.version}}]
LATE = "".join(json.dumps(action) + "\n" for action in ACTIONS)


STOPPING = """
package tests;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

public class Stopping extends DelegateToFileSystem {
  public Stopping(URI uri, Configuration configuration) throws Exception {
    super(uri, new Files(), configuration, "file", false);
  }

  public static class Files extends RawLocalFileSystem {
    public boolean rename(Path source, Path target) throws IOException {
      new File(getConf().get("tests.stopped")).createNewFile();
      try {
        for (int tries = 0; tries < 12000 && !new File(getConf().get("tests.go-on")).exists(); tries++) {
          Thread.sleep(10L);
        }
      } catch (InterruptedException error) {
        throw new IOException(error);
      }
      return super.rename(source, target);
    }
  }
}
"""


def commit(session: Any, target: Path, overwrite: bool = False, stopping: Path | None = None) -> None:
    """What the JVM's Delta does to commit, by what the session commits with."""
    jvm, java = session._jvm, session._jsparkSession
    hadoop = java.sessionState().newHadoopConf()
    if stopping is not None:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(STOPPING)
        hadoop.setClassLoader(compiler.getClassLoader())
        hadoop.set("fs.AbstractFileSystem.file.impl", "tests.Stopping")
        hadoop.set("tests.stopped", str(stopping / "stopped"))
        hadoop.set("tests.go-on", str(stopping / "go-on"))
    actions = jvm.java.util.ArrayList()
    for line in LATE.splitlines():
        actions.add(line)
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(java, jvm.org.apache.hadoop.fs.Path(str(target.parents[1])))
    lines = jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions.iterator())
    log.store().write(jvm.org.apache.hadoop.fs.Path(target.as_uri()), lines, overwrite, hadoop)


class LateCommit:
    """A commit that is stopped after its last look."""

    def __init__(self, target: Path, overwrite: bool = False) -> None:
        self.target = target
        self.error: Exception | None = None
        self._folder = target.parents[2]
        self._thread = threading.Thread(target=self._commit, args=(start(), overwrite), daemon=True)
        self._thread.start()
        deadline = monotonic() + 60
        while not (self._folder / "stopped").exists() and monotonic() < deadline and self._thread.is_alive():
            sleep(0.01)
        assert (self._folder / "stopped").exists(), self.error

    def _commit(self, session: Any, overwrite: bool) -> None:
        try:
            commit(session, self.target, overwrite, self._folder)
        except Exception as error:
            self.error = error

    def unfinished(self) -> list[Path]:
        return [path for path in self.target.parent.iterdir() if path.suffix == ".tmp"]

    def go_on(self) -> None:
        (self._folder / "go-on").touch()
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert self.unfinished() == []


@pytest.fixture
def table(tmp_path: Path, spark_engine: Engine) -> Path:
    create_table(str(tmp_path / "t"), COLUMNS, Transaction("reconcile/apply", 0))
    return tmp_path / "t"


def version_of(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def fence(table: Path) -> None:
    put_back(str(table), 0, [STEP])


def append(table: Path) -> None:
    column = arro3.core.Array([1], type=arro3.core.DataType.int64())
    write_deltalake(str(table), arro3.core.Table.from_pydict({"id": column}), mode="append")


@pytest.mark.parametrize("others", [fence, append])
def test_a_commit_that_was_stopped_after_its_look_replaces_none_that_was_made_since(
    others: Callable[[Path], None], table: Path
) -> None:
    late = LateCommit(version_of(table, 1))
    others(table)
    made = late.target.read_bytes()
    late.go_on()

    assert "FileAlreadyExistsException" in str(late.error)
    assert late.target.read_bytes() == made
    assert DeltaTable(str(table)).version() == 1
    opened = open_table(str(table))
    assert opened is not None
    assert has_transaction(opened, STEP) == (others is fence)


def test_a_commit_lands_where_nothing_was_made_and_leaves_nothing_beside_it(table: Path) -> None:
    target = version_of(table, 1)
    commit(start(), target)

    assert target.read_text() == LATE
    assert [path for path in target.parent.iterdir() if target.name in path.name] == [target]
    assert target.stat().st_nlink == 1
    assert DeltaTable(str(table)).version() == 1


def test_a_commit_is_done_where_a_repeat_of_it_is_refused(table: Path) -> None:
    late = LateCommit(version_of(table, 1))
    (unfinished,) = late.unfinished()
    # As if the answer to the request that made the link had been lost.
    os.link(unfinished, late.target)
    late.go_on()

    assert late.error is None
    assert late.target.read_text() == LATE


def test_a_disk_without_hard_links_is_told_as_such() -> None:
    """What Java says of it, within what the log store says, within what Delta says."""
    jvm: Any = start()._jvm
    refused = jvm.java.nio.file.FileSystemException("/mnt/a", "/mnt/b", "Operation not permitted")
    needed = jvm.java.io.IOException(f"a commit needs a hard link, which can't be made: {refused.toString()}", refused)
    with pytest.raises(EngineError) as caught, translated("connector v.lake"):
        jvm.scala.util.Failure(jvm.java.lang.RuntimeException("Delta says", needed)).get()

    assert caught.value.code == "X700"
    assert caught.value.message.startswith("connector v.lake: a commit needs a hard link, which can't be made: ")
    assert "Operation not permitted" in caught.value.message
    assert "spark.delta.logStore.file.impl" in str(caught.value.hint)


def test_what_may_be_replaced_is_replaced(table: Path) -> None:
    late = LateCommit(table / "_delta_log" / "_last_checkpoint", overwrite=True)
    late.target.write_text("{}")
    late.go_on()

    assert late.error is None
    assert late.target.read_text() == LATE
