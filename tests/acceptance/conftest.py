"""The scenario of shop.py, prepared once for all tests that start from it."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.shop import contents, copy_of, make_baseline, open_shop, state


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A repository with BEFORE applied and filled. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("baseline")
    make_baseline(root, spark_engine)
    return root


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, baseline: Path, spark_engine: Engine) -> dict[str, Any]:
    """State and contents after AFTER was applied to a copy of the baseline, with nothing in the way."""
    root = copy_of(baseline, tmp_path_factory.mktemp("undisturbed") / "shop")
    open_shop(root, spark_engine).apply()
    return {"state": state(root, spark_engine), "contents": contents(root)}
