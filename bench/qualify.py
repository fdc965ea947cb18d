"""sqlglot alone: parses and qualifies every view of a generated repository once, in dependency order.

    python qualify.py RELATIONS REPOSITORY PIPELINE

RELATIONS is a file (JSON): the tables' columns with their types, and the views' names in order. Each view is qualified
against the tables and the columns that the views before it turned out to have.
"""

import json
import sys
from pathlib import Path

import sqlglot
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema


def main(relations: Path, repository: Path, pipeline: str) -> None:
    """See the module. Prints how many views it qualified."""
    if not any(name.endswith("__mypyc") for name in sys.modules):
        raise SystemExit("sqlglot is not compiled here: install sqlglot[c]")
    given = json.loads(relations.read_text())
    schema = MappingSchema(given["tables"], dialect="spark")
    for name in given["views"]:
        text = (repository / "pipelines" / pipeline / f"{name}.sql").read_text(encoding="utf-8")
        created = sqlglot.parse_one(text, dialect="spark")
        query = qualify(created.expression, schema=schema, dialect="spark")
        schema.add_table(name, dict.fromkeys(query.named_selects, "unknown"), dialect="spark")
    print(len(given["views"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
