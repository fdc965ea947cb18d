"""Every folder under bad/ is a pipeline that must be refused (or warned about), and says exactly how.

The folder's name is the claim. It holds `pipeline.yaml` and SQL files, which are read as the pipeline `shop`, and
perhaps a `reconcile.yaml`, read as the one at the repository's root. `expected.json` lists every diagnostic as
{code, file, line, column}, sorted by place: nothing more may be reported and nothing less.

A case without a pipeline.yaml of its own gets the smallest one, so that SQL cases need only their SQL; a case that is
about the missing file has an empty file named `no-pipeline-yaml`.
"""

import json
from pathlib import Path

import pytest

from tests.manifests.reading import read_case

BAD = Path(__file__).parent / "bad"
CASES = sorted(folder.name for folder in BAD.iterdir() if folder.is_dir())


@pytest.mark.parametrize("claim", CASES)
def test_bad_manifest(claim: str) -> None:
    expected = json.loads((BAD / claim / "expected.json").read_text(encoding="utf-8"))
    assert expected, "a bad manifest gives at least one diagnostic"

    found = [
        {
            "code": diagnostic.code,
            "file": diagnostic.location.file if diagnostic.location else None,
            "line": diagnostic.location.line if diagnostic.location else None,
            "column": diagnostic.location.column if diagnostic.location else None,
        }
        for diagnostic in read_case(BAD / claim)
    ]

    assert found == expected
