"""The floor of a plan with nothing to do: what no such command can avoid.

    python floor.py LIBRARIES REPOSITORY PIPELINE

Imports the libraries listed in a file (as JSON), hashes the files of a pipeline, and reads the head in the registry.
"""

import hashlib
import importlib
import json
import sys
from pathlib import Path


def main(libraries: Path, repository: Path, pipeline: str) -> None:
    """See the module. Prints how many files it hashed and relations it found."""
    for name in json.loads(libraries.read_text()):
        importlib.import_module(name)
    files = [repository / "reconcile.yaml", *sorted((repository / "pipelines" / pipeline).iterdir())]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(str(repository / "warehouse" / "_registry" / pipeline / "head"))
    rows = QueryBuilder().register("d", table).execute("select document, write_id from d").read_all()
    head = json.loads(rows["document"][0].as_py())
    print(len(digests), len(head["published"]["relations"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
