"""Every folder under good/ is a pipeline without errors. Its warnings, if any, stand in warnings.json as sorted codes."""

import json
from pathlib import Path

import pytest

from reconciler.base.diagnostics import errors_among, render_diagnostic
from tests.manifests.reading import read_case

GOOD = Path(__file__).parent / "good"
CASES = sorted(folder.name for folder in GOOD.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", CASES)
def test_good_manifest(name: str) -> None:
    warnings = GOOD / name / "warnings.json"
    expected = json.loads(warnings.read_text(encoding="utf-8")) if warnings.exists() else []

    diagnostics = read_case(GOOD / name)

    assert [render_diagnostic(diagnostic) for diagnostic in errors_among(diagnostics)] == []
    assert sorted(diagnostic.code for diagnostic in diagnostics) == expected
