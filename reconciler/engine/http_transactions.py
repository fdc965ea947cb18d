"""A transaction of requests: those of several folders that are read in one step, or not yet.

- The folders stand below one folder, and the transaction is a file in that: `.transaction`. It is replaced as a whole, so
  that whatever is killed, all folders see the one state or the other.
- While it is open, the requests of a folder from a number on are held: nobody reads them.
- When it is committed, those that came by then are read whole: in the first step that reads any of them, whatever the limits
  of a step are. Whoever commits sees to it that no step is just looking for input.
- A committed one stands there until the next one is begun. Its requests were read by then, and it has no say any more.
"""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.json_objects import from_json

_FILE: Final = ".transaction"


@dataclass(frozen=True, slots=True)
class RequestTransaction:
    """See the module. `held` has by folder's name the first number that is held, `whole` the first number of the transaction
    and the first one after it. `began_at` is a moment."""

    id: int
    began_at: str
    held: Mapping[str, int] = field(default_factory=dict)
    whole: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether it was not committed."""
        return not self.whole


def read_transaction(above: Path) -> RequestTransaction | None:
    """The last transaction of the folders below one. Raises OSError."""
    try:
        text = (above / _FILE).read_text(encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        return None
    value = json.loads(text)
    whole = {name: (int(first), int(after)) for name, (first, after) in value.get("whole", {}).items()}
    return from_json(RequestTransaction, value, whole=whole)


def write_transaction(above: Path, transaction: RequestTransaction) -> None:
    """Put a transaction in the place of the last one, for good."""
    above.mkdir(parents=True, exist_ok=True)
    part = above / f"{_FILE}.{uuid.uuid4().hex}"
    try:
        with part.open("x", encoding="ascii") as file:
            file.write(json.dumps(asdict(transaction)))
            file.flush()
            os.fsync(file.fileno())
        part.replace(above / _FILE)
    finally:
        part.unlink(missing_ok=True)
    descriptor = os.open(above, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
