"""The tables that queries of tests are about: those of pairs/schema.sql."""

import re
from pathlib import Path

_SCHEMA = Path(__file__).parent / "pairs" / "schema.sql"


def tables() -> dict[str, list[tuple[str, str]]]:
    """Each table's columns, as written, with their types."""
    text = re.sub(r"--.*", "", _SCHEMA.read_text(encoding="utf-8"))
    return {
        found["name"]: re.findall(r"(`[^`]+`|\w+) (\w+(?:<[^>]*>)?)", found["columns"])
        for found in re.finditer(r"CREATE TABLE (?P<name>\w+) \((?P<columns>.*?)\);", text, re.DOTALL)
    }
