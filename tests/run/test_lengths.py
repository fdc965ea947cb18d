"""How long a text may be is declared, not stored: what is written to a table is held against the declaration."""

from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.errors import EngineError
from reconciler.service.pipeline import Pipeline
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter


def applied(root: Path, kind: str) -> Pipeline:
    write_shop(
        root,
        f"CREATE TABLE plates (id INT NOT NULL PRIMARY KEY, plate {kind});",
        more="  evolution: evolve\n",
        policy="allow",
    )
    pipeline = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    pipeline.apply()
    return pipeline


@pytest.mark.parametrize("kind", ["VARCHAR(4)", "CHAR(4)"])
def test_a_statement_with_a_longer_text_is_refused(tmp_path: Path, kind: str) -> None:
    shop = applied(tmp_path, kind)
    shop.execute("INSERT INTO plates VALUES (1, 'abcd')")

    with pytest.raises(EngineError) as raised:
        shop.execute("INSERT INTO plates VALUES (2, 'abcde')")

    assert raised.value.code == "X712"
    assert [one.rows for one in shop.status().relations] == [1]
