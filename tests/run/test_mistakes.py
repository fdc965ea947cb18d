"""A mistake of ours in the middle of a step, which no engine foresees: it is made each time, so the step is put back and the
pipeline goes on as it was."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.engine.protocol import Built, ViewBuild
from reconciler.registry.intents import RunStatement
from reconciler.run.stepping import write_intent
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import opened, put
from tests.shops.runs import rows


@dataclass(slots=True)
class Mistaken(RecordingEngine):
    """An engine that stumbles over any view."""

    def build_view(self, build: ViewBuild) -> Built:
        raise ValueError("nobody thought of that")


def test_a_step_that_stumbles_is_put_back(root: Path) -> None:
    opened(root).run_once()
    before = rows(root), rows(root, "parts")
    put(root, "live", "1.json", {"id": 7, "part": "x"})
    with pytest.raises(ValueError, match="nobody thought of that"):
        opened(root, Mistaken(DeltaWriter())).run_once()

    stored = opened(root).target.registry.head("shop")
    assert stored is not None
    assert stored.value.intent is None
    assert (rows(root), rows(root, "parts")) == before

    opened(root).execute("INSERT INTO log VALUES ('still of use')")
    opened(root).run_once()
    assert (7, "x") in rows(root)


def test_a_step_that_was_left_open_and_stumbles_is_put_back(root: Path) -> None:
    opened(root).run_once()
    target = opened(root).target
    head = target.registry.head("shop")
    assert head is not None
    sql = "INSERT INTO lineitem VALUES (9, 'y')"
    write_intent(target, head, RunStatement(sql, "lineitem", ("lineitem",)))
    with pytest.raises(ValueError, match="nobody thought of that"):
        opened(root, Mistaken(DeltaWriter())).run_once()

    opened(root).run_once()
    assert (9, "y") not in rows(root)
