"""Which process of a parallel run gets which file of tests: those with Spark go to the first one, the others to the rest.

So one Spark serves the run, and while it computes, the other processes have what waits for servers and for time to pass.
They give way to the first one (`give_way`), which has the most to do; it takes of theirs where it ends before them. They
take none of its files: a Spark of their own would cost more than it saves.

Processes collect the tests, and know what these need; who shares them out knows only their names. So each process writes
the files that need Spark where it was told to (`note_files`).
"""

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

WHERE: Final = "files_with_spark"
"""By which name a process is told where to write."""

_LATER: Final = 5
"""By how much a process gives way, as `nice` counts."""

_FOLDER: Final = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def place_of_notes(config: pytest.Config) -> str:
    """Where the processes of a run write, for whoever shares out."""
    folder = config.stash.setdefault(_FOLDER, tempfile.TemporaryDirectory(prefix="reconcile-tests-"))
    return os.path.join(folder.name, WHERE)


def note_files(config: pytest.Config, files: Collection[Path]) -> None:
    """Write down which files need Spark, in a process of a parallel run."""
    told = getattr(config, "workerinput", {}).get(WHERE)
    if told is not None:
        beside = Path(f"{told}.{os.getpid()}")
        beside.write_text(json.dumps(sorted(path.relative_to(config.rootpath).as_posix() for path in files)), "utf-8")
        beside.replace(told)


def give_way(config: pytest.Config) -> None:
    """Let the process with Spark go first where there are fewer processors than processes."""
    if getattr(config, "workerinput", {}).get("workerid") not in (None, "gw0"):
        os.nice(_LATER)


def _number_of(node: WorkerController) -> int:
    return int(node.gateway.id.removeprefix("gw"))


class FilesByNeed(LoadFileScheduling):
    """See the module."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._noted = Path(place_of_notes(config))
        self._with_spark: frozenset[str] | None = None

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self._with_spark is None:
            if not self._noted.exists():
                # What ends the collection in a process is shown by none of them.
                raise pytest.UsageError("the processes can't collect the tests: pytest --collect-only says why")
            self._with_spark = frozenset(json.loads(self._noted.read_text("utf-8")))
        # A process that died is followed by another one. The nodes are listed as they became ready, in any order.
        has_spark = node is min((one for one in self.nodes if not one.shutting_down), key=_number_of)
        own = [scope for scope in self.workqueue if (scope in self._with_spark) == has_spark]
        if not own and not has_spark:
            node.shutdown()
            return
        # Of what is another's, the last one: the first are its long ones, and it is about to take them.
        chosen = own[0] if own else next(reversed(self.workqueue))
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)
