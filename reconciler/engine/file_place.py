"""Where `file_output` writes: a folder that holds one folder an emission, and how one of these comes to count.

- A folder is complete when its `_SUCCESS` is there, which holds what was counted and the emission's id as JSON. A repeat
  leaves a complete folder as it is, and writes an incomplete one anew: exactly once. A complete one of another emission, or
  anything of a later one of the same connector, is X756.
- A driver that was taken over while it wrote may go on beside whoever writes the same emission now. So each has a folder of
  its own, and one act decides whose counts; the other one's goes. Which act that is depends on where the folder lies:
  `local_place`, `store_place`.
- Where a later emission of the same connector stands, nothing of an earlier one comes any more: it may have been emptied
  away, or dropped by a seek.
- A try that fails takes away what it wrote, unless the file that says that it counts may still come. What else was left, by
  a process that was killed, goes with the next emission.
- Emptying the sink removes the folders of earlier emissions just before the new one is complete, of other outputs, too. It
  removes what was there when this process was last sure that nobody had taken over. So a driver that comes late removes
  nothing of an output that was made anew since.
- The folder has an entry for each emission that ever was. So it is listed a fixed number of times, each time in one call.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import AnotherEmission, EngineError
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.repeats import ID, another_emission, is_of

MARKER = "_SUCCESS"
TAKEN = "-taken"
FOLDER = re.compile(r"(?P<serial>\d{20})-(?P<letters>[0-9a-f]{8})(-(?P<writer>[0-9a-f]{8}))?")
HINT = "if another process writes to or deletes from that folder, stop it: the folder belongs to this output alone"
_HIDDEN = re.compile(rf"\.{FOLDER.pattern}")
_LATER = re.compile(rf"{FOLDER.pattern}|\.(?P<of_serial>\d{{20}})-(?P<of_letters>[0-9a-f]{{8}}){TAKEN}")
_COUNTS = ("inserted", "deleted", "dropped")


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of an emission that is complete, or about to be: what was counted, and its id; empty where an earlier
    version kept none."""

    emitted: Emitted
    id: str

    @staticmethod
    def read(said: JsonObject) -> "Kept":
        inserted, deleted, dropped = (said.get(key, 0) for key in _COUNTS)
        return Kept(Emitted(inserted, deleted, dropped=dropped), str(said.get(ID, "")))

    def told(self) -> JsonObject:
        """As it is written."""
        made = self.emitted
        counts: JsonObject = {"inserted": made.inserted, "deleted": made.deleted, "dropped": made.dropped}
        return {**counts, ID: self.id} if self.id else counts


def folder_name(emission: Emission) -> str:
    """What the folder of an emission is called."""
    identity = hashlib.sha256(emission.transaction.application.encode()).hexdigest()[:8]
    return f"{emission.transaction.version:020d}-{identity}"


class FilePlace:
    """The folder that a connector writes to, for one emission. `check` raises where this process was taken over; `found` is
    what was there when the emission was begun."""

    def __init__(self, path: str, emission: Emission, check: Check) -> None:
        self._path = path
        self._emission = emission
        self._check = check
        self._may_count = False
        self.found: Final = self._names()

    def marker(self, folder: str) -> Kept | None:
        """What the marker of a folder says; None where it is not complete."""
        text = self._text(f"{folder}/{MARKER}")
        # An earlier version that was killed while it wrote one left it empty.
        return Kept.read(self._read(f"{folder}/{MARKER}", text)) if text else None

    def _read(self, name: str, text: str) -> JsonObject:
        """What a file of ours says. Raises EngineError where it says nothing that can be read."""
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(key, 0), int) for key in _COUNTS):
            raise self._unreadable(name)
        return found

    def _unreadable(self, name: str) -> EngineError:
        message = f"connector {self._emission.connector}: {self._path}/{name} can't be read: it describes no emission"
        return EngineError(
            "X700",
            message,
            "its writer was stopped half-way: delete it, and the next emission writes the missing files again",
        )

    @contextmanager
    def kept_only_if_it_may_count(self, own: str) -> Iterator[None]:
        """While an emission is written to `own`: what a failure leaves there goes, unless it may still come to count."""
        try:
            yield
        except Exception:
            if not self._may_count:
                # What failed is what is to be told.
                with suppress(Exception):
                    self._delete(own)
            raise

    def require_nothing_later(self, name: str, names: Collection[str]) -> None:
        """Raises AnotherEmission where the connector has written an emission already that comes after this one. `names` are
        what is there."""
        if self._emission.id and _last(name, names) > self._emission.transaction.version:
            raise self._another(name)

    def require_a_repeat(self, name: str, kept: Kept) -> None:
        """Raises AnotherEmission unless what is kept under the emission's number is of this one."""
        if not is_of(self._emission, kept.id):
            raise self._another(name)

    def _another(self, name: str) -> AnotherEmission:
        return another_emission(self._emission, self._path, _last(name, self._names()))

    def _empty_before(self, name: str, kept: str) -> None:
        """Remove the folders of earlier emissions, and of other connectors. Later ones of this one are another's work."""
        own = FOLDER.fullmatch(name)
        assert own is not None
        names = self._names()
        # After that: whoever has taken over since has put nothing of this there.
        self._check()
        for folder in names:
            found = FOLDER.fullmatch(folder)
            is_later = found is not None and found["letters"] == own["letters"] and found["serial"] > own["serial"]
            if found is not None and folder != kept and not is_later:
                self._delete(folder)

    def _drop_hidden(self, name: str, names: Collection[str]) -> None:
        """Hidden folders of the connector's earlier emissions: who still writes one finds its emission complete."""
        for folder, _ in earlier_of(_HIDDEN, name, names):
            self._delete(folder)

    def _names(self) -> list[str]:
        """The names of what is in the folder; none where there is no folder."""
        raise NotImplementedError

    def _text(self, name: str) -> str | None:
        """The text of a file below the folder; None where there is none."""
        raise NotImplementedError

    def _delete(self, name: str) -> None:
        """Delete what is below the folder by that name, with all that it holds; nothing there is no error, and
        neither is what can't be deleted: it does not count."""
        raise NotImplementedError


def _last(name: str, names: Iterable[str]) -> int:
    """The last number of the connector's emissions that any of these names is of; this one's where there is no later."""
    own = FOLDER.fullmatch(name)
    assert own is not None
    last = int(own["serial"])
    for one in names:
        found = _LATER.fullmatch(one)
        if found is not None and own["letters"] in (found["letters"], found["of_letters"]):
            last = max(last, int(found["serial"] or found["of_serial"]))
    return last


def earlier_of(pattern: re.Pattern[str], name: str, names: Iterable[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Those among the names that are folders of earlier emissions of the same connector."""
    own = FOLDER.fullmatch(name)
    assert own is not None
    for folder in names:
        found = pattern.fullmatch(folder)
        if found is not None and found["letters"] == own["letters"] and found["serial"] < own["serial"]:
            yield folder, found
