"""A folder on a disk that `file_output` writes to: renaming a folder is one act there, and fails where a folder stands that
holds anything.

That act settles whose folder of an emission counts: each writer has a hidden one (`.<serial>-<id>-<writer>`) until then, so
a reader sees complete ones only.
"""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError
from reconciler.engine.spark.emit.file_place import HINT, MARKER, FilePlace, Kept
from reconciler.engine.spark.locations import local_path


class LocalPlace(FilePlace):
    """A folder on a disk. See the module."""

    def done(self, name: str) -> Kept | None:
        """What is kept of an emission that is complete; None where it is to be written."""
        kept = self.marker(name)
        if kept is not None:
            self.require_a_repeat(name, kept)
        return kept

    def own_folder(self, name: str) -> str:
        """Where to write an emission, until it is known that it counts."""
        return f".{name}-{uuid.uuid4().hex[:8]}"

    def reveal(self, own: str, name: str, kept: Kept) -> Kept | None:
        """Have what was written count. Where somebody was before, that stays, and what is kept of it is returned. Raises
        AnotherEmission where that is no repeat."""
        folder = local_path(self._path)
        assert folder is not None
        names = self._names()
        others = self.marker(name)
        if others is None:
            # A later emission may have emptied away what a successor wrote of this one: what was written here is over.
            self.require_nothing_later(name, names)
            with self._told_by_the_disk(folder / own):
                (folder / own / MARKER).write_text(canonical_json(kept.told()), "utf-8")
            if self._emission.replaces:
                self._empty_before(name, name)
            self._check()
            if not self._is_renamed(folder / own, folder / name):
                others = self.marker(name)
                if others is None:
                    # What a version left that renamed in many acts.
                    self._files.delete(self._at(name), True)
                    if not self._is_renamed(folder / own, folder / name):
                        raise EngineError("X700", f"{self._path}/{own} could not be renamed to {name}", HINT)
        if others is not None:
            self._files.delete(self._at(own), True)
            self.require_a_repeat(name, others)
            return others
        self._drop_hidden(name, names)
        return None

    def _names(self) -> list[str]:
        folder = local_path(self._path)
        assert folder is not None
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def _is_renamed(self, folder: Path, to: Path) -> bool:
        """Whether it could be; if not, another folder stands there that holds something."""
        with self._told_by_the_disk(to):
            try:
                folder.rename(to)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return False
        return True

    @contextmanager
    def _told_by_the_disk(self, path: Path) -> Iterator[None]:
        """What the system refuses is this output's failure alone: the others go on."""
        try:
            yield
        except OSError as error:
            # As Hadoop's file systems tell it of a store.
            code = "X709" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "X700"
            hint = HINT if error.errno == errno.ENOENT else None
            message = f"connector {self._emission.connector}: {path}: {error.strerror}"
            raise EngineError(code, message, hint) from error
